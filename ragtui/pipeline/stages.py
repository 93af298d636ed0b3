"""Everything after the channels, as one pure function: min score → fuse → floor → collapse → results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.ranking import Ranking
from ragtui.experiment.plan import Retrieval
from ragtui.pipeline.collapse import collapse_documents
from ragtui.pipeline.floor import apply_floor, at_least
from ragtui.pipeline.fuse import TieOrder, fuse


class Stages(NamedTuple):
    """Each stage's list; None where the stage is not part of the plan."""

    fused: Ranking
    floor: Ranking | None
    collapse: Ranking | None
    results: Ranking


def run_stages(
    channels: Mapping[str, Ranking],
    retrieval: Retrieval,
    doc_of: NDArray[np.int64],
    tie_order: TieOrder = lambda chunks: chunks,
) -> Stages:
    """Take the channels' recorded hits through the plan. The same function serves a run and a replay of one."""
    counted = {
        name: at_least(ranking.top(retrieval.channels[name].depth), retrieval.channels[name].min_score)
        for name, ranking in channels.items()
        if name in retrieval.channels
    }
    current = fused = fuse(counted, retrieval.fusion, tie_order)
    floored = collapsed = None
    if retrieval.floor is not None:
        current = floored = apply_floor(current, retrieval.floor, counted)
    if retrieval.collapse == "document":
        current = collapsed = collapse_documents(current, doc_of)
    return Stages(fused, floored, collapsed, current.top(retrieval.results))
