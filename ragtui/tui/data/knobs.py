"""The knobs of a plan that a recorded run can answer for: what each reads, writes, and how far a key moves it."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Floor, Plan
from ragtui.metrics.measure import parse_measure

Kind = Literal[
    "weight", "depth", "min_score", "rank_constant", "floor_score", "floor_minimum", "collapse", "results", "relevance"
]
Value = float | int | str | None
OFF = "off"
_STEPS_IN_RANGE = 40


class Range(msgspec.Struct, frozen=True):
    """The least and the greatest of something."""

    low: float
    high: float


class Ranges(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded scores' range by channel; a channel that never found anything is missing."""

    scores: dict[str, Range] = {}


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a plan.

    A number moves from `low` to `high` by `step` or `large`; `whole` ones are integers, `optional` ones can be off.
    A choice has `choices`. A `fixed` one cannot be moved now, for the reason given.
    """

    kind: Kind
    label: str
    channel: str = ""
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    large: float = 10.0
    whole: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()
    fixed: str = ""

    @property
    def key(self) -> str:
        """Names the knob among those of a plan."""
        return f"{self.kind}:{self.channel}"


def knobs_of(recorded: Plan, plan: Plan, ranges: Ranges) -> tuple[Knob, ...]:
    """The knobs in the order of the stages. `plan` says what the floor's score is, which its range depends on."""
    found: list[Knob] = []
    was, now = recorded.retrieval, plan.retrieval
    for name, channel in was.channels.items():
        weight = was.fusion.weights.get(name, 1.0)
        found += [
            Knob(kind="weight", label=f"{name} weight", channel=name, high=max(4.0, 2 * weight), step=0.1, large=1.0),
            Knob(
                kind="depth", label=f"{name} depth", channel=name, low=1, high=channel.depth, step=5, large=25,
                whole=True,
            ),
            _score_knob("min_score", f"{name} min", name, ranges, optional=True),
        ]  # fmt: skip
    constant = was.fusion.rank_constant
    found.append(Knob(kind="rank_constant", label="rank constant", high=max(120.0, 2 * constant), step=1, large=10))
    found.append(Knob(kind="floor_score", label="floor by", choices=(OFF, "fused", *was.channels)))
    if now.floor is None:
        found.append(Knob(kind="floor_minimum", label="floor min", fixed="Choose the score of the floor first."))
    elif now.floor.score == "fused":
        weights = sum(now.fusion.weights.get(name, 1.0) for name in now.channels)
        high = weights / (now.fusion.rank_constant + 1)
        step = _nice(high / _STEPS_IN_RANGE)
        found.append(Knob(kind="floor_minimum", label="floor min", high=high, step=step, large=10 * step))
    else:
        found.append(_score_knob("floor_minimum", "floor min", now.floor.score, ranges))
    found.append(Knob(kind="collapse", label="collapse", choices=("none", "document")))
    deep = max(was.results, sum(channel.depth for channel in was.channels.values()))
    found.append(Knob(kind="results", label="results", low=_least_results(recorded), high=deep, large=10, whole=True))
    found.append(Knob(kind="relevance", label="relevance from", low=1, high=3, large=2, whole=True))
    return tuple(found)


def _score_knob(kind: Kind, label: str, channel: str, ranges: Ranges, optional: bool = False) -> Knob:
    known = ranges.scores.get(channel, Range(0.0, 1.0))
    step = _nice((known.high - known.low) / _STEPS_IN_RANGE)
    low = round(math.floor(known.low / step) * step, 10)
    return Knob(
        kind=kind, label=label, channel=channel if optional else "", low=low, high=known.high, step=step,
        large=10 * step, optional=optional,
    )  # fmt: skip


def _nice(size: float) -> float:
    """The greatest of 1, 2 and 5 times a power of ten that is not above `size`; 0.01 where there is no size."""
    if not size > 0 or not math.isfinite(size):
        return 0.01
    power = 10.0 ** math.floor(math.log10(size))
    return float(next(power * factor for factor in (5, 2, 1) if power * factor <= size * (1 + 1e-9)))


def _least_results(plan: Plan) -> int:
    """The deepest cut-off of the plan's measures: fewer results than that are no plan."""
    return max((parse_measure(name).cutoff or 1 for name in plan.metrics.measures), default=1)


def read(plan: Plan, knob: Knob) -> Value:
    """The knob's value in a plan; None for a number that is off."""
    retrieval = plan.retrieval
    match knob.kind:
        case "weight":
            return retrieval.fusion.weights.get(knob.channel, 1.0)
        case "depth":
            return retrieval.channels[knob.channel].depth
        case "min_score":
            return retrieval.channels[knob.channel].min_score
        case "rank_constant":
            return retrieval.fusion.rank_constant
        case "floor_score":
            return OFF if retrieval.floor is None else retrieval.floor.score
        case "floor_minimum":
            return None if retrieval.floor is None else retrieval.floor.minimum
        case "collapse":
            return retrieval.collapse
        case "results":
            return retrieval.results
        case "relevance":
            return plan.metrics.relevance


def write(recorded: Plan, plan: Plan, knob: Knob, value: Value) -> Plan:
    """The plan with the knob at a value. At the recorded value a part is as it was recorded, field by field."""
    replace = msgspec.structs.replace
    old, part = recorded.retrieval, plan.retrieval
    match knob.kind:
        case "weight":
            weights = {name: weight for name, weight in part.fusion.weights.items() if name != knob.channel}
            if value != 1.0 or knob.channel in old.fusion.weights:
                weights[knob.channel] = _number(value)
            same = weights == old.fusion.weights
            part = replace(part, fusion=replace(part.fusion, weights=old.fusion.weights if same else weights))
        case "depth" | "min_score":
            changed = replace(part.channels[knob.channel], **{knob.kind: value})
            part = replace(part, channels={**part.channels, knob.channel: changed})
        case "rank_constant":
            part = replace(part, fusion=replace(part.fusion, rank_constant=_number(value)))
        case "floor_score":
            # A minimum means nothing on another score, so it begins where it drops nothing that has a score above 0.
            known = old.floor is not None and old.floor.score == value
            floor = None if value == OFF else old.floor if known else Floor(score=str(value), minimum=0.0)
            part = replace(part, floor=floor)
        case "floor_minimum":
            if part.floor is not None and value is not None:
                part = replace(part, floor=replace(part.floor, minimum=_number(value)))
        case "collapse":
            part = replace(part, collapse="document" if value == "document" else "none")
        case "results":
            part = replace(part, results=int(_number(value)))
        case "relevance":
            return replace(plan, metrics=replace(plan.metrics, relevance=int(_number(value))))
    return replace(plan, retrieval=part)


def reset(recorded: Plan, plan: Plan, knob: Knob) -> Plan:
    """The plan with the knob as recorded; the floor's minimum takes its score with it."""
    if knob.kind in ("floor_score", "floor_minimum"):
        return msgspec.structs.replace(
            plan, retrieval=msgspec.structs.replace(plan.retrieval, floor=recorded.retrieval.floor)
        )
    return write(recorded, plan, knob, read(recorded, knob))


def moved(knob: Knob, value: Value, by: int, *, large: bool = False) -> Value:
    """The value one step on (`by` 1) or back (-1): numbers to the next multiple of the step, inside the range.

    A value that was typed outside the range is moved towards it only.
    """
    if knob.choices:
        place = knob.choices.index(str(value)) + by
        return knob.choices[max(0, min(place, len(knob.choices) - 1))]
    if value is None:
        return knob.low if by > 0 else None
    number = _number(value)
    if knob.optional and by < 0 and number <= knob.low:
        return None
    step = knob.large if large else knob.step
    place = math.floor(number / step + 1e-9) + 1 if by > 0 else math.ceil(number / step - 1e-9) - 1
    following = round(place * step, 10)
    following = min(following, max(knob.high, number)) if by > 0 else max(following, min(knob.low, number))
    return round(following) if knob.whole else following + 0.0


def typed(knob: Knob, text: str) -> Value:
    """The number that a text means for the knob; InvalidInput where it is none."""
    if knob.choices:
        raise InvalidInput(f"{knob.label} is one of {', '.join(knob.choices)}.", "Change it with the arrow keys.")
    try:
        return int(text) if knob.whole else float(text)
    except ValueError:
        kind = "a whole number" if knob.whole else "a number"
        raise InvalidInput(f"{text!r} is not {kind}.", f"{knob.label} takes {kind}.") from None


def place_of(knob: Knob, value: Value) -> float | None:
    """Where the value stands in the knob's range, from 0 to 1; None where it has no place."""
    if knob.choices:
        return knob.choices.index(str(value)) / max(len(knob.choices) - 1, 1)
    if value is None or knob.high <= knob.low:
        return None
    return max(0.0, min((_number(value) - knob.low) / (knob.high - knob.low), 1.0))


def shown(value: Value) -> str:
    """The value as a person would write it."""
    if value is None:
        return OFF
    return value if isinstance(value, str) else f"{value:.6g}"


def _number(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)
