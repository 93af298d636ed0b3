"""One of many by keyboard: a list in a dialog, narrowed by typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.lazy_table import LazyTable


class Picker(ModalScreen[str | None]):
    """Dismissed with the key of the chosen row, or None. Every typed word must stand in a row."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape", "dismiss", "Close", id="picker.close", tooltip="Close the list and change nothing."),
    ]
    DEFAULT_CSS = """
    Picker Input { margin: 0; }
    """

    def __init__(self, title: str, columns: Sequence[Column], rows: Sequence[Row], chosen: str | None = None) -> None:
        super().__init__()
        self._title, self._columns = title, tuple(columns)
        self._rows = self._found = tuple(rows)
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        """The words, then the rows."""
        with Vertical(classes="dialog") as box:
            box.border_title = self._title
            box.border_subtitle = "type to narrow · enter chooses · esc closes"
            yield Input(placeholder="type to narrow", compact=True, id="picker-text")
            yield LazyTable(self._columns, empty="Nothing holds these words.", id="picker-rows")

    def on_mount(self) -> None:
        """The cursor on what is chosen now; typing narrows at once."""
        table = self.query_one(LazyTable)
        table.can_focus = False
        table.styles.height = min(len(self._rows) + 1, max(self.app.size.height - 8, 4))
        table.reset(len(self._rows))
        table.go(next((place for place, row in enumerate(self._rows) if row.key == self._chosen), 0))
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow."""
        words = event.value.lower().split()
        self._found = tuple(
            row
            for row in self._rows
            if all(word in " ".join(cell.plain for cell in row.cells).lower() for word in words)
        )
        self.query_one(LazyTable).reset(len(self._found))

    def on_key(self, event: events.Key) -> None:
        """Keys that move in the list, though the words have the focus."""
        table = self.query_one(LazyTable)
        moves = {"up": ("move", -1), "down": ("move", 1), "pageup": ("page", -1), "pagedown": ("page", 1)}
        if event.key in moves:
            event.stop()
            event.prevent_default()
            name, by = moves[event.key]
            getattr(table, f"action_{name}")(by)

    def on_input_submitted(self) -> None:
        """Choose what the cursor is on."""
        self.query_one(LazyTable).action_choose()

    def on_lazy_table_rows_wanted(self, message: LazyTable.RowsWanted) -> None:
        """The rows are all here."""
        message.stop()
        rows = self._found[message.offset : message.offset + message.limit]
        message.table.put(message.generation, message.offset, rows)

    def on_lazy_table_chosen(self, message: LazyTable.Chosen) -> None:
        """Done."""
        message.stop()
        self.dismiss(message.row.key)


def plain_rows(items: Sequence[tuple[str, Sequence[Text]]]) -> list[Row]:
    """Rows of keys and cells."""
    return [Row(key, tuple(cells)) for key, cells in items]
