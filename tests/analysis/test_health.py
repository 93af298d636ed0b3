"""The health of a suite, read from runs over it."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.analysis.health import Alike, Unjudged, alike_questions, suite_health
from ragtui.errors import ComparisonRefused, InvalidInput
from tests.analysis.factory import make_case, make_run, ranks_run


def test_deciding_and_constant_questions() -> None:
    runs = [ranks_run([1, 1, None, 2]), ranks_run([1, 4, None, 1], run_id="new")]
    health = suite_health(runs, "mrr")
    assert (health.measure, health.runs, health.cases) == ("RR", 2, 4)
    assert [(row.case, row.lowest, row.highest, row.share) for row in health.deciding] == [
        ("q0001", 0.25, 1.0, 0.6), ("q0003", 0.5, 1.0, 0.4),
    ]  # fmt: skip
    assert [(row.case, row.value) for row in health.constant] == [("q0000", 1.0), ("q0002", 0.0)]
    assert suite_health(runs[:1]).constant == ()
    assert suite_health(runs[:1]).measure == "nDCG@10"


def test_unjudged_and_never_found_documents() -> None:
    health = suite_health([ranks_run([1, None]), ranks_run([2, None], run_id="new")], cutoff=2)
    assert [(row.case, row.doc, row.grade) for row in health.never_found] == [("q0001", "d20", 1)]
    assert health.unjudged == (
        Unjudged("q0000", "d00", 2, 1), Unjudged("q0001", "d00", 2, 1), Unjudged("q0001", "d01", 2, 2),
    )  # fmt: skip


def test_a_question_asked_otherwise_does_not_count() -> None:
    old, new = ranks_run([1, 1]), ranks_run([None, 1], run_id="new")
    changed = tuple(msgspec.structs.replace(case, retrieval_hash="other") for case in old.cases[:1])
    old = msgspec.structs.replace(old, cases=changed + old.cases[1:])
    health = suite_health([old, new])
    assert health.deciding == ()
    assert [row.case for row in health.never_found] == ["q0000"]


def test_thin_tags_say_how_many_are_missing() -> None:
    tags = [["small"] if i < 5 else ["large"] for i in range(300)]
    runs = [ranks_run([1, 2] * 150, tags=tags), ranks_run([2, 1] * 150, tags=tags, run_id="new")]
    thin = suite_health(runs, "RR").thin_tags
    assert [(row.tag, row.cases) for row in thin] == [("small", 5)]
    assert thin[0].detectable > 0.1
    assert thin[0].missing > 0
    assert [row.tag for row in suite_health(runs[:1]).thin_tags] == ["small"]


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="There is no run to judge the suite by"):
        suite_health([])
    with pytest.raises(ComparisonRefused, match=r"^base ran on another corpus than new"):
        suite_health([ranks_run([1]), ranks_run([1], run_id="new", corpus_id="other")])
    empty = make_run([], [], [])
    assert suite_health([empty]).deciding == ()


def test_near_duplicates_are_found_whatever_their_case_and_order() -> None:
    cases = [
        make_case("a", query="How long do I boil water at the upper camp?"),
        make_case("b", query="At the upper camp, how long do I boil WATER"),
        make_case("c", query="Which radio channel is the emergency channel?"),
        make_case("d", query=""),
    ]
    assert alike_questions(cases) == [Alike("a", "b", 1.0)]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(" ".join), max_size=12))
def test_near_duplicates_equal_a_search_of_all_pairs(queries: list[str]) -> None:
    cases = [make_case(f"q{i:02}", query=query) for i, query in enumerate(queries)]
    expected = set()
    for (i, first), (j, second) in itertools.combinations(enumerate(set(query.split()) for query in queries), 2):
        if len(first & second) / len(first | second) >= 0.8:
            expected.add((f"q{i:02}", f"q{j:02}"))
    assert {(pair.first, pair.second) for pair in alike_questions(cases)} == expected
