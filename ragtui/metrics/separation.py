"""Do scores on one axis tell relevant hits from irrelevant ones, and where would a floor go?

Each axis is a score that a setting can cut at (a channel's, the fused one, the reranker's), named with the path of
that setting, so that a row of the table says what it calibrates.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ragtui.metrics.formulas import FloatArray

_PERCENTILES = (5, 25, 50, 75, 95)


class AxisScores(msgspec.Struct, frozen=True):
    """The scores seen on one axis; arrays of shape (hits,), NaN ignored.

    `name` is the axis (`bm25`, `fused`), `setting` the path of the floor on it
    (`retrieval.channels.bm25.min_score`). `relevant` and `irrelevant` are hits of answerable cases, `refusals` the
    best hit of each refusal.
    """

    name: str
    setting: str
    relevant: ArrayLike
    irrelevant: ArrayLike
    refusals: ArrayLike


class Spread(msgspec.Struct, frozen=True):
    """How many scores there are and where they lie: percentiles by linear interpolation, None without scores."""

    count: int
    p5: float | None = None
    p25: float | None = None
    p50: float | None = None
    p75: float | None = None
    p95: float | None = None


class Separation(msgspec.Struct, frozen=True):
    """One row of the table.

    `auc` is the probability that a relevant hit outscores an irrelevant one, a tie counting half: 0.5 says that the
    axis knows nothing, 1 that it separates fully. `threshold` is the floor (scores at or above it stay) of greatest
    balanced accuracy; the `kept_` shares in [0, 1] say what it would keep. None where a side has no scores.
    """

    name: str
    setting: str
    relevant: Spread
    irrelevant: Spread
    refusals: Spread
    auc: float | None
    threshold: float | None
    kept_relevant: float | None
    kept_irrelevant: float | None
    kept_refusals: float | None


def separation_table(axes: Iterable[AxisScores]) -> list[Separation]:
    """One row an axis, in the order given."""
    return [separate(axis) for axis in axes]


def separate(axis: AxisScores) -> Separation:
    """The row of one axis."""
    relevant, irrelevant, refusals = (
        _sorted_scores(scores) for scores in (axis.relevant, axis.irrelevant, axis.refusals)
    )
    comparable = len(relevant) > 0 and len(irrelevant) > 0
    threshold = best_threshold(relevant, irrelevant) if comparable else None
    return Separation(
        name=axis.name,
        setting=axis.setting,
        relevant=_spread(relevant),
        irrelevant=_spread(irrelevant),
        refusals=_spread(refusals),
        auc=area_under_curve(relevant, irrelevant) if comparable else None,
        threshold=threshold,
        kept_relevant=_kept(relevant, threshold),
        kept_irrelevant=_kept(irrelevant, threshold),
        kept_refusals=_kept(refusals, threshold),
    )


def area_under_curve(relevant: ArrayLike, irrelevant: ArrayLike) -> float:
    """P(relevant > irrelevant) + P(equal) / 2: Mann and Whitney's U over the number of pairs. Neither may be empty."""
    wins = _sorted_scores(relevant)
    losses = _sorted_scores(irrelevant)
    below = int(np.searchsorted(losses, wins, side="left").sum())
    up_to = int(np.searchsorted(losses, wins, side="right").sum())
    return (below + up_to) / 2 / (len(wins) * len(losses))


def best_threshold(relevant: ArrayLike, irrelevant: ArrayLike) -> float:
    """The observed score that maximises Youden's J as a floor (Cancer 3, 1950). Neither may be empty.

    J = share of relevant scores at or above it + share of irrelevant scores below it - 1, which is twice the balanced
    accuracy less 1. Of equal ones the lowest is taken: it loses the fewest relevant hits.
    """
    keep = _sorted_scores(relevant)
    drop = _sorted_scores(irrelevant)
    candidates = np.unique(np.concatenate((keep, drop)))
    lost = np.searchsorted(keep, candidates, side="left")
    dropped = np.searchsorted(drop, candidates, side="left")
    # Whole numbers (J times both sizes) make equal thresholds exactly equal.
    return float(candidates[int(np.argmax(dropped * len(keep) - lost * len(drop)))])


def _sorted_scores(scores: ArrayLike) -> FloatArray:
    array = np.asarray(scores, dtype=np.float64)
    return np.sort(array[~np.isnan(array)])


def _spread(scores: FloatArray) -> Spread:
    if not len(scores):
        return Spread(0)
    return Spread(len(scores), *np.percentile(scores, _PERCENTILES).tolist())


def _kept(scores: FloatArray, threshold: float | None) -> float | None:
    if threshold is None or not len(scores):
        return None
    return float(np.mean(scores >= threshold))
