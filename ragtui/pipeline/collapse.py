"""One hit for each document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.ranking import Ranking


def collapse_documents(ranking: Ranking, doc_of: NDArray[np.int64]) -> Ranking:
    """The first hit of each document, in order; `doc_of[chunk]` is the chunk's document."""
    _, first = np.unique(doc_of[ranking.chunks], return_index=True)
    kept = np.sort(first)
    return Ranking(ranking.chunks[kept], ranking.scores[kept])
