"""Asks for the name under which a plan is saved."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static


class NameDialog(ModalScreen[str | None]):
    """Dismissed with a name for the plan, or None."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape", "dismiss", "Cancel", id="name.cancel", tooltip="Save nothing."),
    ]
    DEFAULT_CSS = "NameDialog Input { height: 1; margin: 1 0; }"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = "".join(char if char.isalnum() or char in " .-_" else "-" for char in name)[:60]

    def compose(self) -> ComposeResult:
        """One line to fill in, two buttons."""
        with Vertical(classes="dialog") as box:
            box.border_title = "Save the plan"
            words = "It becomes plans/NAME.json in the workspace, for `ragtui run` and the Launch screen."
            yield Static(words, markup=False)
            yield Input(self._name, compact=True, id="plan-name", max_length=80)
            with Horizontal(classes="buttons"):
                yield Button("Cancel (esc)", id="cancel")
                yield Button("Save (enter)", id="save", variant="primary")

    def on_mount(self) -> None:
        """The name is what is asked for."""
        self.query_one(Input).focus()

    def on_input_submitted(self) -> None:
        """Save."""
        self.dismiss(self.query_one(Input).value)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Save or not."""
        self.dismiss(self.query_one(Input).value if event.button.id == "save" else None)
