"""Rows of a form: controls below each other, their labels at the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

_LABEL, _SHORT = 13, 9


class FieldRow(NamedTuple):
    """A label and its control, or several controls in a `Horizontal`.

    `head` stands above it after a blank line: a word, or the names of the columns of several controls.
    """

    label: str
    control: Widget
    head: tuple[str, ...] = ()


class FieldRows(Vertical):
    """Draws the labels itself: a widget for each would make a form of thirty controls one of ninety widgets."""

    DEFAULT_CSS = f"""
    FieldRows {{ height: auto;
        & > * {{ height: 1; margin: 0 0 0 {_LABEL}; }}
        & > .-headed {{ margin: 2 0 0 {_LABEL}; }}
        & > Horizontal {{ margin: 0 0 0 {_SHORT}; }}
        & > Horizontal.-headed {{ margin: 2 0 0 {_SHORT}; }}
    }}
    """

    def __init__(self, rows: Sequence[FieldRow], *, id: str | None = None) -> None:
        for row in rows:
            row.control.set_class(bool(row.head), "-headed")
        super().__init__(*(row.control for row in rows), id=id)
        self._rows = tuple(rows)

    def render(self) -> Content:
        """Headings and labels; the label of the control that has the focus is set off."""
        lines: list[Content] = []
        for row in self._rows:
            if row.head:
                lines += [Content(), self._head(row)]
            lit = row.control.has_focus_within
            label = Content(row.label).truncate(self._room(row), ellipsis=True)
            lines.append(label.stylize("bold $foreground" if lit else "$secondary"))
        return Content("\n").join(lines)

    def _head(self, row: FieldRow) -> Content:
        line = Content(row.head[0])
        for name, control in zip(row.head[1:], row.control.children, strict=False):
            line = line.pad_right(max(control.region.x - self.region.x - line.cell_length, 1)) + name
        return line.stylize("bold $secondary")

    @staticmethod
    def _room(row: FieldRow) -> int:
        return _SHORT if isinstance(row.control, Horizontal) else _LABEL

    def on_descendant_focus(self) -> None:
        """Another label is set off."""
        self.refresh()

    def on_descendant_blur(self) -> None:
        """See `on_descendant_focus`."""
        self.refresh()
