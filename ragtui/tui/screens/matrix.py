"""The matrix: which model can what. Its cells fill while the runs behind its rows go on."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from rich.text import Text
from textual.binding import Binding
from textual.worker import get_current_worker

from ragtui.errors import RagtuiError
from ragtui.store.journal import journal_path, request_cancel
from ragtui.tui.data.matrix import MatrixReader, MatrixView, RowNow, RowTally
from ragtui.tui.follow import follow_run
from ragtui.tui.messages import Failed, LiveChanged, LiveMoved, Loaded, RunEnded
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.over import OverScreen, over_keys
from ragtui.tui.widgets.by_mode_rows import WIDE
from ragtui.tui.widgets.matrix_rows import sections, told
from ragtui.tui.widgets.section_list import Section, SectionList
from ragtui.tui.widgets.text import inert, inert_block, when

_LOOK_SECONDS = 1.0
_NOTHING = (
    "There is no matrix yet.\n\n"
    "A matrix runs several models over the same goldens and tells what each can do. "
    "Press n to choose models on the Launch screen, or type elsewhere\n"
    "  ragtui matrix --models mock,local\n"
    "and it appears here by itself."
)
_SOURCES = {"now": "", "latest": "newest", "promoted": "promoted"}


class MatrixScreen(OverScreen):
    """Over any screen. The rows' runs are processes of others; it follows their journals."""

    TITLE_WORDS = "Matrix"
    HELP = """Which model can what: a row a model and plan, a part of the list a mode, a column a measure, and in each
        cell the value, over how many goldens (n), and its 95 % interval. Cells fill while the runs go on: ▶ running, ◌
        waiting, ✓ done, ✗ could not be run, ‖ stopped. The columns are correctness, refusalCorrectness, groundedness,
        leakageRate and unstableRate; the line below tells a row in full. Repeats are averaged before any interval."""
    LIST_HELP = "Rows are models with their plans. Enter opens a row's run on the trace screen. Tab: the next mode."
    BINDINGS: ClassVar[list[Any]] = [
        *over_keys("matrix"),
        Binding("n", "new", "New", id="matrix.new", tooltip="Choose models on the Launch screen for another matrix."),
        Binding("p", "promote", "Promote", id="matrix.promote", tooltip="Keep the table for `ragtui matrix lookup`."),
        Binding("x", "cancel", "Cancel", id="matrix.cancel", tooltip="Ask the run and its matrix to stop."),
        Binding("y", "copy", "Copy", id="matrix.copy", tooltip="Copy the table as text."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.view: MatrixView | None = None
        self._reader: MatrixReader | None = None
        self._rows: dict[str, RowNow] = {}
        self._followed: set[str] = set()
        self._loaded = False

    # -- what comes in ------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Read what there is, and look again every second while something goes on."""
        self.listing.focus()
        self._reader = MatrixReader(self.ragtui.lab)
        self._show()
        self.refresh_data()
        self.set_interval(_LOOK_SECONDS, self._look)

    def refresh_data(self) -> None:
        """Read the table again."""
        if self._reader is not None:
            self.fetch("matrix", self._reader.view)

    def _look(self) -> None:
        if self.view is None or self.view.live:
            self.refresh_data()

    def on_live_changed(self, message: LiveChanged) -> None:
        """A row has begun or ended."""
        self.refresh_data()

    def on_run_ended(self, message: RunEnded) -> None:
        """A process that was started here has ended."""
        self.refresh_data()

    def on_loaded(self, message: Loaded) -> None:
        """Keep, follow what runs, show."""
        if message.topic == "promoted":
            self.toast(message.value, seconds=12)
            return
        self._loaded = True
        self.view = message.value
        for row in self.view.rows if self.view is not None else ():
            if row.state == "running" and row.run_id not in self._followed:
                self._followed.add(row.run_id)
                self._follow(row)
        self._show()

    def failed(self, message: Failed) -> None:
        """A table or a journal that cannot be read: the reason stands in the table's place."""
        self._loaded = True
        if message.topic == "matrix":
            self.headed(inert_block(f"✗ {message.error.message} {message.error.hint}"))
        else:
            self.ragtui.show_error(message.error)

    def _follow(self, row: RowNow) -> None:
        path = journal_path(self.ragtui.workspace.journals, row.run_id)

        def work() -> None:
            worker = get_current_worker()
            try:
                follow_run(path, lambda now: self._moved(row.run_id, now), lambda: worker.is_cancelled, RowTally(row))
            except RagtuiError as error:
                self.post_message(Failed(f"follow {row.run_id}", error))

        self.run_worker(work, name=f"follow {row.run_id}", group=f"follow {row.run_id}", exclusive=True, thread=True)

    def _moved(self, run_id: str, now: RowNow) -> None:
        self.post_message(LiveMoved(run_id, now))

    def on_live_moved(self, message: LiveMoved) -> None:
        """The newest cells of a row."""
        self._rows[message.run_id] = message.view
        self._show()

    # -- showing ------------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """More room, whole intervals."""
        self._show()

    def rows(self) -> tuple[RowNow, ...]:
        """The rows as they stand: the one under way as its journal has it."""
        if self.view is None:
            return ()
        return tuple(
            self._rows.get(row.run_id, row) if row.state in ("running", "waiting") else row for row in self.view.rows
        )

    def _show(self) -> None:
        title = Text(" Matrix ", style="bold", end="", no_wrap=True)
        view = self.view
        self.refresh_bindings()
        if view is None:
            self.titled(title.append(" nothing yet" if self._loaded else " reading …", "not bold dim"))
            self.headed(Text(_NOTHING if self._loaded else "", end=""))
            self.listing.show([])
            return
        rows = self.rows()
        ended = sum(row.state in ("done", "failed") for row in rows)
        glyph = "▶ running" if view.live else "✓ done" if ended == len(rows) else "‖ stopped"
        title.append(f" {glyph} ", "bold").append(f" {ended} of {len(rows)} rows", "not bold")
        title.append(f"   {view.limit} goldens a row" if view.limit else "", "not bold dim")
        title.append(f"   {when(view.made_at)} UTC   {_SOURCES[view.source]}", "not bold dim")
        self.titled(title)
        faults = [f"✗ {row.model} with {row.plan}: {row.error}" for row in rows if row.error]
        self.headed(Text("\n", end="").join(Text(inert(fault).plain, end="") for fault in faults))
        now = sections(msgspec.structs.replace(view, rows=rows), self.app.size.width >= WIDE)
        self.listing.show(now or [Section("none", (), (), "No mode has a cell yet.")], keep_cursor=True)
        self._tell()

    def on_section_list_moved(self, message: SectionList.Moved) -> None:
        """A row in full."""
        self._tell()

    def _tell(self) -> None:
        found = self.listing.under_cursor()
        row = self._row_of(found[1].key) if found is not None else None
        self.state_line(told(row, found[0]) if row is not None and found is not None else "")

    def _row_of(self, key: str) -> RowNow | None:
        name = key.partition(" ")[2]
        return next((row for row in self.rows() if name == (row.run_id or row.model + row.plan)), None)

    # -- actions ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what makes sense for the table as it is."""
        if action == "cancel":
            return self.view is not None and bool(self.view.running)
        if action == "promote":
            return self.view is not None and self.view.table is not None and self.view.source == "latest"
        if action == "copy":
            return self.view is not None
        return True

    def on_section_list_chosen(self, message: SectionList.Chosen) -> None:
        """The run behind a row, once it is recorded."""
        row = self._row_of(message.row.key)
        if row is None or not row.run_id or row.state not in ("done", "stopped"):
            self.toast("Its run can be opened when it has ended.")
            return
        app, run_id = self.ragtui, row.run_id
        self.dismiss()
        app.call_later(app.open_trace, run_id)

    def action_new(self) -> None:
        """To the Launch screen, where models are chosen."""
        from ragtui.tui.data.launch_answers import MATRIX

        app = self.ragtui
        app.memory.set("launch.tier", MATRIX)
        self.dismiss()
        app.call_later(app.launch_tier, MATRIX)

    def action_promote(self) -> None:
        """Keep the table beside the goldens."""
        from ragtui.lab.matrices import promote_matrix

        view, workspace = self.view, self.ragtui.workspace
        if view is None or view.table is None:
            return
        table = view.table

        def promote() -> str:
            return f"Kept as {promote_matrix(workspace, table).relative_to(workspace.root)}."

        self.fetch("promoted", promote)

    def action_cancel(self) -> None:
        """Ask first, then ask the run: its process ends the matrix with it."""
        from ragtui.tui.dialogs import Question

        run_id = self.view.running if self.view is not None else ""

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            try:
                request_cancel(self.ragtui.workspace.journals, run_id)
            except RagtuiError as error:
                self.ragtui.show_error(error)
                return
            self.toast("Asked to stop: it finishes what is in flight and keeps everything.")

        text = (
            f"Run {run_id} finishes what is in flight; the rows after it are not begun.\n\nWhat was answered is kept: "
            "the same matrix started again replays it and asks only for the rest."
        )
        self.app.push_screen(Question("Stop this matrix?", text, "Stop it"), answered)


def open_matrix(screen: RagtuiScreen) -> None:
    """Open the matrix over a screen."""
    screen.app.push_screen(MatrixScreen())
