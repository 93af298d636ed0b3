"""Many plans over the same cases: leave-one-out ablations, what each stage earns, and choosing the best."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ragtui.analysis.contrast import MeasureChange, applies, contrast, score_columns
from ragtui.analysis.goldens import by_golden, common_mode, standing
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import ALPHA, FloatArray, holm
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.experiment.generation import MOCK, SEARCHING, headline_of
from ragtui.experiment.plan import Plan, Retrieval
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Estimate, mean_estimate
from ragtui.metrics.measure import parse_measure

_NAMED = 5


class Ablation(NamedTuple):
    """A plan without one thing that it has."""

    name: str
    plan: Plan


class Earning(msgspec.Struct, frozen=True):
    """What a stage earns: each measure's change from the plan without it to the plan with it."""

    name: str
    measures: dict[str, MeasureChange]


class Point(msgspec.Struct, frozen=True):
    """One point of a sweep: its measure, and its change against the present plan.

    `lacking` counts the cases that failed or never finished, of those that the choice is made on.
    """

    name: str
    run_id: str
    value: Estimate
    change: MeasureChange
    lacking: int = 0


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The points in the order given, the best of them, and whether it differs from the present plan.

    `distinguishable`: its adjusted p, over all points, is below 0.05, for better or for worse. `held_out` is the best
    point's change on cases that had no part in choosing it; None without a holdout.
    """

    measure: str
    points: tuple[Point, ...]
    best: str
    distinguishable: bool
    held_out: MeasureChange | None
    notes: tuple[str, ...]


def ablations(plan: Plan) -> list[Ablation]:
    """The plan without each thing it has: a channel, unequal weights, a minimum score, the floor, the collapse.

    A channel takes with it its weight and the floor that reads its score; the only one cannot be left out, nor one
    whose absence leaves no weight. In the generation tier the rewriting of questions is a stage too; InvalidInput
    where its mode does not search, so that no stage could earn anything.
    """
    recipe = plan.generation
    if recipe is not None and (mode := headline_of(recipe.modes)) not in SEARCHING:
        raise InvalidInput(
            f"The mode {mode}, which stands for this plan, does not search: no stage earns anything in it.",
            f"Add the mode e2e: generation.modes = {json.dumps([*recipe.modes, 'e2e'])}.",
        )
    retrieval = plan.retrieval
    found: list[tuple[str, Retrieval]] = []
    for name in retrieval.channels:
        remaining = _without_channel(retrieval, name)
        if remaining is not None:
            found.append((f"channel {name}", remaining))
    if len({retrieval.fusion.weights.get(name, 1.0) for name in retrieval.channels}) > 1:
        equal = msgspec.structs.replace(retrieval.fusion, weights={})
        found.append(("weights", msgspec.structs.replace(retrieval, fusion=equal)))
    for name, channel in retrieval.channels.items():
        if channel.min_score is not None:
            channels = retrieval.channels | {name: msgspec.structs.replace(channel, min_score=None)}
            found.append((f"minimum score of {name}", msgspec.structs.replace(retrieval, channels=channels)))
    if retrieval.floor is not None:
        found.append(("floor", msgspec.structs.replace(retrieval, floor=None)))
    if retrieval.collapse != "none":
        found.append(("collapse", msgspec.structs.replace(retrieval, collapse="none")))
    parts = [Ablation(name, msgspec.structs.replace(plan, retrieval=without)) for name, without in found]
    if recipe is not None and recipe.rewrite and recipe.model != MOCK and "e2e" in recipe.modes:
        as_asked = msgspec.structs.replace(recipe, rewrite=False)
        parts.append(Ablation("rewriting", msgspec.structs.replace(plan, generation=as_asked)))
    return parts


def earnings(whole: RecordedRun, without: Mapping[str, RecordedRun], measures: Sequence[str] = ()) -> list[Earning]:
    """What each left-out thing earns, with intervals; p is adjusted over the ablations, measure by measure.

    Positive is good for a measure that goes up. Without `measures`, all that the whole run reports. In the generation
    tier a case is a golden, its repeats averaged, in the mode that stands for the run.
    """
    mode = common_mode((whole, *without.values()))
    whole, without = by_golden(whole, mode), {name: by_golden(run, mode) for name, run in without.items()}
    names = [str(parse_measure(name)) for name in measures] or list(whole.measures)
    tables = [_change(run, whole, names, whole.cases) for run in without.values()]
    for name in names:
        _adjust(tables, name)
    return [Earning(name, table) for name, table in zip(without, tables, strict=True)]


def best_of(
    present: RecordedRun, points: Mapping[str, RecordedRun], measure: str, *, report_on: Sequence[str] = ()
) -> Sweep:
    """Compare every point with the present plan, and choose the best by `measure`; ties go to the earlier one.

    Points are chosen by the cases that all of them score; one that lacks cases is not chosen unless every one does.
    With `report_on` (case ids, see `points.holdout`) the choice is made on the other cases, and the chosen point's
    change is reported on these. In the generation tier a case is a golden, as in `earnings`. ComparisonRefused where
    the measure counts chunks and a point has other chunks.
    """
    if not points:
        raise InvalidInput("The sweep has no point.", "E.g. --sweep retrieval.fusion.rank_constant=10,20,60.")
    mode = common_mode((present, *points.values()))
    stands = {label: standing(run, mode) for label, run in points.items()}
    present, points = by_golden(present, mode), {label: by_golden(run, mode) for label, run in points.items()}
    name = str(parse_measure(measure))
    kept_out = set(report_on)
    chosen_on = [case for case in present.cases if case.id not in kept_out]
    if not chosen_on or (kept_out and not kept_out & {case.id for case in present.cases}):
        raise InvalidInput("The holdout leaves one side without a case.", "Hold out another tag or a smaller fraction.")
    tables = [_change(present, run, [name], chosen_on) for run in points.values()]
    if any(name not in table for table in tables):
        raise ComparisonRefused(
            f"{name} counts chunks, and the points have different chunk sets.", "Choose by a measure of documents."
        )
    _adjust(tables, name)
    columns = [score_columns(run, chosen_on, [name])[:, 0] for run in points.values()]
    asked = {case.id for case in chosen_on}
    lacking = [
        sum(count for lost in (found.failed, found.missing) for golden, count in lost.items() if golden in asked)
        for found in stands.values()
    ]
    rows = [
        Point(label, run.run_id, mean_estimate(column), table[name], lacks)
        for (label, run), table, column, lacks in zip(points.items(), tables, columns, lacking, strict=True)
    ]
    best = rows[_best(columns, lacking, parse_measure(name).higher_is_better)]
    change = best.change
    differs = change.p_adjusted is not None and change.p_adjusted < ALPHA and bool(change.delta)
    held_out = None
    if kept_out:
        reported = [case for case in present.cases if case.id in kept_out]
        held_out = _change(present, points[best.name], [name], reported)[name]
    return Sweep(
        measure=name, points=tuple(rows), best=best.name, distinguishable=differs, held_out=held_out,
        notes=tuple(_notes(rows, best, name, differs, held_out)),
    )  # fmt: skip


def _best(columns: Sequence[FloatArray], lacking: Sequence[int], higher: bool) -> int:
    """The place of the best mean over the cases that every candidate scores; a case that fails must not help."""
    whole = [place for place, lacks in enumerate(lacking) if not lacks] or list(range(len(columns)))
    candidates = np.array([columns[place] for place in whole])
    shared = ~np.isnan(candidates).any(axis=0)
    means = [mean_estimate(column[shared]).value for column in candidates]
    values = [-2.0 if mean is None else mean if higher else -mean for mean in means]
    return whole[values.index(max(values))]


def _change(
    base: RecordedRun, new: RecordedRun, names: Sequence[str], cases: Sequence[EvaluationCase]
) -> dict[str, MeasureChange]:
    if base.specification.evaluation_id != new.specification.evaluation_id:
        raise ComparisonRefused(
            f"{base.run_id} and {new.run_id} answer different goldens.", "Run every point over the same goldens."
        )
    chunk_sets = {run.specification.chunk_set_id for run in (base, new)}
    sensible = [name for name in names if len(chunk_sets) == 1 or parse_measure(name).level != "chunk"]
    scores = [score_columns(run, cases, sensible) for run in (base, new)]
    return contrast(sensible, scores[0], scores[1], applies(cases, sensible))


def _adjust(tables: Sequence[dict[str, MeasureChange]], name: str) -> None:
    """Write Holm's p over the tables into each."""
    tested = [(table, p) for table in tables if name in table and (p := table[name].p) is not None]
    for (table, _), adjusted in zip(tested, holm([p for _, p in tested]), strict=True):
        table[name] = msgspec.structs.replace(table[name], p_adjusted=adjusted)


def _without_channel(retrieval: Retrieval, name: str) -> Retrieval | None:
    channels = {other: channel for other, channel in retrieval.channels.items() if other != name}
    weights = {other: weight for other, weight in retrieval.fusion.weights.items() if other != name}
    if not any(weights.get(other, 1.0) > 0 for other in channels):
        return None
    floor = retrieval.floor
    return msgspec.structs.replace(
        retrieval,
        channels=channels,
        fusion=msgspec.structs.replace(retrieval.fusion, weights=weights),
        floor=None if floor is not None and floor.score == name else floor,
    )


def _notes(
    points: Sequence[Point], best: Point, measure: str, differs: bool, held_out: MeasureChange | None
) -> list[str]:
    notes = []
    change = best.change
    if not differs:
        notes.append(f"The best point cannot be told from the present plan by {measure} on these questions.")
    elif change.loss > 0:
        notes.append(
            f"No point beats the present plan: the best of them, {best.name}, changes {measure} by {_by(change)}."
        )
    lacking = [point for point in points if point.lacking]
    if lacking:
        named = ", ".join(f"{point.name} ({point.lacking}, run {point.run_id})" for point in lacking[:_NAMED])
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        chosen = "" if best.lacking else ", so that they were not chosen from"
        notes.append(f"Cases failed or never finished in {named}{more}{chosen}; `ragtui resume` tries them again.")
    if held_out is not None and held_out.delta is not None:
        notes.append(f"On the {held_out.scored} questions held out, {best.name} changes {measure} by {_by(held_out)}.")
    elif len(points) > 1:
        notes.append(
            f"The best of {len(points)} points was chosen on the questions that score it, so its value is too good: "
            "choose and report on different questions with --holdout."
        )
    return notes


def _by(change: MeasureChange) -> str:
    return f"{change.delta:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"
