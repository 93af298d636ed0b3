"""Character spans as the unit of judgment: each is credited once, at the first hit that covers half of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ragtui.metrics.formulas import Found, IntArray
from ragtui.metrics.ranking import filled_cells, ideal_grades


class SpanJudgment(NamedTuple):
    """A graded span of a document: its ordinal, characters [start, end), and grade."""

    document: int
    start: int
    end: int
    grade: int


class Hits(msgspec.Struct, frozen=True):
    """The results of one case in rank order, three parallel integer arrays of shape (hits,).

    `documents` holds document ordinals; `starts` and `ends` each hit's characters [start, end) of its document. The
    latter two are read by span-level measures only.
    """

    documents: IntArray
    starts: IntArray
    ends: IntArray


def judge_spans(hits: Sequence[Hits], spans: Sequence[Sequence[SpanJudgment]]) -> Found:
    """Credit each span of grade 1 or more at the first hit that covers at least half of its characters.

    `spans[i]` are the judgments of the case with `hits[i]`. Two spans may be credited at one hit, and none twice.
    """
    targets = ideal_grades([[span.grade for span in judged] for judged in spans])
    wanted = [(case, *span) for case, judged in enumerate(spans) for span in judged if span.grade > 0]
    if not wanted:
        nothing = np.empty(0, dtype=np.int64)
        return Found(nothing, nothing, nothing, targets)
    cases, documents, starts, ends, grades = np.array(wanted, dtype=np.int64).T
    rows, row_of_span = np.unique(cases, return_inverse=True)
    shown = [hits[row] for row in rows.tolist()]
    lengths = np.fromiter((len(hit.documents) for hit in shown), dtype=np.int64, count=len(shown))
    filled = filled_cells(lengths)

    def column(parts: list[IntArray]) -> IntArray:
        matrix = np.zeros(filled.shape, dtype=np.int64)
        matrix[filled] = np.concatenate(parts)
        return matrix[row_of_span]

    overlap = np.minimum(column([hit.ends for hit in shown]), ends[:, None])
    overlap -= np.maximum(column([hit.starts for hit in shown]), starts[:, None])
    covers = (column([hit.documents for hit in shown]) == documents[:, None]) & filled[row_of_span]
    covers &= (overlap > 0) & (2 * overlap >= (ends - starts)[:, None])
    credited = np.flatnonzero(covers.any(axis=1))
    ranks = covers[credited].argmax(axis=1) + 1 if len(credited) else np.empty(0, dtype=np.int64)
    order = np.lexsort((ranks, cases[credited]))
    credited, ranks = credited[order], ranks[order]
    return Found(cases[credited], ranks, grades[credited], targets)
