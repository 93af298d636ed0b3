"""From a command's options to an opened laboratory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from ragtui.cli.output import say
from ragtui.errors import StoreUnavailable
from ragtui.settings import Workspace, open_workspace

if TYPE_CHECKING:
    from ragtui.experiment.plan import Plan
    from ragtui.lab import Lab
    from ragtui.store.rows import RunRecord


class Where(msgspec.Struct, frozen=True):
    """The global options: the workspace's folder and the working store, None where not given."""

    workspace: Path | None = None
    store: Path | None = None


def where(context: typer.Context) -> Where:
    """The global options of this invocation."""
    found = context.find_object(Where)
    return found if found is not None else Where()


def workspace_of(context: typer.Context) -> Workspace:
    """The workspace that the global options name."""
    options = where(context)
    return open_workspace(options.workspace, options.store)


def reading_lab(context: typer.Context, recover: bool = True) -> Lab:
    """A laboratory for reading; journals of dead processes are loaded first."""
    from ragtui.lab import Lab

    lab = Lab(workspace_of(context))
    if recover:
        try:
            _recover(lab)
        except StoreUnavailable as error:
            # What the store holds can be read all the same; where it cannot, the reading will say so.
            say(f"A journal waits to be loaded: {error.message}")
    return lab


def running_lab(context: typer.Context, plan: Plan, load: bool = True) -> Lab:
    """A laboratory that may execute, with the embedder that the plan names; no code of the plan's without `load`."""
    from ragtui.lab import Lab, plan_embedder, plan_generator, plan_judge, plan_retrievers

    workspace = workspace_of(context)
    lab = Lab(
        workspace,
        "allow_runs",
        plan_embedder(plan, workspace),
        plan_retrievers(plan, workspace, load),
        plan_generator(plan, workspace),
        plan_judge(plan, workspace),
    )
    _recover(lab)
    return lab


def tell_code(plan: Plan) -> None:
    """Name the code that a recorded plan is about to have executed: nobody named it on the command line."""
    from ragtui.cli.output import say
    from ragtui.lab import named_code

    for source in named_code(plan):
        say(f"Loads the retriever {source} from the current folder or the import path, as the run's plan names it.")


def tell_fresh(run: RunRecord, again: bool) -> None:
    """Say that a run which was begun with --fresh goes on so, where that is not asked for `again`."""
    from ragtui.lab.resuming import begun_fresh

    if begun_fresh(run) and not again:
        say("The run was begun with --fresh, and goes on so: no answer of another run is replayed.")


def _recover(lab: Lab) -> None:
    for run_id in lab.recover(lambda error, kept: say(f"{error} It is set aside as {kept}.")):
        status = lab.store.run(run_id).status
        if status == "completed":
            say(f"Loaded run {run_id}, which had completed.")
        else:
            say(f"Recovered the {status} run {run_id}.  Continue it: ragtui resume {run_id}")
