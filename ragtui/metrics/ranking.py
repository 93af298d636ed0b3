"""Judged rankings in columns, and their scores as trec_eval defines them.

One `Judged` holds a batch of cases. Of documents it is made after collapsing hits to documents; of chunks, by
looking up each hit's document without collapsing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.metrics.formulas import FloatArray, Found, IntArray, score_found
from ragtui.metrics.measure import Measure
from ragtui.metrics.rates import score_rates

Id = TypeVar("Id", bound=Hashable)


class Judged(msgspec.Struct, frozen=True):
    """The grades of n rankings, in rank order, beside the grades that there were to find.

    `grades`: integers, shape (n, depth), the grade at each rank; 0 for unjudged, irrelevant and beyond the end; a
    negative grade counts as 0. `lengths`: shape (n,), the number of real hits in each row. `ideal`: integers, shape
    (n, m), each case's positive judged grades, descending, padded with zeros.
    """

    grades: IntArray
    lengths: IntArray
    ideal: IntArray


def score_matrix(measures: Sequence[Measure], judged: Judged) -> FloatArray:
    """Every measure of every case: float64, shape (n, measures), each value in [0, 1] or NaN.

    NaN means that there is nothing to find at the measure's `rel` (for nDCG: no positive grade), or that a rate is
    about the other cases; a case is answerable here when anything is judged positive. What a hit is, document or
    chunk, was settled when `judged` was made. Raises `ValueError` for a span-level measure.
    """
    for measure in measures:
        if measure.level == "span":
            raise ValueError(f"{measure} needs judged spans, not a judged ranking")
    scores = np.empty((len(judged.grades), len(measures)))
    rates = [index for index, measure in enumerate(measures) if measure.is_rate]
    others = [index for index, measure in enumerate(measures) if not measure.is_rate]
    if others:
        scores[:, others] = score_found([measures[index] for index in others], found_in(judged))
    if rates:
        answerable = (judged.ideal > 0).any(axis=1)
        scores[:, rates] = score_rates([measures[index] for index in rates], judged.lengths, answerable)
    return scores


def judge_documents(rankings: Sequence[Sequence[int] | IntArray], qrels: Sequence[Mapping[int, int]]) -> Judged:
    """Look up the grade of every ranked document ordinal; `qrels[i]` grades the documents of `rankings[i]`.

    A document that appears twice counts twice: collapse first for document-level measures.
    """
    return _judge(rankings, qrels)


def judge_ids(rankings: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]) -> Judged:
    """`judge_documents` for string ids, as foreign runs have them."""
    return _judge(rankings, qrels)


def collapse_to_documents(doc_of_chunk: IntArray, chunk_ordinals: IntArray) -> IntArray:
    """The document ordinals behind ranked chunks, each at its first rank: shape (documents,), order kept."""
    return first_occurrences(doc_of_chunk[chunk_ordinals])


def first_occurrences(ordinals: IntArray) -> IntArray:
    """The distinct values in order of first appearance."""
    distinct = dict.fromkeys(ordinals.tolist())
    return np.fromiter(distinct, dtype=np.int64, count=len(distinct))


def ideal_grades(judgments: Sequence[Sequence[int]]) -> IntArray:
    """Each case's positive grades, descending, padded with zeros: shape (n, most positive grades of a case)."""
    rows = [sorted((grade for grade in grades if grade > 0), reverse=True) for grades in judgments]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return pad_rows(np.fromiter(chain.from_iterable(rows), dtype=np.int64), lengths)


def pad_rows(values: IntArray, lengths: IntArray, filler: int = 0) -> IntArray:
    """Rows laid end to end as a matrix: shape (rows, longest row), short rows filled up with `filler`."""
    matrix = np.full((len(lengths), int(lengths.max(initial=0))), filler, dtype=np.int64)
    matrix[filled_cells(lengths)] = values
    return matrix


def filled_cells(lengths: IntArray) -> NDArray[np.bool_]:
    """Shape (rows, longest row): which cells of a padded matrix belong to its rows."""
    cells: NDArray[np.bool_] = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    return cells


def found_in(judged: Judged) -> Found:
    """The positive grades of a judged ranking, with their ranks."""
    cases, columns = np.nonzero(judged.grades > 0)
    return Found(cases, columns + 1, judged.grades[cases, columns], judged.ideal)


def _judge(rankings: Sequence[Sequence[Id] | IntArray], qrels: Sequence[Mapping[Id, int]]) -> Judged:
    lengths = np.fromiter(map(len, rankings), dtype=np.int64, count=len(rankings))
    grades: list[int] = []
    for ranking, judgments in zip(rankings, qrels, strict=True):
        # Boxed NumPy integers hash ten times slower than Python's.
        ids = ranking.tolist() if isinstance(ranking, np.ndarray) else ranking
        grade_of = judgments.get
        grades.extend([grade_of(identifier, 0) for identifier in ids])
    matrix = pad_rows(np.array(grades, dtype=np.int64), lengths)
    np.maximum(matrix, 0, out=matrix)
    return Judged(matrix, lengths, ideal_grades([list(judgments.values()) for judgments in qrels]))
