"""`compare`, `baseline promote | list`, `replay`: deciding from recorded runs. No service, index or model is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragtui.cli.context import reading_lab
from ragtui.cli.options import (
    AllowErrorsOption,
    JsonOption,
    ModeOption,
    ReportOption,
    RunArgument,
    SetOption,
    StrictOption,
    SubsetOption,
    ToleranceOption,
)
from ragtui.cli.outcomes import verdict_code
from ragtui.cli.output import console, print_json, say, tell
from ragtui.errors import InvalidInput

if TYPE_CHECKING:
    from ragtui.analysis.compare import Comparison


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("compare")(compare)
    group = typer.Typer(name="baseline", help="Promote runs to baselines, and list them.", no_args_is_help=True)
    group.command("promote")(promote)
    group.command("list")(list_baselines)
    app.add_typer(group)
    app.command("replay")(replay)


def compare(
    context: typer.Context,
    base: Annotated[str, typer.Argument(help="A run, `baseline`, or an exported run's .json file.")],
    new: Annotated[str, typer.Argument(help="The run that might be better.")],
    tag: Annotated[str | None, typer.Option("--tag", help="Only the questions with this tag.")] = None,
    subset: SubsetOption = False,
    allow_errors: AllowErrorsOption = False,
    tolerance: ToleranceOption = 0.02,
    mode: ModeOption = "verdict",
    strict: StrictOption = False,
    report: ReportOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs over the questions they share, and decide: PASS, FAIL (exit 1) or INCONCLUSIVE.

    Example: ragtui compare baseline latest
    """
    from ragtui.analysis.compare import compare as compared

    lab = reading_lab(context)
    present = lab.recorded_or_file(new)
    old = lab.recorded_or_file(base, present.specification)
    found = compared(
        old, present, tag=tag, subset=subset, tolerance=tolerance, mode=mode, allow_errors=allow_errors
    )  # fmt: skip
    show(found, as_json)
    if report is not None:
        from ragtui.cli.reporting import write_reports

        write_reports(lab, report, present, old, found)
    raise typer.Exit(verdict_code(found, strict))


def show(found: Comparison, as_json: bool) -> None:
    """The comparison on stdout."""
    if as_json:
        print_json(found)
    else:
        from ragtui.cli.comparing import comparison_report

        console().print(comparison_report(found))


def promote(
    context: typer.Context,
    run: RunArgument,
    name: Annotated[str, typer.Option("--name", help="The baseline's name.")] = "main",
    why: Annotated[str, typer.Option("--why", help="Why this run.")] = "",
    to_reference: Annotated[
        bool, typer.Option("--to-reference", help="Copy it to the reference store and write goldens/baselines/….json.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a completed run the baseline of its corpus, suites and tier.

    Example: ragtui baseline promote latest --why "new analyzer"
    """
    baseline, written = reading_lab(context).promote(run, name, why, to_reference)
    if as_json:
        print_json({"baseline": baseline, "file": str(written) if written else None})
    else:
        tell(f"{baseline.run_id} is the baseline {baseline.name!r} of {', '.join(baseline.suites)}")
        if written is not None:
            tell(f"written: {written}")


def list_baselines(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the baselines of the working store and of the reference store.

    Example: ragtui baseline list
    """
    from ragtui.cli.render import safe, table
    from ragtui.ids import short

    lab = reading_lab(context)
    rows = [("working", item) for item in lab.store.baselines()]
    rows += [("reference", item) for item in (lab.reference.baselines() if lab.reference else [])]
    if as_json:
        print_json({"baselines": [{"store": label, "baseline": item} for label, item in rows]})
    elif not rows:
        say("There is no baseline. Promote a run: ragtui baseline promote RUN")
    else:
        heads = ("name", "run", "store", "suites", "tier", "corpus", "promoted", "why")
        made = table(*heads, wrapping=("name", "suites", "why"), optional=("corpus", "tier"))
        for label, item in rows:
            made.add_row(
                safe(item.name), item.run_id, label, safe(", ".join(item.suites)), item.tier,
                short(item.corpus_id, 8), item.promoted_at[:10], safe(item.why),
            )  # fmt: skip
        console().print(made)


def replay(context: typer.Context, run: RunArgument, settings: SetOption = None, as_json: JsonOption = False) -> None:
    """What if: recompute a recorded run under other weights, depths, floors or cut-offs, from its recorded hits.

    Example: ragtui replay latest --set retrieval.fusion.rank_constant=10
    """
    from ragtui.analysis.compare import compare as compared
    from ragtui.analysis.replay import replay as replayed
    from ragtui.experiment.editing import edit

    if not settings:
        raise InvalidInput("A replay without a change is the run itself.", "Say what to change with --set.")
    recorded = reading_lab(context).recorded_or_file(run)
    again = replayed(recorded, edit(recorded.specification.plan, settings)).recorded()
    show(compared(recorded, again), as_json)
