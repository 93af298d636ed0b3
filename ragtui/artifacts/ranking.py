"""A ranked list of chunks and the one total order: score descending, then chunk ascending."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SCORE_DECIMALS = 6
_MARGIN = 8

Fetch = Callable[[int], tuple[NDArray[np.int64], NDArray[np.float64]]]


class Ranking(NamedTuple):
    """Chunk ordinals, int64, and their scores, float64, best first; both of shape (hits,)."""

    chunks: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def empty(cls) -> Ranking:
        """No hit."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))

    def top(self, count: int) -> Ranking:
        """The first `count` hits."""
        return Ranking(self.chunks[:count], self.scores[:count])

    def where(self, kept: NDArray[np.bool_]) -> Ranking:
        """The hits at the marked positions."""
        return Ranking(self.chunks[kept], self.scores[kept])

    def __len__(self) -> int:
        return len(self.chunks)


def ordered(chunks: NDArray[np.int64], scores: NDArray[np.float64]) -> Ranking:
    """The hits of an index of ours in the one total order, their scores rounded to 1e-6 first.

    Rounding before ordering keeps the order equal on processors whose last bits differ. Scores of BM25 and of vectors
    are of the order of 1; somebody's own may be of any, and are never rounded.
    """
    rounded = np.round(scores, SCORE_DECIMALS)
    order = np.lexsort((chunks, -rounded))
    return Ranking(chunks[order], rounded[order])


def cut_at_depth(fetch: Fetch, depth: int, available: int) -> Ranking:
    """The first `depth` hits of the total order from an engine that breaks ties as it likes.

    `fetch(count)` gives the engine's best `count` hits, best first. It is asked again, deeper, while the last hit
    fetched still ties with the one at the depth: a tie that crosses the cut is then decided by the chunk.
    """
    count = min(depth + _MARGIN, available)
    while count > 0:
        chunks, scores = fetch(count)
        ranking = ordered(chunks, scores)
        exhausted = len(chunks) < count or count == available
        if exhausted or ranking.scores[-1] < ranking.scores[min(depth, len(ranking)) - 1]:
            return ranking.top(depth)
        count = min(count * 4, available)
    return Ranking.empty()
