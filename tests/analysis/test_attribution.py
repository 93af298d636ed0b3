"""Every missed judgment has one cause, and removing the cause lets it go further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from ragtui.analysis.attribution import Cause, Indexed, Miss, attribute, attribution, held_by, moved
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.replay import replay
from ragtui.experiment.editing import edit
from ragtui.experiment.plan import Plan
from ragtui.inputs.evaluation import Span
from ragtui.trace import CaseError
from tests.analysis.factory import PLAN, make_case, make_chunks, make_run, ranks_run
from tests.analysis.test_replay import CHUNKS, cases_and_hits, policies

REPLACE = msgspec.structs.replace
ORDER = list(Cause)
DEEP = 10**6


def cut(plan: Plan) -> int:
    return 3 if plan.retrieval.results > 3 else plan.retrieval.results


def without(cause: Cause, miss: Miss, run: RecordedRun, found: Sequence[Any], plan: Plan) -> tuple[RecordedRun, int]:
    """The run in which a cause of loss no longer exists, and the cut-off to look at."""
    retrieval = plan.retrieval
    if cause is Cause.BELOW_DEPTH:
        # Every channel goes on to the end of the chunk set.
        full = [
            {
                name: [*given[name], *((c.ordinal, -1.0) for c in CHUNKS if c.ordinal not in dict(given[name]))]
                for name in retrieval.channels
            }
            if isinstance(given, dict) else given for given in found
        ]  # fmt: skip
        channels = {name: REPLACE(channel, depth=DEEP) for name, channel in retrieval.channels.items()}
        deeper = REPLACE(plan, retrieval=REPLACE(retrieval, channels=channels))
        return make_run(run.cases, full, CHUNKS, plan=deeper), cut(plan)
    if cause is Cause.BELOW_MIN_SCORE:
        channels = {name: REPLACE(channel, min_score=None) for name, channel in retrieval.channels.items()}
        retrieval = REPLACE(retrieval, channels=channels)
    elif cause is Cause.LOST_IN_FUSION:
        best = best_channel(miss, run, plan)
        weights = {name: float(name == best) for name in retrieval.channels}
        retrieval = REPLACE(retrieval, fusion=REPLACE(retrieval.fusion, weights=weights))
    elif cause is Cause.BELOW_FLOOR:
        retrieval = REPLACE(retrieval, floor=None)
    elif cause is Cause.COLLAPSED:
        retrieval = REPLACE(retrieval, collapse="none")
    elif cause is Cause.BELOW_CUTOFF:
        return replay(run, REPLACE(plan, retrieval=REPLACE(retrieval, results=DEEP))).recorded(), DEEP
    return replay(run, REPLACE(plan, retrieval=retrieval)).recorded(), cut(plan)


def best_channel(miss: Miss, run: RecordedRun, plan: Plan) -> str:
    """The channel that ranks the judgment best among the hits that reach its minimum score."""
    alone = {}
    for name, channel in plan.retrieval.channels.items():
        only = REPLACE(
            plan.retrieval, channels={name: channel}, floor=None, collapse="none", results=DEEP,
            fusion=REPLACE(plan.retrieval.fusion, weights={}),
        )  # fmt: skip
        misses = attribute(replay(run, REPLACE(plan, retrieval=only)).recorded(), cutoff=0)
        alone[name] = next(m.ranks.get("results", DEEP) for m in misses if m.judgment == miss.judgment)
    return min(alone, key=lambda name: alone[name])


@settings(max_examples=300, deadline=None)
@given(cases_and_hits(), policies())
def test_removing_the_cause_makes_a_hit_or_a_later_cause(data: tuple[list[Any], list[Any]], plan: Plan) -> None:
    cases, found = data
    only = [
        {name: given[name] for name in plan.retrieval.channels} if isinstance(given, dict) else given for given in found
    ]
    run = make_run(cases, only, CHUNKS, plan=plan)
    indexed: Indexed = held_by(
        [c.doc for c in CHUNKS], [c.start for c in CHUNKS], [c.end for c in CHUNKS]
    )  # fmt: skip
    asked: Indexed
    misses = attribute(run, cutoff=cut(plan), indexed=indexed)
    assert len({miss.judgment for miss in misses}) == len(misses)
    for miss in misses:
        if miss.cause is Cause.NOT_INDEXED:
            after, cutoff, asked = run, cut(plan), (lambda doc, start, end: True)
        else:
            after, cutoff = without(miss.cause, miss, run, found, plan)
            asked = indexed
        again = {other.judgment: other for other in attribute(after, cutoff=cutoff, indexed=asked)}
        now = again.get(miss.judgment)
        assert now is None or ORDER.index(now.cause) > ORDER.index(miss.cause), (miss, now)


@settings(max_examples=100, deadline=None)
@given(cases_and_hits())
def test_the_misses_are_those_that_recall_counts(data: tuple[list[Any], list[Any]]) -> None:
    cases, found = data
    plan = edit(PLAN, [
        'retrieval.channels={"x":{"kind":"python","source":"x"},"y":{"kind":"python","source":"y"},'
        '"z":{"kind":"python","source":"z"}}',
        'metrics.measures=["R@3","R@3(level=span)"]', "metrics.primary=nDCG@3",
    ])  # fmt: skip
    run = make_run(cases, found, CHUNKS, plan=plan)
    misses = attribute(run)
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        for measure, of_spans in (("R@3", False), ("R@3(level=span)", True)):
            score = None if trace is None else trace.scores[measure]
            if score is None:
                continue
            spans = {span.doc for span in case.spans if span.grade > 0}
            lost = [m for m in misses if m.case == case.id and (m.start is not None) == of_spans]
            if of_spans:
                total = sum(span.grade > 0 for span in case.spans)
            elif spans:
                continue
            else:
                total = sum(grade > 0 for grade in case.grades.values())
            assert score == pytest.approx(1 - len(lost) / total)


def one(hits: dict[str, list[tuple[int, float]]], edits: Sequence[str] = (), **options: Any) -> Miss:
    chunks = make_chunks({"a": 4, "b": 4})
    case = make_case("q", spans=[Span("b", 100, 180, 3)], tags=["t"])
    run = make_run([case], [hits], chunks, plan=edit(PLAN, ["metrics.primary=nDCG@2", *edits]))
    (miss,) = attribute(run, **options)
    return miss


HERE, SIBLING, OTHER, MORE = (5, 1.0), (4, 2.0), (0, 3.0), (1, 2.5)


def test_each_cause_by_hand() -> None:
    assert one({"bm25": [OTHER], "vector": []}, indexed=lambda *_: False).cause is Cause.NOT_INDEXED
    assert one({"bm25": [OTHER], "vector": []}, indexed=lambda *_: True).cause is Cause.BELOW_DEPTH
    assert one({"bm25": [OTHER], "vector": []}).cause is Cause.NOT_FOUND, "without the chunk set nobody knows"
    assert one({"bm25": [OTHER], "vector": []}, indexed=lambda *_: None).cause is Cause.NOT_FOUND
    assert one({"bm25": [OTHER], "vector": []}, ["chunking.size=30"]).cause is Cause.NOT_INDEXED
    low = one({"bm25": [OTHER, HERE], "vector": []}, ["retrieval.channels.bm25.min_score=2"])
    assert low.cause is Cause.BELOW_MIN_SCORE
    assert low.ranks == {"bm25": 2}
    fused = one({"bm25": [OTHER, MORE], "vector": [(0, 1.0), (5, 0.9), (1, 0.8)]})
    assert fused.cause is Cause.LOST_IN_FUSION
    assert fused.ranks == {"vector": 2, "fused": 3, "results": 3}
    muted = one({"bm25": [OTHER], "vector": [HERE]}, ["retrieval.fusion.weights.vector=0"])
    assert muted.cause is Cause.LOST_IN_FUSION
    floor = ['retrieval.floor={"score":"bm25","minimum":2}']
    assert one({"bm25": [OTHER, HERE], "vector": []}, floor).cause is Cause.BELOW_FLOOR
    # The hit that was near is dropped; a worse chunk of the same document survives, out of reach.
    case = make_case("q", {"b": 1})
    documents = make_chunks({"a": 1, "b": 2, "c": 1, "d": 1})
    near = [(1, 9.0), (0, 8.0), (3, 7.0), (4, 6.0), (2, 5.0)]
    lower = {"bm25": near, "vector": [hit for hit in near if hit[0] != 1]}
    edits = ['retrieval.floor={"score":"vector","minimum":1}', "retrieval.fusion.weights.bm25=30"]
    run = make_run([case], [lower], documents, plan=edit(PLAN, ["metrics.primary=nDCG@3", *edits]))
    assert [(miss.cause, miss.ranks) for miss in attribute(run)] == [
        (Cause.BELOW_FLOOR, {"bm25": 1, "vector": 4, "fused": 3, "results": 4})
    ]
    collapse = ["retrieval.collapse=document"]
    assert one({"bm25": [SIBLING, HERE], "vector": []}, collapse).cause is Cause.COLLAPSED
    assert one({"bm25": [OTHER, MORE, SIBLING, HERE], "vector": []}).cause is Cause.BELOW_CUTOFF


def test_the_table_and_what_moved() -> None:
    base, new = ranks_run([1, 12, None], tags=[["a"], ["a"], ["b"]]), ranks_run([12, 1, 11], run_id="new")
    before, after = attribute(base), attribute(new)
    table = attribution(base, before)
    assert (table.cutoff, table.relevant) == (10, 3)
    assert {cause: count for cause, count in table.missed.items() if count} == {
        Cause.BELOW_DEPTH: 1, Cause.BELOW_CUTOFF: 1,
    }  # fmt: skip
    assert list(table.missed) == ORDER
    assert table.by_tag["b"][Cause.BELOW_DEPTH] == 1
    changes = moved(before, after)
    assert {pair: [miss.case for miss in misses] for pair, misses in changes.items()} == {
        (None, Cause.BELOW_CUTOFF): ["q0000"],
        (Cause.BELOW_CUTOFF, None): ["q0001"],
        (Cause.BELOW_DEPTH, Cause.BELOW_CUTOFF): ["q0002"],
    }


def test_errored_and_unfinished_cases_are_no_misses() -> None:
    cases = [make_case("q1", {"a": 1}), make_case("q2", {"a": 1})]
    run = make_run(cases, [CaseError("timeout", "slow"), None], make_chunks({"a": 1}))
    assert attribute(run) == []
    assert attribution(run, []).relevant == 0
