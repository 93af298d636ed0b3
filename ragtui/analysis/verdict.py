"""The decision: PASS, FAIL or INCONCLUSIVE, with its reasons, and absolute floors."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from ragtui.analysis.contrast import MeasureChange
from ragtui.analysis.statistics import ALPHA, questions_needed, smallest_detectable_effect
from ragtui.errors import InvalidInput
from ragtui.metrics.aggregate import Summary
from ragtui.metrics.measure import parse_measure

Mode = Literal["verdict", "threshold"]
TOLERANCE = 0.02
_ROUNDING = 1e-12


class Verdict(StrEnum):
    """What a comparison says."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the numbers. `identical`: every shared case is `alike` in both runs.

    `failed` says for each run how many of its shared cases, repeats counted one by one, ended with an error.
    """

    identical: bool = False
    alike: str = "ranking"
    equal_cases: bool = True
    unfinished: bool = False
    failed: tuple[tuple[str, int], ...] = ()
    not_compared: tuple[str, ...] = ()
    subset: bool = False
    allow_errors: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict and one sentence for each reason.

    `detectable` is the smallest change of the primary that this many questions show with 80 % power, `more_questions`
    how many more it takes to show a change of the tolerance; both None where the primary has no case.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    detectable: float | None = None
    more_questions: int | None = None


def decide(
    gates: Mapping[str, MeasureChange], evidence: Evidence, tolerance: float = TOLERANCE, mode: Mode = "verdict"
) -> Decision:
    """Judge the gating measures, the primary first.

    FAIL: a gating measure lost more than the tolerance and its adjusted p is below 0.05. PASS: the primary's interval
    excludes a loss of the tolerance or more, no guard fails, every case is scored and the sets of cases are equal;
    identical rankings need no interval. In the mode `threshold`, any loss above the tolerance fails and the rest
    passes, whatever the p and the interval.
    """
    if not (0 < tolerance < 1):
        raise InvalidInput(f"A tolerance of {tolerance} is not between 0 and 1.", "The default is 0.02.")
    primary_name, primary = next(iter(gates.items()))
    detectable, more = _what_the_suite_can_tell(primary, tolerance)

    def decision(verdict: Verdict, reasons: list[str]) -> Decision:
        return Decision(verdict=verdict, reasons=tuple(reasons), detectable=detectable, more_questions=more)

    failed = [
        f"{name} lost {change.loss:.4f}, more than the tolerance of {tolerance:g}"
        + (f" (adjusted p {change.p_adjusted:.2g})." if mode == "verdict" else ".")
        for name, change in gates.items()
        if change.loss > tolerance + _ROUNDING and (mode == "threshold" or _significant(change))
    ]
    if failed:
        return decision(Verdict.FAIL, failed)
    missing = [*_gaps(gates, evidence), *([] if evidence.identical else _doubts(gates, tolerance, mode))]
    if missing:
        if not evidence.identical and mode == "verdict" and detectable is not None:
            told = f"With {primary.scored} questions a change of {primary_name} shows from {detectable:.3f}"
            missing.append(f"{told}; one of {tolerance:g} takes {more} more questions." if more else f"{told}.")
        return decision(Verdict.INCONCLUSIVE, missing)
    return decision(Verdict.PASS, [_why_pass(gates, evidence, tolerance, mode)])


def _significant(change: MeasureChange) -> bool:
    return change.p_adjusted is not None and change.p_adjusted < ALPHA


def _gaps(gates: Mapping[str, MeasureChange], evidence: Evidence) -> list[str]:
    """What the runs lack for a PASS, whatever the numbers."""
    gaps = []
    if not evidence.equal_cases and not evidence.subset:
        gaps.append(
            "The two runs do not have the same cases; `ragtui compare --subset` compares those that they share."
        )
    if evidence.unfinished:
        gaps.append("A run is not complete; `ragtui resume` finishes it.")
    gaps += [f"{name} gates, but cannot be compared between these runs." for name in evidence.not_compared]
    for name, change in gates.items():
        if change.scored < change.total and not evidence.allow_errors:
            scored = f"{change.scored} of {change.total} cases"
            gaps.append(f"{name} is scored in {scored} only; `ragtui compare --allow-errors` accepts that.")
            break
    else:
        # A golden with an answer left is scored by it, whatever became of its other repeats.
        failed = [f"{count} of {run}" for run, count in evidence.failed if count]
        if failed and not evidence.allow_errors:
            gaps.append(f"Cases failed: {', '.join(failed)}; `ragtui compare --allow-errors` accepts that.")
    if not next(iter(gates.values())).scored:
        gaps.append(f"{next(iter(gates))} decides, but no case is scored under it in both runs.")
    return gaps


def _doubts(gates: Mapping[str, MeasureChange], tolerance: float, mode: Mode) -> list[str]:
    """Why the numbers do not prove that nothing was lost; none in the mode `threshold`."""
    if mode == "threshold":
        return []
    doubts = []
    name, primary = next(iter(gates.items()))
    if primary.scored and primary.greatest_loss >= tolerance - _ROUNDING:
        doubts.append(
            f"{name} changed by {primary.delta:+.4f} [{primary.low:+.4f}, {primary.high:+.4f}]: a loss of "
            f"{tolerance:g} is not excluded."
        )
    return doubts


def _what_the_suite_can_tell(primary: MeasureChange, tolerance: float) -> tuple[float | None, int | None]:
    """The smallest change that shows, and how many more questions a change of the tolerance takes."""
    if not primary.scored:
        return None, None
    needed = questions_needed(primary.spread, tolerance)
    return smallest_detectable_effect(primary.spread, primary.scored), max(0, needed - primary.scored)


def _why_pass(gates: Mapping[str, MeasureChange], evidence: Evidence, tolerance: float, mode: Mode) -> str:
    """What a PASS has shown: the primary's interval, and of the guards only that no loss of theirs is significant."""
    if evidence.identical:
        return f"Every case has the same {evidence.alike} in both runs."
    if mode == "threshold":
        return f"No gating measure lost more than {tolerance:g}."
    name, primary = next(iter(gates.items()))
    told = {"better": "is better", "worse": "is worse, but within the tolerance", "equal": "is equal"}
    return (
        f"{name} {told.get(primary.word, 'shows no clear change')} ({primary.delta:+.4f} [{primary.low:+.4f}, "
        f"{primary.high:+.4f}]); a loss of {tolerance:g} or more is excluded."
        + (" No guard lost more than that significantly." if len(gates) > 1 else "")
    )


class FloorResult(msgspec.Struct, frozen=True):
    """Whether a measure reaches its absolute floor (for the rates, which go down, its ceiling)."""

    measure: str
    minimum: float
    value: float | None
    passed: bool
    reason: str


def check_floors(
    summary: Summary, floors: Mapping[str, float], *, errors: int = 0, allow_errors: bool = False
) -> list[FloorResult]:
    """One result a floor, in the order given. Errored cases fail every floor unless they are allowed.

    Raises InvalidInput for a measure that the run does not report.
    """
    results = []
    for asked, minimum in floors.items():
        measure = parse_measure(asked)
        name = str(measure)
        estimate = summary.overall.get(name)
        if estimate is None:
            raise InvalidInput(
                f"The run does not report {name}.",
                f"It reports {', '.join(summary.overall)}; add it to metrics.measures.",
            )
        value = estimate.value
        reached = value is not None and (value >= minimum if measure.higher_is_better else value <= minimum)
        if value is None:
            reason = f"{name} has no scored case."
        elif not reached:
            reason = f"{name} is {value:.4f}, {'below' if measure.higher_is_better else 'above'} {minimum:g}."
        elif errors and not allow_errors:
            reached, reason = False, f"{errors} case{' has' if errors == 1 else 's have'} no score because of an error."
        else:
            reason = f"{name} is {value:.4f}, {'at least' if measure.higher_is_better else 'at most'} {minimum:g}."
        results.append(FloorResult(name, minimum, value, reached, reason))
    return results
