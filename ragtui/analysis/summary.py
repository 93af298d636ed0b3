"""The measures of a run, over all cases and by tag: the numbers that every screen and report shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from ragtui.analysis.modes import headline_mode, mode_summary
from ragtui.analysis.recorded import RecordedRun
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Estimate, Summary, summarise
from ragtui.metrics.measure import is_rate, parse_measure, with_relevance
from ragtui.trace import CaseTrace


class Counts(msgspec.Struct, frozen=True):
    """How many cases the run has, how many finished without and with an error, and how many are missing.

    `scored` cases have a value under at least one ranking measure; `unscored` have none (there is nothing to find, or
    they failed or never ran).
    """

    cases: int
    scored: int
    unscored: int
    errors: int
    finished: int


class Miss(msgspec.Struct, frozen=True):
    """A case whose relevant documents were not all found: what was wanted, and what came instead."""

    case: str
    query: str
    score: float
    wanted: tuple[str, ...]
    retrieved: tuple[str, ...]


def summary(run: RecordedRun) -> Summary:
    """Estimates of every measure, overall and by tag. The sampling unit is the golden.

    In the generation tier they are those of the mode that stands for the run, repeats averaged.
    """
    if run.tier == "generation":
        return mode_summary(run, headline_mode(run))
    return summarise_cases(run.measures, run.cases, run.trace_of)


def summarise_cases(
    measures: Sequence[str], cases: Sequence[EvaluationCase], trace_of: Mapping[str, CaseTrace]
) -> Summary:
    """`summary` of the cases finished so far."""
    finished = [case for case in cases if case.id in trace_of]
    return summarise(
        score_rows(measures, (trace_of[case.id] for case in finished), len(finished)),
        measures,
        [case.tags for case in finished],
    )


def score_rows(
    measures: Sequence[str], traces: Iterable[CaseTrace], count: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Scores as float64 of shape (count, measures); NaN where unscored."""
    matrix = np.full((count, len(measures)), np.nan)
    for row, trace in enumerate(traces):
        scores = trace.scores
        matrix[row] = [np.nan if (value := scores.get(name)) is None else value for name in measures]
    return matrix


def counts(cases: Sequence[EvaluationCase], trace_of: Mapping[str, CaseTrace]) -> Counts:
    """How the cases stand."""
    errors = sum(trace.error is not None for trace in trace_of.values())
    scored = sum(
        any(value is not None for name, value in trace.scores.items() if not is_rate(name))
        for trace in trace_of.values()
    )
    return Counts(len(cases), scored, len(cases) - scored, errors, len(trace_of))


def decisive_measure(measures: Sequence[str], primary: str) -> str:
    """The measure by which cases are sorted and misses are told.

    The primary where it is reported, or the same measure at the run's relevance threshold, else the first.
    """
    wanted = parse_measure(primary)
    same = [name for name in measures if with_relevance(parse_measure(name), wanted.rel) == wanted]
    return str(wanted) if str(wanted) in same else (same or measures)[0]


def misses(run: RecordedRun, limit: int | None = None) -> list[Miss]:
    """The cases that the decisive measure gives less than 1, worst first, then in the order of the run."""
    measure = decisive_measure(run.measures, run.specification.plan.metrics.primary)
    found = []
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        score = None if trace is None else trace.scores.get(measure)
        if trace is None or score is None or score >= 1:
            continue
        retrieved = dict.fromkeys(run.chunk_of[chunk].doc for chunk in trace.results.chunks if chunk in run.chunk_of)
        wanted = tuple(doc for doc, grade in case.grades.items() if grade > 0)
        found.append(Miss(case.id, case.query, score, wanted, tuple(retrieved)))
    found.sort(key=lambda miss: miss.score)
    return found if limit is None else found[:limit]


__all__ = [
    "Counts",
    "Estimate",
    "Miss",
    "Summary",
    "counts",
    "decisive_measure",
    "misses",
    "summarise_cases",
    "summary",
]
