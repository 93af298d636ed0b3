"""The palette: every action that is possible now, found by its words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.screen import Screen

from ragtui.inputs.text import printable

if TYPE_CHECKING:
    from ragtui.tui.app import RagtuiApp

_HIDDEN = (
    "command_palette",
    "simulate_key",
    "screen.",
    "app.focus",
    "app.screenshot",
    "hide_help",
    "maximize",
    "minimize",
)


def possible(app: RagtuiApp, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """The screen's and the focused pane's actions, then the app's; each with its key."""
    seen: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        if not active.enabled or not binding.id or not binding.description or binding.id in seen:
            continue
        if binding.action.startswith(_HIDDEN):
            continue
        seen.add(binding.id)
        key = app.get_key_display(binding)
        run = partial(app.run_action, binding.action, default_namespace=active.node)
        yield SystemCommand(f"{_title(binding.id, binding.description)}  ({printable(key)})", binding.tooltip, run)


def _title(binding_id: str, description: str) -> str:
    """`corpus.check` and `Check` as `Corpus: Check`."""
    group, dot, _ = binding_id.partition(".")
    return f"{group.capitalize()}: {description}" if dot else description
