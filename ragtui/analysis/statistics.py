"""Paired tests, corrections for many tests, and how much a suite can tell.

Sources: the sign-flip randomisation test (Fisher, The Design of Experiments, 1935; for retrieval runs Smucker, Allan
and Carterette, CIKM 2007), Monte Carlo p-values that count the observed arrangement (Phipson and Smyth, Statistical
Applications in Genetics and Molecular Biology 9, 2010), Holm's step-down correction (Scandinavian Journal of
Statistics 6, 1979), and the power of a paired t test with a shifted central t in place of the noncentral one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragtui.metrics.student import t_quantile

Alternative = Literal["two-sided", "less", "greater"]

ALPHA = 0.05
POWER = 0.8
EXACT_UP_TO = 14
FLIPS = 10_000
SEED = 20_240_229
_CELLS_AT_ONCE = 4_000_000
_CELLS_IN_CACHE = 8_192
_MOST_QUESTIONS = 10_000_000

FloatArray = NDArray[np.float64]


def paired_randomisation(
    differences: ArrayLike, *, alternative: Alternative = "two-sided", flips: int = FLIPS, seed: int = SEED
) -> float:
    """The probability of a mean at least as far from 0 if each difference could as well have the other sign.

    NaN counts as no difference. With at most 14 differences that are not 0 all sign patterns are enumerated; with more,
    `flips` random ones are drawn, and the observed pattern is counted as one of them, so p is never 0. `less` asks for
    means as low, `greater` for means as high.
    """
    column = np.asarray(differences, dtype=np.float64).reshape(-1, 1)
    return randomisation_table(column, alternative=alternative, flips=flips, seed=seed)[0]


def randomisation_table(
    differences: FloatArray, *, alternative: Alternative = "two-sided", flips: int = FLIPS, seed: int = SEED
) -> list[float]:
    """`paired_randomisation` of each column of a (cases, measures) matrix; all columns see the same random signs."""
    matrix = np.nan_to_num(differences, nan=0.0)
    moved = [np.flatnonzero(column) for column in matrix.T]
    drawn = [index for index, rows in enumerate(moved) if len(rows) > EXACT_UP_TO]
    p_values = [
        1.0 if len(rows) > EXACT_UP_TO else _exact(matrix[rows, index], alternative) for index, rows in enumerate(moved)
    ]
    if drawn:
        for index, p in zip(drawn, _monte_carlo(matrix[:, drawn], alternative, flips, seed), strict=True):
            p_values[index] = p
    return p_values


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values in the order given: each is at least its own p and at most 1."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    floor = 0.0
    for place, index in enumerate(order):
        floor = max(floor, min(1.0, (len(order) - place) * p_values[index]))
        adjusted[index] = floor
    return adjusted


def difference_spread(differences: ArrayLike) -> float:
    """The standard deviation of paired differences with the pseudo-cases -1 and 1 that intervals use; never 0."""
    values = np.asarray(differences, dtype=np.float64)
    return float(np.std([*values[~np.isnan(values)].tolist(), -1.0, 1.0], ddof=1))


def smallest_detectable_effect(spread: float | ArrayLike, n: int, alpha: float = ALPHA) -> float:
    """The mean difference that a two-sided paired t test over `n` questions finds with 80 % power; 1 with n below 2.

    `spread` is the differences' standard deviation, or the differences themselves (then `difference_spread` of them).
    """
    if n < 2:
        return 1.0
    deviation = float(spread) if isinstance(spread, (int, float)) else difference_spread(spread)
    reach = t_quantile(1 - alpha / 2, n - 1) + t_quantile(POWER, n - 1)
    return min(1.0, reach * deviation / math.sqrt(n))


def questions_needed(spread: float | ArrayLike, effect: float, alpha: float = ALPHA) -> int:
    """The least number of questions at which `smallest_detectable_effect` is at most `effect`; from 2 to 10 million."""
    deviation = float(spread) if isinstance(spread, (int, float)) else difference_spread(spread)
    if effect <= 0:
        raise ValueError(f"an effect above 0 is needed, not {effect}")
    low, high = 2, 4
    while high < _MOST_QUESTIONS and smallest_detectable_effect(deviation, high, alpha) > effect:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if smallest_detectable_effect(deviation, middle, alpha) <= effect:
            high = middle
        else:
            low = middle + 1
    return min(low, _MOST_QUESTIONS)


def _exact(values: FloatArray, alternative: Alternative) -> float:
    """Over all sign patterns of at most `EXACT_UP_TO` differences."""
    patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
    sums = (1.0 - 2.0 * patterns) @ values
    extreme = _as_extreme(sums[:, None], values.sum(keepdims=True), _slack(values[:, None]), alternative)
    return int(extreme[0]) / len(sums)


def _monte_carlo(matrix: FloatArray, alternative: Alternative, flips: int, seed: int) -> Iterator[float]:
    observed, slack = matrix.sum(axis=0), _slack(matrix)
    counts = np.zeros(matrix.shape[1], dtype=np.int64)
    for signs in _random_signs(flips, len(matrix), seed):
        counts += _as_extreme(signs @ matrix, observed, slack, alternative)
    return ((int(count) + 1) / (flips + 1) for count in counts)


def _random_signs(flips: int, cases: int, seed: int) -> Iterable[FloatArray]:
    """`flips` rows of -1 and 1 in blocks that fit into memory."""
    source = np.random.default_rng(seed)
    width = -(-cases // 8)
    rows = max(1, _CELLS_AT_ONCE // max(cases, 1))
    for start in range(0, flips, rows):
        height = min(rows, flips - start)
        bits = np.frombuffer(source.bytes(height * width), dtype=np.uint8).reshape(height, width)
        # What is drawn at once is much; it is spread out in parts that stay in the processor's cache, and so small that
        # their products are not worth several threads, which would wait for each other most of the time.
        part = max(1, _CELLS_IN_CACHE // max(cases, 1))
        for first in range(0, height, part):
            signs = np.unpackbits(bits[first : first + part], axis=1, count=cases).astype(np.float64)
            signs *= -2.0
            signs += 1.0
            yield signs


def _slack(matrix: FloatArray) -> FloatArray:
    """What rounding can move a sum by, so that equal arrangements count as equal."""
    slack: FloatArray = 1e-13 * np.abs(matrix).sum(axis=0)
    return slack


def _as_extreme(
    sums: FloatArray, observed: FloatArray, slack: FloatArray, alternative: Alternative
) -> NDArray[np.int64]:
    """How many rows of sums are at least as extreme as the observed one, a column each."""
    if alternative == "less":
        extreme = sums <= observed + slack
    elif alternative == "greater":
        extreme = sums >= observed - slack
    else:
        extreme = np.abs(sums) >= np.abs(observed) - slack
    counts: NDArray[np.int64] = extreme.sum(axis=0)
    return counts
