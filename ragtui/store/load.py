"""A journal into the store: a transaction a batch, repeatable at any point, visible as ended only at the end."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ragtui.errors import StoreUnavailable
from ragtui.events import RunStatus, seconds_between
from ragtui.experiment.plan import Provenance
from ragtui.inputs.evaluation import Selection
from ragtui.store import journal
from ragtui.store.batch import Batch, Started, case_columns, twice_told
from ragtui.store.gate import Gate
from ragtui.store.inserts import SLICE, insert_chunks, insert_traces, summarise
from ragtui.store.lines import DamagedJournal, cut_torn, unreadable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MARK_BYTES = 4096
# A run of so many cases is worth row groups of its own. Merged into the last one, as the checkpoint does with small
# ones, that one would be written anew at each load.
_OWN_ROW_GROUPS = 256
_CLOSE_ATTEMPT = (
    "UPDATE attempts SET status = $s, ended_at = $at, elapsed_s = $e, reason = $r WHERE run = $run AND attempt = $a"
)
_T = TypeVar("_T")


class _Plan(msgspec.Struct):
    evaluation: Selection


class _Spec(msgspec.Struct):
    plan: _Plan
    corpus_id: str
    evaluation_id: str


def load(gate: Gate, path: Path, unfinished: RunStatus) -> str:
    """Load one journal, then remove it and its cancel request; gives the run's id.

    Safe to kill at any instant and to repeat. Raises DamagedJournal for a line that is no event (what stands before
    it is loaded, the journal stays) and StoreUnavailable if the journal is being written or is gone without a trace.
    """
    try:
        with journal.claim(path, gate.wait_seconds) as descriptor:
            _load_claimed(gate, path, descriptor, unfinished)
            journal.discard(path)
    except FileNotFoundError as error:
        # Somebody else's recovery was faster, or it never was.
        if _known(gate, path.stem) is None:
            raise StoreUnavailable(f"{path} does not exist.", "`ragtui runs` lists what is stored.") from error
    return path.stem


def recover(gate: Gate, folder: Path, set_aside: Callable[[DamagedJournal, Path], None] | None = None) -> list[str]:
    """Load every journal that nobody holds; the ids of the runs that are in the store for it.

    A journal without one complete line is removed. One with a damaged line is loaded up to that line and set aside as
    `<run_id>.jsonl.damaged`; the attempt's reason says so, and `set_aside` is told what was wrong and the new path.
    """
    recovered = []
    for path in journal.abandoned(folder):
        try:
            with journal.claim(path, 0.0) as descriptor:
                try:
                    _load_claimed(gate, path, descriptor, "interrupted")
                    aside = None
                except DamagedJournal as error:
                    aside = path.with_name(path.name + ".damaged")
                    if set_aside is not None:
                        set_aside(error, aside)
                    reason = f"The journal is damaged at line {error.line}; it is kept as {aside.name}."
                    _Load(gate, path, "damaged").commit(Batch(), "interrupted", reason)
                journal.discard(path, aside)
        except FileNotFoundError:
            continue  # another process loaded it meanwhile
        except StoreUnavailable:
            if journal.is_live(path):
                continue  # another process loads or resumes it just now
            raise
        if _known(gate, path.stem) is not None:
            recovered.append(path.stem)
    return recovered


def _load_claimed(gate: Gate, path: Path, descriptor: int, unfinished: RunStatus) -> None:
    try:
        cut_torn(descriptor, path)
        mark = _mark(descriptor)
    except OSError as error:
        raise unreadable(path, error) from error
    if mark.startswith("0:"):
        return
    loading = _Load(gate, path, mark)
    batch, number = Batch(), 0
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            for number, line in enumerate(file, 1):
                batch.add(line, path, number)
                if batch.full:
                    loading.commit(batch)
                    batch = Batch()
    except DamagedJournal:
        loading.commit(batch)
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    loading.commit(batch, unfinished)


class _Load:
    """The inserts of one journal, told from others by its mark. `commit` is one transaction."""

    def __init__(self, gate: Gate, path: Path, mark: str) -> None:
        self.gate = gate
        self.path = path
        self.run_id = path.stem
        self.mark = mark
        self.last_at: dict[int, str] = {}

    def commit(self, batch: Batch, ending: RunStatus | None = None, reason: str = "") -> None:
        """Insert what is not there yet. With `ending`, close the attempts that told no end so, and take the means.

        Nothing is touched where this very journal was loaded to its end before.
        """
        if not (batch.started or batch.traces or batch.chunks or batch.finished or ending):
            return
        self.last_at |= batch.last_at
        with self.gate.write() as connection:
            if not reason and _mark_of(connection, self.run_id) == self.mark:
                return
            for started in batch.started:
                self._start(connection, started)
            found = connection.execute(
                "SELECT run, measures, cases FROM runs WHERE run_id = $1", [self.run_id]
            ).fetchone()
            if found is None:
                if reason:
                    return  # nothing of a damaged journal could be loaded
                raise DamagedJournal(self.path, 1, "it does not begin with the start of a run")
            run, measures, cases = found
            if cases >= _OWN_ROW_GROUPS:
                connection.execute("SET max_vacuum_tasks = 0")
            connection.execute("UPDATE runs SET status = 'running' WHERE run = $1 AND status <> 'running'", [run])
            if (other := insert_chunks(connection, run, batch)) is not None:
                raise DamagedJournal(self.path, batch.chunks[other][1], twice_told(other))
            insert_traces(connection, run, batch, measures)
            for end in batch.finished:
                connection.execute(
                    _CLOSE_ATTEMPT,
                    {"s": end.status, "at": end.at, "e": end.elapsed_s, "r": end.reason, "run": run, "a": end.attempt},
                )
            if ending:
                self._end(connection, run, ending, reason)
                summarise(connection, run, self.mark)

    def _start(self, connection: DuckDBPyConnection, started: Started) -> None:
        if started.run_id != self.run_id:
            raise DamagedJournal(self.path, 1, f"it is the journal of run {started.run_id}")
        known = connection.execute("SELECT run FROM runs WHERE run_id = $1", [started.run_id]).fetchone()
        run = known[0] if known else self._create(connection, started)
        connection.execute(
            "INSERT INTO attempts SELECT $run, $attempt, 'running', $at, NULL, 0, '', $environment "
            "WHERE NOT EXISTS (FROM attempts WHERE run = $run AND attempt = $attempt)",
            {
                "run": run,
                "attempt": started.attempt,
                "at": started.started_at,
                "environment": _text(self.path, started.environment),
            },
        )

    def _create(self, connection: DuckDBPyConnection, started: Started) -> int:
        spec = _decoded(self.path, started.specification, _Spec)
        provenance = _decoded(self.path, started.provenance, Provenance)
        row = connection.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchone()
        run = int(row[0]) if row else 1
        connection.execute(
            "INSERT INTO runs VALUES ($run, $run_id, $spec_id, $name, 'running', $started_at, NULL, 0, $cases, 0, 0, "
            "1, $corpus_id, $evaluation_id, $tier, $suites, $measures, $means, 0, '', $specification, $provenance)",
            {
                "run": run, "run_id": started.run_id, "spec_id": started.spec_id, "name": provenance.name,
                "started_at": started.started_at, "cases": len(started.cases), "corpus_id": spec.corpus_id,
                "evaluation_id": spec.evaluation_id, "tier": started.tier, "suites": list(spec.plan.evaluation.suites),
                "measures": list(started.measures), "means": [None] * len(started.measures),
                "specification": _text(self.path, started.specification),
                "provenance": _text(self.path, started.provenance),
            },
        )  # fmt: skip
        for start in range(0, len(started.cases), SLICE):
            try:
                columns = case_columns(started.cases[start : start + SLICE])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise DamagedJournal(self.path, 1, error) from error
            connection.execute(
                "INSERT INTO cases SELECT $run, $start + unnest($idx), unnest($case_id), unnest($query), "
                "unnest($tags::VARCHAR[][]), unnest($definition)",
                {"run": run, "start": start, **columns},
            )
        return run

    def _end(self, connection: DuckDBPyConnection, run: int, ending: RunStatus, reason: str) -> None:
        open_attempts = connection.execute(
            "SELECT attempt, started_at FROM attempts WHERE run = $1 AND status = 'running'", [run]
        ).fetchall()
        for attempt, started_at in open_attempts:
            at = self.last_at.get(attempt) or _last_case(connection, run, attempt) or started_at
            connection.execute(
                _CLOSE_ATTEMPT,
                {"s": ending, "at": at, "e": seconds_between(started_at, at), "run": run, "a": attempt,
                 "r": reason or "The process ended without a word."},
            )  # fmt: skip


def _known(gate: Gate, run_id: str) -> str | None:
    """The mark of the journal that the run was last loaded from, None where the store has no such run."""
    if not gate.path.exists():
        return None
    with gate.read() as connection:
        return _mark_of(connection, run_id)


def _mark_of(connection: DuckDBPyConnection, run_id: str) -> str | None:
    row = connection.execute("SELECT journal_mark FROM runs WHERE run_id = $1", [run_id]).fetchone()
    return str(row[0]) if row else None


def _mark(descriptor: int) -> str:
    """Size and hash of a journal's end. The end holds attempt and time, so no two journals of a run share it."""
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(0, size - _MARK_BYTES), os.SEEK_SET)
    return f"{size}:{hashlib.sha256(os.read(descriptor, _MARK_BYTES)).hexdigest()[:16]}"


def _last_case(connection: DuckDBPyConnection, run: int, attempt: int) -> str | None:
    row = connection.execute(
        "SELECT max(finished_at) FROM traces WHERE run = $1 AND attempt = $2", [run, attempt]
    ).fetchone()
    return row[0] if row else None


def _decoded(path: Path, raw: msgspec.Raw, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedJournal(path, 1, error) from error


def _text(path: Path, raw: msgspec.Raw) -> str:
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise DamagedJournal(path, 1, error) from error
