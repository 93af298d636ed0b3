"""`watch` and `cancel`: runs of this or another process, through their journals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from ragtui.cli.context import reading_lab, workspace_of
from ragtui.cli.options import RunArgument
from ragtui.cli.output import console, say, tell
from ragtui.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("watch")(watch)
    app.command("cancel")(cancel)


def watch(context: typer.Context, run: RunArgument = "latest") -> None:
    """Follow a live run in plain lines until it ends; never disturbs it.

    Example: ragtui watch latest
    """
    path = _live_journal(context, run)
    if path is None:
        from ragtui.cli.render import run_report

        recorded = reading_lab(context).outlined(run)
        say(f"Run {recorded.run_id} is not live; this is how it ended.")
        console().print(run_report(recorded), crop=False)
        return
    asyncio.run(_follow(path))


async def _follow(path: Path) -> None:
    from ragtui.cli.display import PlainDisplay
    from ragtui.store.journal import follow

    display = PlainDisplay(write=tell)
    async for events in follow(path):
        for event in events:
            display.show(event)
    display.close()


def cancel(context: typer.Context, run: RunArgument) -> None:
    """Ask a live run to stop: it finishes what is in flight and keeps everything.

    Example: ragtui cancel k3f9
    """
    from ragtui.store.journal import request_cancel

    path = _live_journal(context, run)
    if path is None:
        told = "No run is live." if run == "latest" else f"No live run is called {run!r}."
        raise InvalidInput(told, "`ragtui runs` shows which are running.")
    request_cancel(path.parent, path.stem)
    tell(f"Asked run {path.stem} to stop.")


def _live_journal(context: typer.Context, name: str) -> Path | None:
    """The journal of the live run with this id, prefix, or (as `latest`) the newest; None if there is none."""
    from ragtui.store.journal import live

    journals = live(workspace_of(context).journals)
    if name == "latest":
        return max(journals, key=lambda path: path.stat().st_mtime, default=None)
    found = [path for path in journals if path.stem.startswith(name)]
    if len(found) > 1:
        raise InvalidInput(
            f"{name!r} begins {len(found)} live runs.", f"Type more: {', '.join(p.stem for p in found)}."
        )
    return found[0] if found else None
