"""Work on whole runs: copy them to another store, drop them and shrink the file, write them as Parquet."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.errors import InvalidInput, StoreUnavailable
from ragtui.store.gate import Gate, attach, quoted
from ragtui.store.journal import journal_path
from ragtui.store.runs import measures_of, number_of, unknown_run
from ragtui.store.schema import BEST, RUN_TABLES, migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def copy_run(source: Gate, target: Gate, run_id: str) -> None:
    """Copy a run with its attempts, cases, traces and chunks. A run that the target already has as it is stays.

    It travels in a file of its own, so that the two stores are never open at once. Raises InvalidInput for an unknown
    run, and where both are one store.
    """
    if source.path.resolve() == target.path.resolve():
        raise InvalidInput(f"{source.path} is both source and target.", "Name another store to copy to.")
    with tempfile.TemporaryDirectory(prefix="ragtui-") as folder:
        parcel = Path(folder) / "parcel.duckdb"
        with source.read(outside=True) as connection:
            _pack(connection, number_of(connection, run_id), parcel)
        with target.write(outside=True) as connection:
            attach(connection, parcel, "parcel", read_only=True)
            if not _unpack(connection, run_id):
                return
    compact(target)


def _pack(connection: DuckDBPyConnection, run: int, parcel: Path) -> None:
    attach(connection, parcel, "parcel")
    for table in ("runs", *RUN_TABLES):
        connection.execute(f"CREATE TABLE parcel.{table} AS FROM {table} WHERE run = $1", [run])
    connection.execute(
        "CREATE TABLE parcel.texts AS FROM texts WHERE text_id IN (SELECT text_id FROM chunks WHERE run = $1)", [run]
    )
    connection.execute("DETACH parcel")


def _unpack(connection: DuckDBPyConnection, run_id: str) -> bool:
    state = "SELECT attempts, status, journal_mark FROM {} WHERE run_id = $1"
    if (
        connection.execute(state.format("runs"), [run_id]).fetchone()
        == connection.execute(state.format("parcel.runs"), [run_id]).fetchone()
    ):
        return False
    for table in (*RUN_TABLES, "runs"):
        connection.execute(f"DELETE FROM {table} WHERE run IN (SELECT run FROM runs WHERE run_id = $1)", [run_id])
    row = connection.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchone()
    new = [row[0] if row else 1]
    for table in ("runs", "attempts", "cases", "traces"):
        connection.execute(f"INSERT INTO {table} SELECT * REPLACE ($1 AS run) FROM parcel.{table}", new)
    connection.execute(
        "INSERT INTO texts SELECT (SELECT coalesce(max(text_id), 0) FROM texts) "
        "+ row_number() OVER (ORDER BY text_id), hash, text FROM parcel.texts "
        "WHERE hash NOT IN (SELECT hash FROM texts)"
    )
    connection.execute(
        "INSERT INTO chunks SELECT $1, ordinal, doc, start_at, end_at, mine.text_id FROM parcel.chunks "
        "JOIN parcel.texts AS theirs USING (text_id) JOIN texts AS mine ON mine.hash = theirs.hash",
        new,
    )
    return True


def delete_runs(gate: Gate, run_ids: Sequence[str], journals: Path | None = None) -> int:
    """Drop runs, their promotions and the texts that no run refers to, and rewrite the file; the bytes it shrank by.

    Raises StoreUnavailable, and drops none, where one has a journal in the folder `journals`.
    """
    wanted = sorted(set(run_ids))
    if not wanted:
        return 0
    with gate.read() as connection:
        for run_id in wanted:
            number_of(connection, run_id)
    for run_id in wanted:
        if journals is not None and journal_path(journals, run_id).exists():
            raise StoreUnavailable(
                f"Run {run_id} has been taken up again; it cannot be deleted.", f"See it with `ragtui watch {run_id}`."
            )
    return _rewrite(gate, wanted)


def compact(gate: Gate) -> int:
    """Rewrite the file without the free blocks that loading leaves for the next load; the bytes it shrank by."""
    return _rewrite(gate, []) if gate.path.exists() else 0


def _rewrite(gate: Gate, gone_ids: list[str]) -> int:
    gate.remove_leftovers()
    before = size(gate.path)
    with gate.rewrite() as (connection, fresh):
        attach(connection, fresh, "fresh")
        connection.execute("USE fresh")
        migrate(connection, 0)
        spared = "NOT IN (SELECT unnest($gone::VARCHAR[]))"
        kept = f"SELECT run FROM store.runs WHERE run_id {spared}"
        gone = {"gone": gone_ids}
        for table in ("runs", *RUN_TABLES):
            # In the order of the rows as they are: sorting would hold all traces in memory.
            connection.execute(f"INSERT INTO {table} FROM store.{table} WHERE run IN ({kept})", gone)
        connection.execute("INSERT INTO texts FROM store.texts WHERE text_id IN (SELECT text_id FROM chunks)")
        connection.execute(f"INSERT INTO baselines FROM store.baselines WHERE run_id {spared}", gone)
        connection.execute("USE store")
        connection.execute("DETACH fresh")
    return max(0, before - size(gate.path))


def estimate(gate: Gate, run_ids: Sequence[str]) -> int:
    """About how many bytes `delete_runs` would free, by the share of the traces."""
    with gate.read() as connection:
        row = connection.execute(
            "SELECT sum(trace_bytes) FILTER (list_contains($ids::VARCHAR[], run_id)), sum(trace_bytes) FROM runs",
            {"ids": list(run_ids)},
        ).fetchone()
    part, whole = row if row else (0, 0)
    return int(size(gate.path) * (part or 0) / whole) if whole else 0


def size(path: Path) -> int:
    """Bytes of the file and its log; 0 where there is none."""
    total = 0
    for name in (path, path.with_name(path.name + ".wal")):
        with contextlib.suppress(OSError):
            total += name.stat().st_size
    return total


def export_parquet(gate: Gate, run_id: str, path: Path) -> None:
    """One row a case: run, case, index, attempt, query, tags, status, error, a column a measure, the trace's JSON."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    with gate.read(outside=True) as connection:
        if connection.execute("FROM runs WHERE run_id = $1", [run_id]).fetchone() is None:
            raise unknown_run(run_id)
        run = number_of(connection, run_id)
        columns = "".join(
            f', t.scores[{place}] AS "{name.replace(chr(34), chr(34) * 2)}"'
            for place, name in enumerate(measures_of(connection, run), 1)
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection.execute(
                'COPY (SELECT $run_id AS run_id, t.case_id AS "case", t.idx AS "index", t.attempt, query, tags, '
                f"status, error_kind, error_message{columns}, trace FROM traces AS t "
                f"JOIN ({BEST}) AS b USING (idx, attempt) "
                f"LEFT JOIN cases AS c ON c.run = $run AND c.idx = t.idx WHERE t.run = $run ORDER BY t.idx) "
                f"TO {quoted(fresh)} (FORMAT parquet, COMPRESSION zstd)",
                {"run": run, "run_id": run_id},
            )
            fresh.replace(path)
        except Exception as error:
            raise StoreUnavailable(
                f"{path} cannot be written: {error}.", "Choose a folder that can be written."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
