"""Fusion, floors and collapse against the plainest thing that could be written."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtui.artifacts.ranking import Ranking, ordered
from ragtui.experiment.plan import Channel, Floor, Fusion, Plan, Retrieval
from ragtui.experiment.validate import plan_faults
from ragtui.pipeline.batch import Columns, run_stages_batch
from ragtui.pipeline.fuse import fuse
from ragtui.pipeline.stages import Stages, run_stages

Hits = list[tuple[int, float]]
CHUNKS = 12
DOC_OF = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 5], np.int64)
NAMES = ("bm25", "own", "vector")


def naive(channels: dict[str, Hits], retrieval: Retrieval) -> dict[str, Hits]:
    """One hit after another, in exact fractions."""
    counted = {}
    for name, hits in channels.items():
        setting = retrieval.channels[name]
        least = -np.inf if setting.min_score is None else setting.min_score
        counted[name] = [hit for hit in hits[: setting.depth] if hit[1] >= least]
    sums: dict[int, Fraction] = {}
    for name, hits in counted.items():
        weight = Fraction(retrieval.fusion.weights.get(name, 1.0))
        for rank, (chunk, _) in enumerate(hits, 1):
            if weight > 0:
                sums[chunk] = sums.get(chunk, Fraction(0)) + weight / (Fraction(retrieval.fusion.rank_constant) + rank)
    scores = {chunk: round(float(total), 12) for chunk, total in sums.items()}
    fused = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
    stages = {"fused": fused}
    current = fused
    floor = retrieval.floor
    if floor is not None:
        axis = scores if floor.score == "fused" else dict(counted[floor.score])
        current = [hit for hit in current if axis.get(hit[0], -np.inf) >= floor.minimum]
        stages["floor"] = current
    if retrieval.collapse == "document":
        seen: set[int] = set()
        kept = []
        for chunk, score in current:
            if int(DOC_OF[chunk]) not in seen:
                seen.add(int(DOC_OF[chunk]))
                kept.append((chunk, score))
        current = stages["collapse"] = kept
    stages["results"] = current[: retrieval.results]
    return stages


@st.composite
def rankings(draw: st.DrawFn) -> dict[str, Hits]:
    """Hits of each channel in the one total order, with many equal scores."""
    channels = {}
    for name in NAMES:
        chunks = draw(st.lists(st.integers(0, CHUNKS - 1), unique=True, max_size=CHUNKS))
        scores = [draw(st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0, 3.5])) for _ in chunks]
        found = ordered(np.array(chunks, np.int64), np.array(scores))
        channels[name] = list(zip(found.chunks.tolist(), found.scores.tolist(), strict=True))
    return channels


RETRIEVALS = st.builds(
    lambda depths, least, weights, constant, floor, collapse, results: Retrieval(
        channels={
            name: Channel(kind="bm25", depth=depth, min_score=score)
            for name, depth, score in zip(NAMES, depths, least, strict=True)
        },
        fusion=Fusion(rank_constant=constant, weights=weights),
        floor=floor,
        collapse=collapse,
        results=results,
    ),
    st.tuples(*[st.integers(1, CHUNKS)] * 3),
    st.tuples(*[st.sampled_from([None, None, 0.5, 1.0])] * 3),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    st.sampled_from([0.0, 1.0, 60.0]),
    st.sampled_from([None, *(Floor(score=name, minimum=least) for name, least in [("fused", 0.02), ("own", 0.5)])]),
    st.sampled_from(["none", "document"]),
    st.integers(1, CHUNKS),
)  # fmt: skip


def arrays(hits: Hits) -> Ranking:
    return Ranking(np.array([c for c, _ in hits], np.int64), np.array([s for _, s in hits], np.float64))


def listed(ranking: Ranking) -> Hits:
    return list(zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True))


@settings(max_examples=400, deadline=None)
@given(rankings(), RETRIEVALS)
def test_stages_are_the_naive_ones(channels: dict[str, Hits], retrieval: Retrieval) -> None:
    found = run_stages({name: arrays(hits) for name, hits in channels.items()}, retrieval, DOC_OF)
    expected = naive(channels, retrieval)
    for name in Stages._fields:
        ranking: Ranking | None = getattr(found, name)
        assert (None if ranking is None else listed(ranking)) == expected.get(name)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-16, 16).map(lambda power: 10.0**power), st.just(0.0) | st.floats(0, 16).map(lambda power: 10.0**power),
    st.integers(1, 3000),
)  # fmt: skip
def test_a_plan_that_is_accepted_never_ties_ranks(weight: float, constant: float, depth: int) -> None:
    """Rounding would take a whole channel for one tie, and a great weight would make scores that are not finite."""
    retrieval = Retrieval(
        channels={"bm25": Channel(kind="bm25", depth=depth)},
        fusion=Fusion(rank_constant=constant, weights={"bm25": weight}),
    )
    chunks = np.arange(depth)[::-1].copy()
    found = fuse({"bm25": Ranking(chunks, np.zeros(depth))}, retrieval.fusion)
    faults = list(plan_faults(Plan(retrieval=retrieval)))
    if not faults:
        assert found.chunks.tolist() == chunks.tolist()
        assert np.isfinite(found.scores).all()
    elif weight <= 1000:
        assert faults == [
            f"retrieval.fusion: ranks of channel 'bm25' cannot be told apart with weight {weight:g} and rank constant "
            f"{constant:g}; raise the weight or lower the constant."
        ]


@pytest.mark.parametrize("weight", [0.05, 1.0, 2.0, 1000.0])
@pytest.mark.parametrize("constant", [0.0, 1.0, 60.0, 1000.0])
def test_ordinary_fusions_are_accepted(weight: float, constant: float) -> None:
    retrieval = Retrieval(
        channels={"bm25": Channel(kind="bm25", depth=1_000_000)},
        fusion=Fusion(rank_constant=constant, weights={"bm25": weight}),
    )
    assert list(plan_faults(Plan(retrieval=retrieval))) == []


@settings(max_examples=200, deadline=None)
@given(st.lists(rankings(), min_size=1, max_size=5), RETRIEVALS)
def test_many_cases_at_once_are_as_one_by_one(cases: list[dict[str, Hits]], retrieval: Retrieval) -> None:
    columns = {
        name: Columns(
            np.array([row for row, case in enumerate(cases) for _ in case[name]], np.int64),
            np.array([chunk for case in cases for chunk, _ in case[name]], np.int64),
            np.array([score for case in cases for _, score in case[name]], np.float64),
        )
        for name in NAMES
    }
    found = run_stages_batch(columns, retrieval, DOC_OF)
    for row, case in enumerate(cases):
        mine = found.cases == row
        assert listed(Ranking(found.chunks[mine], found.scores[mine])) == naive(case, retrieval)["results"]


@settings(max_examples=100, deadline=None)
@given(rankings(), RETRIEVALS, st.permutations(range(CHUNKS)))
def test_ties_go_by_the_given_order(channels: dict[str, Hits], retrieval: Retrieval, order: list[int]) -> None:
    """A run with foreign spans numbers chunks as it meets them; ties still go by document and place."""
    place = np.array(order, np.int64)
    found = run_stages(
        {name: arrays(hits) for name, hits in channels.items()}, retrieval, DOC_OF, lambda chunks: place[chunks]
    )
    fused = [(-score, order[chunk]) for chunk, score in listed(found.fused)]
    assert fused == sorted(fused)


def test_the_order_of_channels_does_not_matter() -> None:
    channels = {"a": arrays([(1, 2.0), (2, 1.0)]), "b": arrays([(2, 9.0), (3, 8.0)]), "c": arrays([(3, 1.0), (1, 0.5)])}
    retrieval = Retrieval(channels={name: Channel(kind="bm25") for name in "abc"})
    one = run_stages(channels, retrieval, DOC_OF)
    other = run_stages(dict(reversed(channels.items())), retrieval, DOC_OF)
    assert listed(one.fused) == listed(other.fused)


def test_nothing_found() -> None:
    retrieval = Retrieval(channels={"a": Channel(kind="bm25")}, floor=Floor(score="a", minimum=0), collapse="document")
    found = run_stages({"a": Ranking.empty()}, retrieval, DOC_OF)
    assert [len(stage) for stage in found if stage is not None] == [0, 0, 0, 0]
