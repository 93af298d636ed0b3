"""`matrix`: models × plans, and looking a support question up in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ragtui.cli.options import DisplayOption, JsonOption, SetOption, SuiteOption, TagOption
from ragtui.cli.output import Display, console, print_data, print_json, say
from ragtui.errors import EXIT_OK, InvalidInput, ProviderUnavailable, RunFailed

if TYPE_CHECKING:
    from ragtui.analysis.matrix import Matrix, MatrixRow
    from ragtui.experiment.plan import Plan, Provenance
    from ragtui.lab import Spending
    from ragtui.settings import Workspace

_LIMIT = 25
_SEED = 0

ModelsOption = Annotated[str | None, typer.Option("--models", help="Models separated by commas: profiles, or mock.")]
SpecsOption = Annotated[str, typer.Option("--specs", help="Presets or plan files separated by commas.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Goldens, drawn stratified by tag; always the same.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
PromoteOption = Annotated[
    bool, typer.Option("--promote", help="Keep the table for `matrix lookup`, beside the goldens.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(name="matrix", invoke_without_command=True)
    group.callback()(matrix)
    group.command("lookup")(lookup)
    app.add_typer(group)


def matrix(
    context: typer.Context,
    models: ModelsOption = None,
    specs: SpecsOption = "hybrid",
    mode: Annotated[str, typer.Option("--mode", help="Modes, separated by commas.")] = "oracle,e2e,noretrieval",
    repeats: Annotated[
        int | None, typer.Option("--repeats", help="Times each case is asked (default 3; mock 1).")
    ] = None,
    limit: LimitOption = _LIMIT,
    suite: SuiteOption = None,
    tag: TagOption = None,
    settings: SetOption = None,
    promote: PromoteOption = False,
    markdown: MarkdownOption = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replay no answer of an earlier run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost; ask nothing.")] = False,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=0, help="For each run.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", min=0, help="For each run.")] = None,
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run models against plans over the same goldens and print what each can do.

    Example: ragtui matrix --models mock,local --limit 25
    """
    from ragtui.cli.context import workspace_of
    from ragtui.cli.matrix_view import matrix_markdown, matrix_table
    from ragtui.lab import Spending

    if context.invoked_subcommand is not None:
        return
    if not models:
        raise InvalidInput("No model is named.", "Say --models a,b; mock needs no server.")
    workspace = workspace_of(context)
    plans = _plans(workspace, models, specs, mode, repeats, limit, suite, tag or [], settings or [])
    spending = Spending(fresh=fresh, max_calls=max_calls, max_cost=max_cost)
    if dry_run:
        _estimate(context, plans, spending, as_json)
        return
    found = _made(context, plans, spending, limit, "none" if as_json and display == "auto" else display)
    refused: RunFailed | None = None
    try:
        _keep(workspace, found, promote)
    except RunFailed as error:
        # What was measured is shown all the same; as JSON it travels with the error.
        if as_json:
            error.result = msgspec.to_builtins(found)
            raise
        refused = error
    if as_json:
        print_json(found)
    elif markdown:
        print_data(matrix_markdown(found).encode())
    else:
        console().print(matrix_table(found))
    _tell_failed(found)
    if refused is not None:
        raise refused
    raise typer.Exit(_code(found))


def lookup(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="The model of the row.")],
    correctness: Annotated[float, typer.Option("--correctness", min=0, max=1, help="What somebody reports.")],
    mode: Annotated[str, typer.Option("--mode", help="The mode that it was measured in.")] = "e2e",
    as_json: JsonOption = False,
) -> None:
    """Is a reported number the model's ceiling, or well below what it does here?

    Example: ragtui matrix lookup local --correctness 0.55
    """
    from ragtui.analysis.matrix import lookup as looked_up
    from ragtui.analysis.matrix import read_matrix
    from ragtui.cli.context import workspace_of
    from ragtui.cli.matrix_view import lookup_report
    from ragtui.lab.matrices import latest_matrix, promoted_matrix

    workspace = workspace_of(context)
    kept = promoted_matrix(workspace)
    table = read_matrix(kept if kept.exists() else latest_matrix(workspace))
    rows = looked_up(table, model, "correctness", correctness, mode)
    if as_json:
        print_json({"lookup": rows})
    else:
        console().print(lookup_report(rows))


def _plans(
    workspace: Workspace, models: str, specs: str, mode: str, repeats: int | None, limit: int, suite: str | None,
    tags: list[str], settings: list[str],
) -> list[tuple[str, str, Plan, Provenance]]:  # fmt: skip
    """Model, plan's name, plan and provenance of every row; all faults come before anything is run.

    Raises ProviderUnavailable for every name at once that is no model here.
    """
    from ragtui.cli.plans import chosen_plan
    from ragtui.experiment.editing import edit
    from ragtui.experiment.generating import with_generation
    from ragtui.experiment.validate import check_plan
    from ragtui.lab import plan_embedder, plan_generator, plan_judge

    found = []
    unknown: dict[str, str] = {}
    for model in _named(models):
        for spec in _named(specs):
            plan, provenance = chosen_plan(spec, suite, tags, limit, [], f"matrix {model} {spec}")
            plan = with_generation(plan, workspace, model, mode, False, repeats, False)
            plan = check_plan(edit(plan, settings))
            found.append((model, Path(spec).stem, plan, provenance))
            for power in (plan_generator, plan_judge, plan_embedder):
                try:
                    power(plan, workspace)
                except ProviderUnavailable as error:
                    unknown.setdefault(error.message, error.hint)
    if unknown:
        raise ProviderUnavailable(" ".join(unknown), " ".join(dict.fromkeys(unknown.values())))
    return found


def _made(
    context: typer.Context,
    plans: list[tuple[str, str, Plan, Provenance]],
    spending: Spending,
    limit: int,
    display: Display,
) -> Matrix:
    """Every run, one after the other: two models at once would share a server's memory."""
    from ragtui.analysis.matrix import Matrix, MatrixRow, matrix_row
    from ragtui.cli.context import running_lab, workspace_of
    from ragtui.cli.executing import execute
    from ragtui.cli.generate import calibrate
    from ragtui.ids import new_run_id
    from ragtui.lab.matrices import matrices_folder
    from ragtui.store.matrix_journal import MatrixPlanned, MatrixWriter

    rows: list[MatrixRow] = []
    corpus, evaluation = "", ""
    suites: tuple[str, ...] = ()
    run_ids = [new_run_id() for _ in plans]
    recipe = plans[0][2].generation
    planned = MatrixPlanned(
        rows=tuple((model, name, run_id) for (model, name, _, _), run_id in zip(plans, run_ids, strict=True)),
        modes=recipe.modes if recipe is not None else (), limit=limit, made_at=_now(),
    )  # fmt: skip
    with MatrixWriter.begin(matrices_folder(workspace_of(context)), planned) as told:
        for (model, name, plan, provenance), run_id in zip(plans, run_ids, strict=True):
            try:
                lab = running_lab(context, plan)
                specification = lab.bind(plan)
                corpus, evaluation = specification.corpus_id, specification.evaluation_id
                suites = plan.evaluation.suites
                run = execute(lab, specification, provenance, display, False, run_id=run_id, spending=spending)
                calibrate(lab, run.run_id)
                rows.append(matrix_row(run, model, name))
            except ProviderUnavailable as error:
                say(f"{model} with {name}: {error.message}\n  {error.hint}")
                told.failed(run_id, error.message)
                rows.append(MatrixRow(model=model, plan=name, error=error.message))
    return Matrix(
        corpus_id=corpus, evaluation_id=evaluation, suites=suites, limit=limit, seed=_SEED, made_at=_now(),
        rows=tuple(rows),
    )  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _estimate(
    context: typer.Context, plans: list[tuple[str, str, Plan, Provenance]], spending: Spending, as_json: bool
) -> None:
    from ragtui.cli.context import running_lab
    from ragtui.cli.generate import show_estimate

    rows = []
    for _, _, plan, _ in plans:
        lab = running_lab(context, plan)
        rows += lab.estimate(lab.bind(plan), spending)
    show_estimate(rows, as_json)


def _keep(workspace: Workspace, found: Matrix, promote: bool) -> None:
    from ragtui.analysis.matrix import write_matrix
    from ragtui.lab.matrices import latest_matrix, promote_matrix

    write_matrix(latest_matrix(workspace), found)
    if promote:
        say(f"Kept as {promote_matrix(workspace, found).relative_to(workspace.root)}.")


def _named(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _tell_failed(found: Matrix) -> None:
    """Which rows have cases that failed, and how to try those again; on stderr."""
    failed = [row for row in found.rows if row.errors]
    for row in failed:
        say(
            f"{row.model} with {row.plan}: {row.errors} of {row.cases} cases failed.\n"
            f"  Why: ragtui show {row.run_id} --errors   Try them again: ragtui generate --retry-errors {row.run_id}"
        )
    if failed:
        say("Then repeat the matrix: what was answered is replayed.")


def _code(found: Matrix) -> int:
    if any(row.error for row in found.rows):
        return ProviderUnavailable.exit_code
    return RunFailed.exit_code if any(row.errors for row in found.rows) else EXIT_OK
