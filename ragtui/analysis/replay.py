"""What a recorded run would have given under another plan: all that comes after the channels, without any index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from ragtui.analysis.contrast import MeasureChange, applies, contrast, score_columns
from ragtui.analysis.flips import Flip, find_flips, flip_measure_of
from ragtui.analysis.gates import gating_measures
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.recording import Recording
from ragtui.analysis.statistics import FloatArray
from ragtui.artifacts.ranking import Ranking
from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Channel, Plan, uses
from ragtui.experiment.validate import check_plan, measures_of
from ragtui.metrics.aggregate import Summary, summarise
from ragtui.metrics.measure import Measure, parse_measure
from ragtui.pipeline.batch import run_stages_batch
from ragtui.pipeline.scoring import Scorer
from ragtui.pipeline.stages import run_stages
from ragtui.trace import CaseTrace, Hits


class BeyondRecording(InvalidInput):
    """A change whose outcome is not in the recorded hits; `reasons` has a sentence for each."""

    kind = "beyond_recording"

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        lines = "\n".join(f"  {reason}" for reason in reasons)
        super().__init__(f"The change reaches beyond what was recorded:\n{lines}", "Make a new run of this plan.")


class Replay:
    """A run under another plan. `scores` has shape (cases, measures), NaN where unscored, over the finished cases."""

    def __init__(self, recording: Recording, plan: Plan, measures: tuple[Measure, ...], scores: FloatArray) -> None:
        self.run, self.plan, self.scores = recording.run, plan, scores
        self.cases = recording.cases
        self.measures = tuple(map(str, measures))
        self._recording, self._measures = recording, measures

    @cached_property
    def summary(self) -> Summary:
        """The measures over all cases and by tag."""
        return summarise(self.scores, self.measures, [case.tags for case in self.cases])

    @cached_property
    def changes(self) -> dict[str, MeasureChange]:
        """Each measure that the recorded run reports too, against it; untested, as a slider asks for many of them."""
        names = [name for name in self.measures if name in self.run.measures]
        recorded = score_columns(self.run, self.cases, names)
        return contrast(names, recorded, self._columns(names), applies(self.cases, names), tested=False)

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """The questions won and lost against the recorded run, at the cut-off of the plan's first such guard."""
        names = [name for name in self.measures if name in self.run.measures]
        if not names:
            return ()
        measure = flip_measure_of(gating_measures(self.plan), names)
        recorded = score_columns(self.run, self.cases, [measure])
        upwards = parse_measure(measure).higher_is_better
        return find_flips(self.cases, recorded[:, 0], self._columns([measure])[:, 0], higher_is_better=upwards)

    @cached_property
    def traces(self) -> tuple[CaseTrace, ...]:
        """Every stage of every finished case, with scores; made when first asked for."""
        staged = [self._staged(trace) for trace in self._recording.traces]
        scorer = Scorer(self._measures, self.run.documents)
        return tuple(scorer.scored(self.cases, staged, *self.run.columns))

    def recorded(self) -> RecordedRun:
        """The replay as a run, for comparisons and reports. Its id says of which run it is a replay."""
        named = self.run.specification
        # As binding does: `auto` is settled by the corpus, and sources that no channel asks are not named.
        settled = named.plan.lexical.bigrams if self.plan.lexical.bigrams == "auto" else self.plan.lexical.bigrams
        asked = {channel.source for channel in self.plan.retrieval.channels.values()}
        specification = msgspec.structs.replace(
            named,
            plan=msgspec.structs.replace(
                self.plan, lexical=msgspec.structs.replace(self.plan.lexical, bigrams=settled)
            ),
            sources={name: identity for name, identity in named.sources.items() if name in asked},
            bm25_id=named.bm25_id if uses(self.plan, "bm25") else None,
            embedding_set_id=named.embedding_set_id if uses(self.plan, "vector") else None,
            embedder=named.embedder if uses(self.plan, "vector") else None,
        )
        return msgspec.structs.replace(
            self.run,
            run_id=f"{self.run.run_id}-replay",
            spec_id=specification.spec_id,
            specification=specification,
            measures=self.measures,
            traces=self.traces,
        )

    def _columns(self, names: Sequence[str]) -> FloatArray:
        return self.scores[:, [self.measures.index(name) for name in names]]

    def _staged(self, trace: CaseTrace) -> CaseTrace:
        if trace.error is not None:
            return trace
        retrieval = self.plan.retrieval
        channels = {name: hits for name, hits in trace.channels.items() if name in retrieval.channels}
        rankings = {
            name: Ranking(np.array(hits.chunks, np.int64), np.array(hits.scores, np.float64)).top(
                retrieval.channels[name].depth
            )
            for name, hits in channels.items()
        }
        stages = run_stages(rankings, retrieval, self.run.columns[0], self._recording.tie_order)
        return msgspec.structs.replace(
            trace,
            channels={name: Hits.of(ranking) for name, ranking in rankings.items()},
            fused=Hits.of(stages.fused),
            floor=None if stages.floor is None else Hits.of(stages.floor),
            collapse=None if stages.collapse is None else Hits.of(stages.collapse),
            results=Hits.of(stages.results),
        )


def replay(run: RecordedRun | Recording, plan: Plan) -> Replay:
    """Recompute everything downstream of the recorded hits: equal to a fresh run of the plan.

    Weights, rank constant, depth up to the recorded one, minimum scores, floor, collapse, results, relevance and
    measures may differ, and channels may be left out. BeyondRecording names everything else that does. Give a
    `Recording` to replay one run many times. A case that failed in the run stays failed.
    """
    check_plan(plan)
    recording = run if isinstance(run, Recording) else Recording(run)
    reasons = beyond(recording.run, plan)
    if reasons:
        raise BeyondRecording(reasons)
    measures = measures_of(plan)
    wanted = {name: columns for name, columns in recording.channels.items() if name in plan.retrieval.channels}
    results = run_stages_batch(wanted, plan.retrieval, recording.doc)
    return Replay(recording, plan, measures, recording.scored(results, measures))


def beyond(run: RecordedRun, plan: Plan) -> tuple[str, ...]:
    """What of the plan cannot be answered from the recorded hits: one sentence each, none if all can."""
    recorded = run.specification.plan
    reasons = []
    if run.tier == "generation" or plan.generation is not None:
        reasons.append("generation: other results need other answers, which takes the model.")
    if plan.chunking != recorded.chunking:
        reasons.append("chunking: other chunks need another index.")
    lexical = plan.lexical
    # Binding has settled what `auto` means for this corpus.
    if lexical.bigrams == "auto":
        lexical = msgspec.structs.replace(lexical, bigrams=recorded.lexical.bigrams)
    if uses(plan, "bm25") and lexical != recorded.lexical:
        reasons.append("lexical: another analyzer finds other chunks.")
    if uses(plan, "vector") and plan.embedding != recorded.embedding:
        reasons.append("embedding: other vectors find other chunks.")
    if plan.evaluation != recorded.evaluation:
        reasons.append("evaluation: the run asked the questions of another selection.")
    for name, channel in plan.retrieval.channels.items():
        reasons += _channel_beyond(run, recorded.retrieval.channels, name, channel)
    return tuple(reasons)


def _channel_beyond(run: RecordedRun, recorded: Mapping[str, Channel], name: str, channel: Channel) -> list[str]:
    path = f"retrieval.channels.{name}"
    known = recorded.get(name)
    if known is None:
        return [f"{path}: the run has no such channel (recorded: {', '.join(recorded)})."]
    searched = (channel.kind, channel.representation, channel.source)
    if searched != (known.kind, known.representation, known.source):
        return [f"{path}: it searches something else than the recorded channel."]
    if channel.depth > known.depth:
        # A list that ended before its depth holds everything that the channel could find.
        cut = sum(len(trace.channels[name].chunks) >= known.depth for trace in run.traces if name in trace.channels)
        if cut:
            return [f"{path}.depth: {channel.depth} is deeper than the {known.depth} recorded in {cut} cases."]
    return []
