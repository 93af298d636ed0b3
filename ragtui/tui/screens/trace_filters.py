"""The keys of the trace screen, and the half of it that says which cases are listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from rich.text import Text
from textual.binding import Binding
from textual.timer import Timer
from textual.widgets import Input

from ragtui.tui.data import trace as data
from ragtui.tui.data.trace import KIND_WORDS, KINDS, CaseQuery, Kind, RunView
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.picker import Picker, plain_rows
from ragtui.tui.widgets.text import inert

_TYPING = 0.15


def _key(
    key: str, action: str, words: str, name: str, tooltip: str, shown: str | None = None, show: bool = True
) -> Binding:
    return Binding(key, action, words, show=show, key_display=shown, tooltip=tooltip, id=f"trace.{name}")


TRACE_KEYS: list[Any] = [
    _key("escape,backspace", "back", "Back", "back", "Back to the cases, or to the runs."),
    _key("a", "answer", "Answer", "answer", "The answer with its patterns marked, and the prompt as sent."),
    _key("o", "modes", "Modes", "modes", "The same golden in every mode, side by side."),
    _key("v", "by_mode", "By mode", "by_mode", "The retriever or the model? Measures and outcomes by mode."),
    _key("slash", "filter", "Filter", "filter", "Narrow the cases by words of question, id or tag.", "/"),
    _key("w", "which", "Which", "which", "All cases, missed ones, errors, or those that changed against the baseline."),
    _key("t", "tag", "Tag", "tag", "Only cases with one tag."),
    _key("s", "sort", "Sort", "sort", "Sort by any measure; the same one again turns the order round."),
    _key("c", "clear", "Clear", "clear", "Clear filters and sort."),
    _key("right_square_bracket", "step(1)", "Next case", "next", "The next case of the list.", "]"),
    _key("left_square_bracket", "step(-1)", "Case before", "previous", "The case before in the list.", "[", False),
    _key("m", "manifest", "Manifest", "manifest", "The exact specification that produced the run, and where it ran."),
    _key("d", "diff", "Diff", "diff", "Compare the run with its baseline on the Diff screen."),
    _key("y", "copy", "Copy", "copy", "Copy what is under the cursor: a run's id, a case's id, a chunk."),
    _key("e", "export", "Export", "export", "Write the case as JSON, as `ragtui trace --json` prints it."),
    _key("r", "whatif", "What if", "whatif", "Replay the run under other weights, depths, floors, and see what moves."),
]


class Filters(RagtuiScreen):
    """Words, outcome, tag and sort: each change asks for the order of the cases anew, and is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.view: RunView | None = None
        self.query_wanted = CaseQuery()
        self._timer: Timer | None = None

    def remembered(self) -> None:
        """Begin with the filters of the last session."""
        known = self.ragtui.memory.get("trace.query", {})
        try:
            self.query_wanted = msgspec.convert(known, CaseQuery)
        except msgspec.ValidationError:
            self.query_wanted = CaseQuery()

    def ask_order(self, keep: bool = False) -> None:
        """Ask for the order of the cases anew; `keep` leaves the cursor where it is."""
        if self.view is None:
            return
        lab, view = self.ragtui.lab, self.view
        self.query_wanted = query = data.fitting(view, self.query_wanted)
        self.ragtui.memory.set("trace.query", msgspec.to_builtins(query))
        self.fetch("order", lambda: (data.case_order(lab, view, query), keep))

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        """Call once nothing else has been asked for during these seconds."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(seconds, call)

    # -- what the keys do ---------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Type words."""
        self.query_one("#case-filter", Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow once the typing rests."""
        if event.input.id == "case-filter" and event.value != self.query_wanted.text:
            self.query_wanted = msgspec.structs.replace(self.query_wanted, text=event.value)
            self.after(_TYPING, self.ask_order)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the cases."""
        self.query_one(CasesPane).table.focus()

    def action_clear(self) -> None:
        """All cases in their order."""
        self._want(CaseQuery())

    def _want(self, query: CaseQuery) -> None:
        self.query_wanted = query
        self.query_one("#case-filter", Input).value = query.text
        self.ask_order()

    def action_which(self) -> None:
        """Choose an outcome."""
        rows = plain_rows([(kind, [Text(KIND_WORDS[kind])]) for kind in KINDS])
        self._pick("Which cases", (Column("which", "cases"),), rows, self.query_wanted.kind, self._which)

    def _which(self, kind: str) -> None:
        self._want(msgspec.structs.replace(self.query_wanted, kind=msgspec.convert(kind, Kind)))

    def action_tag(self) -> None:
        """Choose a tag."""
        if self.view is None:
            return
        items = [("", [Text("any tag"), Text(f"{self.view.record.cases:,}")])]
        items += [(f"={tag}", [inert(tag), Text(f"{count:,}")]) for tag, count in self.view.tags]
        columns = (Column("tag", "tag"), Column("cases", "cases", 8, right=True))
        self._pick("Cases with the tag", columns, plain_rows(items), f"={self.query_wanted.tag}", self._tag)

    def _tag(self, key: str) -> None:
        self._want(msgspec.structs.replace(self.query_wanted, tag=key[1:] if key else None))

    def action_sort(self) -> None:
        """Choose a measure."""
        if self.view is None:
            return
        rows = plain_rows([(name, [Text(name)]) for name in ("index", *self.view.record.measure_names)])
        self._pick(
            "Sort by", (Column("by", "worst first; again: best first"),), rows, self.query_wanted.sort, self._sort
        )

    def _sort(self, name: str) -> None:
        again = name == self.query_wanted.sort
        turned = again and not self.query_wanted.descending
        self._want(msgspec.structs.replace(self.query_wanted, sort=name, descending=turned))

    def _pick(
        self, title: str, columns: Sequence[Column], rows: Sequence[Row], chosen: str, then: Callable[[str], None]
    ) -> None:
        self.app.push_screen(Picker(title, columns, rows, chosen), lambda key: then(key) if key is not None else None)
