"""A pane: a frame with a title around one thing."""

from __future__ import annotations

from textual.containers import Vertical
from textual.widget import Widget


class Pane(Vertical):
    """Lights up while something in it has the focus.

    The class `-lit` does what `:focus-within` would: with that in the stylesheet, each step of the focus inside a pane
    styles everything in the pane anew, which a form feels at every key.
    """

    def on_descendant_focus(self) -> None:
        """The focus came in, or moved inside."""
        self._light()

    def on_descendant_blur(self) -> None:
        """The focus left, or moved inside."""
        self._light()

    def _light(self) -> None:
        lit = self.has_focus_within
        if lit != self.has_class("-lit"):
            self.update_classes({"-lit": lit}, update=False)
            self.app.stylesheet.apply(self)


def pane(title: str, *children: Widget, id: str) -> Pane:
    """The children in a titled frame that lights up while one of them has the focus."""
    box = Pane(*children, id=id, classes="pane")
    box.border_title = title
    return box
