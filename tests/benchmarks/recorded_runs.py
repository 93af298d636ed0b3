"""Runs of a workspace as values, for scripts that analyse them; nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ragtui.analysis.recorded import RecordedRun
from ragtui.artifacts.cache import ArtifactCache
from ragtui.engine import Attempt, Dependencies, run_experiment
from ragtui.events import CaseFinished, ChunksSeen, RunEvent, RunFinished, RunStarted
from ragtui.experiment.plan import Plan
from ragtui.experiment.specification import bind
from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationSet, Selection, load_evaluation
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.trace import CaseTrace, ChunkRef


class _NoJournal:
    def write(self, events: Sequence[RunEvent]) -> None:
        """Keep nothing."""


class Workspace:
    """Frozen inputs, and runs of plans over them; `cache` is a folder for artifacts."""

    def __init__(self, corpus: CorpusSnapshot, evaluation: EvaluationSet, cache: Path) -> None:
        self._corpus, self._evaluation = corpus, evaluation
        self._cache = ArtifactCache(cache)
        self._embedder = BuiltinEmbedder()

    @classmethod
    def of(cls, folder: Path, cache: Path) -> Workspace:
        """A folder with `corpus/` and `goldens/core.jsonl`."""
        corpus = load_corpus(folder / "corpus")
        return cls(corpus, load_evaluation(folder / "goldens", corpus, Selection()), cache)

    def run(self, plan: Plan, name: str = "run") -> RecordedRun:
        """Execute the plan."""
        return asyncio.run(self._run(plan, name))

    async def _run(self, plan: Plan, name: str) -> RecordedRun:
        evaluation = self._evaluation
        dependencies = Dependencies(
            corpus=self._corpus, evaluation=evaluation, cache=self._cache, journal=_NoJournal(), embedder=self._embedder
        )
        specification = bind(plan, self._corpus, evaluation, self._embedder.identity)
        traces: list[CaseTrace] = []
        chunks: dict[int, ChunkRef] = {}
        measures: tuple[str, ...] = ()
        elapsed = 0.0
        async for event in run_experiment(specification, dependencies, Attempt(run_id=name)):
            match event:
                case RunStarted():
                    measures = event.measures
                case ChunksSeen():
                    chunks.update({chunk.ordinal: chunk for chunk in event.chunks})
                case CaseFinished():
                    traces.append(event.trace)
                case RunFinished():
                    elapsed = event.elapsed_s
        return RecordedRun(
            run_id=name, spec_id=specification.spec_id, status="completed", specification=specification,
            measures=measures, cases=evaluation.cases, traces=tuple(sorted(traces, key=lambda trace: trace.index)),
            chunks=tuple(chunks.values()), elapsed_s=elapsed,
        )  # fmt: skip
