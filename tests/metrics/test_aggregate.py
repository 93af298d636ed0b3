"""Means, intervals and Student's t."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ragtui.metrics.aggregate import Estimate, average_repeats, mean_estimate, paired_estimate, summarise
from ragtui.metrics.student import t_cdf, t_quantile

DEGREES = [1, 1.5, 2, 3, 4, 5, 7, 10, 30, 31, 100, 299, 1000, 3001, 10000]


@pytest.mark.parametrize("df", DEGREES)
def test_student_equals_scipy(df: float) -> None:
    for p in (1e-12, 1e-6, 0.001, 0.025, 0.1, 0.25, 0.3, 0.49, 0.51, 0.75, 0.9, 0.975, 0.995, 1 - 1e-9):
        assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9, abs=0)
    assert t_quantile(0.5, df) == 0
    for t in (-40, -5, -2, -0.1, -1e-6, 0, 1e-6, 0.5, 1, 3, 40):
        assert t_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), rel=1e-9, abs=1e-290)
    assert t_cdf(math.inf, df) == 1
    assert t_cdf(-math.inf, df) == 0


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1, 10_000))
def test_quantile_inverts_the_distribution(p: float, df: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("p", "df"), [(0, 1), (1, 1), (-1, 1), (math.nan, 1), (0.5, 0), (0.9, -1)])
def test_student_refuses_what_has_no_meaning(p: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"needed|positive"):
        t_quantile(p, df)
    with pytest.raises(ValueError, match="positive"):
        t_cdf(0, 0)


def test_the_interval_is_students_over_the_sample_with_two_pseudo_cases() -> None:
    values = [0.2, 0.9, 0.5, 0.7]
    sample = [*values, 0, 1]
    low, high = stats.t.interval(0.95, 5, np.mean(sample), stats.sem(sample))
    estimate = mean_estimate(values)
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.n == 4
    assert [estimate.low, estimate.high] == pytest.approx([low, high])
    sample = [0.1, -0.2, 0.3, -1, 1]
    low, high = stats.t.interval(0.95, 4, np.mean(sample), stats.sem(sample))
    estimate = paired_estimate([0.1, -0.2, 0.3])
    assert [estimate.low, estimate.high] == pytest.approx([low, high])


def test_no_case_says_nothing() -> None:
    assert mean_estimate([]) == Estimate(None, 0, 0, 1)
    assert mean_estimate([math.nan]) == Estimate(None, 0, 0, 1)
    assert paired_estimate([]) == Estimate(None, 0, -1, 1)


@given(st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=60), st.randoms())
def test_intervals_hold_the_mean_stay_in_range_and_forget_the_order(values: list[float], source: random.Random) -> None:
    estimate = mean_estimate(values)
    assert estimate.value is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high
    shuffled = [*values, math.nan]
    source.shuffle(shuffled)
    assert mean_estimate(shuffled) == estimate
    differences = [2 * value - 1 for value in values]
    paired = paired_estimate(differences)
    assert paired.value is not None
    assert -1 <= paired.low <= paired.value <= paired.high <= 1


@pytest.mark.parametrize("n", [10, 25, 100])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 0.97])
def test_coverage_is_what_is_claimed_within_a_point(n: int, rate: float) -> None:
    """Exact for hits and misses: the number of hits is binomial."""
    estimates = [mean_estimate([1.0] * hits + [0.0] * (n - hits)) for hits in range(n + 1)]
    chance = stats.binom.pmf(range(n + 1), n, rate)
    covered = sum(p for p, estimate in zip(chance, estimates, strict=True) if estimate.low <= rate <= estimate.high)
    assert covered >= 0.95 - 0.01


@pytest.mark.parametrize("share_changed", [0.05, 0.3])
def test_coverage_of_paired_differences(share_changed: float) -> None:
    source = np.random.default_rng(7)
    trials, n = 1000, 40
    changed = source.random((trials, n)) < share_changed
    differences = np.where(changed, source.choice([-1.0, -0.5, 0.5, 1.0], (trials, n), p=[0.1, 0.2, 0.4, 0.3]), 0.0)
    truth = share_changed * (-0.1 - 0.1 + 0.2 + 0.3)
    estimates = [paired_estimate(row) for row in differences]
    assert np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]) >= 0.94


def test_summary_by_tag() -> None:
    matrix = np.array([[1.0, np.nan], [0.0, 0.5], [0.5, np.nan]])
    summary = summarise(matrix, ["RR", "P@5"], [["b", "a", "a"], {"a"}, ()])
    assert list(summary.by_tag) == ["a", "b"]
    assert summary.overall["RR"] == mean_estimate([1, 0, 0.5])
    assert summary.by_tag["a"]["RR"] == mean_estimate([1, 0])
    assert summary.by_tag["b"]["P@5"] == Estimate(None, 0, 0, 1)
    assert summarise(np.empty((0, 1)), ["RR"], []).overall["RR"].n == 0


def test_repeats_are_averaged_before_anything_else() -> None:
    matrix = np.array([[1.0, np.nan], [0.25, 0.5], [0.0, np.nan], [0.5, np.nan]])
    goldens, averaged = average_repeats(matrix, ["x", "y", "x", "y"])
    assert goldens == ["x", "y"]
    np.testing.assert_array_equal(averaged, [[0.5, np.nan], [0.375, 0.5]])
