"""Texts side by side in a dialog: a golden in its modes, a question's answers in two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ragtui.tui.widgets.text import inert

_ROOM_EACH = 30


class Side(NamedTuple):
    """A column: the key that it is opened by, its title, its text (inert). `spare` goes first where room is short."""

    key: str
    title: str
    body: Text
    spare: bool = False


class SidePart(VerticalScroll):
    """One of the texts; it scrolls."""


class BesideDialog(ModalScreen[str | None]):
    """Shows texts beside each other; enter dismisses with the key of the one that has the focus."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("enter", "choose", "Open", id="beside.open", tooltip="Open the case of this column."),
        Binding("right,tab,l", "go(1)", "Next", id="beside.next", tooltip="The column at the right."),
        Binding("left,shift+tab,h", "go(-1)", "Before", id="beside.before", tooltip="The column at the left."),
        Binding("escape,q,a,o", "leave", "Close", id="beside.close", tooltip="Close the texts."),
    ]
    DEFAULT_CSS = """
    BesideDialog #beside-head { height: auto; max-height: 5; }
    BesideDialog #beside-sides { height: 1fr; }
    BesideDialog SidePart { width: 1fr; height: 1fr; max-height: 100%; border: round $secondary; padding: 0 1; }
    BesideDialog SidePart:focus { border: round $primary; border-title-style: bold; }
    """

    def __init__(self, title: str, head: Text, sides: Sequence[Side], begin: str = "") -> None:
        super().__init__()
        self._title, self._head, self._sides, self._begin = title, head, tuple(sides), begin

    def compose(self) -> ComposeResult:
        """The head over the columns."""
        with Vertical(classes="dialog") as box:
            box.border_title = inert(self._title)
            box.border_subtitle = "← → column · ↑ ↓ scroll · ⏎ open · esc close"
            yield Static(self._head, id="beside-head", markup=False)
            with Horizontal(id="beside-sides"):
                for side in self._sides:
                    part = SidePart(Static(side.body, markup=False))
                    part.border_title = inert(side.title)
                    yield part

    def on_mount(self) -> None:
        """The column that one came from has the focus."""
        keys = [side.key for side in self._sides]
        self.parts()[keys.index(self._begin) if self._begin in keys else 0].focus()

    def on_resize(self) -> None:
        """Where there is no room for all, the spare ones go."""
        short = self.size.width < _ROOM_EACH * len(self._sides)
        for side, part in zip(self._sides, self.parts(), strict=True):
            part.display = not (side.spare and short and side.key != self._begin)

    def parts(self) -> list[SidePart]:
        """The columns."""
        return list(self.query(SidePart))

    def action_go(self, by: int) -> None:
        """Another column that is seen."""
        seen = [part for part in self.parts() if part.display]
        place = next((place for place, part in enumerate(seen) if part.has_focus), 0)
        seen[(place + by) % len(seen)].focus()

    def action_choose(self) -> None:
        """Open what has the focus."""
        for side, part in zip(self._sides, self.parts(), strict=True):
            if part.has_focus:
                self.dismiss(side.key)
                return

    def action_leave(self) -> None:
        """Open nothing."""
        self.dismiss(None)
