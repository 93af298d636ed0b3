"""Copying text, and saying truthfully whether it worked."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

_TOOLS = (("wl-copy",), ("xclip", "-selection", "clipboard"), ("xsel", "-ib"), ("pbcopy",), ("clip.exe",))
_OSC52_LIMIT = 74_994


def copy_text(app: App[Any], text: str) -> str:
    """Hand the text to the terminal (OSC 52) and to the system's tool if there is one; a sentence on what is known."""
    lines = f"{len(text):,} characters"
    short_enough = len(text.encode("utf-8", "replace")) * 4 // 3 <= _OSC52_LIMIT
    if short_enough:
        app.copy_to_clipboard(text)
    tool = _by_tool(text)
    if tool:
        return f"Copied {lines} with {tool}."
    if short_enough:
        return f"Sent {lines} to the terminal (OSC 52); it does not say whether it kept them."
    return f"Not copied: {lines} are more than a terminal takes, and no clipboard tool works here. Export instead."


def _by_tool(text: str) -> str:
    """The name of the tool that took the text; empty where none did."""
    for command in _TOOLS:
        if shutil.which(command[0]) is None:
            continue
        try:
            done = subprocess.run(
                command, input=text.encode("utf-8", "replace"), capture_output=True, timeout=2, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return command[0]
    return ""
