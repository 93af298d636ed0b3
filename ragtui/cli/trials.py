"""`run --ablate` and `run --sweep`: several runs over the same questions, and one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ragtui.cli.comparing import earnings_table, sweep_report
from ragtui.cli.output import Display, console, print_json, say
from ragtui.cli.render import heading

if TYPE_CHECKING:
    import typer

    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.plan import Plan, Provenance


def ablate(context: typer.Context, plan: Plan, provenance: Provenance, display: Display, as_json: bool) -> None:
    """Run the plan and each leave-one-out of what it has; print what each stage earns."""
    from ragtui.analysis.summary import decisive_measure
    from ragtui.analysis.sweep import ablations, earnings
    from ragtui.errors import InvalidInput

    parts = ablations(plan)
    if not parts:
        raise InvalidInput("The plan has nothing to leave out.", "It has one channel and no further stage.")
    whole = _run(context, plan, provenance, "whole plan", display)
    without = {part.name: _run(context, part.plan, provenance, f"without {part.name}", display) for part in parts}
    measure = decisive_measure(whole.measures, plan.metrics.primary)
    found = earnings(whole, without)
    if as_json:
        print_json({"run_id": whole.run_id, "runs": _ids(without), "measure": measure, "earnings": found})
        return
    screen = console()
    screen.print(heading(f"What each stage earns, by {measure}"), earnings_table(found, measure), sep="\n")


def sweep(
    context: typer.Context, plan: Plan, provenance: Provenance, axes: Sequence[str], part: str | None,
    display: Display, as_json: bool,
) -> None:  # fmt: skip
    """Run every point of a grid; print the table, the best point, and whether it can be told from the present plan."""
    from ragtui.analysis.points import check_points, grid, holdout
    from ragtui.analysis.summary import decisive_measure
    from ragtui.analysis.sweep import best_of
    from ragtui.cli.context import reading_lab
    from ragtui.experiment.editing import edit
    from ragtui.experiment.plan import tier_of
    from ragtui.experiment.validate import check_plan, measure_names

    points = {_label(point, axes): check_plan(edit(plan, point, "--sweep")) for point in grid(axes)}
    measure = decisive_measure(measure_names(plan), plan.metrics.primary)
    check_points(plan, points, measure)
    report_on = []
    if part is not None:
        asked = reading_lab(context, recover=False).evaluation(plan.evaluation, tier_of(plan))
        report_on = holdout(asked.cases, part, plan.evaluation.seed)[1]
    present = _run(context, plan, provenance, "present plan", display)
    runs = {name: _run(context, edited, provenance, name, display) for name, edited in points.items()}
    found = best_of(present, runs, measure, report_on=report_on)
    if as_json:
        print_json({"run_id": present.run_id, "runs": _ids(runs), "sweep": found})
    else:
        console().print(sweep_report(found))


def _label(point: Sequence[str], axes: Sequence[str]) -> str:
    """The settings of a point by the last part of their paths, or whole where two axes end alike."""
    ends = [axis.partition("=")[0].rsplit(".", 1)[-1].strip() for axis in axes]
    whole = len(set(ends)) < len(ends)
    return ", ".join(setting if whole else _end(setting) for setting in point)


def _end(setting: str) -> str:
    path, _, value = setting.partition("=")
    return f"{path.rsplit('.', 1)[-1]}={value}"


def _run(context: typer.Context, plan: Plan, provenance: Provenance, label: str, display: Display) -> RecordedRun:
    """One run of the series; its label becomes part of its name."""
    from ragtui.cli.context import running_lab
    from ragtui.cli.executing import execute

    lab = running_lab(context, plan)
    named = msgspec.structs.replace(provenance, name=f"{provenance.name}: {label}".removeprefix(": "))
    say(f"{label} …")
    return execute(lab, lab.bind(plan), named, display, as_json=True)


def _ids(runs: Mapping[str, RecordedRun]) -> dict[str, str]:
    return {name: run.run_id for name, run in runs.items()}
