"""From a command's options to an opened laboratory."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import typer

from ragtui.errors import InvalidInput, ProviderUnavailable
from ragtui.settings import Workspace, open_workspace

if TYPE_CHECKING:
    from ragtui.experiment.plan import Plan
    from ragtui.lab import Lab


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
        _recover(lab)
    return lab


def running_lab(context: typer.Context, plan: Plan) -> Lab:
    """A laboratory that may execute, with the embedder that the plan names."""
    from ragtui.lab import Lab, plan_embedder

    workspace = workspace_of(context)
    lab = Lab(workspace, "allow_runs", plan_embedder(plan, workspace), retrievers_of(plan))
    _recover(lab)
    return lab


def _recover(lab: Lab) -> None:
    from ragtui.cli.output import say

    for run_id in lab.recover():
        status = lab.store.run(run_id).status
        if status == "completed":
            say(f"Loaded run {run_id}, which had completed.")
        else:
            say(f"Recovered the {status} run {run_id}.  Continue it: ragtui resume {run_id}")


def retrievers_of(plan: Plan) -> dict[str, Callable[..., Any]]:
    """The callables that the plan's python channels name as `module:attribute`, found on the import path.

    The current folder is on that path, so `my_search:retrieve` measures a file beside the corpus. A callable without
    an `identity` attribute is refused when the plan is bound.
    """
    sources = {
        channel.source for channel in plan.retrieval.channels.values() if channel.kind == "python" and channel.source
    }
    return {source: _imported(source) for source in sorted(sources)}


def _imported(source: str) -> Callable[..., Any]:
    module_name, colon, attribute = source.partition(":")
    if not colon or not module_name or not attribute:
        raise InvalidInput(f"The retriever {source!r} is not of the form module:attribute.", "E.g. my_search:retrieve.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        raise ProviderUnavailable(
            f"The retriever {source!r} cannot be loaded: {type(error).__name__}: {error}.", "Check the module's name."
        ) from error
    if not callable(found):
        raise InvalidInput(f"The retriever {source!r} is not callable.", "Name a function or an object with __call__.")
    return cast("Callable[..., Any]", found)
