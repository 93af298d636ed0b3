"""How often a result list is empty where there was something to find, and filled where there was not.

Both are ordinary measures, scored 0 or 1 in the cases that they are about and NaN in all others, so they travel
through the same matrix, means and intervals as the ranking measures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ragtui.metrics.formulas import FloatArray
from ragtui.metrics.measure import Measure


def empty_rate_on_answerable(result_counts: ArrayLike, answerable: ArrayLike) -> FloatArray:
    """Shape (n,): 1 where an answerable case got no result, 0 where it got one, NaN where it is a refusal.

    `result_counts` is the number of results of each case, `answerable` whether it has an answer; both shape (n,).
    """
    return np.where(np.asarray(answerable, dtype=np.bool_), np.asarray(result_counts) == 0, np.nan)


def non_empty_rate_on_refusal(result_counts: ArrayLike, answerable: ArrayLike) -> FloatArray:
    """Shape (n,): 1 where a refusal got a result all the same, 0 where it got none, NaN where it is answerable.

    `result_counts` is the number of results of each case, `answerable` whether it has an answer; both shape (n,).
    """
    return np.where(np.asarray(answerable, dtype=np.bool_), np.nan, np.asarray(result_counts) > 0)


def score_rates(measures: Sequence[Measure], result_counts: ArrayLike, answerable: ArrayLike) -> FloatArray:
    """The (n, measures) matrix of rates. Raises `ValueError` for a measure that is not a rate."""
    columns = []
    for measure in measures:
        match measure.kind:
            case "emptyRateOnAnswerable":
                columns.append(empty_rate_on_answerable(result_counts, answerable))
            case "nonEmptyRateOnRefusal":
                columns.append(non_empty_rate_on_refusal(result_counts, answerable))
            case _:
                raise ValueError(f"{measure} is not a rate")
    return np.column_stack(columns) if columns else np.empty((len(np.asarray(result_counts)), 0))
