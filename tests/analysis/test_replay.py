"""A replay equals a fresh run, whatever the policy; and says when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtui.analysis.compare import compare, specification_diff
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.recording import Recording
from ragtui.analysis.replay import BeyondRecording, beyond, replay
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit
from ragtui.experiment.plan import Channel, Floor, Fusion, Metrics, Plan, Retrieval
from ragtui.experiment.presets import preset
from ragtui.inputs.evaluation import Span
from ragtui.lab import open_lab
from ragtui.pipeline.batch import run_stages_batch
from ragtui.trace import CaseError, ChunkRef, Hits
from tests.analysis.factory import PLAN, Found, make_case, make_chunks, make_run, ranks_run
from tests.workshop import make_workspace

REPLACE = msgspec.structs.replace
DOCUMENTS = {f"d{number}": 3 for number in range(6)}
CHUNKS = make_chunks(DOCUMENTS)
MEASURES = (
    "R@1", "R@3", "Success@2", "P@2", "RR", "RR(level=chunk)", "AP", "nDCG@3", "nDCG(gain=exp)", "Rprec",
    "R@3(level=span)", "RR(level=span)",
)  # fmt: skip

scores = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.5])
hit_maps = st.dictionaries(st.integers(0, len(CHUNKS) - 1), scores, max_size=len(CHUNKS))
hit_lists = hit_maps.map(lambda hits: list(hits.items()))
weights = st.sampled_from([0.0, 0.5, 1.0, 2.0, 0.1])


@st.composite
def cases_and_hits(draw: Any) -> tuple[list[Any], list[Found | CaseError | None]]:
    cases, found = [], []
    for number in range(draw(st.integers(1, 5))):
        grades = draw(st.dictionaries(st.sampled_from(sorted(DOCUMENTS)), st.integers(0, 3), max_size=4))
        starts = draw(st.lists(st.integers(0, 250), max_size=2, unique=True))
        spans = [Span("d1", start, start + draw(st.integers(5, 120)), draw(st.integers(0, 3))) for start in starts]
        cases.append(make_case(f"q{number}", grades, spans, tags=[draw(st.sampled_from("ab"))]))
        hits: Found | CaseError | None = {"x": draw(hit_lists), "y": draw(hit_lists), "z": draw(hit_lists)}
        if draw(st.integers(0, 9)) == 0:
            hits = draw(st.sampled_from([None, CaseError("timeout", "slow")]))
        found.append(hits)
    return cases, found


@st.composite
def policies(draw: Any) -> Plan:
    names = draw(st.lists(st.sampled_from("xyz"), min_size=1, unique=True))
    channels = {
        name: Channel(
            kind="python", source=name, depth=draw(st.integers(1, 10)), min_score=draw(st.none() | scores)
        )
        for name in names
    }  # fmt: skip
    given_weights = {name: draw(weights) for name in names if draw(st.booleans())}
    if all(given_weights.get(name, 1.0) == 0 for name in names):
        given_weights[names[0]] = 1.0
    floor = None
    if draw(st.booleans()):
        floor = Floor(score=draw(st.sampled_from([*names, "fused"])), minimum=draw(st.sampled_from([0.01, 0.03, 0.5])))
    return Plan(
        retrieval=Retrieval(
            channels=channels,
            fusion=Fusion(rank_constant=draw(st.sampled_from([0.0, 0.1, 7.3, 60.0])), weights=given_weights),
            floor=floor,
            collapse=draw(st.sampled_from(["none", "document"])),
            results=draw(st.integers(3, 20)),
        ),
        metrics=Metrics(measures=MEASURES, relevance=draw(st.integers(1, 3)), primary="nDCG@3", guards=("R@3", "RR")),
    )


RECORDED = Plan(
    retrieval=Retrieval(channels={name: Channel(kind="python", source=name, depth=10) for name in "xyz"}),
    metrics=Metrics(measures=MEASURES),
)


def batched_results(run: RecordedRun, plan: Plan) -> list[Hits]:
    """The results of the cases without an error, from the stages that take all cases at once."""
    recording = Recording(run)
    wanted = {name: columns for name, columns in recording.channels.items() if name in plan.retrieval.channels}
    results = run_stages_batch(wanted, plan.retrieval, recording.doc)
    found = []
    for row, trace in enumerate(recording.traces):
        own = results.where(results.cases == row)
        if trace.error is None:
            # The chunks of these runs are numbered in the order that breaks ties already.
            found.append(Hits(own.chunks.tolist(), own.scores.tolist()))
    return found


@settings(max_examples=400, deadline=None)
@given(cases_and_hits(), policies())
def test_a_replay_equals_a_fresh_run(data: tuple[list[Any], list[Any]], plan: Plan) -> None:
    cases, found = data
    recorded = make_run(cases, found, CHUNKS, plan=RECORDED)
    only = [
        {name: given[name] for name in plan.retrieval.channels} if isinstance(given, dict) else given for given in found
    ]
    fresh = make_run(cases, only, CHUNKS, plan=plan)
    again = replay(recorded, plan)
    assert again.recorded().traces == fresh.traces
    assert again.measures == fresh.measures
    assert batched_results(recorded, plan) == [trace.results for trace in fresh.traces if trace.error is None]
    expected = [[np.nan if v is None else v for v in trace.scores.values()] for trace in fresh.traces]
    np.testing.assert_array_equal(again.scores, np.array(expected).reshape(again.scores.shape))
    assert again.recorded().spec_id == fresh.spec_id
    assert again.recorded().specification == fresh.specification


def test_ties_go_to_the_span_that_comes_first_whatever_its_ordinal() -> None:
    # A retriever of one's own knows a span that the chunk set does not: its ordinal is the last, its place is not.
    chunks = [*make_chunks({"a": 2, "b": 1}), ChunkRef(3, "a", 50, 150, "")]
    hits = {"x": [(1, 1.0), (3, 1.0)], "y": [(2, 1.0), (3, 1.0)]}
    run = make_run([make_case("q", {"a": 1})], [hits], chunks, plan=RECORDED)
    recording = Recording(run)
    assert recording.tie_order(np.array([0, 3, 1, 2])).tolist() == [0, 1, 2, 3]
    plan = edit(RECORDED, ["retrieval.fusion.weights.z=0"])
    again = replay(recording, plan)
    assert again.traces[0].fused is not None
    assert again.traces[0].fused.chunks == [3, 1, 2]


def test_the_recorded_plan_changes_nothing() -> None:
    run = ranks_run([1, 3, None])
    again = replay(run, run.specification.plan)
    assert all(change.delta == 0 and change.word == "equal" for change in again.changes.values() if change.scored)
    assert again.flips == ()
    assert compare(run, again.recorded()).reasons == ("Every case has the same ranking in both runs.",)
    assert again.summary.overall["RR"].value == pytest.approx((1 + 1 / 3) / 3)


def test_changes_and_flips_against_the_recorded_run() -> None:
    chunks = make_chunks({"a": 1, "b": 1})
    run = make_run(
        [make_case("q", {"b": 1})], [{"bm25": [(0, 2.0), (1, 1.0)], "vector": [(1, 1.0)]}], chunks,
        plan=REPLACE(PLAN, metrics=Metrics(measures=("R@1", "RR"), guards=("R@1",))),
    )  # fmt: skip
    again = replay(run, edit(run.specification.plan, ["retrieval.fusion.weights.vector=0"]))
    assert again.changes["RR"].delta == -0.5
    assert again.changes["RR"].p is None
    assert [(flip.case, flip.direction) for flip in again.flips] == [("q", "lost")]


def test_a_replay_that_refuses_more_is_better_by_the_rate_that_goes_down() -> None:
    metrics = Metrics(measures=("RR",), primary="nonEmptyRateOnRefusal", guards=())
    run = make_run([make_case("q")], [{"bm25": [(0, 2.0)], "vector": []}], make_chunks({"a": 1}),
                   plan=REPLACE(PLAN, metrics=metrics))  # fmt: skip
    again = replay(run, edit(run.specification.plan, ["retrieval.channels.bm25.min_score=3"]))
    assert [(flip.direction, flip.base, flip.new) for flip in again.flips] == [("found", 1, 0)]


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("chunking.size=400", "chunking: other chunks need another index."),
        ("lexical.stemming=false", "lexical: another analyzer finds other chunks."),
        ("embedding.dimensions=64", "embedding: other vectors find other chunks."),
        ("evaluation.limit=1", "evaluation: the run asked the questions of another selection."),
        ('retrieval.channels.extra={"kind":"bm25"}',
         "retrieval.channels.extra: the run has no such channel (recorded: bm25, vector)."),
        ("retrieval.channels.bm25.kind=vector",
         "retrieval.channels.bm25: it searches something else than the recorded channel."),
        ("retrieval.channels.bm25.depth=30",
         "retrieval.channels.bm25.depth: 30 is deeper than the 20 recorded in 2 cases."),
    ],
)  # fmt: skip
def test_what_reaches_beyond_the_recording_is_refused(setting: str, reason: str) -> None:
    plan = edit(PLAN, ["retrieval.channels.bm25.depth=20", "retrieval.channels.vector.depth=20"])
    run = ranks_run([1, 2], plan=plan)
    with pytest.raises(BeyondRecording) as refused:
        replay(run, edit(plan, [setting]))
    assert refused.value.reasons == (reason,)
    assert refused.value.message == f"The change reaches beyond what was recorded:\n  {reason}"


def test_lists_that_ended_early_reach_any_depth() -> None:
    run = ranks_run([1, 2])
    deeper = edit(run.specification.plan, ["retrieval.channels.bm25.depth=500"])
    assert beyond(run, deeper) == ()
    assert replay(run, deeper).changes["RR"].delta == 0


def test_a_settled_auto_is_no_difference() -> None:
    run = ranks_run([1], plan=edit(PLAN, ["lexical.bigrams=off"]))
    assert beyond(run, PLAN) == ()
    assert beyond(run, edit(PLAN, ["lexical.bigrams=on"])) != ()


def test_a_replay_has_the_specification_of_a_fresh_run(tmp_path: Path) -> None:
    def shared_words(query: str, depth: int) -> list[tuple[str, float]]:
        return [("anchor-notes", 1.0)]

    shared_words.identity = "v1"  # type: ignore[attr-defined]
    lab = open_lab(make_workspace(tmp_path / "ws"), execution="allow_runs", retrievers={"words": shared_words})
    whole = edit(preset("bm25"), ['retrieval.channels.own={"kind":"python","source":"words"}'])
    run = lab.run(lab.bind(whole))
    assert run.specification.plan.lexical.bigrams == "off"
    for plan in (preset("bm25"), whole, edit(whole, ["lexical.bigrams=off", "retrieval.fusion.weights.own=2"])):
        fresh, again = lab.bind(plan), replay(run, plan).recorded()
        assert specification_diff(REPLACE(run, specification=fresh), again) == ()
        assert again.spec_id == fresh.spec_id


def test_bad_recordings() -> None:
    run = ranks_run([1])
    with pytest.raises(InvalidInput, match="refer to chunks that the record does not describe"):
        replay(REPLACE(run, chunks=run.chunks[:5]), run.specification.plan)
    with pytest.raises(InvalidInput, match="no channel"):
        replay(run, REPLACE(PLAN, retrieval=Retrieval(channels={})))
    empty = make_run([], [], [], run_id="empty")
    again = replay(empty, PLAN)
    assert again.scores.shape == (0, len(empty.measures))
    assert again.traces == ()
    unfinished: RecordedRun = REPLACE(run, traces=())
    assert replay(unfinished, PLAN).changes["RR"].scored == 0
