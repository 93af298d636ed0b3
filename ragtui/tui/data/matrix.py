"""The capability table as it stands: rows that are done from the store, one under way from its journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ragtui.errors import InvalidInput
from ragtui.events import CaseFinished, RunEvent, RunFinished, RunStarted
from ragtui.metrics.aggregate import Estimate
from ragtui.store.journal import is_live, journal_path
from ragtui.store.matrix_journal import matrix_progress
from ragtui.trace import CaseTrace, Hits

if TYPE_CHECKING:
    from ragtui.analysis.matrix import Matrix, MatrixRow
    from ragtui.lab import Lab

State = Literal["waiting", "running", "done", "failed", "stopped"]


class RowNow(msgspec.Struct, frozen=True, kw_only=True):
    """A model with a plan. `cells` has mode → measure → estimate over the goldens that are finished so far."""

    model: str
    plan: str
    run_id: str
    state: State
    done: int = 0
    total: int = 0
    errors: int = 0
    cells: dict[str, dict[str, Estimate]] = {}
    error: str = ""


class MatrixView(msgspec.Struct, frozen=True, kw_only=True):
    """The table. `live` is whether its process works, `source` what it is: a run, the newest or the promoted table.

    `table` is what may be promoted: None until every row has ended.
    """

    rows: tuple[RowNow, ...]
    modes: tuple[str, ...]
    limit: int | None
    made_at: str
    live: bool
    source: Literal["now", "latest", "promoted"]
    table: Matrix | None = None

    @property
    def running(self) -> str:
        """The run under way; empty where there is none."""
        return next((row.run_id for row in self.rows if row.state == "running"), "")


class MatrixReader:
    """Reads the table again and again; rows that are done are read once."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._done: dict[str, RowNow] = {}

    def view(self) -> MatrixView | None:
        """The newest matrix, else the table that was promoted; None where there is neither."""
        from ragtui.lab.matrices import latest_matrix, matrices_folder, promoted_matrix

        progress = matrix_progress(matrices_folder(self._lab.workspace))
        latest = self._kept(latest_matrix(self._lab.workspace))
        if progress is None:
            kept = latest or self._kept(promoted_matrix(self._lab.workspace))
            if kept is None:
                return None
            return _view_of(kept, "latest" if latest is not None else "promoted")
        if latest is not None and not progress.live and _same(latest, progress.planned.rows):
            return _view_of(latest, "latest")
        planned = progress.planned
        return MatrixView(
            rows=tuple(self._row(*row, progress.errors, progress.live) for row in planned.rows),
            modes=planned.modes,
            limit=planned.limit,
            made_at=planned.made_at,
            live=progress.live,
            source="now",
        )

    def _row(self, model: str, plan: str, run_id: str, errors: dict[str, str], live: bool) -> RowNow:
        if run_id in self._done:
            return self._done[run_id]
        row = RowNow(model=model, plan=plan, run_id=run_id, state="waiting" if live else "stopped")
        if run_id in errors:
            return msgspec.structs.replace(row, state="failed", error=errors[run_id])
        if is_live(journal_path(self._lab.workspace.journals, run_id)):
            return msgspec.structs.replace(row, state="running")
        if (found := self._stored(row)) is not None:
            self._done[run_id] = found
            return found
        return row

    def _stored(self, row: RowNow) -> RowNow | None:
        from ragtui.analysis.matrix import matrix_row
        from ragtui.analysis.stored import outlined_run

        try:
            run = outlined_run(self._lab.store, row.run_id)
        except InvalidInput:
            return None
        state: State = "done" if run.status == "completed" else "stopped"
        return _of(matrix_row(run, row.model, row.plan), state, len(run.traces))

    def _kept(self, path: Path) -> Matrix | None:
        """A table in a file; None where there is none. One that cannot be read raises InvalidInput."""
        from ragtui.analysis.matrix import read_matrix

        return read_matrix(path) if path.is_file() else None


class RowTally:
    """One run's row from its journal; holds of each case what the cells are made from."""

    def __init__(self, row: RowNow) -> None:
        self._row = row
        self._started: RunStarted | None = None
        self._traces: list[CaseTrace] = []
        self._over: RunFinished | None = None

    def add(self, event: RunEvent) -> None:
        """Take one event."""
        if isinstance(event, RunStarted):
            self._started, self._traces, self._over = event, [], None
        elif isinstance(event, CaseFinished):
            self._traces.append(_slim(event.trace))
        elif isinstance(event, RunFinished):
            self._over = event

    def end(self) -> None:
        """Nothing more comes; the store tells how it ended."""

    def view(self) -> RowNow | None:
        """The row so far; None before the run's first event."""
        from ragtui.analysis.matrix import matrix_row
        from ragtui.analysis.recorded import RecordedRun

        started = self._started
        if started is None:
            return None
        run = RecordedRun(
            run_id=started.run_id, spec_id=started.spec_id, status="running", tier=started.tier,
            specification=started.specification, measures=started.measures, cases=started.cases,
            traces=tuple(self._traces),
        )  # fmt: skip
        state: State = "running" if self._over is None else "done" if self._over.status == "completed" else "stopped"
        return _of(matrix_row(run, self._row.model, self._row.plan), state, len(self._traces))


def _slim(trace: CaseTrace) -> CaseTrace:
    """What a cell needs: scores, and whether the answer passed."""
    answer = trace.answered
    if answer is not None:
        answer = msgspec.structs.replace(
            answer, messages=(), context=[], dropped=[], text="", thinking="", rewrite=None, judge=None
        )
    return msgspec.structs.replace(
        trace, channels={}, fused=None, floor=None, collapse=None, results=Hits([], []), notes=[], timings={},
        answer=msgspec.UNSET if answer is None else answer,
    )  # fmt: skip


def _of(row: MatrixRow, state: State, done: int) -> RowNow:
    return RowNow(
        model=row.model, plan=row.plan, run_id=row.run_id, state="failed" if row.error else state, done=done,
        total=row.cases, errors=row.errors, cells=row.cells, error=row.error,
    )  # fmt: skip


def _same(table: Matrix, rows: tuple[tuple[str, str, str], ...]) -> bool:
    """Whether a finished table is the one that was planned so: a row that failed before its run has no run's id."""
    return len(table.rows) == len(rows) and all(
        (made.model, made.plan) == (model, plan) and made.run_id in (run_id, "")
        for made, (model, plan, run_id) in zip(table.rows, rows, strict=True)
    )


def _view_of(table: Matrix, source: Literal["latest", "promoted"]) -> MatrixView:
    return MatrixView(
        rows=tuple(_of(row, "done", row.cases) for row in table.rows),
        modes=tuple(table.modes),
        limit=table.limit,
        made_at=table.made_at,
        live=False,
        source=source,
        table=table,
    )
