"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), weighted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.ranking import Ranking
from ragtui.experiment.plan import Fusion

FUSED_DECIMALS = 12

TieOrder = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def fuse(rankings: Mapping[str, Ranking], fusion: Fusion, tie_order: TieOrder = lambda chunks: chunks) -> Ranking:
    """One list: a chunk scores the sum over channels of weight / (rank_constant + rank), rank from 1.

    A channel of weight 0 contributes no candidate. Scores are rounded to 1e-12, so that the order of summation is not
    seen; a plan whose ranks would be lost by that is refused (see `validate`). Ties go to the smaller `tie_order`.
    """
    parts: list[NDArray[np.int64]] = []
    shares: list[NDArray[np.float64]] = []
    for name in sorted(rankings):
        weight = fusion.weights.get(name, 1.0)
        if weight > 0 and len(rankings[name]):
            parts.append(rankings[name].chunks)
            ranks = np.arange(1, len(rankings[name]) + 1, dtype=np.float64)
            shares.append(weight / (fusion.rank_constant + ranks))
    if not parts:
        return Ranking.empty()
    chunks, inverse = np.unique(np.concatenate(parts), return_inverse=True)
    scores = np.bincount(inverse, weights=np.concatenate(shares)).astype(np.float64).round(FUSED_DECIMALS)
    order = np.lexsort((tie_order(chunks), -scores))
    return Ranking(chunks[order], scores[order])
