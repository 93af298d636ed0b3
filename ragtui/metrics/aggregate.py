"""Means with intervals: one closed form, the same live, in reports and in comparisons.

Two pseudo-cases at the ends of the range are added to the sample, and Student's t is taken over the enlarged sample:
Agresti and Coull's idea (The American Statistician 52, 1998) for any bounded mean. It keeps an interval of positive
width where all cases agree. Over hits and misses it covers 94 to 100 % where it claims 95, from 5 cases up.
Sums are exact (`math.fsum`), so the order in which cases arrive changes no digit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ragtui.metrics.formulas import FloatArray
from ragtui.metrics.student import t_quantile

CONFIDENCE = 0.95


class Estimate(msgspec.Struct, frozen=True):
    """A mean over `n` cases with its 95 % interval [`low`, `high`].

    `value` is the plain mean, None without cases; the interval is then the whole range. Pseudo-cases are not in `n`.
    """

    value: float | None
    n: int
    low: float
    high: float


class Summary(msgspec.Struct, frozen=True):
    """Estimates by measure name, over all cases and by tag."""

    overall: dict[str, Estimate]
    by_tag: dict[str, dict[str, Estimate]]


def mean_estimate(values: ArrayLike) -> Estimate:
    """The mean of values in [0, 1], NaN left out, with an interval from pseudo-cases 0 and 1, clipped to [0, 1].

    `values` has shape (cases,), one value a golden.
    """
    return _estimate(values, 0.0, 1.0)


def paired_estimate(differences: ArrayLike) -> Estimate:
    """The mean of differences in [-1, 1], NaN left out, with an interval from pseudo-cases -1 and 1, clipped likewise.

    `differences` has shape (cases,), one difference a golden.
    """
    return _estimate(differences, -1.0, 1.0)


def average_repeats(matrix: FloatArray, goldens: Sequence[str]) -> tuple[list[str], FloatArray]:
    """One row a golden: the mean of its repeats, NaN left out, NaN where no repeat has a value.

    `goldens[i]` is the golden of row i of `matrix`, shape (cases, measures). Gives the golden ids in order of first
    appearance and the matrix of shape (goldens, measures): the sampling unit is the golden, not the case.
    """
    rows: dict[str, list[int]] = {}
    for row, golden in enumerate(goldens):
        rows.setdefault(golden, []).append(row)
    averaged = np.full((len(rows), matrix.shape[1]), np.nan)
    for index, repeats in enumerate(rows.values()):
        if len(repeats) == 1:
            averaged[index] = matrix[repeats[0]]
            continue
        for column in range(matrix.shape[1]):
            values = _scored(matrix[repeats, column])
            if values:
                averaged[index, column] = math.fsum(values) / len(values)
    return list(rows), averaged


def summarise(matrix: FloatArray, names: Sequence[str], tags: Sequence[Collection[str]]) -> Summary:
    """Estimates over all rows and over the rows of each tag.

    `matrix` has shape (goldens, measures), `names` one name a column, `tags` one collection of tags a row. Tags are
    in alphabetical order; a tag appears even where a measure scores none of its cases (`n` is then 0).
    """
    rows_of_tag: dict[str, list[int]] = {}
    for row, row_tags in enumerate(tags):
        for tag in set(row_tags):
            rows_of_tag.setdefault(tag, []).append(row)
    return Summary(
        overall=_column_estimates(matrix, names),
        by_tag={tag: _column_estimates(matrix[rows_of_tag[tag]], names) for tag in sorted(rows_of_tag)},
    )


def _column_estimates(matrix: FloatArray, names: Sequence[str]) -> dict[str, Estimate]:
    return {name: mean_estimate(matrix[:, column]) for column, name in enumerate(names)}


def _scored(values: ArrayLike) -> list[float]:
    array = np.asarray(values, dtype=np.float64)
    scored: list[float] = array[~np.isnan(array)].tolist()
    return scored


def _estimate(values: ArrayLike, least: float, most: float) -> Estimate:
    scored = _scored(values)
    count = len(scored)
    if not count:
        return Estimate(None, 0, least, most)
    total = math.fsum(scored)
    size = count + 2
    centre = (total + least + most) / size
    variance = _squared_deviations([*scored, least, most], centre) / (size - 1)
    reach = t_quantile((1 + CONFIDENCE) / 2, size - 1) * math.sqrt(variance / size)
    return Estimate(total / count, count, max(least, centre - reach), min(most, centre + reach))


def _squared_deviations(values: Iterable[float], centre: float) -> float:
    return math.fsum((value - centre) ** 2 for value in values)
