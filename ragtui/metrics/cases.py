"""From the results of a batch of cases to its matrix of scores: what the engine and `verify` call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np

from ragtui.metrics.formulas import FloatArray, Found, score_found
from ragtui.metrics.measure import Measure
from ragtui.metrics.ranking import first_occurrences, found_in, judge_documents
from ragtui.metrics.rates import score_rates
from ragtui.metrics.spans import Hits, SpanJudgment, judge_spans

__all__ = ["Hits", "Judgment", "SpanJudgment", "Unscored", "score_cases", "unscored_reason"]


class Judgment(msgspec.Struct, frozen=True):
    """What is known to be right about one case.

    `grades` maps document ordinals to grades (a document's is the highest of its judgments), `spans` lists the judged
    spans. `answerable` is False for a refusal: a question to which the corpus has no answer.
    """

    grades: Mapping[int, int] = {}
    spans: Sequence[SpanJudgment] = ()
    answerable: bool = True


class Unscored(StrEnum):
    """Why a measure has no value for a case that was executed; the value is the text to show."""

    NOTHING_TO_FIND = "no document is judged relevant"
    NOTHING_AT_GRADE = "no document is judged at or above this grade"
    NO_SPAN = "no span is judged relevant"
    NO_SPAN_AT_GRADE = "no span is judged at or above this grade"
    IS_REFUSAL = "the case is a refusal"
    IS_ANSWERABLE = "the case is answerable"


def score_cases(measures: Sequence[Measure], hits: Sequence[Hits], judgments: Sequence[Judgment]) -> FloatArray:
    """Every measure of every case: float64, shape (cases, measures), in [0, 1]; NaN where `unscored_reason` says why.

    `hits[i]` is the result list of a case, best first, possibly empty, and `judgments[i]` what is right about it.
    Documents, chunks and spans are judged only where a measure asks for them. A case's row depends on nothing but that
    case.
    """
    scores = np.empty((len(hits), len(measures)))
    groups: dict[str, list[int]] = {}
    for index, measure in enumerate(measures):
        groups.setdefault("rate" if measure.is_rate else measure.level, []).append(index)
    for group, columns in groups.items():
        chosen = [measures[index] for index in columns]
        if group == "rate":
            counts = np.fromiter((len(hit.documents) for hit in hits), dtype=np.int64, count=len(hits))
            answerable = np.fromiter((judgment.answerable for judgment in judgments), dtype=np.bool_, count=len(hits))
            scores[:, columns] = score_rates(chosen, counts, answerable)
        else:
            scores[:, columns] = score_found(chosen, _judge(group, hits, judgments))
    return scores


def unscored_reason(measure: Measure, judgment: Judgment) -> Unscored | None:
    """Why `score_cases` gives NaN for this measure and case, or None where it gives a number.

    It depends on what there is to find, never on what was found.
    """
    if measure.is_rate:
        if judgment.answerable:
            return Unscored.IS_ANSWERABLE if measure.kind == "nonEmptyRateOnRefusal" else None
        return Unscored.IS_REFUSAL if measure.kind == "emptyRateOnAnswerable" else None
    on_spans = measure.level == "span"
    grades = [span.grade for span in judgment.spans] if on_spans else list(judgment.grades.values())
    best = max(grades, default=0)
    if best < 1:
        return Unscored.NO_SPAN if on_spans else Unscored.NOTHING_TO_FIND
    if measure.kind != "nDCG" and best < measure.rel:
        return Unscored.NO_SPAN_AT_GRADE if on_spans else Unscored.NOTHING_AT_GRADE
    return None


def _judge(level: str, hits: Sequence[Hits], judgments: Sequence[Judgment]) -> Found:
    if level == "span":
        return judge_spans(hits, [judgment.spans for judgment in judgments])
    rankings = [hit.documents for hit in hits]
    if level == "doc":
        rankings = [first_occurrences(documents) for documents in rankings]
    return found_in(judge_documents(rankings, [judgment.grades for judgment in judgments]))
