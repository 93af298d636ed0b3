"""The keys of the diff screen, and the half of it that says which two runs are compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.text import Text
from textual.binding import Binding
from textual.widgets import Static
from textual.worker import get_current_worker

from ragtui.errors import Interrupted, RagtuiError
from ragtui.store.rows import Baseline
from ragtui.tui.data import diff as data
from ragtui.tui.data.diff import DiffView, Pair
from ragtui.tui.data.trace import RunLine
from ragtui.tui.messages import Told
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.whatif import open_whatif
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.picker import Picker
from ragtui.tui.widgets.promote import PromoteDialog
from ragtui.tui.widgets.run_rows import RUN_COLUMNS, run_rows
from ragtui.tui.widgets.text import inert_block


def _key(
    key: str, action: str, words: str, name: str, tooltip: str, shown: str | None = None, show: bool = True
) -> Binding:
    return Binding(key, action, words, show=show, key_display=shown, tooltip=tooltip, id=f"diff.{name}")


DIFF_KEYS: list[Any] = [
    _key("escape,backspace", "back", "Back", "back", "Back to the questions, or to the comparison."),
    _key("b", "base", "Base", "base", "Choose the run to compare with."),
    _key("n", "new", "New", "new", "Choose the run that is judged."),
    _key("x", "swap", "Swap", "swap", "Exchange base and new."),
    _key("p", "promote", "Promote", "promote", "Make the new run the baseline of its corpus and suites."),
    _key("v", "verdict", "Verdict", "verdict", "The verdict with all its reasons and notes."),
    _key("a", "answers", "Answers", "answers", "Both answers whole, side by side, with their patterns marked."),
    _key("right_square_bracket", "step(1)", "Next", "next", "The next question of the list.", "]"),
    _key("left_square_bracket", "step(-1)", "Before", "previous", "The question before in the list.", "[", False),
    _key("o", "trace", "Trace", "trace", "Open the question in the new run on the Trace screen."),
    _key("y", "copy", "Copy", "copy", "Copy the row under the cursor."),
    _key("r", "whatif", "What if", "whatif", "Replay the new run under other weights, depths, floors."),
]


class PairOfRuns(RagtuiScreen):
    """Choosing, exchanging, comparing and promoting."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: tuple[RunLine, ...] = ()
        self.pair: Pair | None = None
        self.view: DiffView | None = None
        self.wanted: tuple[str | None, str | None] = (None, None)

    def show_nothing(self) -> None:
        """There is no comparison to show; a screen lays itself out for that."""

    def say(self, text: str, hint: str = "") -> None:
        """A sentence in the place of results, and what to do."""
        shown = (
            Text().append_text(inert_block(text, "bold" if hint else "")).append("\n\n").append_text(inert_block(hint))
        )
        self.query_one("#diff-empty", Static).update(shown)
        self.view = None
        self.show_nothing()

    def compare(self, base: str | None, new: str | None) -> None:
        """Compare two runs, by their ids; what is None is chosen."""
        self.wanted = (base, new)
        try:
            self.pair = pair = data.choose_pair(self.lines, base, new)
        except RagtuiError as error:
            self.pair = None
            self.say(error.message, error.hint)
            return
        self.say(f"Comparing {pair.base.row.cases:,} and {pair.new.row.cases:,} cases …")
        lab = self.ragtui.lab

        def tell(text: str) -> None:
            if get_current_worker().is_cancelled:
                raise Interrupted("Another pair was chosen.", "")
            self.tell("view", text)

        self.fetch("view", lambda: (data.diff_view(lab, pair, tell), data.open_pair(lab, pair)))

    def on_told(self, message: Told) -> None:
        """How far the reading is."""
        if self.view is None:
            self.query_one("#diff-empty", Static).update(Text(message.text))

    # -- the pair -----------------------------------------------------------------------------------------------------

    def action_base(self) -> None:
        """Choose the base."""
        self._choose("Compare with", lambda run_id: self.compare(run_id, self._side_id("new")), "base")

    def action_new(self) -> None:
        """Choose the run that is judged."""
        self._choose("Judge the run", lambda run_id: self.compare(None, run_id), "new")

    def _choose(self, title: str, then: Callable[[str], None], side: str) -> None:
        picker = Picker(title, RUN_COLUMNS, run_rows(self.lines), self._side_id(side))
        self.app.push_screen(picker, lambda key: then(key) if key is not None else None)

    def _side_id(self, side: str) -> str | None:
        if self.pair is None:
            return self.wanted[side == "new"]
        return (self.pair.base if side == "base" else self.pair.new).row.run_id

    def action_swap(self) -> None:
        """Exchange the two."""
        self.compare(self._side_id("new"), self._side_id("base"))

    def action_whatif(self) -> None:
        """Turn the new run's knobs."""
        if self.pair is not None:
            open_whatif(self, self.pair.new.row.run_id, self.pair.new.store, self.pair.new.row.tier)

    def action_verdict(self) -> None:
        """All reasons and notes."""
        if self.view is not None:
            found = self.view.comparison
            parts = [str(found.verdict), *found.reasons, *(f"note: {note}" for note in found.notes)]
            self.app.push_screen(DocumentDialog("Verdict", "\n\n".join(parts)))

    def action_promote(self) -> None:
        """Ask for name and reason."""
        if self.pair is None:
            return
        row, known = self.pair.new.row, self.pair.base.baseline or "main"
        text = f"Run {row.run_id} ({row.name or 'unnamed'}) becomes the baseline of its corpus and suites."
        lab = self.ragtui.lab

        def done(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                self.fetch("promoted", partial(data.promote, lab, row.run_id, *answer))

        self.app.push_screen(PromoteDialog(text, known), done)

    def _got_promoted(self, baseline: Baseline) -> None:
        self.toast(f"Run {baseline.run_id} is now the baseline {baseline.name!r}.")
        self.ragtui.store_changed()
