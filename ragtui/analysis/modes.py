"""A generation run by mode: measures over goldens, with repeats averaged, and how steady each golden's pass is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.cases import parse_case
from ragtui.experiment.generation import MODES, Mode, headline_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Summary, average_repeats, summarise
from ragtui.metrics.formulas import FloatArray
from ragtui.trace import CaseTrace

UNSTABLE = "unstableRate"


class GoldenPasses(msgspec.Struct, frozen=True, kw_only=True):
    """The repeats of one golden in one mode: whether each passed, those without an error only."""

    golden: str
    mode: Mode
    passes: tuple[bool, ...]

    @property
    def share(self) -> float:
        """The share of repeats that passed."""
        return sum(self.passes) / len(self.passes)

    @property
    def passed(self) -> bool:
        """Whether more than half of the repeats passed."""
        return self.share > 0.5

    @property
    def unstable(self) -> bool:
        """Whether some repeats passed and others did not."""
        return 0 < self.share < 1


class ModeTable(msgspec.Struct, frozen=True, kw_only=True):
    """One mode: the goldens in the order of the run, their tags, and scores of shape (goldens, measures)."""

    mode: Mode
    goldens: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    measures: tuple[str, ...]
    scores: FloatArray


def modes_of(run: RecordedRun) -> tuple[Mode, ...]:
    """The modes of a generation run, in their usual order."""
    recipe = run.specification.plan.generation
    return () if recipe is None else tuple(mode for mode in MODES if mode in recipe.modes)


def headline_mode(run: RecordedRun) -> Mode:
    """The mode whose measures stand for the run: `e2e` where it ran, else the first."""
    return headline_of(modes_of(run))


def mode_table(run: RecordedRun, mode: Mode) -> ModeTable:
    """The finished cases of a mode, one row a golden, repeats averaged. The last column is `unstableRate`."""
    finished = cases_of_mode(run, mode)
    rows = [[trace.scores.get(name) for name in run.measures] for _, _, trace in finished]
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), len(run.measures))
    goldens, scores = average_repeats(matrix, [golden for golden, _, _ in finished])
    tags = {golden: case.tags for golden, case, _ in finished}
    unsteady = {steady.golden: steady.unstable for steady in passes(run, mode) if len(steady.passes) > 1}
    column = np.array([unsteady.get(golden, np.nan) for golden in goldens], dtype=np.float64)
    return ModeTable(
        mode=mode,
        goldens=tuple(goldens),
        tags=tuple(tags[golden] for golden in goldens),
        measures=(*run.measures, UNSTABLE),
        scores=np.column_stack([scores, column]),
    )


def mode_summary(run: RecordedRun, mode: Mode) -> Summary:
    """Estimates of every measure of a mode, overall and by tag; the sampling unit is the golden."""
    table = mode_table(run, mode)
    return summarise(table.scores, table.measures, table.tags)


def mode_summaries(run: RecordedRun) -> dict[Mode, Summary]:
    """The summary of each mode."""
    return {mode: mode_summary(run, mode) for mode in modes_of(run)}


def passes(run: RecordedRun, mode: Mode) -> list[GoldenPasses]:
    """How the repeats of each golden of a mode went; goldens without any judged answer are left out."""
    found: dict[str, list[bool]] = {}
    for golden, _, trace in cases_of_mode(run, mode):
        answer = trace.answered
        if trace.error is None and answer is not None and answer.passed is not None:
            found.setdefault(golden, []).append(answer.passed)
    return [GoldenPasses(golden=golden, mode=mode, passes=tuple(values)) for golden, values in found.items()]


def same_answers(base: RecordedRun, new: RecordedRun, goldens: Collection[str], mode: Mode) -> bool:
    """Whether both runs have the same answers to these goldens in a mode, repeat by repeat."""
    both = []
    for run in (base, new):
        told = {case.id: trace for golden, case, trace in cases_of_mode(run, mode) if golden in goldens}
        if any(trace.error is not None for trace in told.values()):
            return False
        both.append({case: trace.answered.text for case, trace in told.items() if trace.answered is not None})
    return bool(both[0]) and both[0] == both[1]


def cases_of_mode(run: RecordedRun, mode: Mode) -> Sequence[tuple[str, EvaluationCase, CaseTrace]]:
    """Golden, case and trace of each finished case of a mode, in the order of the run."""
    found = []
    for case in run.cases:
        name = parse_case(case.id)
        if name.mode == mode and case.id in run.trace_of:
            found.append((name.golden, case, run.trace_of[case.id]))
    return found
