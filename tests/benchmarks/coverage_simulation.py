"""Do intervals and verdicts keep their promises? Simulated on per-case differences of pairs of real systems.

    python -m tests.benchmarks.coverage_simulation [WORKSPACE …] [--set chunking.strategy=document] [--draws 2000]

A workspace is a folder with `corpus/` and `goldens/`; without one, the folder of this repository. Five pairs of systems
are run over each, and their differences under the gating measures are the population. Suites of n questions are drawn
from it with replacement, and the verdict that ragtui would give is counted, in these worlds:

  coverage    the population as it is: how often the 95 % interval holds its mean (the least of the gating measures)
  swapped     equal systems: which of the two gave which answer is a coin flip for each question
  equal       equal systems: questions are drawn with weights that make every gating measure's mean difference 0
  drop x2/x4  a loss of the primary of 2 and 4 times the tolerance: by such weights (tilted: the values stay real ones)
              and by subtracting a constant from each difference of every gating measure (shifted)

Promised: coverage at least 93.5 %, FAIL of equal systems at most 5 %, PASS at drop x2 at most 1 %, FAIL at drop x4 at
least 80 % where the standard deviation is at most 0.25 and n at least 300. A row that breaks a promise ends in `!`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.analysis.contrast import contrast, score_columns
from ragtui.analysis.gates import gating_measures, roles_of, with_roles
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import randomisation_table
from ragtui.analysis.verdict import TOLERANCE, Evidence, Verdict, decide
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.metrics.aggregate import paired_estimate
from tests.benchmarks.recorded_runs import Workspace

FloatArray = NDArray[np.float64]

SYSTEMS: dict[str, tuple[str, list[str]]] = {
    "bm25": ("bm25", []),
    "vector": ("vector", []),
    "hybrid": ("hybrid", []),
    "hybrid k=5 w=2": ("hybrid", ["retrieval.fusion.rank_constant=5", "retrieval.fusion.weights.bm25=2"]),
    "bm25 unstemmed": ("bm25", ["lexical.stemming=false"]),
}
PAIRS = (
    ("bm25", "hybrid"), ("vector", "hybrid"), ("bm25", "vector"), ("hybrid", "hybrid k=5 w=2"),
    ("bm25", "bm25 unstemmed"),
)  # fmt: skip
SIZES = (25, 50, 100, 300)
SEED = 20_240_229
BLOCK = 250


class World(NamedTuple):
    """What suites are drawn from: differences, the weights of the questions, whether signs are random."""

    name: str
    differences: FloatArray
    weights: FloatArray | None = None
    swapped: bool = False


def main() -> None:
    """Print one table for each workspace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspaces", nargs="*", type=Path, default=[Path(__file__).resolve().parents[2]])
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    for folder in options.workspaces:
        print(f"\n{folder.resolve().name}: {options.draws} draws, tolerance {TOLERANCE:g}, percent")
        print(f"{'pair':26} {'n':>4} {'world':12} {'mean':>7} {'sd':>6}  cover   PASS   FAIL  INCON")
        with tempfile.TemporaryDirectory() as cache:
            workspace = Workspace.of(folder, Path(cache))
            runs = {
                name: workspace.run(edit(preset(base), [*options.settings, *changes]), name)
                for name, (base, changes) in SYSTEMS.items()
            }
        for base, new in PAIRS:
            report(f"{base} → {new}", *population(runs[base], runs[new]), options.draws)


def population(base: RecordedRun, new: RecordedRun) -> tuple[list[str], FloatArray]:
    """The gating measures, and their differences in the cases that all of them score."""
    names = [str(measure) for measure in gating_measures(new.specification.plan) if not measure.is_rate]
    differences = score_columns(new, new.cases, names) - score_columns(base, new.cases, names)
    return names, differences[~np.isnan(differences).any(axis=1)]


def report(pair: str, names: list[str], differences: FloatArray, draws: int) -> None:
    """One row for each size and world."""
    for n in SIZES:
        for world in worlds(differences):
            mean, deviation = moments(world)
            source = np.random.default_rng([SEED, n])
            verdicts: Counter[Verdict] = Counter()
            covered = np.zeros(len(names))
            for block in blocks(world, n, draws, source):
                verdicts.update(judged(names, block))
                if world.name == "coverage":
                    covered += coverage(block, mean)
            shares = {verdict: 100 * verdicts[verdict] / draws for verdict in Verdict}
            cover = 100 * float(covered.min()) / draws if world.name == "coverage" else None
            flag = "!" if broken(world, shares, cover, deviation[0], n) else ""
            print(
                f"{pair:26} {n:4} {world.name:12} {mean[0]:+7.3f} {deviation[0]:6.3f} "
                f"{'' if cover is None else format(cover, '.1f'):>6} {shares[Verdict.PASS]:6.1f} "
                f"{shares[Verdict.FAIL]:6.1f} {shares[Verdict.INCONCLUSIVE]:6.1f} {flag}",
                flush=True,
            )


def worlds(differences: FloatArray) -> Iterator[World]:
    """The worlds of the docstring; one whose mean no weights can give is left out."""
    yield World("coverage", differences)
    yield World("swapped", differences, swapped=True)
    equal = tilt(differences, np.zeros(differences.shape[1]))
    if equal is not None:
        yield World("equal", differences, equal)
    for times in (2, 4):
        weights = tilt(differences[:, :1], np.array([-times * TOLERANCE]))
        if weights is not None:
            yield World(f"x{times} tilted", differences, weights)
        yield World(f"x{times} shifted", differences - differences.mean(axis=0) - times * TOLERANCE)


def tilt(values: FloatArray, target: FloatArray) -> FloatArray | None:
    """Weights exp(λ · value), normalised, under which the mean is the target; None if there are none.

    Exponential tilting: of all weights with this mean the ones closest to equal (in relative entropy).
    """
    slope = np.zeros(values.shape[1])
    for _ in range(200):
        exponent = values @ slope
        weights: FloatArray = np.exp(exponent - exponent.max())
        weights /= weights.sum()
        gap = weights @ values - target
        if np.abs(gap).max() < 1e-10:
            return weights
        centred = values - weights @ values
        curvature = (centred * weights[:, None]).T @ centred + 1e-9 * np.eye(len(slope))
        step = np.linalg.solve(curvature, gap)
        slope = slope - step * min(1.0, 5.0 / float(np.abs(step).max()))
    return None


def moments(world: World) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each measure's difference in the world."""
    weights = np.full(len(world.differences), 1 / len(world.differences)) if world.weights is None else world.weights
    mean: FloatArray = weights @ world.differences
    if world.swapped:
        mean = np.zeros_like(mean)
    deviation: FloatArray = np.sqrt(weights @ (world.differences - mean) ** 2)
    return mean, deviation


def blocks(world: World, n: int, draws: int, source: np.random.Generator) -> Iterator[FloatArray]:
    """Suites of n questions, shape (n, draws of the block, measures)."""
    for start in range(0, draws, BLOCK):
        count = min(BLOCK, draws - start)
        rows = source.choice(len(world.differences), size=(n, count), p=world.weights)
        suites = world.differences[rows]
        if world.swapped:
            suites = suites * source.choice([-1.0, 1.0], size=(n, count, 1))
        yield suites


def judged(names: list[str], suites: FloatArray) -> Iterator[Verdict]:
    """The verdict on each suite."""
    n, count, width = suites.shape
    p_values = np.array(randomisation_table(suites.reshape(n, count * width))).reshape(count, width)
    gating = gating_measures(preset("hybrid"))
    everything = np.ones((n, width), dtype=np.bool_)
    for draw in range(count):
        table = contrast(names, np.zeros((n, width)), suites[:, draw], everything, tested=False)
        tested = {
            name: msgspec.structs.replace(change, p=float(p))
            for (name, change), p in zip(table.items(), p_values[draw], strict=True)
        }
        yield decide(with_roles(tested, roles_of(gating, tested)), Evidence()).verdict


def coverage(suites: FloatArray, mean: FloatArray) -> FloatArray:
    """How many suites' intervals hold the true mean, a number for each measure."""
    counts = np.zeros(suites.shape[2])
    for draw in range(suites.shape[1]):
        for column in range(suites.shape[2]):
            estimate = paired_estimate(suites[:, draw, column])
            counts[column] += estimate.low <= mean[column] <= estimate.high
    return counts


def broken(world: World, shares: dict[Verdict, float], cover: float | None, deviation: float, n: int) -> bool:
    """Whether the row breaks a promise."""
    if cover is not None:
        return cover < 93.5
    if world.name in ("swapped", "equal"):
        return shares[Verdict.FAIL] > 5
    if world.name.startswith("x2"):
        return shares[Verdict.PASS] > 1
    return deviation <= 0.25 and n >= 300 and shares[Verdict.FAIL] < 80


if __name__ == "__main__":
    main()
