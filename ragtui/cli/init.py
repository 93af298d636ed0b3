"""`init`: a workspace from somebody's own documents, or from the example."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragtui.cli.context import where
from ragtui.cli.output import say, tell, typed
from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.text import plural
from ragtui.settings import CONFIG_NAME, expanded, open_workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    context: typer.Context,
    documents: Annotated[
        Path | None, typer.Argument(help="The folder of documents (default: corpus/, docs/ or the like).")
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Start from the bundled corpus and questions.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace ragtui.toml and goldens/core.jsonl.")] = False,
) -> None:
    """Start a workspace from a folder of .md and .txt files: settings, three questions to edit, a check.

    Example: ragtui init docs
    """
    from ragtui.inputs.starting import copy_example

    root = expanded(where(context).workspace or Path.cwd())
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{root} cannot be made: {error.strerror or error}.", "Choose another folder.") from None
    if example:
        if documents is not None:
            raise InvalidInput("--example brings its own documents.", "Leave out the folder, or the option.")
        tell(f"Wrote {', '.join(copy_example(root))}.")
    else:
        _from_documents(root, documents, force)
    _leave_out(root)
    _check(root, example)


def _from_documents(root: Path, documents: Path | None, force: bool) -> None:
    from ragtui.inputs.corpus import read_corpus
    from ragtui.inputs.starting import find_documents, first_goldens, has_documents, settings_text, write_new

    corpus = expanded(documents) if documents is not None else find_documents(root)
    if not corpus.is_dir():
        raise InvalidInput(f"{documents} is not a folder.", "Name the folder that holds the documents.")
    if root.resolve().is_relative_to(corpus.resolve()):
        raise InvalidInput(
            "The workspace would lie inside its own corpus.",
            f"Put it elsewhere: ragtui -w ../my-rag init {documents or '.'}",
        )
    if not has_documents(corpus):
        raise InvalidInput(f"{corpus.name} holds no document.", "Documents end in .md, .markdown, .txt or .jsonl.")
    found, problems = read_corpus(corpus)
    if not found:
        raise InvalidFiles(problems)
    found.sort(key=lambda document: document.id)
    texts = {CONFIG_NAME: settings_text(root, corpus), "goldens/core.jsonl": first_goldens(found)}
    for name, text in texts.items():
        tell(f"Wrote {name}." if write_new(root / name, text, force) else f"{name} is there; left as it is.")


def _leave_out(root: Path) -> None:
    """Keep what can be built again out of version control; a `.gitignore` that is there stays as it is."""
    from ragtui.inputs.starting import BUILT, ignores_built, write_new

    if write_new(root / ".gitignore", f"{BUILT}\n"):
        tell("Wrote .gitignore.")
    elif not ignores_built(root / ".gitignore"):
        say(f"Add {BUILT} to .gitignore: it holds what can be built again.")


def _check(root: Path, example: bool) -> None:
    """Validate what is there now, and say what to do next."""
    from ragtui.analysis.inputs_report import check_inputs

    workspace = open_workspace(root)
    report = check_inputs(workspace.corpus, workspace.goldens)
    tell(f"{plural(report.documents, 'document')}, {plural(report.goldens, 'golden')}.")
    if report.problems:
        raise InvalidFiles(report.problems)
    at = "" if root == Path.cwd() else f"-w {typed(root)} "
    if not example:
        say("Next: edit goldens/core.jsonl (three real questions are enough to start), then")
    else:
        say("Next:")
    steps = {
        f"ragtui {at}run hybrid": "measure, and see what was missed",
        f"ragtui {at}".rstrip(): "open the app",
        "ragtui help start": "read the tutorial",
    }
    width = max(map(len, steps))
    for command, meaning in steps.items():
        say(f"  {command:{width}}  {meaning}")
