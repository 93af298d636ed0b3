"""`generate`: the generation tier. Is it the retriever or the model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ragtui.cli.options import (
    DisplayOption,
    JsonOption,
    LimitOption,
    MinOption,
    NameOption,
    NoteOption,
    SetOption,
    SuiteOption,
    TagOption,
    VerboseOption,
)
from ragtui.cli.output import Display, console, print_json, say
from ragtui.errors import EXIT_GATE_FAILED, EXIT_OK, InvalidInput

if TYPE_CHECKING:
    from ragtui.analysis.estimate import EstimateRow
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.generation import Generation
    from ragtui.experiment.plan import Plan
    from ragtui.lab import Lab, Spending
    from ragtui.settings import Workspace

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
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask everything anew; replay no answer of an earlier run.")]
RetryOption = Annotated[str | None, typer.Option("--retry-errors", metavar="RUN", help="Repeat a run's failed cases.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost; ask nothing.")]
CallsOption = Annotated[int | None, typer.Option("--max-calls", min=0, help="Stop before more calls than this.")]
CostOption = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before it costs more than this.")]
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
    name: NameOption = None,
    note: NoteOption = "",
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Let a model answer the goldens, with the right documents, with what retrieval finds, and with nothing.

    Example: ragtui generate --model mock --all-modes
    """
    from ragtui.cli.context import running_lab, workspace_of
    from ragtui.cli.executing import execute
    from ragtui.cli.outcomes import emit, outcome, parse_floors
    from ragtui.cli.plans import chosen_plan
    from ragtui.experiment.editing import edit
    from ragtui.experiment.validate import check_plan
    from ragtui.lab import Spending

    spending = Spending(fresh=fresh, max_calls=max_calls, max_cost=max_cost)
    if retry_errors is not None:
        _retry(context, retry_errors, spending, verbose, display, as_json)
        return
    workspace = workspace_of(context)
    plan_name, model = _told_apart(what, model, workspace)
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
    recorded = execute(lab, specification, provenance, display, as_json, spending=spending)
    calibrate(lab, recorded.run_id)
    emit(recorded, verbose, as_json)
    raise typer.Exit(outcome(recorded, floors) or judged_code(recorded, judged_floors))


def with_generation(
    plan: Plan,
    workspace: Workspace,
    model: str | None,
    mode: str | None,
    all_modes: bool,
    repeats: int | None,
    no_rewrite: bool,
    judge: str | None = None,
) -> Plan:
    """The plan with its generation recipe as the options say; what they leave open stays as the plan has it."""
    from ragtui.experiment.generation import MOCK, Generation, Judge
    from ragtui.experiment.plan import Metrics

    recipe = plan.generation or Generation(model=model or _only_model(workspace, mode), repeats=0)
    if model is not None:
        recipe = msgspec.structs.replace(recipe, model=model)
    if judge is not None:
        recipe = msgspec.structs.replace(recipe, judge=Judge(model=judge))
    modes = _modes(mode, all_modes, recipe)
    if mode == MOCK and model is None:
        recipe = msgspec.structs.replace(recipe, model=MOCK)
    metrics = plan.metrics
    if plan.generation is None and metrics == Metrics(measures=metrics.measures, relevance=metrics.relevance):
        # A plan that says nothing of its gates is judged by its answers.
        metrics = msgspec.structs.replace(metrics, primary="correctness", guards=("refusalCorrectness",))
    count = repeats if repeats is not None else recipe.repeats or (1 if recipe.model == MOCK else 3)
    rewrite = recipe.rewrite and not no_rewrite
    return msgspec.structs.replace(
        plan, metrics=metrics, generation=msgspec.structs.replace(recipe, modes=modes, repeats=count, rewrite=rewrite)
    )


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


def judged_code(recorded: RecordedRun, floors: dict[str, float]) -> int:
    """1 where a judged measure that was named is below its floor, told on stderr."""
    from ragtui.analysis.judge import judge_section
    from ragtui.analysis.modes import headline_mode

    section = judge_section(recorded) if floors else None
    code = EXIT_OK
    for name, least in floors.items():
        value = section.measures[headline_mode(recorded)][name].value if section is not None else None
        if value is None or value < least:
            say(f"FAIL  {name} (judged) is {'unknown' if value is None else f'{value:.4f}'}, below {least:g}.")
            code = EXIT_GATE_FAILED
    return code


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


def _told_apart(what: str, model: str | None, workspace: Workspace) -> tuple[str, str | None]:
    """The plan and the model that the argument means: a model's name stands for the preset hybrid with it."""
    from ragtui.cli.plans import PLAN_SUFFIXES
    from ragtui.experiment.generation import MOCK
    from ragtui.experiment.presets import PRESETS

    if what in PRESETS or Path(what).exists():
        return what, model
    if what != MOCK and what.partition(":")[0] not in workspace.profiles:
        if Path(what).suffix in PLAN_SUFFIXES:
            return what, model
        raise InvalidInput(
            f"{what!r} is no preset, no plan file and no model.",
            f"Presets: {', '.join(PRESETS)}; models: {', '.join([MOCK, *sorted(workspace.profiles)])}.",
        )
    if model is not None and model != what:
        raise InvalidInput(f"Two models are named: {what} and {model}.", "Name a plan and --model, or a model alone.")
    return "hybrid", what


def _only_model(workspace: Workspace, mode: str | None) -> str:
    """The model where none is named: the workspace's only one."""
    from ragtui.experiment.generation import MOCK
    from ragtui.providers.select import SERVERS

    if mode == MOCK:
        return MOCK
    able = sorted(name for name, profile in workspace.profiles.items() if profile.kind in SERVERS)
    if len(able) == 1:
        return able[0]
    known = ", ".join([MOCK, *able])
    raise InvalidInput("No model is named.", f"Say --model NAME ({known}); mock needs no server.")


def _modes(text: str | None, all_modes: bool, recipe: Generation) -> tuple[str, ...]:
    """The modes; an echo beside a real model is the fourth of all."""
    from ragtui.experiment.generation import MOCK, MODES

    if all_modes:
        return MODES if recipe.model != MOCK else tuple(mode for mode in MODES if mode != MOCK)
    if text is None:
        return recipe.modes
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for mode in named:
        if mode not in MODES:
            raise InvalidInput(f"There is no mode {mode!r}.", f"Modes: {', '.join(MODES)}.")
    return named


def _retry(
    context: typer.Context, run: str, spending: Spending, verbose: bool, display: Display, as_json: bool
) -> None:
    """Ask again only where a run of the generation tier failed, as a further attempt of it."""
    from ragtui.cli.context import reading_lab, running_lab
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
        lab = running_lab(context, plan)
        recorded = execute(
            lab, lab.bind(plan), stored.provenance, display, as_json, run_id=run_id, resume=True, only_errors=True,
            spending=spending,
        )  # fmt: skip
    emit(recorded, verbose, as_json)
    raise typer.Exit(outcome(recorded, {}))
