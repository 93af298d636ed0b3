"""Opening the app."""

from __future__ import annotations

import sys

import typer

from ragtui.cli.context import workspace_of
from ragtui.errors import InvalidInput


def open_app(context: typer.Context) -> int:
    """Open the app on a terminal; without one, say how to work headless."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("The app needs a terminal.", "Run a command instead; `ragtui --help` lists them.")
    from ragtui.tui.app import run_app

    return run_app(workspace_of(context))
