"""`prune`: give back disk space."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ragtui.cli.context import reading_lab
from ragtui.cli.options import JsonOption
from ragtui.cli.output import console, print_json, say
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.cli.pruning import Prunable
    from ragtui.lab import Lab


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prune")(prune)


def prune(
    context: typer.Context,
    keep: Annotated[int, typer.Option("--keep", min=0, help="Keep this many newest runs, and every baseline.")] = 50,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this only the sizes are shown.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete old runs, artifacts that none of the kept ones needs, and half-built folders.

    A run that is going on is kept with all it needs.

    Example: ragtui prune --keep 20 --yes
    """
    from ragtui.cli.corpus_view import megabytes
    from ragtui.cli.pruning import plan_pruning
    from ragtui.cli.render import safe, table

    lab = reading_lab(context)
    planned = plan_pruning(lab, keep)
    if yes:
        _delete(lab, planned)
    if as_json:
        print_json({"done": yes, "items": [{"what": item.what, "bytes": item.size} for item in planned]})
        return
    if not planned:
        say("There is nothing to prune.")
        return
    column = "freed" if yes else "frees"
    made = table("deleted" if yes else "what", column, right=(column,))
    for item in planned:
        made.add_row(safe(item.what), megabytes(item.size))
    console().print(made)
    total = f"{plural(len(planned), 'item')}, {megabytes(sum(item.size for item in planned))}"
    say(f"Deleted {total}." if yes else f"Nothing was deleted; say --yes to do it.  It would be {total}.")


def _delete(lab: Lab, planned: Sequence[Prunable]) -> None:
    """Delete the runs, then the folders."""
    doomed = [item.run_id for item in planned if item.run_id is not None]
    if doomed:
        lab.store.delete_runs(doomed, lab.workspace.journals)
    for item in planned:
        if item.folder is not None:
            shutil.rmtree(item.folder, ignore_errors=True)
