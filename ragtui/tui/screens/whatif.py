"""What if: the knobs of a recorded run, and its measures and flips moving with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from ragtui.errors import RagtuiError
from ragtui.tui.data import knobs
from ragtui.tui.data import whatif as data
from ragtui.tui.data.knobs import Knob
from ragtui.tui.data.trace import Label
from ragtui.tui.data.whatif import Answer, WhatIf
from ragtui.tui.messages import Failed, Loaded
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets.frame import KeyBar, StatusLine
from ragtui.tui.widgets.knob_list import WIDE, KnobList, flip_section, knob_section, measure_section, told_measure
from ragtui.tui.widgets.plan_name import NameDialog
from ragtui.tui.widgets.section_list import SectionList
from ragtui.tui.widgets.text import inert, inert_block, plural

if TYPE_CHECKING:
    from ragtui.experiment.plan import Plan

_NOTE = "Not tested statistically. To decide, save the plan, run it and compare."
_BEYOND = "✗ No numbers, for this reaches beyond what was recorded or is no plan:"


class WhatIfScreen(RagtuiScreen, ModalScreen[None]):
    """Over the screen that opened it. One replay is under way at a time; what is turned meanwhile follows it."""

    TITLE_WORDS = "What if"
    HELP = """What would this run have given under other knobs? Everything after the channels' hits is computed again
        from what was recorded: no index, no model. ← and → turn a knob, with shift in large steps; a digit (or enter)
        begins a number and enter sets it; backspace puts one knob back, 0 all of them. ● marks a changed knob, ◆ the
        primary measure, ◇ a guard; ▲ better, ▼ worse, · as much won as lost, = no change. Changes are not tested here:
        save the plan, run it, compare."""
    CSS_PATH = "whatif.tcss"
    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q", "close", "Back", id="whatif.close", tooltip="Back; the knobs are forgotten."),
        Binding("0", "reset_all", "All back", id="whatif.reset_all", tooltip="Every knob as recorded."),
        Binding("s", "save", "Save", id="whatif.save", tooltip="Write the plan as a file for `ragtui run`."),
        Binding("y", "copy", "Copy", id="whatif.copy", tooltip="Copy the command that replays this, with statistics."),
        Binding("question_mark,f1", "app.help", "Help", show=False, id="whatif.help", tooltip="Explain the keys."),
    ]

    def __init__(self, run_id: str, store: Label) -> None:
        super().__init__()
        self._run_id, self._store = run_id, store
        self.found: WhatIf | None = None
        self.plan: Plan | None = None
        self.answer: Answer | None = None
        self._typing: tuple[str, str] | None = None
        self._busy = False

    def compose(self) -> ComposeResult:
        """The frame without the modes: one comes back from here, not elsewhere."""
        yield Static(id="whatif-title", markup=False)
        with Container(id="body"), Vertical():
            with Horizontal(id="whatif-upper"):
                yield KnobList(id="whatif-knobs", help_text="The knobs of the plan, in the order of the stages.")
                yield SectionList(id="whatif-measures", help_text="Each measure as recorded and under these knobs.")
            yield Static(id="whatif-note", markup=False)
            yield SectionList(id="whatif-flips", help_text="The questions that found something and now find nothing, "
                              "or the other way round.")  # fmt: skip
        yield StatusLine()
        yield KeyBar()

    def on_mount(self) -> None:
        """Read the run."""
        self.query_one(KnobList).focus()
        self._show()
        self.fetch("opened", partial(data.open_whatif, self.ragtui.lab, self._run_id, self._store))

    @property
    def _wide(self) -> bool:
        return self.app.size.width >= WIDE

    # -- what workers bring -------------------------------------------------------------------------------------------

    def on_loaded(self, message: Loaded) -> None:
        """Keep and show."""
        getattr(self, f"_got_{message.topic}")(message.value)

    def on_failed(self, message: Failed) -> None:
        """A run that cannot be opened leaves nothing to show."""
        message.prevent_default()
        self._busy = False
        app, opened = self.ragtui, self.found is not None
        if not opened:
            self.dismiss()
        app.call_later(app.show_error, message.error)

    def _got_opened(self, found: WhatIf) -> None:
        self.found, self.plan = found, found.plan
        self._show()
        self._ask()
        self._tell_knob()

    def _got_answer(self, answer: Answer) -> None:
        self._busy = False
        self.answer = answer
        self._show_answer()
        self._ask()

    def _ask(self) -> None:
        """Replay the present knobs unless a replay is under way or has answered for them."""
        if self.found is None or self.plan is None or self._busy:
            return
        if self.answer is None or self.answer.plan != self.plan:
            self._busy = True
            self.fetch("answer", partial(self.found.answer, self.plan))

    # -- knobs --------------------------------------------------------------------------------------------------------

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """The knobs as they stand; empty until the run is read."""
        if self.found is None or self.plan is None:
            return ()
        return knobs.knobs_of(self.found.plan, self.plan, self.found.ranges)

    def _knob(self, key: str) -> Knob | None:
        return next((knob for knob in self.knobs if knob.key == key), None)

    def _set(self, plan: Plan) -> None:
        self.plan = plan
        self._show()
        self._tell_knob()
        self._ask()

    def on_knob_list_turned(self, message: KnobList.Turned) -> None:
        """A step."""
        knob = self._knob(self.query_one(KnobList).key)
        if knob is None or self.found is None or self.plan is None:
            return
        if knob.fixed:
            self.toast(knob.fixed)
            return
        value = knobs.moved(knob, knobs.read(self.plan, knob), message.by, large=message.large)
        self._set(knobs.write(self.found.plan, self.plan, knob, value))

    def on_knob_list_typed(self, message: KnobList.Typed) -> None:
        """Show what is being typed, or set it."""
        knob = self._knob(message.key)
        self._typing = None
        if knob is None or self.found is None or self.plan is None:
            return
        if not message.done and not knob.choices and not knob.fixed:
            self._typing = (message.key, message.text or "")
            self.state_line(f"{knob.label}: enter sets the number, escape leaves it.")
        elif not message.done:
            self.query_one(KnobList).typing = None
            self.toast(knob.fixed or f"{knob.label} is one of {', '.join(knob.choices)}: turn it with ← and →.")
        elif message.text is not None:
            try:
                self.plan = knobs.write(self.found.plan, self.plan, knob, knobs.typed(knob, message.text))
            except RagtuiError as error:
                self.toast(f"{error.message} {error.hint}", "error")
        if message.done:
            self._tell_knob()
        self._show()
        self._ask()

    def on_knob_list_reset(self) -> None:
        """One knob as recorded."""
        knob = self._knob(self.query_one(KnobList).key)
        if knob is not None and self.found is not None and self.plan is not None:
            self._set(knobs.reset(self.found.plan, self.plan, knob))

    def action_reset_all(self) -> None:
        """All knobs as recorded."""
        if self.found is not None:
            self._set(self.found.plan)

    def on_resize(self) -> None:
        """The knobs take more of a wide screen."""
        self.set_class(self._wide, "-wide")
        self._show()

    # -- showing ------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        title = Text(" What if ", style="bold", end="", no_wrap=True).append(f" run {self._run_id} ", "not bold")
        if self.found is None or self.plan is None:
            title.append(" reading …", "dim")
        else:
            changed = len(data.settings_of(self.found.plan, self.plan))
            title.append_text(inert(self.found.run.provenance.name or "unnamed", width=24))
            title.append(f"   {plural(len(self.found.recording.cases), 'case')}", "dim")
            if changed:
                title.append(f"   ● {plural(changed, 'change')}", "bold")
            else:
                title.append("   as recorded", "dim")
            section = knob_section(self.knobs, self.found.plan, self.plan, self._typing, self._wide)
            self.query_one(KnobList).show([section], keep_cursor=True)
        self.query_one("#whatif-title", Static).update(title)
        if self.answer is None:
            self._show_answer()

    def _show_answer(self) -> None:
        answer = self.answer
        reasons = answer.reasons if answer is not None else ()
        relevance = answer.plan.metrics.relevance if answer is not None else 1
        note = self.query_one("#whatif-note", Static)
        note.set_class(bool(reasons), "-beyond")
        note.update(inert_block("\n".join([_BEYOND, *(f"  {reason}" for reason in reasons)]) if reasons else _NOTE))
        self.query_one("#whatif-measures", SectionList).show([measure_section(answer, relevance)], keep_cursor=True)
        self.query_one("#whatif-flips", SectionList).show([flip_section(answer)], keep_cursor=True)

    def on_section_list_moved(self, message: SectionList.Moved) -> None:
        """Tell what a narrow list cuts off."""
        if message.section == "knobs":
            self._tell_knob()
        elif message.section == "measures" and self.answer is not None:
            self.state_line(told_measure(message.row.key, self.answer.changes[message.row.key]))
        else:
            cells = [cell.plain.strip() for cell in message.row.cells]
            self.state_line(f"{cells[1]}  {cells[2]}: {cells[0]}")

    def _tell_knob(self) -> None:
        knob = self._knob(self.query_one(KnobList).key)
        if knob is None or self.found is None:
            return
        was = knobs.shown(knobs.read(self.found.plan, knob))
        if knob.fixed:
            self.state_line(f"{knob.label}: {knob.fixed}")
        elif knob.choices:
            self.state_line(f"{knob.label}: {', '.join(knob.choices)}; recorded {was}")
        else:
            self.state_line(
                f"{knob.label}: recorded {was}; ←→ by {knobs.shown(knob.step)}, with shift by "
                f"{knobs.shown(knob.large)}, from {knobs.shown(knob.low)} to {knobs.shown(knob.high)}"
            )

    # -- keeping ------------------------------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Back to where one came from."""
        self.dismiss()

    def action_copy(self) -> None:
        """Copy the command."""
        line = data.command_line(self.found, self.plan) if self.found is not None and self.plan is not None else ""
        if line:
            self.ragtui.copy(line)
        else:
            self.toast("Nothing is changed, so there is nothing to replay.")

    def action_save(self) -> None:
        """Ask for a name, then write."""
        if self.found is None or self.plan is None:
            return
        found, plan, workspace = self.found, self.plan, self.ragtui.workspace

        def named(name: str | None) -> None:
            if name is not None:
                self.fetch("saved", partial(data.save_plan, workspace, found, plan, name))

        self.app.push_screen(NameDialog(f"{found.run.provenance.name or 'plan'}-whatif"), named)

    def _got_saved(self, words: str) -> None:
        self.toast(words, seconds=12.0)


def open_whatif(screen: RagtuiScreen, run_id: str, store: Label, tier: str) -> None:
    """Open the what-if of a run over a screen; a generation run is refused there in a sentence."""
    try:
        data.refuse_generation(tier)
    except RagtuiError as error:
        screen.toast(f"{error.message} {error.hint}", "warning", 10.0)
        return
    screen.app.push_screen(WhatIfScreen(run_id, store))
