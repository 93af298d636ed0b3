"""Jump mode: a letter on every pane and control."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


def targets(screen: Screen[Any]) -> list[tuple[Widget, Region]]:
    """What can be focused and seen, in reading order, at most one for each letter."""
    found = []
    for widget in screen.focus_chain:
        region = widget.region.intersection(screen.region)
        if region.width > 0 and region.height > 0 and widget.display and not widget.disabled:
            found.append((widget, region))
    found.sort(key=lambda item: (item[1].y, item[1].x))
    return found[: len(LETTERS)]


class JumpOverlay(ModalScreen[Widget | None]):
    """Shows the letters; the next key decides, any other key leaves."""

    DEFAULT_CSS = """
    JumpOverlay { background: $background 30%; align: left top; layers: letters; }
    JumpOverlay .letter {
        layer: letters; position: absolute; width: 3; height: 1;
        background: $warning; color: $background; text-style: bold reverse;
    }
    """

    def __init__(self, found: list[tuple[Widget, Region]]) -> None:
        super().__init__()
        self._targets = found

    def compose(self) -> ComposeResult:
        """One small label a target."""
        for letter, (_, region) in zip(LETTERS, self._targets, strict=False):
            label = Static(Text(f" {letter} "), classes="letter", markup=False)
            label.styles.offset = (region.x, region.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        """Choose, or leave."""
        event.stop()
        place = LETTERS.find(event.character or "-")
        chosen = self._targets[place][0] if 0 <= place < len(self._targets) else None
        self.dismiss(chosen)

    def on_click(self) -> None:
        """A click leaves too."""
        self.dismiss(None)
