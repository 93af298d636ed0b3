"""`corpus check | status | ingest | health | reset`: documents and questions, and what is built from them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Annotated

import typer

from ragtui.cli.context import workspace_of
from ragtui.cli.options import JsonOption, PlanArgument, SetOption
from ragtui.cli.output import console, print_json, say, tell
from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.text import plural


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        name="corpus", help="Check, show, build or reset the corpus and its artifacts.", no_args_is_help=True
    )
    group.command("check")(check)
    group.command("status")(status)
    group.command("ingest")(ingest)
    group.command("health")(health)
    group.command("reset")(reset)
    app.add_typer(group)


def check(context: typer.Context, as_json: JsonOption = False) -> None:
    """Validate the corpus and every suite; every problem at once, with its place. Needs no database and no network.

    Example: ragtui corpus check
    """
    from ragtui.analysis.inputs_report import check_inputs

    workspace = workspace_of(context)
    found = check_inputs(workspace.corpus, workspace.goldens)
    if as_json:
        print_json(found)
        raise typer.Exit(InvalidFiles.exit_code if found.problems else 0)
    for warning in found.warnings:
        say(f"warning  {warning}")
    if found.problems:
        raise InvalidFiles(found.problems)
    suites = ", ".join(f"{name} {count}" for name, count in found.suites.items())
    tell(f"{found.documents} documents, {found.goldens} goldens ({suites}): no problem")


def status(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the snapshot, the suites, and every artifact with its size and state.

    Example: ragtui corpus status
    """
    from ragtui.analysis.inputs_report import check_inputs
    from ragtui.cli.corpus_view import artifact_rows, status_report

    workspace = workspace_of(context)
    found = check_inputs(workspace.corpus, workspace.goldens)
    rows = artifact_rows(workspace.artifacts)
    if as_json:
        print_json({"inputs": found, "artifacts": rows})
    else:
        console().print(status_report(found, rows))


def ingest(
    context: typer.Context,
    plan: PlanArgument = "hybrid",
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build what a plan needs (chunks, index, vectors) before its first run.

    Example: ragtui corpus ingest hybrid
    """
    from ragtui.cli.context import running_lab
    from ragtui.cli.plans import chosen_plan

    recipe, _ = chosen_plan(plan, settings=settings or [])
    lab = running_lab(context, recipe)
    built = lab.ingest(recipe, say, _embedding_progress())
    if as_json:
        print_json({"corpus_id": lab.snapshot.corpus_id, "artifacts": built})
    else:
        for kind, artifact_id in built.items():
            tell(f"{kind:8} {artifact_id}")


def health(
    context: typer.Context,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many of the newest runs are read.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Judge the suite by the stored runs: questions that decide, that never vary, that are alike; what is not judged.

    Example: ragtui corpus health --runs 4
    """
    from ragtui.analysis.health import suite_health
    from ragtui.cli.context import reading_lab
    from ragtui.cli.diagnosing import health_report

    found = suite_health(reading_lab(context).recent(runs))
    if as_json:
        print_json(found)
    else:
        console().print(health_report(found))


def _embedding_progress() -> Callable[[int, int], None]:
    """A line on stderr at most every two seconds, with the pace and what is left."""
    from ragtui.analysis.progress import stage_line
    from ragtui.events import StageProgress

    began = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 2.0:
            last = now
            say(stage_line(StageProgress(stage="embeddings", done=done, total=total, elapsed_s=now - began)))

    return show


def reset(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """Delete every artifact; runs, corpus and goldens stay. The next run builds anew.

    Example: ragtui corpus reset --yes
    """
    from ragtui.cli.corpus_view import artifact_rows, megabytes

    folder = workspace_of(context).artifacts
    rows = artifact_rows(folder)
    size = megabytes(sum(row["size"] for row in rows))
    if not rows:
        say("There is no artifact to delete.")
        return
    if not yes:
        if not typer.get_text_stream("stdin").isatty():
            raise InvalidInput(f"This deletes {plural(len(rows), 'artifact')} ({size}).", "Say --yes to do it.")
        typer.confirm(f"Delete {plural(len(rows), 'artifact')} ({size})?", abort=True, err=True)
    shutil.rmtree(folder)
    tell(f"Deleted {plural(len(rows), 'artifact')} ({size}).")
