"""The score separation table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.metrics.separation import AxisScores, area_under_curve, best_threshold, separate, separation_table

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=30)


@given(scores, scores)
def test_auc_counts_pairs(relevant: list[float], irrelevant: list[float]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in relevant for b in irrelevant]
    assert area_under_curve(relevant, irrelevant) == pytest.approx(sum(pairs) / len(pairs))
    assert area_under_curve(irrelevant, relevant) == pytest.approx(1 - sum(pairs) / len(pairs))


@given(scores, scores)
def test_threshold_has_the_greatest_balanced_accuracy(relevant: list[float], irrelevant: list[float]) -> None:
    def balanced(floor: float) -> float:
        return float(np.mean(np.array(relevant) >= floor) + np.mean(np.array(irrelevant) < floor))

    threshold = best_threshold(relevant, irrelevant)
    best = max(balanced(floor) for floor in {*relevant, *irrelevant})
    assert balanced(threshold) == pytest.approx(best)
    assert all(balanced(floor) < best - 1e-9 for floor in {*relevant, *irrelevant} if floor < threshold)


def test_a_row_names_its_setting_and_says_what_the_floor_keeps() -> None:
    axis = AxisScores(
        "bm25", "retrieval.channels.bm25.min_score", [5.0, 6.0, 7.0, np.nan], np.array([1.0, 2.0, 6.5, 0.0]), [4.0, 9.0]
    )
    (row,) = separation_table([axis])
    assert (row.name, row.setting) == ("bm25", "retrieval.channels.bm25.min_score")
    assert (row.relevant.count, row.irrelevant.count, row.refusals.count) == (3, 4, 2)
    assert row.relevant.p50 == 6
    assert row.auc == pytest.approx(10 / 12)
    assert row.threshold == 5
    assert (row.kept_relevant, row.kept_irrelevant, row.kept_refusals) == (1, 0.25, 0.5)


def test_an_axis_without_scores_has_a_row_too() -> None:
    row = separate(AxisScores("rerank", "retrieval.floor", [], [1.0], []))
    assert (row.auc, row.threshold, row.kept_irrelevant) == (None, None, None)
    assert row.relevant.count == 0
    assert row.relevant.p50 is None
    assert row.irrelevant.p50 == 1
