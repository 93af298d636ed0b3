"""One measure in two runs: means, difference with interval and test, wins and losses, over the same cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import FloatArray, difference_spread, randomisation_table
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import paired_estimate
from ragtui.metrics.cases import Judgment, SpanJudgment, unscored_reason
from ragtui.metrics.measure import Measure, parse_measure
from ragtui.pipeline.scoring import Scorer
from ragtui.trace import CaseTrace

BoolArray = NDArray[np.bool_]
Role = Literal["primary", "guard", ""]
# What is less apart is rounding.
_SAME = 1e-9


class MeasureChange(msgspec.Struct, frozen=True, kw_only=True):
    """A measure's change from base to new.

    All numbers are over the `scored` cases that have a value in both runs, of the `total` shared ones that the measure
    is about. [`low`, `high`] holds the mean difference with 95 %; `p` is the two-sided randomisation test's, and
    `p_adjusted` the same after Holm over the gating measures, None for the others. Wins are cases that got better.
    """

    base: float | None
    new: float | None
    delta: float | None
    low: float
    high: float
    p: float | None
    p_adjusted: float | None = None
    wins: int
    ties: int
    losses: int
    scored: int
    total: int
    higher_is_better: bool = True
    role: Role = ""
    spread: float = 0.0

    @property
    def loss(self) -> float:
        """How much worse the new run is; negative where it is better, 0 without cases."""
        change = self.delta or 0.0
        return -change if self.higher_is_better else change

    @property
    def greatest_loss(self) -> float:
        """The end of the interval that is worst."""
        return -self.low if self.higher_is_better else self.high

    @property
    def word(self) -> Literal["better", "worse", "equal", "unclear"]:
        """`equal` for a difference of 0 but for rounding, `unclear` where the interval holds 0."""
        if self.delta is None:
            return "unclear"
        if abs(self.delta) <= _SAME:
            return "equal"
        if self.low <= 0 <= self.high:
            return "unclear"
        return "worse" if self.loss > 0 else "better"


def score_columns(run: RecordedRun, cases: Sequence[EvaluationCase], names: Sequence[str]) -> FloatArray:
    """Scores of shape (cases, names), NaN where a case is unscored or never finished.

    A measure of rankings that the run does not report is computed from its traces.
    """
    scores = np.full((len(cases), len(names)), np.nan)
    finished = [(row, case, run.trace_of[case.id]) for row, case in enumerate(cases) if case.id in run.trace_of]
    traces = [trace for _, _, trace in finished]
    unreported = [name for name in names if name not in run.measures and not parse_measure(name).of_answers]
    # A measure that is about none of the cases has no value, which takes no ranking to know.
    unreported = [name for name in unreported if applies(cases, [name]).any()]
    if unreported:
        scorer = Scorer([parse_measure(name) for name in unreported], run.documents)
        again = scorer.scored([case for _, case, _ in finished], traces, *run.columns)
        traces = [_with(trace, more) for trace, more in zip(traces, again, strict=True)]
    if traces and names:
        # None becomes NaN.
        found = np.array([[trace.scores.get(name) for name in names] for trace in traces], dtype=np.float64)
        scores[[row for row, _, _ in finished]] = found
    return scores


def applies(cases: Sequence[EvaluationCase], names: Sequence[str]) -> BoolArray:
    """Shape (cases, names): whether a case has something to find for a measure, found or not.

    False for measures of answers: what they are about is known from the answer alone.
    """
    measures = [parse_measure(name) for name in names]
    # Whether a measure is about a case depends on little of it, so few kinds of cases are asked.
    known: dict[tuple[int, int, bool], list[bool]] = {}
    rows = []
    for case in cases:
        best_span = max((span.grade for span in case.spans), default=0)
        kind = (max(case.grades.values(), default=0), best_span, case.expect_refusal)
        if kind not in known:
            judgment = _judgment(case)
            known[kind] = [
                not measure.of_answers and unscored_reason(measure, judgment) is None for measure in measures
            ]
        rows.append(known[kind])
    return np.array(rows, dtype=np.bool_).reshape(len(cases), len(names))


def contrast(
    names: Sequence[str], base: FloatArray, new: FloatArray, applicable: BoolArray, *, tested: bool = True
) -> dict[str, MeasureChange]:
    """The change of each measure; the three matrices have shape (cases, names). `p` is None where not `tested`."""
    p_values = randomisation_table(new - base) if tested else [None] * len(names)
    return {
        name: _change(parse_measure(name), base[:, column], new[:, column], p_values[column], applicable[:, column])
        for column, name in enumerate(names)
    }


def _change(
    measure: Measure, base: FloatArray, new: FloatArray, p: float | None, applicable: BoolArray
) -> MeasureChange:
    differences = new - base
    paired = ~np.isnan(differences)
    estimate = paired_estimate(differences)
    gains = differences[paired] if measure.higher_is_better else -differences[paired]
    wins, losses = int((gains > _SAME).sum()), int((gains < -_SAME).sum())
    return MeasureChange(
        base=_mean(base[paired]),
        new=_mean(new[paired]),
        delta=estimate.value,
        low=estimate.low,
        high=estimate.high,
        p=p if estimate.n else None,
        wins=wins,
        ties=estimate.n - wins - losses,
        losses=losses,
        scored=estimate.n,
        total=int((applicable | paired).sum()),
        higher_is_better=measure.higher_is_better,
        spread=difference_spread(differences),
    )


def _mean(values: FloatArray) -> float | None:
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _with(trace: CaseTrace, more: CaseTrace) -> CaseTrace:
    return msgspec.structs.replace(trace, scores={**more.scores, **trace.scores})


def _judgment(case: EvaluationCase) -> Judgment:
    spans = [SpanJudgment(0, span.start, span.end, span.grade) for span in case.spans]
    return Judgment(dict(enumerate(case.grades.values())), spans, answerable=not case.expect_refusal)
