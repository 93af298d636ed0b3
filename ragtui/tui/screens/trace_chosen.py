"""The half of the trace screen that does something with the run or the case that is looked at."""

from __future__ import annotations

from functools import partial
from typing import Literal

from ragtui.tui.data import documents
from ragtui.tui.data import trace as data
from ragtui.tui.data.trace import RunLine, RunView
from ragtui.tui.screens.trace_answers import Answers
from ragtui.tui.screens.whatif import open_whatif
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.stage_grid import StageGrid

Level = Literal["runs", "cases", "case"]


class Chosen(Answers):
    """Manifest, comparison, what-if, copy and export of what is open or under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.level: Level = "runs"
        self.lines: tuple[RunLine, ...] = ()

    def _line(self) -> RunLine | None:
        table = self.query_one("#trace-runs", LazyTable)
        return self.lines[table.cursor] if table.cursor < len(self.lines) else None

    def action_manifest(self) -> None:
        """Show what produced the run."""
        if self.level != "runs" and self.view is not None:
            self._got_manifest(self.view)
        elif (line := self._line()) is not None:
            self.fetch("manifest", partial(data.open_run, self.ragtui.lab, line.row.run_id, line.store))

    def _got_manifest(self, view: RunView) -> None:
        self.app.push_screen(DocumentDialog(f"Manifest of {view.record.run_id}", documents.manifest(view.record)))

    def chosen(self) -> tuple[str, data.Label, str] | None:
        """Id, store and tier of the run that is open or under the cursor."""
        if self.level != "runs" and self.view is not None:
            return self.view.record.run_id, self.view.store, self.view.record.tier
        line = self._line()
        return None if line is None else (line.row.run_id, line.store, line.row.tier)

    def action_diff(self) -> None:
        """Compare with the baseline."""
        if (run := self.chosen()) is not None:
            self.ragtui.open_diff(None, run[0])

    def action_whatif(self) -> None:
        """Turn the run's knobs."""
        if (run := self.chosen()) is not None:
            open_whatif(self, *run)

    def action_copy(self) -> None:
        """Copy what is under the cursor."""
        text = self._under_cursor()
        if text:
            self.ragtui.copy(text)
        else:
            self.toast("Nothing is under the cursor.")

    def _under_cursor(self) -> str:
        if self.level == "runs":
            line = self._line()
            return line.row.run_id if line is not None else ""
        if self.level == "cases":
            table = self.query_one(CasesPane).table
            row = table.row_at(table.cursor)
            return row.key if row is not None else ""
        view, hit = self.query_one(CasePane).view, self.query_one(StageGrid).hit
        if view is None:
            return ""
        chunk = view.chunks.get(hit.ordinal) if hit is not None else None
        return f"{chunk.name}\n{chunk.text}" if chunk is not None else view.case.id

    def action_export(self) -> None:
        """Write the case."""
        view = self.query_one(CasePane).view
        if self.view is not None and view is not None:
            store, folder = data.store_named(self.ragtui.lab, self.view.store), self.ragtui.workspace.state / "exports"
            self.fetch("export", partial(documents.export_case, store, self.view.record, view.case.id, folder))
