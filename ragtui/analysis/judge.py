"""What a judge said over a run: its own section, with coverage, spread, and agreement with what is counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from ragtui.analysis.modes import cases_of_mode, modes_of
from ragtui.analysis.recorded import RecordedRun
from ragtui.metrics.aggregate import Estimate, average_repeats, mean_estimate
from ragtui.providers.protocols import GeneratorIdentity
from ragtui.trace import CaseTrace, JudgeTrace

JUDGED: tuple[str, ...] = ("faithfulness", "completeness", "relevance")
# What is judged → the deterministic measure that is about the same thing.
COUNTERPARTS: dict[str, str] = {"faithfulness": "groundedness", "completeness": "correctness"}
_GOOD = 0.5


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """A judged measure against a counted one over the cases that have both, each good from one half up.

    `kappa` is Cohen's, None where one of the two never differs.
    """

    judged: str
    counted: str
    cases: int
    agree: float | None
    kappa: float | None


class JudgeSection(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about the judge. `measures` by mode; repeats are averaged.

    `asked` answers were given to it, `judged` came back as verdicts, `failures` counts the others by kind. `spread` is
    the mean standard deviation over a golden's repeats, None without repeats.
    """

    judge: GeneratorIdentity
    version: str
    asked: int
    judged: int
    failures: dict[str, int]
    measures: dict[str, dict[str, Estimate]]
    spread: dict[str, float | None]
    agreement: tuple[Agreement, ...]


def judge_section(run: RecordedRun) -> JudgeSection | None:
    """The section of a run with a judge; None for any other."""
    recipe, identity = run.specification.plan.generation, run.specification.judge
    if recipe is None or recipe.judge is None or identity is None:
        return None
    said = [judge for trace in run.traces if (judge := _judge(trace)) is not None]
    failures = Counter(judge.error.kind for judge in said if judge.error is not None)
    tables = {mode: _table(run, mode) for mode in modes_of(run) if mode != "mock"}
    return JudgeSection(
        judge=identity,
        version=recipe.judge.version,
        asked=len(said),
        judged=sum(judge.error is None for judge in said),
        failures=dict(sorted(failures.items())),
        measures={mode: _estimates(*table) for mode, table in tables.items()},
        spread=_spread(list(tables.values())),
        agreement=tuple(_agreement(run.traces, *pair) for pair in COUNTERPARTS.items()),
    )


def judged_scores(judge: JudgeTrace) -> dict[str, float | None]:
    """The judge's word as numbers in [0, 1]; None where it said nothing of the kind (an answer without any claim)."""
    supported = [claim.supported for claim in judge.claims]
    marks = {"completeness": judge.completeness, "relevance": judge.relevance}
    scores: dict[str, float | None] = {"faithfulness": sum(supported) / len(supported) if supported else None}
    return scores | {name: None if mark is None else (mark - 1) / 4 for name, mark in marks.items()}


def _judge(trace: CaseTrace) -> JudgeTrace | None:
    return trace.answered.judge if trace.answered is not None else None


def _table(run: RecordedRun, mode: str) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """The golden of each judged case of a mode, and scores of shape (cases, judged measures)."""
    goldens, rows = [], []
    for name in modes_of(run):
        for golden, _, trace in cases_of_mode(run, name) if name == mode else ():
            judge = _judge(trace)
            if judge is not None and judge.error is None:
                goldens.append(golden)
                scores = judged_scores(judge)
                rows.append([np.nan if (value := scores[measure]) is None else value for measure in JUDGED])
    return goldens, np.array(rows, dtype=np.float64).reshape(len(rows), len(JUDGED))


def _estimates(goldens: list[str], scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> dict[str, Estimate]:
    _, averaged = average_repeats(scores, goldens)
    return {name: mean_estimate(averaged[:, column]) for column, name in enumerate(JUDGED)}


def _spread(
    tables: Sequence[tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]],
) -> dict[str, float | None]:
    """The mean over goldens and modes of the standard deviation between repeats."""
    deviations: dict[str, list[float]] = {name: [] for name in JUDGED}
    for goldens, scores in tables:
        rows: dict[str, list[int]] = {}
        for row, golden in enumerate(goldens):
            rows.setdefault(golden, []).append(row)
        for repeats in rows.values():
            for column, name in enumerate(JUDGED):
                values = scores[repeats, column]
                values = values[~np.isnan(values)]
                if len(values) > 1:
                    deviations[name].append(float(np.std(values, ddof=1)))
    return {name: math.fsum(found) / len(found) if found else None for name, found in deviations.items()}


def _agreement(traces: Sequence[CaseTrace], judged: str, counted: str) -> Agreement:
    pairs = []
    for trace in traces:
        judge = _judge(trace)
        known = trace.scores.get(counted)
        said = judged_scores(judge)[judged] if judge is not None and judge.error is None else None
        if said is not None and known is not None:
            pairs.append((said >= _GOOD, known >= _GOOD))
    if not pairs:
        return Agreement(judged=judged, counted=counted, cases=0, agree=None, kappa=None)
    agree = sum(left == right for left, right in pairs) / len(pairs)
    left, right = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
    chance = left * right + (1 - left) * (1 - right)
    kappa = None if chance == 1 else (agree - chance) / (1 - chance)
    return Agreement(judged=judged, counted=counted, cases=len(pairs), agree=agree, kappa=kappa)
