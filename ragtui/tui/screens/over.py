"""A whole screen over the one it was opened from: one comes back from it, not elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import Static

from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets.frame import KeyBar, StatusLine
from ragtui.tui.widgets.section_list import SectionList


def over_keys(name: str) -> list[Any]:
    """The keys that every such screen has."""
    return [
        Binding("escape,q", "close", "Back", id=f"{name}.close", tooltip="Back to where one came from."),
        Binding("ctrl+l", "app.reload", "Reload", show=False, id=f"{name}.reload", tooltip="Read it again."),
        Binding("question_mark,f1", "app.help", "Help", show=False, id=f"{name}.help", tooltip="Explain the keys."),
    ]


class OverScreen(RagtuiScreen, ModalScreen[None]):
    """Title, a head of a few lines, one list, the line of state, the keys. Subclasses fill `head` and `list`."""

    BINDINGS: ClassVar[list[Any]] = []
    DEFAULT_CSS = """
    OverScreen { background: $background; align: left top; layout: vertical; }
    OverScreen > #over-title { height: 1; padding: 0 1; background: $panel; }
    OverScreen #over-head { height: auto; max-height: 6; padding: 0 1; color: $secondary; }
    OverScreen #over-list { height: 1fr; min-height: 3; }
    """
    LIST_HELP: ClassVar[str] = ""

    def compose(self) -> ComposeResult:
        """The frame without the modes."""
        yield Static(id="over-title", markup=False)
        with Container(id="body"):
            yield Static(id="over-head", markup=False)
            yield SectionList(id="over-list", help_text=self.LIST_HELP)
        yield StatusLine()
        yield KeyBar()

    @property
    def listing(self) -> SectionList:
        """The list."""
        return self.query_one("#over-list", SectionList)

    def titled(self, text: Text) -> None:
        """Show the title."""
        self.query_one("#over-title", Static).update(text)

    def headed(self, text: Text) -> None:
        """Show the head; none takes no room."""
        head = self.query_one("#over-head", Static)
        head.update(text)
        head.display = bool(text.plain)

    def plain_lines(self) -> Iterator[str]:
        """The list as text, a line a row, for the clipboard."""
        for place, section in enumerate(self.listing.sections):
            if place:
                yield ""
            yield "  ".join(column.title for column in section.columns).strip()
            for row in section.rows:
                for cells in (row.cells, row.below):
                    if cells:
                        yield "  ".join(cell.plain for cell in cells).rstrip()
            if not section.rows:
                yield section.note

    def action_copy(self) -> None:
        """Copy everything that is listed."""
        self.ragtui.copy("\n".join(self.plain_lines()))

    def action_close(self) -> None:
        """Back."""
        self.dismiss()
