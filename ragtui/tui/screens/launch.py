"""The launch screen: a plan, what it means here, and the start of a run."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from ragtui.errors import RagtuiError
from ragtui.tui.data.form import Field, Form, base_plan, fields_of
from ragtui.tui.data.launch import Preview, preview
from ragtui.tui.data.launch_answers import RETRIEVAL
from ragtui.tui.messages import Loaded, ShowTier
from ragtui.tui.screens import launch_text
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.launch_form import (
    REMEMBERED,
    answer_rows,
    first_rows,
    last_row,
    plan_rows,
    show_tier,
    widget_id,
    written,
)
from ragtui.tui.screens.launch_keys import LAUNCH_KEYS
from ragtui.tui.screens.launch_spending import Spending
from ragtui.tui.screens.matrix import open_matrix
from ragtui.tui.widgets.fields import Choice, FieldScroll, TextField
from ragtui.tui.widgets.pane import pane
from ragtui.tui.widgets.rows import Column, RowList

_TYPING_SECONDS = 0.15


class LaunchScreen(Spending):
    """A form at the left, its meaning at the right."""

    MODE = "launch"
    TITLE_WORDS = "Launch"
    CSS_PATH = "launch.tcss"
    HELP = """Choose a plan and edit it; the right side says what it means in this workspace: its fingerprint, how often
    it has run, what differs from the baseline, what it takes. ctrl+r starts it as a process of its own, exactly what
    the command shown would start. The tier says whether a model answers too: which one, with which context, how often,
    who judges, what may be spent; or whether several models are measured against each other in a matrix. Before a
    model is asked, calls, prompt tokens and cost are counted as `--dry-run` does.
    Up and down move between fields, left and right change a choice."""
    BINDINGS: ClassVar[list[Any]] = LAUNCH_KEYS

    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, Field] = {}
        self._timer: Timer | None = None
        self._wanted: Form | None = None
        self._building = True
        self._first_plan = ""

    # -- layout -------------------------------------------------------------------------------------------------------

    def compose_body(self) -> ComposeResult:
        """Form, summary, manifest."""
        self._first_plan, first = first_rows(self.ragtui.workspace, self.ragtui.memory)
        manifest = RowList(
            (Column("field"), Column("value", 12, wide=28)),
            id="manifest",
            cursor=False,
            head=False,
            help_text="The canonical specification, field by field. Its hash is the fingerprint.",
        )
        summary = Static("Reading the workspace…", id="summary", markup=False)
        with Horizontal(id="columns"):
            yield pane(
                "Plan",
                FieldScroll(first, id="form"),
                Button("Start  ctrl+r", id="start", variant="primary", compact=True, disabled=True),
                id="form-pane",
            )
            with Vertical(id="right"):
                yield pane("This run", VerticalScroll(summary, id="summary-scroll"), id="summary-pane")
                yield pane("Manifest", manifest, id="manifest-pane")

    def on_mount(self) -> None:
        """The plan's own fields, and what it means, follow the first picture."""
        self.query_one("#plan").focus()
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        """The rest of the form; what belongs to models comes last where the tier does not show it."""
        form, shown = self.query_one("#form"), self.query_one("#tier", Choice).value != RETRIEVAL
        if shown:
            await self._fill_answers()
        await form.mount_all([Vertical(*self._rows_of(self._first_plan), id="fields"), last_row()])
        self.call_after_refresh(self._filled if shown else self._fill_hidden)

    async def _fill_hidden(self) -> None:
        await self._fill_answers("#fields")
        self._filled()

    async def _fill_answers(self, before: str | None = None) -> None:
        rows = answer_rows(self.ragtui.workspace, self.ragtui.memory)
        await self.query_one("#form").mount(rows, before=before)
        # The tier may have been changed before the rows were there.
        show_tier(rows, rows.children, self.query_one("#tier", Choice).value)

    def _filled(self) -> None:
        if not self.query("#repeats"):
            # The screen is being closed, so nothing was mounted any more.
            return
        self._building = False
        self.refresh_data()

    def on_resize(self) -> None:
        """More room, wider fields."""
        self.set_class(self.size.width >= 110, "-wide")
        if self.shown is not None:
            self.call_after_refresh(self._show, self.shown)

    def _rows_of(self, name: str) -> list[Widget]:
        """The rows of a plan's own fields, fresh; none for a plan that cannot be read."""
        try:
            plan, _ = base_plan(name)
        except RagtuiError:
            self._fields = {}
            return []
        self._fields = {widget_id(field.path): field for field in fields_of(plan)}
        return plan_rows(plan, self._fields)

    def _build_fields(self) -> None:
        """Put the fields of the plan that is chosen in place of the last one's."""
        self._building = True
        box = self.query_one("#fields", Vertical)
        rows = self._rows_of(self.query_one("#plan", Choice).value)

        async def swap() -> None:
            await box.remove_children()
            await box.mount_all(rows)
            self._building = False
            self._changed()

        self.call_later(swap)

    # -- from texts to a plan -----------------------------------------------------------------------------------------

    def form(self) -> Form:
        """What is written now."""
        return written(self, self._fields)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._changed()

    @on(Choice.Changed)
    def _chosen(self, message: Choice.Changed) -> None:
        if message.choice.id == "plan":
            self._build_fields()
            return
        if message.choice.id == "tier":
            for box in self.query("#answers"):
                show_tier(box, box.children, message.value)
        self._changed()

    def _changed(self) -> None:
        """Ask what the form means, a moment after the last change."""
        if self._building:
            return
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_TYPING_SECONDS, self.refresh_data)

    def refresh_data(self) -> None:
        """Ask what the form means."""
        if self._building:
            return
        form, lab = self.form(), self.ragtui.lab
        self.fetch("preview", lambda: preview(lab, form))

    def on_loaded(self, message: Loaded) -> None:
        """Show what the form means, if it is still what is written."""
        if message.topic == "saved":
            self.toast(message.value, seconds=12)
            return
        if message.topic == "estimate":
            self.got_estimate(message.value)
            return
        found: Preview = message.value
        if found.form != self.form():
            return
        self.shown = found
        self.ask_estimate(found)
        self._show(found)
        if self._wanted == found.form:
            self.action_start()

    def show_again(self) -> None:
        """What was counted came after the preview."""
        if self.shown is not None:
            self._show(self.shown)

    def _show(self, found: Preview) -> None:
        self.query_one("#summary", Static).update(
            launch_text.summary(
                found,
                self.query_one("#summary-scroll").scrollable_content_region.width,
                self.spending(found),
            )
        )
        self.query_one("#start", Button).disabled = bool(found.faults)
        manifest = self.query_one("#manifest", RowList)
        manifest.empty = "Without a valid plan there is none." if found.faults else ""
        manifest.set_rows(launch_text.leaf_rows(found))
        self.query_one("#manifest-pane").border_subtitle = found.spec_id.removeprefix("sha256:")[:24]
        wrong = {path for path, _ in found.faults}
        for widget in self.query("Choice, TextField"):
            field = self._fields.get(widget.id or "")
            widget.set_class((field.path if field else widget.id) in wrong, "-wrong")
        self.state_line(launch_text.state(found))
        self.refresh_bindings()

    # -- actions ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A faulty plan can be neither started nor saved."""
        if action in ("start", "save", "copy"):
            # A matrix is many specifications, so there is none to save.
            able = self.shown is not None and not self.shown.faults
            if action == "start" and not able and self.shown is not None and not self._building:
                # What mends the plan may have been typed already.
                return self.shown.form != self.form()
            return able and (action != "save" or not (self.shown is not None and self.shown.rows))
        if action == "estimate":
            return self.shown is not None and not self.shown.faults and self.shown.asks
        return True

    @on(Button.Pressed, "#start")
    def _pressed(self) -> None:
        self.action_start()

    def action_start(self) -> None:
        """Start what is shown, or, where more is written than that, what is written once it is checked."""
        found, self._wanted = self.shown, None
        if self._building:
            self.toast("The form is still being filled.")
            return
        if found is None or found.form != self.form():
            self._wanted = self.form()
            self.refresh_data()
            self.toast("Checking what was typed; it starts then.")
            return
        if found.faults:
            self.toast("The plan has faults.", "warning")
            return
        memory = self.ragtui.memory
        for key in ("plan", *REMEMBERED):
            memory.set(f"launch.{key}", getattr(found.form, key))
        self.ragtui.start_process(found.arguments)
        if found.rows and isinstance(self.app.screen, RagtuiScreen):
            open_matrix(self.app.screen)

    def on_show_tier(self, message: ShowTier) -> None:
        """Another screen sends here for a run of this tier."""
        choice = self.query_one("#tier", Choice)
        if choice.value != message.tier:
            choice.value = message.tier
            choice.post_message(Choice.Changed(choice, message.tier))
        choice.focus()

    def action_save(self) -> None:
        """Write the specification beside the plans."""
        from ragtui.tui.data.specfile import save_specification

        found, workspace = self.shown, self.ragtui.workspace
        if found is not None and not found.faults:
            self.fetch("saved", lambda: save_specification(workspace, found))

    def action_copy(self) -> None:
        """Copy the command line."""
        from ragtui.tui.process import shell_command

        if self.shown is not None:
            self.ragtui.copy(shell_command(self.ragtui.workspace, self.shown.arguments))

    def action_reset(self) -> None:
        """The plan as it is in its preset or file, over the suite core."""
        for name in ("name", "suites", "tags", "limit", "extra"):
            self.query_one(f"#{name}", TextField).value = ""
        self._build_fields()

    def action_focus_next_field(self) -> None:
        """Down."""
        self.focus_next()

    def action_focus_previous_field(self) -> None:
        """Up."""
        self.focus_previous()

    def action_leave_field(self) -> None:
        """To the manifest, where letters are keys."""
        self.query_one("#manifest").focus()
