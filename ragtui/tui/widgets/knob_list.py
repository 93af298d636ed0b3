"""The knobs of a what-if as rows that are turned by keys; and what came of them as measures and flips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.message import Message

from ragtui.analysis.contrast import MeasureChange
from ragtui.analysis.flips import Flip
from ragtui.experiment.plan import Plan
from ragtui.tui.data import knobs
from ragtui.tui.data.knobs import Knob
from ragtui.tui.data.whatif import Answer
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.section_list import Section, SectionList
from ragtui.tui.widgets.text import inert, value

WIDE = 110
_MOVES = ("move", "page", "end")


class KnobList(SectionList, inherit_bindings=False):
    """Arrow keys turn the knob under the cursor; a digit begins a number, `enter` sets it."""

    BINDINGS: ClassVar[list[Any]] = [
        *(key for key in SectionList.BINDINGS if isinstance(key, Binding) and key.action.startswith(_MOVES)),
        Binding("right,l", "turn(1)", "Turn", key_display="←→", tooltip="One step up.", id="whatif.more"),
        Binding("left,h", "turn(-1)", "Back", show=False, tooltip="One step down.", id="whatif.less"),
        Binding("shift+right,L", "turn(1, True)", "Far on", show=False, tooltip="Far up.", id="whatif.up"),
        Binding("shift+left,H", "turn(-1, True)", "Far back", show=False, tooltip="Far down.", id="whatif.down"),
        Binding("enter", "type", "Type", show=False, tooltip="Type a number; a digit does too.", id="whatif.type"),
        Binding("backspace", "reset", "Reset", key_display="bksp", tooltip="This knob as recorded.", id="whatif.reset"),
    ]

    class Turned(Message):
        """A knob is to move by one step."""

        def __init__(self, by: int, large: bool) -> None:
            self.by, self.large = by, large
            super().__init__()

    class Typed(Message):
        """A number is being typed; `done` when it is to be set. `text` is None where the typing was left."""

        def __init__(self, key: str, text: str | None, done: bool) -> None:
            self.key, self.text, self.done = key, text, done
            super().__init__()

    class Reset(Message):
        """A knob is to be as recorded."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.typing: str | None = None

    @property
    def key(self) -> str:
        """The key of the knob under the cursor; empty without knobs."""
        found = self.under_cursor()
        return found[1].key if found is not None else ""

    def on_key(self, event: events.Key) -> None:
        """Collect a number; every other key does what it is bound to, after what was typed is set."""
        char = event.character or ""
        if self.typing is None:
            if not (char.isascii() and (char in "123456789" or char in (".", "-"))) or not char or not self.key:
                return
            self._type(char)
        elif char and char in "0123456789.-":
            self._type(self.typing + char)
        elif event.key == "backspace":
            self._type(self.typing[:-1])
        elif event.key == "escape":
            self._end(done=False)
        elif event.key == "enter":
            self._end(done=True)
        else:
            self._end(done=True)
            return
        event.stop()
        event.prevent_default()

    def _type(self, text: str) -> None:
        self.typing = text[:12]
        self.post_message(self.Typed(self.key, self.typing, False))

    def _end(self, done: bool) -> None:
        text, self.typing = self.typing, None
        self.post_message(self.Typed(self.key, text if done and text else None, True))

    def on_blur(self) -> None:
        """What was typed is set when the knobs are left."""
        super().on_blur()
        if self.typing is not None:
            self._end(done=True)

    def action_type(self) -> None:
        """Begin an empty number."""
        if self.key:
            self._type("")

    def action_turn(self, by: int, large: bool = False) -> None:
        """Ask for a step."""
        self.post_message(self.Turned(by, large))

    def action_reset(self) -> None:
        """Ask for the recorded value."""
        self.post_message(self.Reset())


def knob_section(
    found: Sequence[Knob], recorded: Plan, plan: Plan, typing: tuple[str, str] | None, wide: bool
) -> Section:
    """A row a knob: its value, where it stands in its range, and what was recorded. `●` marks a changed one."""
    track = 10 if wide else 5
    columns = (
        Column("knob", " Knobs", least=16), Column("value", "value", 8, right=True), Column("track", "", track),
        Column("recorded", "recorded", 8, right=True, rank=1),
    )  # fmt: skip
    rows = []
    for knob in found:
        now, was = knobs.read(plan, knob), knobs.read(recorded, knob)
        changed = now != was
        text = knobs.shown(now) if not knob.fixed else "–"
        if typing is not None and typing[0] == knob.key:
            text = f"{typing[1]}▏"
        label = Text("●" if changed else " ", end="") + inert(knob.label)
        cells = (
            label, inert(text, "bold" if changed else ""), Text(_track(knob, now, track)),
            inert("–" if knob.fixed and was is None else knobs.shown(was), "dim"),
        )  # fmt: skip
        rows.append(Row(knob.key, cells))
    return Section("knobs", columns, tuple(rows))


def _track(knob: Knob, now: knobs.Value, width: int) -> str:
    place = None if knob.fixed else knobs.place_of(knob, now)
    if place is None:
        return "─" * width
    at = round(place * (width - 1))
    return "━" * at + "╋" + "─" * (width - 1 - at)


def measure_section(answer: Answer | None, relevance: int) -> Section:
    """A row a measure, the deciding ones first; a note where there is no answer.

    The plan's own relevance stands in the heading and not in every name.
    """
    usual = f"(rel={relevance})"
    columns = (
        Column("measure", " Measures" if relevance == 1 else f" {usual}", least=10),
        Column("recorded", "rec.", 5, right=True), Column("now", "now", 5, right=True),
        Column("change", "change", 7, right=True), Column("wtl", "w/t/l", 10, right=True),
        Column("n", "cases", 9, right=True, rank=1),
    )  # fmt: skip
    if answer is None:
        return Section("measures", columns, (), "Replaying …")
    table = answer.changes
    order = sorted(table, key=lambda name: {"primary": 0, "guard": 1}.get(table[name].role, 2))
    rows = tuple(Row(name, _measure_cells(name.removesuffix(usual), table[name])) for name in order)
    return Section("measures", columns, rows, "No numbers: see below.")


def _measure_cells(name: str, change: MeasureChange) -> tuple[Text, ...]:
    role = {"primary": "◆", "guard": "◇"}.get(change.role, " ")
    if change.delta is None:
        moved = "–"
    elif not change.wins + change.losses:
        moved = "="
    else:
        moved = f"{'▼' if change.loss > 0 else '▲' if change.loss < 0 else '·'}{change.delta:+.3f}"
    return (
        Text(role, end="") + Text(name), Text(value(change.base)), Text(value(change.new), style="bold"), Text(moved),
        Text(f"{change.wins}/{change.ties}/{change.losses}"),
        Text(f"{change.scored:,}" if change.scored == change.total else f"{change.scored:,}/{change.total:,}"),
    )  # fmt: skip


def told_measure(name: str, change: MeasureChange) -> str:
    """A measure's row in a sentence, for where columns are narrow."""
    delta = "nothing to compare" if change.delta is None else f"{change.delta:+.4f}"
    return (
        f"{name}: recorded {value(change.base, 4)}, now {value(change.new, 4)}, {delta}; {change.wins} won, "
        f"{change.ties} tied, {change.losses} lost of {change.scored}"
    )


def flip_section(answer: Answer | None) -> Section:
    """A row a question that was lost or found outright, lost ones first."""
    flips: tuple[Flip, ...] = () if answer is None else answer.flips
    title = "Flips"
    if answer is not None and answer.flip_measure:
        lost = sum(flip.direction == "lost" for flip in flips)
        title = f"Flips by {answer.flip_measure}: {lost} lost, {len(flips) - lost} found"
    columns = (
        Column("query", title, least=40), Column("word", "", 7), Column("case", "case", 20, rank=1),
        Column("recorded", "rec.", 5, right=True), Column("now", "now", 5, right=True),
    )  # fmt: skip
    rows = tuple(
        Row(
            flip.case,
            (
                inert(flip.query, width=300), Text("▼ lost" if flip.direction == "lost" else "▲ found", style="bold"),
                inert(flip.case, width=60), Text(value(flip.base)), Text(value(flip.new)),
            ),
        )
        for flip in flips
    )  # fmt: skip
    return Section("flips", columns, rows, "" if answer is None or answer.reasons else "No question flipped.")
