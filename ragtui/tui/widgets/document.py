"""A long text in a dialog: a manifest, an answer. It scrolls, and it can be copied whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ragtui.tui.widgets.text import inert, inert_block

if TYPE_CHECKING:
    from ragtui.tui.app import RagtuiApp


class DocumentDialog(ModalScreen[None]):
    """Shows a text of unknown origin; `y` copies it as it is."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,enter,q,m", "dismiss", "Close", id="document.close", tooltip="Close the text."),
        Binding("y", "copy", "Copy", id="document.copy", tooltip="Copy the whole text."),
    ]

    def __init__(self, title: str, text: str, shown: Text | None = None) -> None:
        """`shown` stands for the text on the screen, inert, where parts of it are set off."""
        super().__init__()
        self._title, self._text = title, text
        self._shown = inert_block(text) if shown is None else shown

    def compose(self) -> ComposeResult:
        """The text."""
        with Vertical(classes="dialog") as box:
            box.border_title = inert(self._title)
            box.border_subtitle = "y copies · esc closes"
            with VerticalScroll():
                yield Static(self._shown, markup=False)

    def on_mount(self) -> None:
        """Arrow keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_copy(self) -> None:
        """Copy everything."""
        cast("RagtuiApp", self.app).copy(self._text)
        self.query_one(".dialog").border_subtitle = "handed to the clipboard · esc closes"
