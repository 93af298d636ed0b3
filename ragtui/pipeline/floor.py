"""Dropping hits that are not good enough."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ragtui.artifacts.ranking import Ranking
from ragtui.experiment.plan import Floor


def at_least(ranking: Ranking, minimum: float | None) -> Ranking:
    """The hits whose own score reaches the minimum; all of them without one."""
    return ranking if minimum is None else ranking.where(ranking.scores >= minimum)


def apply_floor(fused: Ranking, floor: Floor, channels: Mapping[str, Ranking]) -> Ranking:
    """The fused hits whose score on the floor's axis reaches its minimum; a hit without that score is dropped."""
    if floor.score == "fused":
        return at_least(fused, floor.minimum)
    kept = at_least(channels[floor.score], floor.minimum).chunks
    return fused.where(np.isin(fused.chunks, kept))
