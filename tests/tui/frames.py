"""What holds on every screen: nothing is clipped or covered, and every action is told."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from textual.screen import ModalScreen
from textual.widget import Widget

from ragtui.tui.app import RagtuiApp
from ragtui.tui.commands import possible
from ragtui.tui.help import help_rows
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets.frame import KeyBar, StatusLine, TopBar
from tests.tui.trace_samples import shown


def visible_panes(screen: RagtuiScreen) -> list[Widget]:
    """The framed panes that are displayed."""
    return [pane for pane in screen.query(".pane") if _shown(pane)]


def _shown(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


def assert_nothing_clipped(running: RagtuiApp, size: tuple[int, int]) -> None:
    """Lines as wide as the screen, the frame where it belongs, panes of three rows, controls inside their panes."""
    screen = running.screen
    assert isinstance(screen, RagtuiScreen)
    width, height = size
    for line in shown(running):
        assert cell_len(line) == width
    assert screen.query_one(KeyBar).region == (0, height - 1, width, 1)
    assert screen.query_one(StatusLine).region == (0, height - 2, width, 1)
    bars = screen.query(TopBar)
    assert bars or isinstance(screen, ModalScreen), "only a screen over another one is without the modes"
    for bar in bars:
        assert bar.region == (0, 0, width, 1)
    for y in (*((0,) if bars else ()), height - 2, height - 1):
        for x in range(0, width, 7):
            assert isinstance(running.get_widget_at(x, y)[0], TopBar | StatusLine | KeyBar)
    body = screen.query_one("#body").region
    for pane in visible_panes(screen):
        assert pane.region.height >= 3, pane
        assert body.contains_region(pane.region), pane
    for control in screen.focus_chain:
        around = (node for node in control.ancestors if isinstance(node, Widget) and node.has_class("pane"))
        container = next(around, screen)
        assert control.region.width > 0, control
        # What scrolls may stand outside what is seen, but never beside it.
        assert container.region.x <= control.region.x, control
        assert control.region.right <= container.region.right, control


def assert_actions_told(running: RagtuiApp) -> None:
    """Every action that is possible now stands in help and palette, with its sentence."""
    screen = running.screen
    told = " ".join(f"{keys} {words}" for keys, words, _ in help_rows(screen))
    commands = {command.help for command in possible(running, screen)}
    for active in screen.active_bindings.values():
        binding = active.binding
        if active.node in (running, screen) and binding.id and active.enabled:
            assert binding.tooltip, binding
            assert binding.tooltip in told
            assert binding.tooltip in commands


def assert_declared(holder: Any) -> None:
    """Every binding of an app or screen has a name, a sentence and an action that is there."""
    for binding in type(holder).BINDINGS:
        assert binding.id, binding
        assert binding.description, binding
        assert binding.tooltip.endswith("."), binding
        assert hasattr(holder, f"action_{binding.action.removeprefix('app.').partition('(')[0]}") or hasattr(
            holder.app, f"action_{binding.action.removeprefix('app.')}"
        ), binding


def assert_explained(screen: RagtuiScreen) -> None:
    """Whatever takes the focus says what it is."""
    for widget in screen.focus_chain:
        if type(widget).__name__ not in ("Button", "VerticalScroll"):
            assert getattr(widget, "help_text", "") or widget.id == "path", widget


def assert_inert(running: RagtuiApp, size: tuple[int, int]) -> None:
    """No control, no bidi override, no invisible space reaches the screen, and no line breaks its width."""
    for line in shown(running):
        assert cell_len(line) == size[0]
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u202c\u200b" for char in line), (
            line
        )
