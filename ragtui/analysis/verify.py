"""Recomputing a run from what it recorded of its channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from ragtui.analysis.recorded import RecordedRun
from ragtui.artifacts.ranking import Ranking
from ragtui.events import RunStatus
from ragtui.experiment.validate import measures_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.pipeline.answer_scoring import scored_answer
from ragtui.pipeline.scoring import Scorer
from ragtui.pipeline.stages import run_stages
from ragtui.trace import CaseTrace, ChunkRef, Hits


class Verification(msgspec.Struct, frozen=True):
    """How many traces and numbers were recomputed, and each difference as a sentence."""

    run_id: str
    cases: int
    numbers: int
    differences: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return not self.differences


def verify_run(run: RecordedRun) -> Verification:
    """Take the recorded channel hits through stages and measures again and compare every list and score exactly.

    Each case must have one trace, under its own number; it may have none where the run is not complete.
    """
    return verify_slices(run.run_id, [run], [case.id for case in run.cases], run.status)


def verify_slices(run_id: str, slices: Iterable[RecordedRun], cases: Sequence[str], status: RunStatus) -> Verification:
    """`verify_run` of a run that comes in parts, which need not be in memory together; `cases` are all its cases."""
    count = numbers = 0
    differences: list[str] = []
    placed: list[tuple[int, str]] = []
    for part in slices:
        recomputed, found = _recomputed(part)
        count, numbers = count + len(part.traces), numbers + recomputed
        differences += found
        placed += [(trace.index, trace.case) for trace in part.traces]
    return Verification(run_id, count, numbers, (*differences, *_misplaced(placed, cases, status == "completed")))


def _misplaced(placed: Sequence[tuple[int, str]], cases: Sequence[str], complete: bool) -> Iterator[str]:
    """What cannot be of (number, case) of the traces of a run with these cases."""
    for index, case in placed:
        if not 0 <= index < len(cases) or cases[index] != case:
            yield f"{case}: its trace is numbered {index}, which is not this case of the run"
    traces = Counter(case for _, case in placed)
    yield from (f"{case}: there are {number} traces of it" for case, number in traces.items() if number > 1)
    if complete:
        yield from (f"{case}: there is no trace of it, but the run is completed" for case in cases if not traces[case])


def _recomputed(run: RecordedRun) -> tuple[int, list[str]]:
    """How many numbers of these traces were recomputed, and each difference."""
    doc, start, end = run.columns
    scorer = Scorer(measures_of(run.specification.plan), run.documents)
    cases = {case.id: case for case in run.cases}
    differences: list[str] = []
    numbers = 0
    for trace in run.traces:
        if trace.error is not None or trace.case not in cases:
            continue
        # A mode that does not search has no channels, and no list to take anew.
        recomputed = recompute(run, trace) if trace.channels or run.tier == "retrieval" else trace
        rescored = scorer.scored([cases[trace.case]], [recomputed], doc, start, end)[0]
        if run.tier == "generation":
            rescored = scored_answer(cases[trace.case], rescored, run.measures, _injected(run, trace))
        differences += _differences(trace, rescored, cases[trace.case])
        numbers += sum(map(len, (trace.results.scores, trace.fused.scores if trace.fused else (), trace.scores)))
    return numbers, differences


def _injected(run: RecordedRun, trace: CaseTrace) -> list[ChunkRef]:
    return [] if trace.answered is None else [run.chunk_of[chunk] for chunk in trace.answered.context]


def recompute(run: RecordedRun, trace: CaseTrace) -> CaseTrace:
    """The trace with every stage after the channels taken anew."""
    doc, start, end = run.columns

    def tie_order(chunks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        order = np.lexsort((end[chunks], start[chunks], doc[chunks]))
        ranks = np.empty(len(chunks), np.int64)
        ranks[order] = np.arange(len(chunks))
        return ranks

    channels = {
        name: Ranking(np.asarray(hits.chunks, np.int64), np.asarray(hits.scores, np.float64))
        for name, hits in trace.channels.items()
    }
    stages = run_stages(channels, run.specification.plan.retrieval, doc, tie_order)
    return msgspec.structs.replace(
        trace,
        fused=Hits.of(stages.fused),
        floor=None if stages.floor is None else Hits.of(stages.floor),
        collapse=None if stages.collapse is None else Hits.of(stages.collapse),
        results=Hits.of(stages.results),
    )


def _differences(recorded: CaseTrace, again: CaseTrace, case: EvaluationCase) -> Iterator[str]:
    for stage in ("fused", "floor", "collapse", "results"):
        if getattr(recorded, stage) != getattr(again, stage):
            yield f"{case.id}: the {stage} list is not what its channels give"
    for name, value in recorded.scores.items():
        if again.scores.get(name) != value:
            yield f"{case.id}: {name} is recorded as {value}, recomputed as {again.scores.get(name)}"
