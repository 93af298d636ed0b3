"""The keys that work on every screen."""

from __future__ import annotations

from textual.binding import Binding

from ragtui.tui.widgets.frame import MODE_KEYS

# (keys, action, name, id, what it does)
_KEYS = (
    *((key, f"go('{mode}')", title, f"go.{mode}", f"Open the {title} screen.") for key, mode, title in MODE_KEYS),
    ("0", "go('start')", "Start", "go.start", "Open the start screen: what to do next."),
    ("question_mark,f1", "help", "Help", "help", "Explain the focused pane and its keys."),
    ("g,ctrl+o", "jump", "Jump", "jump", "Put a letter on every pane and control; press it to go there."),
    ("ctrl+l", "reload", "Reload", "reload", "Read again what the screen shows."),
    ("ctrl+t", "next_theme", "Theme", "theme", "Change between dark, light and 16 colours."),
    ("ctrl+c", "copy_or_quit", "Copy or quit", "interrupt", "Copy what is selected; otherwise quit. Runs go on."),
    ("q,ctrl+q", "quit", "Quit", "quit", "Leave the app. Runs go on without it."),
    ("ctrl+z", "suspend_process", "Suspend", "suspend", "Go back to the shell; its `fg` returns."),
)
# This one works in fields and dialogs too.
_EVERYWHERE = "interrupt"

APP_KEYS = [
    Binding(keys, action, name, show=False, id=found, tooltip=words, priority=found == _EVERYWHERE)
    for keys, action, name, found, words in _KEYS
]
