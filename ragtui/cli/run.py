"""`run` and `resume`: execute a specification, show it, decide."""

from __future__ import annotations

from typing import Annotated

import typer

from ragtui.cli.context import running_lab, tell_code, tell_fresh
from ragtui.cli.executing import execute
from ragtui.cli.options import (
    AblateOption,
    AgainstOption,
    CallsOption,
    CostOption,
    DisplayOption,
    FreshOption,
    HoldoutOption,
    JsonOption,
    LimitOption,
    MinOption,
    NameOption,
    NoteOption,
    PlanArgument,
    ReportOption,
    SetOption,
    StrictOption,
    SuiteOption,
    SweepOption,
    TagOption,
    ToleranceOption,
    VerboseOption,
)
from ragtui.cli.outcomes import emit, outcome, parse_floors, reached, verdict_code
from ragtui.cli.output import say
from ragtui.errors import InvalidInput


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("resume")(resume)


def run(
    context: typer.Context,
    plan: PlanArgument = "hybrid",
    suite: SuiteOption = None,
    tag: TagOption = None,
    limit: LimitOption = None,
    settings: SetOption = None,
    verbose: VerboseOption = False,
    minimum: MinOption = None,
    against: AgainstOption = None,
    tolerance: ToleranceOption = 0.02,
    strict: StrictOption = False,
    ablate: AblateOption = False,
    sweep: SweepOption = None,
    holdout: HoldoutOption = None,
    report_folder: ReportOption = None,
    name: NameOption = None,
    note: NoteOption = "",
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run a retrieval evaluation and record it.

    Example: ragtui run hybrid --tag numeric --set retrieval.fusion.rank_constant=20
    """
    from ragtui.cli.plans import chosen_plan

    recipe, provenance = chosen_plan(plan, suite, tag or [], limit, settings or [], name, note)
    floors = parse_floors(minimum or [], recipe)
    if holdout is not None and not sweep:
        raise InvalidInput(
            "--holdout reports on a sweep's choice, and there is no --sweep.", "Add one, or leave it out."
        )
    if ablate or sweep:
        gates = {"--min": minimum, "--against": against, "--strict": strict, "--report": report_folder}
        given = ", ".join(option for option, value in gates.items() if value)
        if given:
            raise InvalidInput(
                f"{given} would not be obeyed: a series of runs is compared within itself and gates nothing.",
                "Run the plan of your choice by itself with them.",
            )
        from ragtui.cli import trials

        if ablate:
            trials.ablate(context, recipe, provenance, display, as_json)
        if sweep:
            trials.sweep(context, recipe, provenance, sweep, holdout, display, as_json)
        return
    lab = running_lab(context, recipe)
    specification = lab.bind(recipe)
    # The baseline is found before anything is spent on a run that could not be compared.
    base = lab.recorded_or_file(against, specification) if against is not None else None
    whole = base is not None or report_folder is not None
    recorded = execute(lab, specification, provenance, display, as_json, whole=whole)
    comparison = None
    if base is not None:
        # Only a gated run pays for loading what decides.
        from ragtui.analysis.compare import compare as compared

        comparison = compared(base, recorded, tolerance=tolerance)
    results = reached(recorded, floors)
    emit(recorded, verbose, as_json, comparison, results)
    code = outcome(recorded, results)
    if comparison is not None:
        code = code or verdict_code(comparison, strict)
    if report_folder is not None:
        from ragtui.cli.reporting import write_reports

        write_reports(lab, report_folder, recorded, base, comparison)
    raise typer.Exit(code)


def resume(
    context: typer.Context,
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="The run to continue.")],
    fresh: FreshOption = False,
    max_calls: CallsOption = None,
    max_cost: CostOption = None,
    verbose: VerboseOption = False,
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Finish the missing and failed cases of an interrupted run, as a further attempt.

    Example: ragtui resume latest
    """
    from ragtui.cli.context import reading_lab
    from ragtui.lab import Spending

    reader = reading_lab(context)
    store, run_id = reader.resolve(run_name)
    if store is not reader.store:
        raise InvalidInput(f"Run {run_id} is in the reference store, which is read-only.", "Start a new run.")
    stored = store.run(run_id)
    plan = stored.specification.plan
    if stored.status == "completed" and len(store.finished_indexes(run_id, including_errors=False)) == stored.cases:
        say(f"Run {run_id} is complete; there is nothing to resume.")
        recorded = reader.outlined(run_id)
    else:
        tell_code(plan)
        tell_fresh(stored, fresh)
        lab = running_lab(context, plan)
        specification = lab.bind(plan)
        recorded = execute(
            lab, specification, stored.provenance, display, as_json, run_id=run_id, resume=True, whole=False,
            spending=Spending(fresh=fresh, max_calls=max_calls, max_cost=max_cost),
        )  # fmt: skip
    emit(recorded, verbose, as_json)
    raise typer.Exit(outcome(recorded))
