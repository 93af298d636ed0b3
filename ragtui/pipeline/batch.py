"""The stages of many cases at once: what `run_stages` gives for each of them, a few array operations for all.

Hits of all cases lie end to end in columns, sorted by case and rank. Chunks must be numbered in the order that breaks
ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragtui.experiment.plan import Retrieval
from ragtui.pipeline.fuse import FUSED_DECIMALS

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Columns(NamedTuple):
    """Hits of many cases, parallel arrays of shape (hits,): the row of the case, the chunk, its score."""

    cases: IntArray
    chunks: IntArray
    scores: FloatArray

    def where(self, kept: BoolArray | IntArray) -> Columns:
        """The hits at the marked positions."""
        return Columns(self.cases[kept], self.chunks[kept], self.scores[kept])


def run_stages_batch(channels: Mapping[str, Columns], retrieval: Retrieval, doc_of: IntArray) -> Columns:
    """The results of every case: min score → fuse → floor → collapse → results, equal to `run_stages` case by case."""
    counted = {
        name: _counted(columns, retrieval.channels[name].depth, retrieval.channels[name].min_score)
        for name, columns in channels.items()
        if name in retrieval.channels
    }
    current, passed = _fused(counted, retrieval)
    if retrieval.floor is not None:
        current = current.where(passed)
    if retrieval.collapse == "document":
        current = current.where(first_of_group(current.cases, doc_of[current.chunks]))
    kept = positions(current.cases) < retrieval.results
    return current if kept.all() else current.where(kept)


def positions(cases: IntArray) -> IntArray:
    """The place of each hit within its case, from 0; `cases` ascends."""
    index = np.arange(len(cases))
    first = np.ones(len(cases), dtype=np.bool_)
    np.not_equal(cases[1:], cases[:-1], out=first[1:])
    return index - np.maximum.accumulate(np.where(first, index, 0)) if len(cases) else index


def first_of_group(cases: IntArray, groups: IntArray) -> BoolArray:
    """Whether a hit is the first of its group (a document, say) in its case; groups count from 0."""
    first = np.zeros(len(cases), dtype=np.bool_)
    if not len(cases):
        return first
    # Position in the lowest digits makes keys unique, so that the fast unstable sort finds the first of each group.
    size = len(cases)
    keys = np.sort((cases * (int(groups.max()) + 1) + groups) * size + np.arange(size))
    group, index = np.divmod(keys, size)
    starts = np.ones(size, dtype=np.bool_)
    np.not_equal(group[1:], group[:-1], out=starts[1:])
    first[index[starts]] = True
    return first


def _counted(columns: Columns, depth: int, min_score: float | None) -> Columns:
    kept = positions(columns.cases) < depth
    if min_score is not None:
        kept &= columns.scores >= min_score
    return columns if kept.all() else columns.where(kept)


def _fused(counted: Mapping[str, Columns], retrieval: Retrieval) -> tuple[Columns, BoolArray]:
    """The fused lists, and which of their hits pass the floor."""
    fusion, floor = retrieval.fusion, retrieval.floor
    parts, shares, passes, places = [], [], [], []
    for number, name in enumerate(sorted(counted)):
        columns = counted[name]
        weight = fusion.weights.get(name, 1.0)
        on_floor = floor is not None and floor.score == name
        if (weight > 0 or on_floor) and len(columns.cases):
            parts.append(columns)
            shares.append(weight / (fusion.rank_constant + (positions(columns.cases) + 1)))
            places.append(np.full(len(columns.cases), number if weight > 0 else len(counted) + number))
            minimum = floor.minimum if floor is not None and on_floor else np.inf
            passes.append(columns.scores >= minimum)
    if not parts:
        return Columns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)), np.empty(0, np.bool_)
    cases, chunks = (np.concatenate([part[field] for part in parts]) for field in (0, 1))
    place = np.concatenate(places)
    span, width = int(chunks.max()) + 1, 2 * len(counted)
    # The channel's place in the lowest digit keeps the order of summation that fuse() has.
    keys = (cases * span + chunks) * width + place
    order = np.argsort(keys)
    hits, place = np.divmod(keys[order], width)
    starts = np.ones(len(hits), dtype=np.bool_)
    np.not_equal(hits[1:], hits[:-1], out=starts[1:])
    group = np.cumsum(starts) - 1
    summed = np.bincount(group, weights=np.concatenate(shares)[order])
    scores: FloatArray = np.round(summed, FUSED_DECIMALS).astype(np.float64, copy=False)
    passed = np.bincount(group, weights=np.concatenate(passes)[order]) > 0
    if floor is not None and floor.score == "fused":
        passed = scores >= floor.minimum
    # A hit that only a channel of weight 0 has is no candidate; its place begins above those of the others.
    candidate = place[starts] < len(counted)
    of_case, of_chunk = np.divmod(hits[starts], span)
    fused = Columns(of_case, of_chunk, scores)
    best_first = _best_first(fused.where(candidate))
    return fused.where(candidate).where(best_first), passed[candidate][best_first]


def _best_first(columns: Columns) -> IntArray:
    """Positions in the order of case, score descending, chunk; the columns come in the order of case and chunk."""
    lengths = np.bincount(columns.cases)
    filled = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    negated = np.full(filled.shape, np.inf)
    negated[filled] = -columns.scores
    rows = np.argsort(negated, axis=1, kind="stable")
    rows += (np.cumsum(lengths) - lengths)[:, None]
    order: IntArray = rows[filled]
    return order
