"""Asks for a baseline's name and why the run is promoted."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from ragtui.tui.widgets.text import inert_block


class PromoteDialog(ModalScreen[tuple[str, str] | None]):
    """Dismissed with (name, why), or None."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape", "dismiss", "Cancel", id="promote.cancel", tooltip="Promote nothing."),
    ]
    DEFAULT_CSS = """
    PromoteDialog Input { height: 1; margin: 0 0 1 0; }
    """

    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self._text, self._name = text, name

    def compose(self) -> ComposeResult:
        """What it means, two lines to fill in, two buttons."""
        with Vertical(classes="dialog") as box:
            box.border_title = "Promote to baseline"
            yield Static(inert_block(self._text), markup=False)
            yield Static("\nname", markup=False)
            yield Input(self._name, compact=True, id="promote-name", max_length=60)
            yield Static("why", markup=False)
            yield Input(
                placeholder="one sentence for those who read it later", compact=True, id="promote-why", max_length=300
            )
            with Horizontal(classes="buttons"):
                yield Button("Cancel (esc)", id="cancel")
                yield Button("Promote", id="promote", variant="primary")

    def on_mount(self) -> None:
        """The name is given; the reason is what is missing."""
        self.query_one("#promote-why", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """From the name to the reason, from the reason on."""
        if event.input.id == "promote-name":
            self.query_one("#promote-why", Input).focus()
        else:
            self._done()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Promote or not."""
        if event.button.id == "promote":
            self._done()
        else:
            self.dismiss(None)

    def _done(self) -> None:
        self.dismiss((self.query_one("#promote-name", Input).value, self.query_one("#promote-why", Input).value))
