"""ragtui as another process: the same interpreter and the same installation."""

from __future__ import annotations

import sys

from ragtui.settings import Workspace


def program(workspace: Workspace) -> list[str]:
    """The beginning of a command: `ragtui -w WORKSPACE`.

    Without -P, Python would look for ragtui and all it imports in the current folder first, which anybody may have
    filled.
    """
    return [sys.executable, "-P", "-m", "ragtui", "-w", str(workspace.root)]
