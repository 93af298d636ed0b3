"""Help: what the screen is for, what the focused pane shows, and every key that works there."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from ragtui.tui.screens.base import RagtuiScreen

_GROUPS = ("This screen", "This pane", "Everywhere", "Besides")


def help_rows(screen: Screen[Any]) -> list[tuple[str, str, str]]:
    """(keys, what they do, group) of every described binding that is active, the pane's first, then the app's."""
    app = screen.app
    rows: dict[tuple[str, str], tuple[list[str], str]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        words = binding.tooltip or binding.description
        if not words or binding.action.startswith(("simulate_key", "hide_help")):
            continue
        group = _GROUPS[2] if active.node is app else _GROUPS[0] if active.node is screen else _GROUPS[1]
        if binding.system or not (binding.tooltip or binding.id):
            group = _GROUPS[3]
        keys, _ = rows.setdefault((group, binding.action), ([], words))
        shown = app.get_key_display(binding)
        if shown not in keys:
            keys.append(shown)
    return [(" ".join(keys), words, group) for (group, _), (keys, words) in rows.items()]


class HelpDialog(ModalScreen[None]):
    """Explains the screen it was opened over."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close", id="help.close", tooltip="Close the help."),
    ]
    DEFAULT_CSS = "HelpDialog .dialog { height: 90%; } HelpDialog VerticalScroll { height: 1fr; max-height: 100%; }"

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._about = about
        self._rows = help_rows(about)
        focused = about.focused
        self._pane = getattr(focused, "help_text", "") if focused is not None else ""

    def compose(self) -> ComposeResult:
        """Paragraphs and one table of keys."""
        with Vertical(classes="dialog") as box:
            box.border_title = f"Help · {self._title()}"
            box.border_subtitle = "esc closes · ctrl+p finds every action by name"
            with VerticalScroll() as scroll:
                scroll.can_focus = True
                yield Static(self._text(), markup=False)
                yield Static(self._keys(), markup=False)

    def on_mount(self) -> None:
        """Arrow keys scroll."""
        self.query_one(VerticalScroll).focus()

    def _title(self) -> str:
        return self._about.TITLE_WORDS if isinstance(self._about, RagtuiScreen) else type(self._about).__name__

    def _text(self) -> Text:
        text = Text()
        if isinstance(self._about, RagtuiScreen):
            text.append(" ".join(self._about.HELP.split()) + "\n")
        if self._pane:
            text.append("\nThis pane  ", "bold").append(" ".join(self._pane.split()) + "\n")
        return text

    def _keys(self) -> Table:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(no_wrap=True, style="bold", min_width=9)
        table.add_column(ratio=1)
        last = ""
        for keys, words, group in sorted(self._rows, key=lambda row: _GROUPS.index(row[2])):
            if group != last:
                table.add_row(Text(group, style="dim"), "")
                last = group
            table.add_row(Text(keys), Text(words))
        return table
