"""The ranking measures' definitions, over what was found and what there was to find.

Everything is sparse: only hits that carry a positive grade are held, so a measure costs what was found and not
what was retrieved. Sums run hit by hit in rank order (`bincount` adds sequentially), so a case's value does not
depend on which other cases share its batch, nor on how far their rankings reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.metrics.measure import Gain, Measure

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Found(msgspec.Struct, frozen=True):
    """Graded finds of n cases, and the grades that there were to find.

    `cases`, `ranks`, `grades` are parallel, shape (finds,): the row of the case, ascending; the rank of the find,
    from 1, ascending within a case; its grade, at least 1. `targets` has shape (n, m): every positive judged grade
    of a case, descending, padded with zeros.
    """

    cases: IntArray
    ranks: IntArray
    grades: IntArray
    targets: IntArray


def score_found(measures: Sequence[Measure], found: Found) -> FloatArray:
    """The (n, measures) matrix of ranking measures, each in [0, 1]; NaN where a case has nothing to find.

    Nothing to find: no target of grade `rel` or above; for nDCG, no target at all. Levels are ignored (the caller
    chose what a find is) and rates are refused with `ValueError`.
    """
    scores = np.empty((len(found.targets), len(measures)))
    by_threshold: dict[int, _Relevant] = {}
    for column, measure in enumerate(measures):
        if measure.kind == "nDCG":
            scores[:, column] = _ndcg(found, measure.cutoff, measure.gain)
            continue
        relevant = by_threshold.get(measure.rel)
        if relevant is None:
            relevant = by_threshold[measure.rel] = _Relevant(found, measure.rel)
        scores[:, column] = np.where(relevant.totals > 0, relevant.score(measure), np.nan)
    return scores


class _Relevant:
    """The finds of grade `rel` or above: the binary relevance that every measure but nDCG sees."""

    def __init__(self, found: Found, rel: int) -> None:
        self.size = len(found.targets)
        self.totals: IntArray = (found.targets >= rel).sum(axis=1)
        self.cases, self.ranks = found.cases, found.ranks
        if rel > 1:
            kept = found.grades >= rel
            self.cases, self.ranks = found.cases[kept], found.ranks[kept]

    def score(self, measure: Measure) -> FloatArray:
        """Shape (n,); meaningless where a case's total is 0."""
        cutoff = measure.cutoff
        match measure.kind:
            case "R":
                return self._share_of_totals(self._count_within(cutoff))
            case "P":
                return self._count_within(cutoff) / float(cutoff or 1)
            case "Success":
                return (self._count_within(cutoff) > 0).astype(np.float64)
            case "RR":
                return self._reciprocal_rank(cutoff)
            case "AP":
                return self._share_of_totals(self._summed_precision(cutoff))
            case "Rprec":
                early = self.cases[self.ranks <= self.totals[self.cases]]
                return self._share_of_totals(np.bincount(early, minlength=self.size))
            case _:
                raise ValueError(f"{measure} is not a ranking measure")

    def _count_within(self, cutoff: int | None) -> IntArray:
        cases = self.cases if cutoff is None else self.cases[self.ranks <= cutoff]
        return np.bincount(cases, minlength=self.size)

    def _share_of_totals(self, values: IntArray | FloatArray) -> FloatArray:
        return values / np.maximum(self.totals, 1)

    def _first_of_case(self) -> NDArray[np.bool_]:
        first = np.ones(len(self.cases), dtype=np.bool_)
        np.not_equal(self.cases[1:], self.cases[:-1], out=first[1:])
        return first

    def _reciprocal_rank(self, cutoff: int | None) -> FloatArray:
        first = self._first_of_case()
        if cutoff is not None:
            first &= self.ranks <= cutoff
        values = np.zeros(self.size)
        values[self.cases[first]] = 1.0 / self.ranks[first]
        return values

    def _summed_precision(self, cutoff: int | None) -> FloatArray:
        """Per case, the sum over its relevant hits of (relevant so far) / rank."""
        index = np.arange(len(self.cases))
        start = np.flatnonzero(self._first_of_case())
        so_far = index + 1 - np.repeat(start, np.diff(start, append=len(index)))
        precision = so_far / self.ranks
        cases = self.cases
        if cutoff is not None:
            kept = self.ranks <= cutoff
            precision, cases = precision[kept], cases[kept]
        return _sum_by_case(cases, precision, self.size)


def _ndcg(found: Found, cutoff: int | None, gain: Gain) -> FloatArray:
    size = len(found.targets)
    dcg = _discounted_gain(size, found.cases, found.ranks, found.grades, cutoff, gain)
    rows, columns = np.nonzero(found.targets > 0)
    ideal = _discounted_gain(size, rows, columns + 1, found.targets[rows, columns], cutoff, gain)
    scores = np.full(size, np.nan)
    np.divide(dcg, ideal, out=scores, where=ideal > 0)
    return scores


def _discounted_gain(
    size: int, cases: IntArray, ranks: IntArray, grades: IntArray, cutoff: int | None, gain: Gain
) -> FloatArray:
    if cutoff is not None:
        kept = ranks <= cutoff
        cases, ranks, grades = cases[kept], ranks[kept], grades[kept]
    gains = np.exp2(grades) - 1.0 if gain == "exp" else grades
    return _sum_by_case(cases, gains / np.log2(ranks + 1.0), size)


def _sum_by_case(cases: IntArray, values: FloatArray, size: int) -> FloatArray:
    return np.bincount(cases, weights=values, minlength=size).astype(np.float64, copy=False)
