"""The face of the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.events import RunStatus
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.providers.protocols import GeneratorIdentity
from ragtui.store import baselines, cases, columns, load, runs, upkeep
from ragtui.store.cases import CaseDetail, CaseFilter
from ragtui.store.gate import Gate
from ragtui.store.lines import DamagedJournal
from ragtui.store.paid import PaidAnswers
from ragtui.store.rows import Baseline, CaseRow, RunRecord, RunRow
from ragtui.trace import CaseTrace, ChunkRef

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PAGE = 1000


class Store:
    """The runs in one DuckDB file.

    Nothing is opened until a method is called, and nothing stays open after it; several processes and threads may use
    one file. A missing file reads as an empty store. Every method raises StoreUnavailable where the file cannot be
    used, and InvalidInput for a run that is not in it.
    """

    def __init__(self, path: Path, read_only: bool = False, wait_seconds: float = 5.0) -> None:
        self._gate = Gate(path, read_only, wait_seconds)

    @property
    def path(self) -> Path:
        """The file."""
        return self._gate.path

    @property
    def read_only(self) -> bool:
        """Whether writing methods are refused."""
        return self._gate.read_only

    def session(self) -> AbstractContextManager[None]:
        """One opening of the file for all reads that this thread makes inside. Writers wait, so keep it short."""
        return self._gate.session()

    def load_journal(self, path: Path, status_if_unfinished: RunStatus = "interrupted") -> str:
        """Load a journal whose writer is closed, then remove it and its cancel request; the run's id.

        Repeatable, and safe to kill at any instant. Raises DamagedJournal with file and line.
        """
        return load.load(self._gate, path, status_if_unfinished)

    def recover(self, folder: Path, set_aside: Callable[[DamagedJournal, Path], None] | None = None) -> list[str]:
        """Load every journal in the folder that nobody holds; the ids of their runs.

        A damaged journal is loaded up to its bad line and set aside as `<run_id>.jsonl.damaged`; `set_aside` is told.
        """
        return load.recover(self._gate, folder, set_aside)

    def runs(self, limit: int | None = None, offset: int = 0) -> list[RunRow]:
        """Runs, newest first."""
        with self._gate.read() as connection:
            return runs.run_rows(connection, limit, offset)

    def spec_runs(self, spec_id: str) -> list[RunRow]:
        """The runs of one specification, newest first."""
        with self._gate.read() as connection:
            return runs.run_rows(connection, spec_id=spec_id)

    def count_runs(self) -> int:
        """How many runs there are."""
        with self._gate.read() as connection:
            return runs.count_runs(connection)

    def resolve(self, text: str) -> str:
        """The run id that `latest`, an id or a unique prefix names; InvalidInput lists the candidates."""
        with self._gate.read() as connection:
            return runs.resolve(connection, text)

    def named(self, text: str) -> dict[str, str]:
        """Id → name and start of the run with this id, or of every run whose id begins with it, newest first."""
        with self._gate.read() as connection:
            return runs.named(connection, text)

    def run(self, run_id: str) -> RunRecord:
        """One run with its specification, provenance and attempts."""
        with self._gate.read() as connection:
            return runs.record(connection, run_id)

    def cases_of(self, run_id: str) -> tuple[EvaluationCase, ...]:
        """The frozen goldens of a run, in the order of its cases."""
        with self._gate.read() as connection:
            return runs.cases_of(connection, run_id)

    def traces(self, run_id: str) -> Iterator[CaseTrace]:
        """The best trace of each executed case, by index: the latest attempt that is ok, else the latest.

        Fetched a thousand at a time; the store is free between pages.
        """
        with self._gate.read() as connection:
            wanted = cases.best_attempts(connection, runs.number_of(connection, run_id))
        return self._pages(run_id, wanted)

    def rankings(self, run_id: str, indexes: Collection[int]) -> Iterator[CaseTrace]:
        """`traces` of the cases under these indexes with results, scores and errors, without what led to them."""
        with self._gate.read() as connection:
            wanted = cases.best_attempts(connection, runs.number_of(connection, run_id))
        return self._pages(run_id, [pair for pair in wanted if pair[0] in indexes], columns.rankings_between)

    def outlines(self, run_id: str) -> list[CaseTrace]:
        """`traces` with nothing but scores and errors: a hundredth of the bytes."""
        with self._gate.read() as connection:
            return columns.outlines(connection, run_id)

    def trace(self, run_id: str, case_id: str) -> CaseTrace:
        """The best trace of one case; InvalidInput if the run has none."""
        with self._gate.read() as connection:
            return cases.trace(connection, run_id, case_id)

    def finished_indexes(self, run_id: str, *, including_errors: bool = True) -> set[int]:
        """The indexes of cases that have a trace; without `including_errors`, one that is ok."""
        with self._gate.read() as connection:
            return cases.finished_indexes(connection, run_id, including_errors)

    def scores(self, run_id: str) -> tuple[list[str], dict[str, dict[str, float | None]]]:
        """The run's measures, and case id → measure → value (None: unscored) for executed cases, by index."""
        with self._gate.read() as connection:
            return columns.scores(connection, run_id)

    def case_rows(
        self, run_id: str, *, text: str = "", tag: str | None = None, status: str | None = None,
        missed_by: str | None = None, sort: str | None = None, descending: bool = False, offset: int = 0,
        limit: int = 100,
    ) -> list[CaseRow]:  # fmt: skip
        """A page of a run's cases, executed or not.

        `text` is looked for in query and id, `missed_by` names a measure that is 0, `status` is ok, error or pending,
        `sort` is a measure or `index`; cases without a value come last.
        """
        wanted = cases.CaseFilter(text=text, tag=tag, status=status, missed_by=missed_by)
        with self._gate.read() as connection:
            return cases.case_rows(connection, run_id, wanted, sort, descending, offset, limit)

    def count_cases(
        self,
        run_id: str,
        *,
        text: str = "",
        tag: str | None = None,
        status: str | None = None,
        missed_by: str | None = None,
    ) -> int:
        """How many cases `case_rows` has in all its pages."""
        wanted = cases.CaseFilter(text=text, tag=tag, status=status, missed_by=missed_by)
        with self._gate.read() as connection:
            return cases.count_cases(connection, run_id, wanted)

    def case_order(
        self, run_id: str, wanted: CaseFilter, *, sort: str | None = None, descending: bool = False
    ) -> NDArray[np.int64]:
        """The indexes of the filtered cases, sorted as by `case_rows`: what a list keeps that fetches rows as shown."""
        with self._gate.read() as connection:
            return cases.case_order(connection, run_id, wanted, sort, descending)

    def cases_at(self, run_id: str, indexes: Sequence[int]) -> list[CaseRow]:
        """The cases under these indexes, in this order."""
        with self._gate.read() as connection:
            return cases.cases_at(connection, run_id, indexes)

    def tags_of(self, run_id: str) -> dict[str, int]:
        """The tags of a run's cases with how many have each, by name."""
        with self._gate.read() as connection:
            return cases.tags_of(connection, run_id)

    def case_detail(self, run_id: str, case_id: str) -> CaseDetail:
        """One case's golden, best trace and chunks, in one opening; InvalidInput if the run has no such case."""
        with self._gate.read() as connection:
            return cases.detail(connection, run_id, case_id)

    def score_columns(self, run_id: str) -> tuple[list[str], dict[str, int], NDArray[np.float64]]:
        """The run's measures, case id → row for executed cases, and float64 scores (cases, measures), NaN: unscored."""
        with self._gate.read() as connection:
            return columns.score_columns(connection, run_id)

    def chunks(self, run_id: str, ordinals: Iterable[int]) -> dict[int, ChunkRef]:
        """The chunks under the ordinals that a run's traces use, unknown ones left out."""
        with self._gate.read() as connection:
            return cases.chunks(connection, run_id, ordinals)

    def told_chunks(self, run_id: str) -> tuple[ChunkRef, ...]:
        """Every chunk that any attempt of the run told, also for traces that a later attempt replaced."""
        with self._gate.read() as connection:
            return cases.told_chunks(connection, run_id)

    def paid(self, identity: GeneratorIdentity) -> PaidAnswers:
        """The replies of a model that runs in this store recorded, by their keys."""
        return PaidAnswers(self._gate, identity)

    def promote(self, run_id: str, name: str, why: str) -> Baseline:
        """Make a completed run the baseline of its corpus, suites and tier under `name`."""
        with self._gate.write() as connection:
            return baselines.promote(connection, run_id, name, why)

    def baselines(self) -> list[Baseline]:
        """The baseline of each (corpus, suites, tier, name), newest promotion first."""
        with self._gate.read() as connection:
            return baselines.baselines(connection)

    def baseline_for(self, corpus_id: str, suites: Sequence[str], tier: str, name: str) -> Baseline | None:
        """The baseline of a key, None if there is none."""
        with self._gate.read() as connection:
            return baselines.baseline_for(connection, corpus_id, suites, tier, name)

    def copy_run(self, run_id: str, target: Store) -> None:
        """Copy a run whole to another store; without its promotions; harmless when repeated. Compacts the target."""
        upkeep.copy_run(self._gate, target._gate, run_id)

    def delete_runs(self, run_ids: Sequence[str], journals: Path | None = None) -> int:
        """Drop runs, their promotions and texts that no run refers to, and shrink the file; the bytes freed.

        Raises StoreUnavailable, and drops none, where one has a journal in the folder `journals`: it is going on.
        """
        return upkeep.delete_runs(self._gate, run_ids, journals)

    def compact(self) -> int:
        """Rewrite the file without free blocks, as for a store that is committed; the bytes freed."""
        return upkeep.compact(self._gate)

    def estimate_freed(self, run_ids: Sequence[str]) -> int:
        """About how many bytes `delete_runs` would free."""
        return upkeep.estimate(self._gate, run_ids)

    def size(self) -> int:
        """Bytes of the file; 0 where there is none."""
        return upkeep.size(self.path)

    def export_parquet(self, run_id: str, path: Path) -> None:
        """Write a run as Parquet, one row a case, with a column a measure and the trace's JSON."""
        upkeep.export_parquet(self._gate, run_id, path)

    def _pages(
        self, run_id: str, wanted: list[tuple[int, int]], read: Callable[..., list[CaseTrace]] = cases.traces_between
    ) -> Iterator[CaseTrace]:
        for start in range(0, len(wanted), _PAGE):
            with self._gate.read() as connection:
                page = read(connection, run_id, wanted[start : start + _PAGE])
            yield from page
