"""Opening the app."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from ragtui.errors import InvalidInput
from ragtui.settings import Workspace, open_workspace

if TYPE_CHECKING:
    import typer


_INSTEAD = "Use a command instead: ragtui run, runs, show, trace, compare; ragtui --help."


def open_app(context: typer.Context) -> int:
    """Open the app over the workspace that the global options name."""
    from ragtui.cli.context import workspace_of

    return _open(workspace_of(context))


def open_here() -> int:
    """Open the app over the current folder; loads nothing of the commands."""
    return _open(open_workspace())


def _open(workspace: Workspace) -> int:
    """Open the app on a terminal; without one, say how to work headless."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("The app needs a terminal.", _INSTEAD)
    if os.environ.get("TERM") == "dumb":
        raise InvalidInput("This terminal cannot show the app (TERM=dumb).", _INSTEAD)
    # Textual is a great deal at once, and collecting garbage meanwhile takes longer than the first picture; the app
    # begins again with it once it is at rest.
    gc.disable()
    from ragtui.tui.app import run_app

    return run_app(workspace)
