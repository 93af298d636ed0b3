"""By mode: a recorded run's measures in each context, their differences, and what each golden's outcome means."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding

from ragtui.tui.data.by_mode import ByMode, by_mode
from ragtui.tui.data.trace import Label
from ragtui.tui.messages import Failed, Loaded
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.over import OverScreen, over_keys
from ragtui.tui.widgets.by_mode_rows import WIDE, outcome_key, sections
from ragtui.tui.widgets.cells import Column
from ragtui.tui.widgets.picker import Picker, plain_rows
from ragtui.tui.widgets.section_list import SectionList
from ragtui.tui.widgets.text import inert, plural

_INCOMPLETE = "The retriever or the model? That takes the modes oracle, e2e and noretrieval in one run (--all-modes)."


class ByModeScreen(OverScreen):
    """Over the trace screen; a golden of an outcome is opened there."""

    TITLE_WORDS = "By mode"
    HELP = """Is it the retriever or the model? The run's measures with the right documents (oracle), with what was
        found (e2e) and with nothing (noretrieval); the differences paired golden by golden, with 95 % intervals, over
        all goldens and by tag; and the eight outcomes: enter lists an outcome's goldens, and opens one. What a judge
        says stands apart: it enters no gate unless named. Intervals are short where it is narrow: .74–.87."""
    LIST_HELP = "Measures, differences by tag, outcomes, unstable goldens, the judge, what it took. Tab: the next part."
    BINDINGS: ClassVar[list[Any]] = [
        *over_keys("bymode"),
        Binding("y", "copy", "Copy", id="bymode.copy", tooltip="Copy all the tables as text."),
    ]

    def __init__(self, run_id: str, store: Label) -> None:
        super().__init__()
        self._run_id, self._store = run_id, store
        self.found: ByMode | None = None

    def on_mount(self) -> None:
        """Read the run."""
        self.listing.focus()
        self._show()
        self.refresh_data()

    def refresh_data(self) -> None:
        """Read the run again."""
        self.fetch("by_mode", partial(by_mode, self.ragtui.lab, self._run_id, self._store))

    def on_loaded(self, message: Loaded) -> None:
        """Keep and show."""
        self.found = message.value
        self._show()

    def failed(self, message: Failed) -> None:
        """A run that cannot be read leaves nothing to show."""
        app, error = self.ragtui, message.error
        self.dismiss()
        app.call_later(app.show_error, error)

    def on_resize(self) -> None:
        """More room, whole intervals."""
        self._show()

    def _show(self) -> None:
        title = Text(" By mode ", style="bold", end="", no_wrap=True).append(f" run {self._run_id} ", "not bold")
        found = self.found
        if found is None:
            self.titled(title.append(" reading …", "dim"))
            self.headed(Text())
            return
        title.append_text(inert(found.name or "unnamed", width=24)).append("  ").append_text(inert(found.model, "dim"))
        self.titled(title.append(f"  {plural(found.repeats, 'repeat')}", "dim"))
        told = found.decomposition.findings if found.decomposition is not None else (_INCOMPLETE,)
        head = Text("\n", end="").join(inert_line(f"• {finding}") for finding in told)
        if found.judged is not None:
            judged = found.judged
            failures = ", ".join(f"{count} {kind}" for kind, count in judged.failures.items())
            line = f"• judge {judged.judge}, rules {judged.version}: {judged.judged} of {judged.asked} answers judged"
            head.append("\n").append_text(inert_line(line + (f" ({failures})" if failures else "")))
        self.headed(head)
        self.listing.show(sections(found, self.app.size.width >= WIDE), keep_cursor=True)

    def on_section_list_moved(self, message: SectionList.Moved) -> None:
        """Tell what a narrow list cuts off."""
        cells = [cell.plain for cell in message.row.cells if cell.plain]
        self.state_line("   ".join([message.row.key, *cells[1:]] if message.section != "outcomes" else cells))

    def on_section_list_chosen(self, message: SectionList.Chosen) -> None:
        """The goldens of an outcome, or a golden that is unstable."""
        if message.section == "unstable":
            self._open(message.row.key)
        elif message.section == "outcomes" and self.found is not None and self.found.decomposition is not None:
            for row in self.found.decomposition.outcomes:
                if outcome_key(row.oracle, row.e2e, row.noretrieval) == message.row.key:
                    self._choose(row.meaning, row.goldens)
        else:
            self.toast("Enter opens the goldens of an outcome, and those that are unstable.")

    def _choose(self, meaning: str, goldens: tuple[str, ...]) -> None:
        if not goldens:
            self.toast("No golden has this outcome.")
            return
        rows = plain_rows([(golden, [inert(golden)]) for golden in goldens])
        title = f"{plural(len(goldens), 'golden')}: {meaning.partition(':')[0]}"
        self.app.push_screen(Picker(title, (Column("golden", "golden"),), rows), self._chosen)

    def _chosen(self, golden: str | None) -> None:
        if golden is not None:
            self._open(f"{golden}@e2e#1")

    def _open(self, case_id: str) -> None:
        app, run_id = self.ragtui, self._run_id
        self.dismiss()
        app.call_later(app.open_trace, run_id, case_id)


def inert_line(text: str) -> Text:
    """A sentence that may wrap."""
    return Text(inert(text).plain, end="")


def open_by_mode(screen: RagtuiScreen, run_id: str, store: Label, tier: str) -> None:
    """Open a generation run by mode over a screen; any other is refused there in a sentence."""
    if tier == "generation":
        screen.app.push_screen(ByModeScreen(run_id, store))
    else:
        screen.toast("Only a run of the generation tier has modes; this one ranks documents.", "warning", 10.0)
