"""The questions that a change won or lost outright."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ragtui.analysis.statistics import FloatArray
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.measure import Measure


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A case that found something relevant in one run and nothing in the other, by the flips' measure."""

    case: str
    query: str
    tags: tuple[str, ...]
    direction: Literal["lost", "found"]
    base: float
    new: float


def flip_measure_of(gating: Sequence[Measure], names: Sequence[str]) -> str:
    """The first comparable guard that a case hits or misses within a cut-off, else the first gating measure."""
    compared = [measure for measure in gating if str(measure) in names]
    for measure in compared:
        if measure.kind in ("R", "Success", "P") and measure.cutoff is not None:
            return str(measure)
    return str(compared[0]) if compared else (names[0] if names else str(gating[0]))


def find_flips(cases: Sequence[EvaluationCase], base: FloatArray, new: FloatArray) -> tuple[Flip, ...]:
    """Lost ones first, each in the order of the run."""
    flips = [
        Flip(
            case=case.id, query=case.query, tags=case.tags, direction="lost" if old > 0 else "found", base=old, new=now
        )
        for case, old, now in zip(cases, base.tolist(), new.tolist(), strict=True)
        if (old > 0 and now == 0) or (old == 0 and now > 0)
    ]  # fmt: skip
    return tuple(sorted(flips, key=lambda flip: flip.direction, reverse=True))
