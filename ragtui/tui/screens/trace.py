"""The trace screen: runs, the cases of a run, one case stage by stage."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from ragtui.tui.data import trace as data
from ragtui.tui.data.case import CaseView
from ragtui.tui.data.trace import CaseOrder, CaseQuery, RunLine
from ragtui.tui.messages import Failed, Loaded, ShowRun
from ragtui.tui.screens.trace_chosen import Chosen, Level
from ragtui.tui.screens.trace_filters import TRACE_KEYS
from ragtui.tui.widgets import cases_pane
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.run_rows import RUN_COLUMNS, run_rows
from ragtui.tui.widgets.text import STATUS_GLYPHS, inert

BESIDE = 160
_TYPING = 0.15
_MOVING = 0.08
_NO_RUN = "No run is recorded yet. Press 2 to launch one, or leave and type: ragtui run hybrid"


class TraceScreen(Chosen):
    """Three levels deep; `enter` goes in, `escape` comes out. On a wide screen the cases stay beside the case."""

    MODE = "trace"
    TITLE_WORDS = "Trace"
    HELP = """What happened: choose a run, then a case, then look at it stage by stage. Cases are narrowed by words, tag
        and outcome, and sorted by any measure. A case shows each channel's hits side by side, what fusion and the later
        stages made of them, the text of the chunk under the cursor, and where the gold was lost. In a run that asks a
        model, a shows the answer with its prompt, and o the golden in every mode, side by side."""
    CSS_PATH = "trace.tcss"
    BINDINGS: ClassVar[list[Any]] = TRACE_KEYS

    def __init__(self) -> None:
        super().__init__()
        self.order: CaseOrder | None = None

    def compose_body(self) -> ComposeResult:
        """The levels beside each other; which ones are seen depends on where one is, and on the width."""
        yield Static(id="trace-where", markup=False)
        with Horizontal(id="trace-levels"):
            yield LazyTable(
                RUN_COLUMNS, empty="Reading the runs …", id="trace-runs",
                help_text="Recorded runs, newest first. Enter opens one. ★: a baseline; gen: of the generation tier.",
            )  # fmt: skip
            yield CasesPane(id="trace-cases")
            yield CasePane(id="trace-case")

    def on_mount(self) -> None:
        """Read the runs."""
        self.remembered()
        self._go("runs")
        self.refresh_data()

    def refresh_data(self) -> None:
        """Read the runs again, and the open run's cases."""
        self.fetch("runs", partial(data.run_lines, self.ragtui.lab))
        if self.view is not None:
            self.ask_order(keep=True)

    # -- levels -------------------------------------------------------------------------------------------------------

    def _go(self, level: Level) -> None:
        self.level = level
        beside = self.app.size.width >= BESIDE
        self.query_one("#trace-runs").display = level == "runs"
        self.query_one("#trace-cases").display = level == "cases" or (level == "case" and beside)
        self.query_one("#trace-case").display = level == "case" or (level == "cases" and beside)
        focus = {"runs": "#trace-runs", "cases": "#case-rows", "case": "#case-grid"}[level]
        self.query_one(focus).focus()
        self._where()
        self.refresh_bindings()

    def on_resize(self, event: events.Resize) -> None:
        """What stands beside depends on the width."""
        if self.focused is not None and self.focused.id != "case-filter":
            self._go(self.level)

    def _where(self) -> None:
        line = Text("Runs", end="", no_wrap=True, style="bold" if self.level == "runs" else "dim")
        if self.level == "runs":
            line.append(f"   {len(self.lines):,}", "not bold dim")
        if self.level != "runs" and self.view is not None:
            record = self.view.record
            line.append(" › ", "dim").append(
                f"{STATUS_GLYPHS[record.status]} {record.run_id} ", "not dim bold" if self.level == "cases" else ""
            )
            line.append_text(inert(record.provenance.name or "unnamed", width=30))
            case = self.query_one(CasePane).view
            if self.level == "case" and case is not None:
                line.append(" › ", "dim").append_text(inert(case.case.id, "not dim bold"))
                table = self.query_one(CasesPane).table
                line.append(f"   {table.cursor + 1:,} of {table.count:,}", "dim")
        self.query_one("#trace-where", Static).update(line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is possible on this level."""
        if action in ("filter", "which", "tag", "sort", "clear"):
            return self.level == "cases"
        if action in ("step", "export"):
            return self.level == "case"
        if action == "back":
            return self.level != "runs"
        if action in ("answer", "modes"):
            return self.level == "case" and self.view is not None and self.view.record.tier == "generation"
        if action == "by_mode":
            return (run := self.chosen()) is not None and run[2] == "generation"
        if action in ("manifest", "diff", "whatif"):
            return self.level != "runs" or bool(self.lines)
        return True

    def action_back(self) -> None:
        """One level out; from the words of the filter to the cases."""
        if self.focused is not None and self.focused.id == "case-filter":
            self.query_one(CasesPane).table.focus()
        elif self.level == "case":
            self._go("cases")
        elif self.level == "cases":
            self._go("runs")

    # -- what workers bring -------------------------------------------------------------------------------------------

    def on_loaded(self, message: Loaded) -> None:
        """Keep and show."""
        getattr(self, f"_got_{message.topic}")(message.value)

    def on_failed(self, message: Failed) -> None:
        """Where nothing can be shown, the reason stands in its place; otherwise a dialog."""
        message.prevent_default()
        if message.topic == "runs":
            table = self.query_one("#trace-runs", LazyTable)
            table.empty = inert(f"✗ {message.error.message} {message.error.hint} ctrl+l tries again.").plain
            table.reset(0)
            return
        self.query_one(CasesPane).table.unanswered()
        self.ragtui.show_error(message.error)

    def _got_runs(self, lines: tuple[RunLine, ...]) -> None:
        self.lines = self.ragtui.runs = lines
        table = self.query_one("#trace-runs", LazyTable)
        table.empty = _NO_RUN
        table.reset(len(lines), keep_cursor=True)
        self._where()
        self.refresh_bindings()

    def _got_run(self, found: data.Opened) -> None:
        self.view, self.query_wanted, self.order = found.view, found.query, found.order
        self.query_one("#case-filter", Input).value = self.query_wanted.text
        self._show_list(keep=False)
        table = self.query_one(CasesPane).table
        if found.case is not None:
            # The list stands on the case that was asked for, so that no other one is fetched in its place.
            table.go(found.order.indexes.tolist().index(found.case.index))
        if found.page:
            table.put(table.generation, 0, cases_pane.rows(found.view, found.page))
        if found.case is not None:
            self._got_case(found.case)
        self._go("cases" if found.case is None else "case")

    def _got_order(self, found: tuple[CaseOrder, bool]) -> None:
        self.order, keep = found
        self._show_list(keep=keep)

    def _show_list(self, keep: bool) -> None:
        assert self.view is not None
        assert self.order is not None
        self.query_one(CasesPane).show(self.view, self.query_wanted, self.order, keep_cursor=keep)

    def _got_page(self, found: tuple[int, int, list[Any]]) -> None:
        generation, offset, page = found
        if self.view is not None:
            self.query_one(CasesPane).table.put(generation, offset, cases_pane.rows(self.view, page))

    def _got_case(self, view: CaseView) -> None:
        assert self.view is not None
        self.query_one(CasePane).show(view, self.view.decisive)
        self._where()

    def _got_export(self, path: Path) -> None:
        root = self.ragtui.workspace.root
        self.toast(f"Written to {path.relative_to(root) if path.is_relative_to(root) else path}.")

    # -- runs and cases -----------------------------------------------------------------------------------------------

    def on_show_run(self, message: ShowRun) -> None:
        """Another screen sends here."""
        self._open(message.run_id, None, message.case_id)

    def _open(self, run_id: str, label: data.Label | None, case_id: str | None = None) -> None:
        wanted = self.query_wanted if case_id is None else CaseQuery()
        self.fetch("run", partial(data.enter_run, self.ragtui.lab, run_id, label, wanted, case_id))

    def on_lazy_table_rows_wanted(self, message: LazyTable.RowsWanted) -> None:
        """Runs are here; cases come from the store."""
        if message.table.id == "trace-runs":
            lines = self.lines[message.offset : message.offset + message.limit]
            message.table.put(message.generation, message.offset, run_rows(lines))
        elif self.view is not None and self.order is not None:
            lab, view = self.ragtui.lab, self.view
            generation, offset = message.generation, message.offset
            indexes = self.order.indexes[offset : offset + message.limit].tolist()
            self.fetch("page", lambda: (generation, offset, data.case_page(lab, view, indexes)))

    def on_lazy_table_chosen(self, message: LazyTable.Chosen) -> None:
        """Go in."""
        if message.table.id == "trace-runs":
            line = self.lines[message.index]
            self._open(line.row.run_id, line.store)
        else:
            self._fetch_case(message.row.key)
            self._go("case")

    def on_lazy_table_moved(self, message: LazyTable.Moved) -> None:
        """A case that stands beside its list follows the cursor, once it rests."""
        if message.table.id == "trace-runs":
            self.refresh_bindings()
        if message.table.id == "case-rows" and message.row is not None:
            self.state_line(cases_pane.told(message.row))
        if message.table.id == "case-rows" and message.row is not None and self.query_one("#trace-case").display:
            self.after(_MOVING, partial(self._fetch_case, message.row.key))

    def _fetch_case(self, case_id: str) -> None:
        if self.view is not None:
            self.fetch("case", partial(data.open_case, self.ragtui.lab, self.view, case_id))

    def open_mode(self, case_id: str) -> None:
        """Another mode of the golden that is shown."""
        self._fetch_case(case_id)

    def action_step(self, by: int) -> None:
        """The case above or below in the list."""
        table = self.query_one(CasesPane).table
        table.go(table.cursor + by)
        if (row := table.row_at(table.cursor)) is not None:
            self._fetch_case(row.key)
