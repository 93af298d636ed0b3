"""The scores of relevant against irrelevant hits of a run, on each axis that a setting can cut at."""

from __future__ import annotations

from ragtui.analysis.recorded import RecordedRun
from ragtui.metrics.separation import AxisScores, Separation, separation_table
from ragtui.trace import Hits


def separation_rows(run: RecordedRun) -> list[Separation]:
    """A row for each channel's score and one for the fused score; each names the setting that it calibrates.

    Cases that failed, and those with nothing to find that are no refusals, are left out.
    """
    channels = run.specification.plan.retrieval.channels
    axes = [_axis(run, name, f"retrieval.channels.{name}.min_score") for name in channels]
    axes.append(_axis(run, "fused", "retrieval.floor.minimum (score=fused)"))
    return separation_table(axes)


def _axis(run: RecordedRun, name: str, setting: str) -> AxisScores:
    relevance = run.specification.plan.metrics.relevance
    relevant: list[float] = []
    irrelevant: list[float] = []
    refusals: list[float] = []
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        # What failed and what nobody judged say nothing of which hits are relevant.
        if trace is None or trace.error is not None or not (case.expect_refusal or any(case.grades.values())):
            continue
        hits = trace.fused if name == "fused" else trace.channels.get(name)
        if hits is None:
            continue
        if case.expect_refusal:
            refusals += hits.scores[:1]
            continue
        for doc, score in _documents(run, hits):
            (relevant if case.grades.get(doc, 0) >= relevance else irrelevant).append(score)
    return AxisScores(name, setting, relevant, irrelevant, refusals)


def _documents(run: RecordedRun, hits: Hits) -> list[tuple[str, float]]:
    """The best score of each document of a list."""
    best: dict[str, float] = {}
    for chunk, score in zip(hits.chunks, hits.scores, strict=True):
        best.setdefault(run.chunk_of[chunk].doc, score)
    return list(best.items())
