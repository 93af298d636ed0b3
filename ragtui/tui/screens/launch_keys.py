"""The keys of the launch screen."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding


def _key(key: str, action: str, words: str, name: str, tooltip: str, *, show: bool = True) -> Binding:
    return Binding(key, action, words, show=show, tooltip=tooltip, id=f"launch.{name}")


LAUNCH_KEYS: list[Any] = [
    # None of these is a priority key: such a key overtakes those that a field has still to take.
    _key("ctrl+r,f5", "start", "Start", "start", "Start the run as a process of its own and watch it."),
    _key("ctrl+s", "save", "Save spec", "save", "Write the specification to a file without running it."),
    _key(
        "ctrl+g,f6", "estimate", "Estimate", "estimate",
        "Count calls, prompt tokens and cost without asking any model; builds what is missing.",
    ),
    _key("ctrl+n", "reset", "Reset", "reset", "Forget all edits: the plan's fields, name, suites, tags and limit."),
    _key("y", "copy", "Copy command", "copy", "Copy the command that starts the same run."),
    _key("down", "focus_next_field", "Next field", "down", "The next field.", show=False),
    _key("up", "focus_previous_field", "Previous field", "up", "The previous field.", show=False),
    _key(
        "escape", "leave_field", "Leave field", "leave",
        "Leave the field, so that letters and digits are keys again.", show=False,
    ),
]  # fmt: skip
