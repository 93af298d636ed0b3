"""`generate`: the generation tier. Is it the retriever or the model?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragtui.cli.options import (
    AgainstOption,
    CallsOption,
    CostOption,
    DisplayOption,
    FreshOption,
    JsonOption,
    LimitOption,
    MinOption,
    NameOption,
    NoteOption,
    ReportOption,
    SetOption,
    StrictOption,
    SuiteOption,
    TagOption,
    ToleranceOption,
    VerboseOption,
)
from ragtui.cli.output import Display, console, print_json, say
from ragtui.errors import InvalidInput

if TYPE_CHECKING:
    from ragtui.analysis.estimate import EstimateRow
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.verdict import FloorResult
    from ragtui.experiment.plan import Plan
    from ragtui.lab import Lab, Spending

WhatArgument = Annotated[
    str, typer.Argument(metavar="[PLAN|MODEL]", help="A preset or plan file, or a model: mock, or a profile's name.")
]
ModelOption = Annotated[str | None, typer.Option("--model", help="mock (no server), a profile, or profile:model.")]
ModeOption = Annotated[
    str | None, typer.Option("--mode", help="oracle, e2e, noretrieval, mock; several separated by commas.")
]
AllModesOption = Annotated[bool, typer.Option("--all-modes", help="Every mode, and the decomposition.")]
RepeatsOption = Annotated[int | None, typer.Option("--repeats", help="Times each case is asked (default 3; mock 1).")]
NoRewriteOption = Annotated[bool, typer.Option("--no-rewrite", help="Search with the last question as it stands.")]
RetryOption = Annotated[str | None, typer.Option("--retry-errors", metavar="RUN", help="Repeat a run's failed cases.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost; ask nothing.")]
JudgeOption = Annotated[str | None, typer.Option("--judge", metavar="PROFILE", help="Let a model judge the answers.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(
    context: typer.Context,
    what: WhatArgument = "hybrid",
    model: ModelOption = None,
    mode: ModeOption = None,
    all_modes: AllModesOption = False,
    repeats: RepeatsOption = None,
    suite: SuiteOption = None,
    tag: TagOption = None,
    limit: LimitOption = None,
    settings: SetOption = None,
    no_rewrite: NoRewriteOption = False,
    fresh: FreshOption = False,
    retry_errors: RetryOption = None,
    dry_run: DryRunOption = False,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    judge: JudgeOption = None,
    verbose: VerboseOption = False,
    minimum: MinOption = None,
    against: AgainstOption = None,
    tolerance: ToleranceOption = 0.02,
    strict: StrictOption = False,
    report_folder: ReportOption = None,
    name: NameOption = None,
    note: NoteOption = "",
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Let a model answer the goldens, with the right documents, with what retrieval finds, and with nothing.

    Example: ragtui generate --model mock --all-modes
    """
    from ragtui.analysis.beforehand import refuse_incomparable
    from ragtui.analysis.compare import compare
    from ragtui.cli.context import running_lab, workspace_of
    from ragtui.cli.executing import execute
    from ragtui.cli.generation_plans import told_apart
    from ragtui.cli.outcomes import emit, outcome, parse_floors, reached, verdict_code
    from ragtui.cli.plans import chosen_plan
    from ragtui.cli.reporting import write_reports
    from ragtui.experiment.editing import edit
    from ragtui.experiment.generating import with_generation
    from ragtui.experiment.validate import check_plan
    from ragtui.lab import Spending

    spending = Spending(fresh=fresh, max_calls=max_calls, max_cost=max_cost)
    if retry_errors is not None:
        _retry(context, retry_errors, spending, verbose, display, as_json)
        return
    workspace = workspace_of(context)
    plan_name, model = told_apart(what, model, workspace)
    recipe, provenance = chosen_plan(plan_name, suite, tag or [], limit, [], name, note)
    recipe = with_generation(recipe, workspace, model, mode, all_modes, repeats, no_rewrite, judge)
    recipe = check_plan(edit(recipe, settings or []))
    judged_floors, counted = judged_apart(minimum or [], recipe)
    floors = parse_floors(counted, recipe)
    lab = running_lab(context, recipe)
    specification = lab.bind(recipe)
    if dry_run:
        show_estimate(lab.estimate(specification, spending), as_json)
        return
    base = lab.recorded_or_file(against, specification) if against is not None else None
    if base is not None:
        goldens = lab.evaluation(recipe.evaluation, "generation").cases
        refuse_incomparable(base, specification, goldens, lab.snapshot)
    recorded = execute(lab, specification, provenance, display, as_json, spending=spending)
    calibrate(lab, recorded.run_id)
    comparison = None if base is None else compare(base, recorded, tolerance=tolerance)
    gates = [*reached(recorded, floors), *judged_results(recorded, judged_floors)]
    emit(recorded, verbose, as_json, comparison, gates)
    code = outcome(recorded, gates)
    if comparison is not None:
        code = code or verdict_code(comparison, strict)
    if report_folder is not None:
        write_reports(lab, report_folder, recorded, base, comparison)
    raise typer.Exit(code)


def judged_apart(minimum: list[str], plan: Plan) -> tuple[dict[str, float], list[str]]:
    """The floors that name a judged measure (they gate only so), and the others."""
    from ragtui.analysis.judge import JUDGED

    judged, others = {}, []
    for text in minimum:
        name, _, value = text.rpartition("=")
        if name.strip().lower() not in JUDGED:
            others.append(text)
            continue
        if plan.generation is None or plan.generation.judge is None:
            raise InvalidInput(f"--min {text}: nothing judges the answers.", "Name a judge with --judge PROFILE.")
        try:
            judged[name.strip().lower()] = float(value)
        except ValueError as error:
            raise InvalidInput(f"--min {text!r} is not MEASURE=VALUE.", "E.g. --min faithfulness=0.8") from error
    return judged, others


def judged_results(recorded: RecordedRun, floors: dict[str, float]) -> list[FloorResult]:
    """Whether each judged measure that was named reaches its floor."""
    from ragtui.analysis.judge import judge_section
    from ragtui.analysis.modes import headline_mode
    from ragtui.analysis.verdict import FloorResult

    section = judge_section(recorded) if floors else None
    results = []
    for name, least in floors.items():
        value = section.measures[headline_mode(recorded)][name].value if section is not None else None
        passed = value is not None and value >= least
        told = f"{name} (judged) is {'unknown' if value is None else f'{value:.4f}'}"
        reason = f"{told}, {'at least' if passed else 'below'} {least:g}."
        results.append(FloorResult(name, least, value, passed, reason))
    return results


def calibrate(lab: Lab, run_id: str) -> None:
    """Keep what the run tells of the model's tokens, for the plans that are bound next."""
    from ragtui.pipeline import calibration

    identity = lab.store.run(run_id).specification.generator
    measured = calibration.measured(
        answer for trace in lab.store.traces(run_id) if (answer := trace.answered) is not None
    )
    if identity is not None and measured is not None and calibration.keep(lab.workspace.state, identity, measured):
        say(
            f"{identity.model} has {measured.characters_per_token:g} characters a token ({measured.prompts} prompts); "
            f"plans that leave it open are bound to that from now on."
        )


def show_estimate(rows: list[EstimateRow], as_json: bool) -> None:
    """What runs would take, on stdout."""
    from ragtui.cli.generation_view import estimate_table

    if as_json:
        print_json({"estimate": rows})
    else:
        console().print(estimate_table(rows))


def _retry(
    context: typer.Context, run: str, spending: Spending, verbose: bool, display: Display, as_json: bool
) -> None:
    """Ask again only where a run of the generation tier failed, as a further attempt of it."""
    from ragtui.cli.context import reading_lab, running_lab, tell_code, tell_fresh
    from ragtui.cli.executing import execute
    from ragtui.cli.outcomes import emit, outcome

    reader = reading_lab(context)
    store, run_id = reader.resolve(run)
    if store is not reader.store:
        raise InvalidInput(f"Run {run_id} is in the reference store, which is read-only.", "Start a new run.")
    stored = store.run(run_id)
    plan = stored.specification.plan
    if plan.generation is None:
        raise InvalidInput(f"Run {run_id} is of the retrieval tier.", f"Use `ragtui resume {run_id}`.")
    failed = store.finished_indexes(run_id) - store.finished_indexes(run_id, including_errors=False)
    if not failed:
        say(f"Run {run_id} has no failed case.")
        recorded = reader.recorded(run_id)
    else:
        tell_code(plan)
        tell_fresh(stored, spending.fresh)
        lab = running_lab(context, plan)
        recorded = execute(
            lab, lab.bind(plan), stored.provenance, display, as_json, run_id=run_id, resume=True, only_errors=True,
            spending=spending,
        )  # fmt: skip
    emit(recorded, verbose, as_json)
    raise typer.Exit(outcome(recorded))
