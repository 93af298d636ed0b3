"""The command tree. Each command's module loads what is heavy when the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragtui.cli import (
    compare,
    corpus,
    doctor,
    generate,
    help,
    imports,
    init,
    inspect,
    live,
    maintain,
    matrix,
    run,
    score,
    spec,
)
from ragtui.cli.context import Where

app = typer.Typer(
    name="ragtui",
    help="The laboratory for retrieval-augmented generation. Without a command it opens the app.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

WorkspaceOption = Annotated[
    Path | None, typer.Option("-w", "--workspace", help="The workspace's folder (default: the current folder).")
]
StoreOption = Annotated[Path | None, typer.Option("--store", help="The working store (default: as ragtui.toml says).")]


def _version(wanted: bool) -> None:
    if wanted:
        from ragtui import __version__
        from ragtui.cli.output import tell

        tell(f"ragtui {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    workspace: WorkspaceOption = None,
    store: StoreOption = None,
    version: Annotated[
        bool, typer.Option("-V", "--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """The laboratory for retrieval-augmented generation. Without a command it opens the app.

    Example: ragtui run hybrid
    """
    context.obj = Where(workspace, store)
    if context.invoked_subcommand is None:
        from ragtui.cli.full import open_app

        raise typer.Exit(open_app(context))


for module in (
    init,
    doctor,
    run,
    generate,
    matrix,
    inspect,
    compare,
    live,
    corpus,
    spec,
    maintain,
    score,
    imports,
    help,
):
    module.register(app)
