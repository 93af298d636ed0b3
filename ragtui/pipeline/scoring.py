"""From results to scores: the traces of a batch of cases with a value, or a reason, for every measure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.cases import Hits as JudgedHits
from ragtui.metrics.cases import Judgment, SpanJudgment, score_cases, unscored_reason
from ragtui.metrics.measure import Measure
from ragtui.trace import CaseTrace

Ordinals = NDArray[np.int64]


class Scorer:
    """Scores the results of cases with fixed measures; `documents` gives the ordinal of a document id."""

    def __init__(self, measures: Sequence[Measure], documents: dict[str, int]) -> None:
        self._measures = tuple(measures)
        self._names = [str(measure) for measure in measures]
        self._documents = documents
        self._judgments: dict[str, tuple[Judgment, dict[str, str]]] = {}

    def scored(
        self,
        cases: Sequence[EvaluationCase],
        traces: Sequence[CaseTrace],
        doc: Ordinals,
        start: Ordinals,
        end: Ordinals,
    ) -> list[CaseTrace]:
        """The traces with `scores` and `unscored` filled in. `doc`, `start` and `end` are indexed by chunk ordinal.

        An errored case is unscored under every measure, with its error as the reason.
        """
        hits = []
        for trace in traces:
            chunks = np.asarray(trace.results.chunks, np.int64)
            hits.append(JudgedHits(doc[chunks], start[chunks], end[chunks]))
        judged = [self._judgment(case) for case in cases]
        matrix = score_cases(self._measures, hits, [judgment for judgment, _ in judged]).tolist()
        return [
            self._with_scores(trace, row, reasons)
            for trace, row, (_, reasons) in zip(traces, matrix, judged, strict=True)
        ]

    def _with_scores(self, trace: CaseTrace, row: list[float], reasons: dict[str, str]) -> CaseTrace:
        if trace.error is not None:
            scores: dict[str, float | None] = dict.fromkeys(self._names)
            reasons = dict.fromkeys(self._names, trace.error.message)
        else:
            scores = {name: None if name in reasons else value for name, value in zip(self._names, row, strict=True)}
        return msgspec.structs.replace(trace, scores=scores, unscored=reasons)

    def _judgment(self, case: EvaluationCase) -> tuple[Judgment, dict[str, str]]:
        """What is right about a case, and why measures give nothing for it; kept, as repeats ask again."""
        known = self._judgments.get(case.id)
        if known is None:
            known = self._judgments[case.id] = self._judged(case)
        return known

    def _judged(self, case: EvaluationCase) -> tuple[Judgment, dict[str, str]]:
        grades = {self._documents[doc]: grade for doc, grade in case.grades.items()}
        spans = [SpanJudgment(self._documents[span.doc], span.start, span.end, span.grade) for span in case.spans]
        judgment = Judgment(grades, spans, answerable=not case.expect_refusal)
        reasons = {}
        for name, measure in zip(self._names, self._measures, strict=True):
            reason = unscored_reason(measure, judgment)
            if reason is not None:
                reasons[name] = str(reason)
        return judgment, reasons
