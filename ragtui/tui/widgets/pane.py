"""A pane: a frame with a title around one thing."""

from __future__ import annotations

from textual.containers import Vertical
from textual.widget import Widget


def pane(title: str, *children: Widget, id: str) -> Vertical:
    """The children in a titled frame that lights up while one of them has the focus."""
    box = Vertical(*children, id=id, classes="pane")
    box.border_title = title
    return box
