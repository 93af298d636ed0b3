"""Many plans over the same cases: grids, leave-one-out ablations, what each stage earns, and choosing the best."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ragtui.analysis.contrast import MeasureChange, applies, contrast, score_columns
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import ALPHA, holm
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.experiment.plan import Plan, Retrieval
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Estimate, mean_estimate
from ragtui.metrics.measure import parse_measure

_CLOSING = {"[": "]", "{": "}"}
_MOST_POINTS = 10_000


class Ablation(NamedTuple):
    """A plan without one thing that it has."""

    name: str
    plan: Plan


class Earning(msgspec.Struct, frozen=True):
    """What a stage earns: each measure's change from the plan without it to the plan with it."""

    name: str
    measures: dict[str, MeasureChange]


class Point(msgspec.Struct, frozen=True):
    """One point of a sweep: its measure, and its change against the present plan (None for the present plan itself)."""

    name: str
    run_id: str
    value: Estimate
    change: MeasureChange | None


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The points in the order given, the best of them, and whether it differs from the present plan.

    `distinguishable`: its adjusted p, over all points, is below 0.05. `held_out` is the best point's change on cases
    that had no part in choosing it; None without a holdout.
    """

    measure: str
    points: tuple[Point, ...]
    best: str
    distinguishable: bool
    held_out: MeasureChange | None
    notes: tuple[str, ...]


def grid(settings: Sequence[str]) -> list[list[str]]:
    """Every combination of `path=a,b,c` as settings that `edit` takes, the last path varying fastest.

    A comma inside brackets, braces or quotes does not separate. InvalidInput for an empty value or a repeated path.
    """
    axes: dict[str, list[str]] = {}
    for setting in settings:
        path, equals, listed = setting.partition("=")
        path = path.strip()
        values = [value.strip() for value in _split(listed)]
        if not equals or not path or not all(values):
            raise InvalidInput(
                f"--sweep {setting!r} is not of the form path=value,value,….",
                "E.g. --sweep retrieval.fusion.rank_constant=10,20,60.",
            )
        if path in axes:
            raise InvalidInput(f"--sweep names {path} twice.", "Give all its values at once, separated by commas.")
        axes[path] = [f"{path}={value}" for value in dict.fromkeys(values)]
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > _MOST_POINTS:
        raise InvalidInput(f"The grid has {size} points; {_MOST_POINTS} is the most.", "Sweep fewer values at once.")
    return [list(point) for point in itertools.product(*axes.values())] if axes else []


def ablations(plan: Plan) -> list[Ablation]:
    """The plan without each thing it has: a channel, unequal weights, a minimum score, the floor, the collapse.

    A channel takes with it its weight and the floor that reads its score; the only one cannot be left out, nor one
    whose absence leaves no weight.
    """
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
    return [Ablation(name, msgspec.structs.replace(plan, retrieval=without)) for name, without in found]


def earnings(whole: RecordedRun, without: Mapping[str, RecordedRun], measures: Sequence[str] = ()) -> list[Earning]:
    """What each left-out thing earns, with intervals; p is adjusted over the ablations, measure by measure.

    Positive is good for a measure that goes up. Without `measures`, all that the whole run reports.
    """
    names = [str(parse_measure(name)) for name in measures] or list(whole.measures)
    tables = [_change(run, whole, names, whole.cases) for run in without.values()]
    for name in names:
        _adjust(tables, name)
    return [Earning(name, table) for name, table in zip(without, tables, strict=True)]


def best_of(
    present: RecordedRun, points: Mapping[str, RecordedRun], measure: str, *, report_on: Sequence[str] = ()
) -> Sweep:
    """Compare every point with the present plan, and choose the best by `measure`; ties go to the earlier one.

    With `report_on` (case ids, see `holdout`) the choice is made on the other cases, and the chosen point's change is
    reported on these.
    """
    name = str(parse_measure(measure))
    kept_out = set(report_on)
    chosen_on = [case for case in present.cases if case.id not in kept_out]
    if not points:
        raise InvalidInput("The sweep has no point.", "E.g. --sweep retrieval.fusion.rank_constant=10,20,60.")
    if not chosen_on or (kept_out and not kept_out & {case.id for case in present.cases}):
        raise InvalidInput("The holdout leaves one side without a case.", "Hold out another tag or a smaller fraction.")
    tables = [_change(present, run, [name], chosen_on) for run in points.values()]
    _adjust(tables, name)
    rows = [
        Point(label, run.run_id, mean_estimate(score_columns(run, chosen_on, [name])[:, 0]), table[name])
        for (label, run), table in zip(points.items(), tables, strict=True)
    ]
    sign = 1 if parse_measure(name).higher_is_better else -1
    best = max(rows, key=lambda row: -2.0 if row.value.value is None else sign * row.value.value)
    change = best.change
    differs = change is not None and change.p_adjusted is not None and change.p_adjusted < ALPHA and bool(change.delta)
    held_out = None
    if kept_out:
        reported = [case for case in present.cases if case.id in kept_out]
        held_out = _change(present, points[best.name], [name], reported)[name]
    return Sweep(
        measure=name, points=tuple(rows), best=best.name, distinguishable=differs, held_out=held_out,
        notes=tuple(_notes(best, name, len(points), differs, held_out)),
    )  # fmt: skip


def holdout(cases: Sequence[EvaluationCase], part: str | float, seed: int = 0) -> tuple[list[str], list[str]]:
    """Ids to choose on and ids to report on: `part` is a tag, or a fraction drawn by id, the same for the same seed.

    InvalidInput where one side would have no case.
    """
    fraction = _as_fraction(part)
    if fraction is None:
        tag = str(part).removeprefix("tag:")
        reported = {case.id for case in cases if tag in case.tags}
    else:
        drawn = sorted((case.id for case in cases), key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
        reported = set(drawn[: round(fraction * len(drawn))])
    if not reported or len(reported) == len(cases):
        known = ", ".join(sorted({tag for case in cases for tag in case.tags})) or "none"
        raise InvalidInput(
            f"Holding out {part!r} leaves {len(reported)} of {len(cases)} cases to report on.",
            f"Give a fraction between 0 and 1, or a tag of some cases (tags: {known}).",
        )
    ids = [case.id for case in cases]
    return [name for name in ids if name not in reported], [name for name in ids if name in reported]


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


def _notes(best: Point, measure: str, count: int, differs: bool, held_out: MeasureChange | None) -> list[str]:
    notes = []
    if not differs:
        notes.append(f"The best point cannot be told from the present plan by {measure} on these questions.")
    if held_out is not None and held_out.delta is not None:
        interval = f"{held_out.delta:+.4f} [{held_out.low:+.4f}, {held_out.high:+.4f}]"
        notes.append(f"On the {held_out.scored} questions held out, {best.name} changes {measure} by {interval}.")
    elif count > 1:
        notes.append(
            f"The best of {count} points was chosen on the questions that score it, so its value is too good: "
            "choose and report on different questions with --holdout."
        )
    return notes


def _as_fraction(part: str | float) -> float | None:
    try:
        return float(part)
    except ValueError:
        return None


def _split(listed: str) -> list[str]:
    """Cut at commas outside brackets and quotes."""
    values, depth, quoted, current = [], 0, False, ""
    for char in listed:
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in _CLOSING) - (char in _CLOSING.values())
        if char == "," and depth == 0 and not quoted:
            values.append(current)
            current = ""
        else:
            current += char
    return [*values, current]
