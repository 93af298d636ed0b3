"""One-row controls of a form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from ragtui.inputs.text import printable


class Choice(Widget, can_focus=True):
    """One of a few values, shown as `◂ value ▸`: left and right, or a click, change it."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("right,space,enter,l", "turn(1)", "Next value", show=False, tooltip="The next value."),
        Binding("left,h", "turn(-1)", "Previous value", show=False, tooltip="The previous value."),
    ]
    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; background: $panel; color: $foreground; padding: 0 1; }
    Choice:focus { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
    Choice:ansi { text-style: underline; }
    Choice:ansi:focus { text-style: bold underline; }
    Choice.-wrong { color: $error; text-style: bold; }
    """
    auto_links = False
    value: reactive[str] = reactive("")

    class Changed(Message):
        """Another value was chosen."""

        def __init__(self, choice: Choice, value: str) -> None:
            self.choice, self.value = choice, value
            super().__init__()

        @property
        def control(self) -> Choice:
            """The control, for `@on` selectors."""
            return self.choice

    def __init__(
        self,
        values: Sequence[tuple[str, str]],
        value: str,
        *,
        id: str | None = None,
        classes: str | None = None,
        help_text: str = "",
    ) -> None:
        """`values` are (value, what is shown)."""
        super().__init__(id=id, classes=classes)
        self.values = list(values)
        self.help_text = help_text
        self.set_reactive(Choice.value, value)

    def render(self) -> Text:
        """Arrows around what is chosen."""
        shown = next((words for value, words in self.values if value == self.value), self.value)
        room = max(self.content_size.width - 4, 1)
        middle = Text(printable(shown), no_wrap=True, end="")
        middle.truncate(room, overflow="ellipsis", pad=True)
        back = Text("◂ ", Style(meta={"@click": "turn(-1)"}), end="")
        return back + middle + Text(" ▸", Style(meta={"@click": "turn(1)"}), end="")

    def action_turn(self, by: int) -> None:
        """Another value; around at the ends."""
        names = [value for value, _ in self.values]
        if not names:
            return
        place = names.index(self.value) if self.value in names else 0
        self.value = names[(place + by) % len(names)]
        self.post_message(self.Changed(self, self.value))

    def on_click(self, event: events.Click) -> None:
        """A click beside the arrows goes forward."""
        if not event.style.meta.get("@click"):
            self.action_turn(1)


class FieldScroll(VerticalScroll, can_focus=False, inherit_bindings=False):
    """Scrolls a form that is longer than its pane; up and down stay free for walking through fields."""


class TextField(Input):
    """An input of one row that says what it is for."""

    DEFAULT_CSS = """
    TextField, TextField:focus { border: none; height: 1; padding: 0; }
    TextField { width: 1fr; background: $panel; color: $foreground; }
    TextField:ansi { text-style: underline; }
    TextField.-wrong { color: $error; text-style: bold; }
    """

    def __init__(
        self,
        value: str,
        *,
        id: str | None = None,
        classes: str | None = None,
        placeholder: str = "",
        help_text: str = "",
    ) -> None:
        # Without validators an input is valid from the start; saying so spares it being styled again when it is
        # mounted. Its size is in the stylesheet, not in `compact`, for the same reason.
        own = "-valid" if classes is None else f"-valid {classes}"
        super().__init__(value, placeholder, id=id, classes=own, select_on_focus=False)
        self.help_text = help_text
