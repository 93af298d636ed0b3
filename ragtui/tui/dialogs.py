"""Dialogs: an error that can be copied, and a question before something is lost."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from ragtui.errors import RagtuiError
from ragtui.tui.widgets.text import inert_block


class ErrorDialog(ModalScreen[None]):
    """What happened and what to do. `y` copies it."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,enter,q", "dismiss", "Close", id="dialog.close", tooltip="Close the dialog."),
        Binding("y", "copy", "Copy", id="dialog.copy", tooltip="Copy the error's text."),
    ]

    def __init__(self, error: RagtuiError) -> None:
        super().__init__()
        self._errors = [error]

    def add(self, error: RagtuiError) -> None:
        """One more error while the dialog is open; an equal one is not repeated."""
        if all(str(error) != str(known) for known in self._errors):
            self._errors.append(error)
            for text in self.query("#text").results(Static):
                text.update(self._text())

    def compose(self) -> ComposeResult:
        """Text and two buttons."""
        with Vertical(classes="dialog") as box:
            box.border_title = "✗ This did not work"
            with VerticalScroll():
                yield Static(self._text(), id="text", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Copy (y)", id="copy")
                yield Button("Close (esc)", id="close", variant="primary")

    def on_mount(self) -> None:
        """The way out is where the cursor is."""
        self.query_one("#close", Button).focus()

    def _text(self) -> Text:
        text = Text()
        for error in self._errors:
            text.append_text(inert_block(error.message))
            if error.hint:
                text.append("\n\n").append_text(inert_block(error.hint, "dim"))
            text.append("\n")
        return text

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Copy or close."""
        if event.button.id == "copy":
            self.action_copy()
        else:
            self.dismiss()

    def action_copy(self) -> None:
        """Copy the error's text."""
        self.app.copy("\n\n".join(f"{error.message}\n{error.hint}" for error in self._errors))  # type: ignore[attr-defined]


class Question(ModalScreen[bool]):
    """A yes or no before something that cannot be taken back. `no` is where the cursor is."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("y", "answer(True)", "Yes", id="question.yes", tooltip="Do it."),
        Binding("n,escape", "answer(False)", "No", id="question.no", tooltip="Leave everything as it is."),
    ]

    def __init__(self, title: str, text: str, yes: str) -> None:
        super().__init__()
        self._title, self._text, self._yes = title, text, yes

    def compose(self) -> ComposeResult:
        """The question and two buttons."""
        with Vertical(classes="dialog") as box:
            box.border_title = self._title
            yield Static(inert_block(self._text), markup=False)
            with Horizontal(classes="buttons"):
                yield Button("No (n)", id="no", variant="primary")
                yield Button(f"{self._yes} (y)", id="yes", variant="error")

    def on_mount(self) -> None:
        """Enter does nothing that hurts."""
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Answer by key."""
        self.dismiss(answer)
