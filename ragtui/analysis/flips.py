"""The questions that a change won or lost outright."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ragtui.analysis.statistics import FloatArray
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.measure import Measure


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to a question that came out differently in the other run.

    `case` is the case that gave it, `text` its beginning, `cut` where there is more. `missing` are required patterns
    that it lacks, `violated` forbidden ones that it holds; `error` stands in its place where the case failed.
    """

    case: str
    text: str = ""
    cut: bool = False
    passed: bool | None = None
    missing: tuple[str, ...] = ()
    violated: tuple[str, ...] = ()
    error: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, a phrase each; a wrong answer without a pattern's fault should have declined."""
        if self.error:
            return (self.error,)
        found = (*(f"lacks {pattern}" for pattern in self.missing), *(f"holds {pattern}" for pattern in self.violated))
        return found or (("does not decline",) if self.passed is False else ())


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A case that found something relevant in one run and nothing in the other, by the flips' measure.

    By a rate, which goes down, one that is right in one run (0) and wrong in the other: `lost` is always for the worse.
    In the generation tier one whose answers passed in every repeat of one run and in none of the other; then
    `measure` is the one that it flipped by, `base_answer` and `new_answer` are an answer of each run.
    """

    case: str
    query: str
    tags: tuple[str, ...]
    direction: Literal["lost", "found"]
    base: float
    new: float
    measure: str = ""
    base_answer: Told | None = None
    new_answer: Told | None = None


class Unstable(msgspec.Struct, frozen=True, kw_only=True):
    """A golden that some repeats of a run pass and others fail: in how many of how many, in both runs.

    It is no flip, whatever the other run says of it. The answers are one that passed and one that failed, each from
    the run that has more of its kind.
    """

    case: str
    query: str
    tags: tuple[str, ...]
    base_passed: int
    base_repeats: int
    new_passed: int
    new_repeats: int
    base_answer: Told | None = None
    new_answer: Told | None = None

    @property
    def change(self) -> float:
        """By how much the share of repeats that pass has grown; negative where it has shrunk."""
        return self.new_passed / self.new_repeats - self.base_passed / self.base_repeats

    @property
    def failed(self) -> Told | None:
        """An answer that failed, where one is at hand."""
        return next((told for told in (self.new_answer, self.base_answer) if told and told.passed is False), None)


def flip_measure_of(gating: Sequence[Measure], names: Sequence[str]) -> str:
    """The first comparable guard that a case hits or misses within a cut-off, else the first gating measure."""
    compared = [measure for measure in gating if str(measure) in names]
    for measure in compared:
        if measure.kind in ("R", "Success", "P") and measure.cutoff is not None:
            return str(measure)
    return str(compared[0]) if compared else (names[0] if names else str(gating[0]))


def find_flips(
    cases: Sequence[EvaluationCase], base: FloatArray, new: FloatArray, *, higher_is_better: bool
) -> tuple[Flip, ...]:
    """Lost ones first, each in the order of the run; where less is better, a value that left 0 is what was lost."""
    flips = [
        Flip(
            case=case.id, query=case.query, tags=case.tags,
            direction="lost" if (old > 0) == higher_is_better else "found", base=old, new=now,
        )
        for case, old, now in zip(cases, base.tolist(), new.tolist(), strict=True)
        if (old > 0 and now == 0) or (old == 0 and now > 0)
    ]  # fmt: skip
    return tuple(sorted(flips, key=lambda flip: flip.direction, reverse=True))
