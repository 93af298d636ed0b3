"""The same numbers as trec_eval: through pytrec_eval-terrier, and on trec_eval's own test data."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from ragtui.errors import InvalidInput
from ragtui.metrics.foreign import judge_runs
from ragtui.metrics.measure import Measure, parse_measure, with_relevance
from ragtui.metrics.ranking import collapse_to_documents, judge_documents, judge_ids, score_matrix
from ragtui.metrics.trec_order import trec_order

TREC_DATA = Path(__file__).parents[3] / "shared" / "datasets" / "trec_eval-test"

NAMES = [
    "ndcg", "map", "recip_rank", "Rprec",
    *(f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "recall", "P", "success") for k in (1, 3, 5, 10, 100)),
]  # fmt: skip
REQUEST = {
    "ndcg", "map", "recip_rank", "Rprec",
    *(f"{name}.1,3,5,10,100" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")),
}  # fmt: skip


def random_cases(count: int, seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Runs with coarse scores (ties), empty queries, unjudged documents and negative grades."""
    source = random.Random(seed)
    runs: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number in range(count):
        pool = [f"d{index}" if index % 3 else f"d{index:03}é" for index in range(source.choice((3, 12, 60, 150)))]
        shown = source.sample(pool, source.randint(0, len(pool))) if source.random() > 0.03 else []
        steps = source.choice((2, 10, 10**6))
        runs[f"q{number}"] = {name: source.randint(0, steps) / 7 for name in shown}
        judged = source.sample(pool, source.randint(1, len(pool)))
        qrels[f"q{number}"] = {name: source.choice((-1, 0, 0, 1, 2, 3, 4)) for name in judged}
    return runs, qrels


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_equals_pytrec_eval_on_random_cases(rel: int) -> None:
    runs, qrels = random_cases(2000, seed=rel)
    measures = [with_relevance(parse_measure(name), rel) for name in NAMES]
    expected = pytrec_eval.RelevanceEvaluator(qrels, REQUEST, relevance_level=rel).evaluate(runs)
    judgments = [qrels[query] for query in runs]
    slow = judge_ids([trec_order(scores) for scores in runs.values()], judgments)
    fast = judge_runs(list(runs.values()), judgments)
    scores = score_matrix(measures, slow)
    np.testing.assert_array_equal(score_matrix(measures, fast), scores)
    np.testing.assert_array_equal(fast.grades, slow.grades)
    np.testing.assert_array_equal(score_matrix(measures, slow), scores)
    for row, (query, judged) in enumerate(zip(runs, judgments, strict=True)):
        best = max(judged.values())
        for column, (name, measure) in enumerate(zip(NAMES, measures, strict=True)):
            if best < (1 if measure.kind == "nDCG" else rel):
                assert math.isnan(scores[row, column])
            else:
                assert scores[row, column] == pytest.approx(expected[query][name], abs=1e-6), (query, measure)


def test_chunks_collapse_to_documents_before_they_are_judged() -> None:
    source = np.random.default_rng(3)
    doc_of_chunk = np.sort(source.integers(0, 40, 200))
    chunks = [source.permutation(200)[: source.integers(0, 120)] for _ in range(2000)]
    qrels = [
        dict(zip(source.permutation(40)[:6].tolist(), source.integers(0, 4, 6).tolist(), strict=True)) for _ in chunks
    ]
    rankings = [collapse_to_documents(doc_of_chunk, ordinals) for ordinals in chunks]
    measures = [parse_measure(name) for name in NAMES]
    scores = score_matrix(measures, judge_documents(rankings, qrels))
    named_runs = {
        str(row): {str(doc): -float(rank) for rank, doc in enumerate(ranking)} for row, ranking in enumerate(rankings)
    }
    named_qrels = {str(row): {str(doc): grade for doc, grade in judged.items()} for row, judged in enumerate(qrels)}
    expected = pytrec_eval.RelevanceEvaluator(named_qrels, REQUEST).evaluate(named_runs)
    for row, judged in enumerate(qrels):
        if max(judged.values()) == 0:
            assert np.isnan(scores[row]).all()
        else:
            np.testing.assert_allclose(scores[row], [expected[str(row)][name] for name in NAMES], atol=1e-6)


def test_ties_go_to_the_greater_document_id() -> None:
    assert trec_order({"a": 1.0, "c": 1.0, "b": 2.0, "B": 1.0, "é": 1.0}) == ["b", "é", "c", "a", "B"]
    assert trec_order({"a": 0.0, "b": -0.0}) == ["b", "a"]
    assert trec_order({}) == []
    assert trec_order({"a": math.inf, "b": 1e300, "c": -math.inf}) == ["b", "a", "c"]


def test_scores_are_compared_as_32_bit_floats_as_in_trec_eval_9() -> None:
    scores = {"a": 1.0 + 1e-9, "b": 1.0}
    assert trec_order(scores) == ["b", "a"]
    assert trec_order(scores, single_precision=False) == ["a", "b"]
    oracle = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"recip_rank"}).evaluate({"q": scores})
    assert oracle["q"]["recip_rank"] == 0.5
    assert score_matrix([Measure("RR")], judge_runs([scores], [{"a": 1}])).tolist() == [[0.5]]
    assert score_matrix([Measure("RR")], judge_runs([scores], [{"a": 1}], single_precision=False)).tolist() == [[1.0]]


def test_a_score_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'b' is not a number"):
        trec_order({"a": 1.0, "b": math.nan})
    with pytest.raises(InvalidInput, match="'b' is not a number"):
        judge_runs([{"a": 1.0, "b": math.nan}], [{"a": 1}])


@pytest.mark.skipif(not TREC_DATA.is_dir(), reason="trec_eval's test data is not here")
@pytest.mark.parametrize(
    ("outcome", "qrels_file", "run_file", "rel", "depth"),
    [
        ("out.test", "qrels.test", "results.test", 1, None),
        ("out.test.a", "qrels.test", "results.test", 1, None),
        ("out.test.aq", "qrels.test", "results.test", 1, None),
        ("out.test.aqc", "qrels.test", "results.trunc", 1, None),
        ("out.test.aqcM", "qrels.test", "results.trunc", 1, 100),
        ("out.test.aql", "qrels.rel_level", "results.test", 2, None),
    ],
)
@pytest.mark.parametrize("single_precision", [True, False])
def test_reproduces_trec_evals_own_test_output(
    outcome: str, qrels_file: str, run_file: str, rel: int, depth: int | None, single_precision: bool
) -> None:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (TREC_DATA / qrels_file).read_text().splitlines():
        query, _, name, grade = line.split()
        qrels[query][name] = int(grade)
    runs: dict[str, dict[str, float]] = {query: {} for query in qrels}
    for line in (TREC_DATA / run_file).read_text().splitlines():
        query, _, name, _, score = line.split()[:5]
        runs[query][name] = float(score)
    rankings = [trec_order(scores, single_precision=single_precision)[:depth] for scores in runs.values()]
    judged = judge_ids(rankings, [qrels[query] for query in runs])
    rows = {query: row for row, query in enumerate(runs)}
    compared = set()
    for line in (TREC_DATA / outcome).read_text().splitlines():
        name, query, text = (part.strip() for part in line.split("\t"))
        try:
            measure = with_relevance(parse_measure(name), rel)
        except InvalidInput:
            continue
        values = score_matrix([measure], judged)[:, 0]
        value = values.mean() if query == "all" else values[rows[query]]
        assert f"{value:.4f}" == text, line
        compared.add(name)
    assert len(compared) == (12 if outcome == "out.test" else 43)
