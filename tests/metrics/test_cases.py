"""Batches of cases: levels, spans, rates, reasons, and what holds for any ranking."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.metrics.cases import Hits, Judgment, SpanJudgment, Unscored, score_cases, unscored_reason
from ragtui.metrics.measure import Measure, parse_measure
from ragtui.metrics.ranking import (
    Judged,
    collapse_to_documents,
    first_occurrences,
    judge_documents,
    judge_ids,
    score_matrix,
)

EVERYTHING = [
    parse_measure(name)
    for name in (
        "nDCG", "nDCG@3", "nDCG@3(gain=exp)", "AP", "AP@3", "AP(rel=2)", "RR", "RR@2", "RR(level=chunk)",
        "RR(level=span)", "R@1", "R@5(rel=3)", "R@5(level=span)", "R@5(level=span,rel=2)", "P@5", "P@5(level=doc)",
        "Success@2", "Success@2(level=chunk)", "Success@2(level=span)", "Rprec", "emptyRateOnAnswerable",
        "nonEmptyRateOnRefusal",
    )
]  # fmt: skip


def hits(*places: tuple[int, int, int]) -> Hits:
    columns = np.array(places, dtype=np.int64).reshape(-1, 3).T
    return Hits(columns[0], columns[1], columns[2])


def one(name: str, results: Hits, judgment: Judgment) -> float:
    return float(score_cases([parse_measure(name)], [results], [judgment])[0, 0])


def test_documents_collapse_and_chunks_do_not() -> None:
    results = hits((7, 0, 9), (1, 0, 9), (1, 9, 18), (2, 0, 9))
    judgment = Judgment({1: 3, 2: 1})
    assert one("P@4", results, judgment) == 3 / 4
    assert one("P@4(level=doc)", results, judgment) == 2 / 4
    assert one("R@2", results, judgment) == 1 / 2
    assert one("R@3", results, judgment) == 1
    assert one("R@3(rel=2)", results, judgment) == 1
    assert one("AP", results, judgment) == (1 / 2 + 2 / 3) / 2
    assert one("Rprec", results, judgment) == 1 / 2
    assert one("RR(level=chunk)", results, judgment) == 1 / 2
    dcg = 3 / np.log2(3) + 1 / np.log2(4)
    assert one("nDCG@10", results, judgment) == pytest.approx(dcg / (3 + 1 / np.log2(3)))
    dcg = 7 / np.log2(3) + 1 / np.log2(4)
    assert one("nDCG@10(gain=exp)", results, judgment) == pytest.approx(dcg / (7 + 1 / np.log2(3)))


def test_a_span_is_credited_once_at_the_first_hit_that_covers_half_of_it() -> None:
    spans = (SpanJudgment(1, 100, 200, 3), SpanJudgment(2, 0, 11, 1), SpanJudgment(3, 0, 10, 0))
    judgment = Judgment({1: 3, 2: 1}, spans)
    results = hits((1, 0, 149), (2, 150, 400), (1, 50, 150), (1, 90, 210), (3, 0, 10), (2, 0, 5), (2, 5, 11))
    assert one("RR(level=span)", results, judgment) == 1 / 3
    assert one("Success@2(level=span)", results, judgment) == 0
    assert one("Success@3(level=span)", results, judgment) == 1
    assert one("R@6(level=span)", results, judgment) == 1 / 2
    assert one("R@7(level=span)", results, judgment) == 1
    assert one("R@3(level=span,rel=2)", results, judgment) == 1
    assert one("R@9(level=span)", hits((1, 0, 149)), judgment) == 0
    both = hits((1, 0, 500), (1, 0, 500))
    assert one("R@1(level=span)", both, Judgment({1: 2}, (spans[0], SpanJudgment(1, 0, 50, 2)))) == 1


def test_no_hits_score_zero_and_nothing_to_find_is_not_scored() -> None:
    ranking = [measure for measure in EVERYTHING if not measure.is_rate]
    span = SpanJudgment(1, 0, 10, 3)
    scores = score_cases(ranking, [hits(), hits((1, 0, 10))], [Judgment({1: 3}, (span,)), Judgment(answerable=False)])
    assert (scores[0] == 0).all()
    assert np.isnan(scores[1]).all()
    assert score_cases(EVERYTHING, [], []).shape == (0, len(EVERYTHING))
    assert score_cases([], [hits()], [Judgment()]).shape == (1, 0)


def test_rates_are_scored_in_the_cases_that_they_are_about() -> None:
    rates = [parse_measure("emptyRateOnAnswerable"), parse_measure("nonEmptyRateOnRefusal")]
    results = [hits(), hits((1, 0, 9)), hits(), hits((1, 0, 9))]
    judgments = [Judgment({1: 1}), Judgment({1: 1}), Judgment(answerable=False), Judgment(answerable=False)]
    expected = [[1, np.nan], [0, np.nan], [np.nan, 0], [np.nan, 1]]
    np.testing.assert_array_equal(score_cases(rates, results, judgments), expected)
    judged = judge_documents([[], [1], [], [1]], [judgment.grades for judgment in judgments])
    np.testing.assert_array_equal(score_matrix(rates, judged), expected)


def test_reasons_are_told() -> None:
    answerable, refusal = Judgment({1: 2}, (SpanJudgment(1, 0, 9, 2),)), Judgment(answerable=False)
    told = [
        ("R@5", refusal, Unscored.NOTHING_TO_FIND),
        ("R@5(rel=3)", answerable, Unscored.NOTHING_AT_GRADE),
        ("nDCG", answerable, None),
        ("R@5(level=span)", Judgment({1: 2}), Unscored.NO_SPAN),
        ("R@5(level=span,rel=3)", answerable, Unscored.NO_SPAN_AT_GRADE),
        ("emptyRateOnAnswerable", refusal, Unscored.IS_REFUSAL),
        ("nonEmptyRateOnRefusal", answerable, Unscored.IS_ANSWERABLE),
    ]
    for name, judgment, reason in told:
        assert unscored_reason(parse_measure(name), judgment) is reason


places = st.tuples(st.integers(0, 6), st.integers(0, 40), st.integers(0, 40)).map(
    lambda place: (place[0], min(place[1:]), max(place[1:]) + 1)
)
results_lists = st.lists(places, max_size=12).map(lambda found: hits(*found))
span_judgments = st.tuples(places, st.integers(-1, 4)).map(lambda pair: SpanJudgment(*pair[0], pair[1]))
judgment_sets = st.builds(
    Judgment,
    st.dictionaries(st.integers(0, 6), st.integers(-1, 4), max_size=5),
    st.lists(span_judgments, max_size=4),
    st.booleans(),
)
batches = st.lists(st.tuples(results_lists, judgment_sets), min_size=1, max_size=5)


@given(batches)
def test_scores_are_bounded_and_every_gap_has_a_reason(batch: list[tuple[Hits, Judgment]]) -> None:
    scores = score_cases(EVERYTHING, [case[0] for case in batch], [case[1] for case in batch])
    assert ((scores >= 0) & (scores <= 1 + 1e-12) | np.isnan(scores)).all()
    for row, (_, judgment) in enumerate(batch):
        for column, measure in enumerate(EVERYTHING):
            assert np.isnan(scores[row, column]) == (unscored_reason(measure, judgment) is not None), measure


@given(batches)
def test_a_case_scores_the_same_alone_as_in_a_batch(batch: list[tuple[Hits, Judgment]]) -> None:
    together = score_cases(EVERYTHING, [case[0] for case in batch], [case[1] for case in batch])
    for row, (results, judgment) in enumerate(batch):
        np.testing.assert_array_equal(score_cases(EVERYTHING, [results], [judgment])[0], together[row])


@given(batches)
def test_nothing_mutates_its_input(batch: list[tuple[Hits, Judgment]]) -> None:
    for results, _ in batch:
        for column in (results.documents, results.starts, results.ends):
            column.flags.writeable = False
    judgments = [case[1] for case in batch]
    before = copy.deepcopy(judgments)
    score_cases(EVERYTHING, [case[0] for case in batch], judgments)
    assert judgments == before


@given(st.lists(span_judgments, max_size=5), results_lists)
def test_spans_against_a_plain_definition(spans: list[SpanJudgment], results: Hits) -> None:
    ranks = []
    for span in (span for span in spans if span.grade > 0):
        for rank, (document, start, end) in enumerate(
            zip(results.documents, results.starts, results.ends, strict=True), 1
        ):
            covered = len(set(range(span.start, span.end)) & set(range(start, end)))
            if document == span.document and 2 * covered >= span.end - span.start:
                ranks.append(rank)
                break
    total = sum(span.grade > 0 for span in spans)
    if total:
        judgment = Judgment({}, spans)
        assert one("R@3(level=span)", results, judgment) == sum(rank <= 3 for rank in ranks) / total
        assert one("RR(level=span)", results, judgment) == (1 / min(ranks) if ranks else 0)


@given(st.permutations(range(8)), st.dictionaries(st.integers(0, 9), st.integers(0, 3), min_size=1), st.data())
def test_moving_a_relevant_document_up_never_lowers_a_score(
    ranking: list[int], grades: dict[int, int], data: st.DataObject
) -> None:
    relevant = [rank for rank, document in enumerate(ranking) if rank and grades.get(document, 0)]
    if not relevant:
        return
    rank = data.draw(st.sampled_from(relevant))
    above = data.draw(st.integers(0, rank - 1))
    if grades.get(ranking[above], 0) > grades[ranking[rank]]:
        return
    moved = list(ranking)
    moved[above], moved[rank] = moved[rank], moved[above]
    measures = [parse_measure(name) for name in ("nDCG", "nDCG@3", "nDCG@3(gain=exp)", "AP", "AP@3", "RR", "RR@3")]
    before, after = score_matrix(measures, judge_documents([ranking, moved], [grades, grades]))
    assert (after >= before - 1e-12).all()


def test_the_best_ranking_scores_one() -> None:
    judged = judge_ids([["a", "b", "c", "x"]], [{"c": 1, "a": 3, "b": 2}])
    names = ("nDCG", "nDCG@2", "nDCG(gain=exp)", "AP", "RR", "R@3", "P@3", "Success@1", "Rprec")
    assert score_matrix([parse_measure(name) for name in names], judged).tolist() == [[1.0] * len(names)]


def test_judged_holds_what_was_found_and_what_there_was() -> None:
    judged = judge_ids([["a", "b"], [], ["z"]], [{"b": 2, "c": 3, "d": 0}, {"a": 1}, {"z": -2}])
    assert judged.grades.tolist() == [[0, 2], [0, 0], [0, 0]]
    assert judged.lengths.tolist() == [2, 0, 1]
    assert judged.ideal.tolist() == [[3, 2], [1, 0], [0, 0]]
    negative = Judged(np.array([[-1, 2]]), np.array([2]), np.array([[2]]))
    assert score_matrix([Measure("RR")], negative).tolist() == [[0.5]]


def test_collapse_keeps_the_first_place() -> None:
    doc_of_chunk = np.array([0, 0, 1, 2, 2])
    assert collapse_to_documents(doc_of_chunk, np.array([3, 1, 4, 0, 2])).tolist() == [2, 0, 1]
    assert collapse_to_documents(doc_of_chunk, np.array([], dtype=np.int64)).tolist() == []
    assert first_occurrences(np.array([5, 5, 5])).tolist() == [5]


def test_a_span_measure_needs_spans() -> None:
    with pytest.raises(ValueError, match="needs judged spans"):
        score_matrix([parse_measure("RR(level=span)")], judge_ids([["a"]], [{"a": 1}]))


def test_rankings_and_judgments_must_pair() -> None:
    with pytest.raises(ValueError, match="shorter"):
        judge_ids([["a"], ["b"]], [{"a": 1}])
