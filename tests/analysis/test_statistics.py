"""The statistics against SciPy and against definitions written a second time."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ragtui.analysis.statistics import (
    Alternative,
    difference_spread,
    holm,
    paired_randomisation,
    questions_needed,
    randomisation_table,
    smallest_detectable_effect,
)

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "less", "greater")


def scipy_p(values: list[float], alternative: str, resamples: float = np.inf) -> float:
    result = stats.permutation_test(
        (np.array(values),), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", vectorized=True,
        alternative=alternative, n_resamples=resamples, rng=np.random.default_rng(1),
    )  # fmt: skip
    return float(result.pvalue)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(8))
def test_few_differences_are_enumerated_as_scipy_does(alternative: Alternative, seed: int) -> None:
    source = random.Random(seed)
    values = [source.choice([0.0, 0.5, -0.5, 1.0, source.uniform(-1, 1)]) for _ in range(source.randint(2, 11))]
    ours = paired_randomisation(values, alternative=alternative)
    assert ours == pytest.approx(scipy_p(values, alternative), abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(4))
def test_many_differences_agree_with_scipy_within_the_noise_of_both(alternative: Alternative, seed: int) -> None:
    source = np.random.default_rng(seed)
    values = source.normal(0.03 * (seed - 1), 0.25, 120).tolist()
    ours, theirs = paired_randomisation(values, alternative=alternative), scipy_p(values, alternative, 40_000)
    assert ours == pytest.approx(theirs, abs=5 * math.sqrt(0.25 / 10_000))


def test_the_test_is_seeded_and_never_gives_zero() -> None:
    values = np.full(200, -0.4)
    assert paired_randomisation(values) == paired_randomisation(values) == 1 / 10_001
    assert paired_randomisation(values, seed=1) > 0


def test_nothing_ties_and_missing_values_say_nothing() -> None:
    assert paired_randomisation([]) == 1
    assert paired_randomisation([0.0] * 40) == 1
    assert paired_randomisation([math.nan] * 3) == 1
    assert paired_randomisation([0.3]) == 1
    assert paired_randomisation([-0.1, -0.2, math.nan, 0.0]) == paired_randomisation([-0.1, -0.2])


def test_columns_of_a_table_do_not_see_each_other() -> None:
    source = np.random.default_rng(3)
    matrix = source.normal(0, 0.3, (60, 3))
    matrix[10:, 2] = 0
    assert randomisation_table(matrix) == [paired_randomisation(column) for column in matrix.T]


def test_more_cases_than_a_block_holds() -> None:
    values = np.random.default_rng(5).normal(0.02, 0.3, 900)
    assert paired_randomisation(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)


def independent_holm(p_values: list[float]) -> list[float]:
    """Straight from the definition: the largest of the stepped products of all p up to one's own."""
    ranked = sorted(p_values)
    count = len(ranked)
    return [
        max(min(1.0, (count - place) * other) for place, other in enumerate(ranked) if other <= p) for p in p_values
    ]


@given(st.lists(st.floats(0, 1, allow_subnormal=False), max_size=12, unique=True))
def test_holm_equals_its_definition(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert adjusted == pytest.approx(independent_holm(p_values))
    assert all(p <= more <= 1 for p, more in zip(p_values, adjusted, strict=True))


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values: list[float]) -> None:
    ranked = sorted(range(len(p_values)), key=lambda index: p_values[index])
    rejected = set()
    for place, index in enumerate(ranked):
        if p_values[index] * (len(ranked) - place) > 0.05:
            break
        rejected.add(index)
    assert {index for index, p in enumerate(holm(p_values)) if p <= 0.05} == rejected


@pytest.mark.parametrize(("spread", "n"), [(0.25, 50), (0.25, 300), (0.1, 100)])
def test_the_detectable_effect_has_the_power_it_claims(spread: float, n: int) -> None:
    effect = smallest_detectable_effect(spread, n)
    noncentral = stats.nct(n - 1, effect * math.sqrt(n) / spread)
    assert 1 - noncentral.cdf(stats.t.ppf(0.975, n - 1)) == pytest.approx(0.8, abs=0.01)


def test_needed_questions_invert_the_detectable_effect() -> None:
    needed = questions_needed(0.25, 0.02)
    assert smallest_detectable_effect(0.25, needed) <= 0.02 < smallest_detectable_effect(0.25, needed - 1)
    assert questions_needed(0.01, 0.9) == 2 or smallest_detectable_effect(0.01, 2) > 0.9
    assert questions_needed(1.0, 1e-9) == 10_000_000
    with pytest.raises(ValueError, match="above 0"):
        questions_needed(0.2, 0)


def test_the_spread_is_that_of_the_interval() -> None:
    values = [0.1, -0.2, math.nan]
    assert difference_spread(values) == pytest.approx(np.std([0.1, -0.2, -1, 1], ddof=1))
    assert smallest_detectable_effect(values, 30) == smallest_detectable_effect(difference_spread(values), 30)
    assert smallest_detectable_effect(values, 1) == 1
