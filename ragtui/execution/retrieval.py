"""Cases in groups through channels, stages and measures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ragtui.artifacts.ranking import Ranking
from ragtui.artifacts.vectors import check_vectors
from ragtui.events import CaseFinished, ChunksSeen, RunEvent, RunStatus
from ragtui.execution.dependencies import Attempt, Dependencies, utc_now
from ragtui.execution.preparation import Preparation
from ragtui.execution.pulse import PULSE_SECONDS, Waits
from ragtui.experiment.plan import uses
from ragtui.experiment.specification import Specification
from ragtui.experiment.validate import measures_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.pipeline.channels import Answer
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.query import Query, query_text
from ragtui.pipeline.scoring import Scorer
from ragtui.pipeline.stages import run_stages
from ragtui.trace import CaseTrace, Hits

GROUP = 32
_GROUPS_IN_FLIGHT = 2
Result = TypeVar("Result")


async def in_flight(
    jobs: Iterable[Callable[[], Coroutine[Any, Any, Result]]], limit: Callable[[], int], look_s: float | None = None
) -> AsyncIterator[list[Result]]:
    """The results of jobs as they complete, at most `limit()` under way; at 0 those under way are finished, no more.

    After `look_s` seconds without a result an empty list, so that the caller can tell how things stand.
    """
    running: set[asyncio.Task[Result]] = set()
    following = iter(jobs)
    exhausted = False
    try:
        while True:
            while not exhausted and len(running) < limit():
                job = next(following, None)
                if job is None:
                    exhausted = True
                    break
                running.add(asyncio.ensure_future(job()))
            if not running:
                return
            done, running = await asyncio.wait(running, timeout=look_s, return_when=asyncio.FIRST_COMPLETED)
            yield [task.result() for task in done]
    finally:
        for task in running:
            task.cancel()
        # What is cancelled must be over before its connections are given back.
        await asyncio.gather(*running, return_exceptions=True)


class Reporter:
    """From finished traces to events; tells each chunk once an attempt."""

    def __init__(self, table: ChunkTable, attempt: int) -> None:
        self._table, self._attempt = table, attempt
        self._seen: set[int] = set()

    def events(self, traces: Sequence[CaseTrace]) -> list[RunEvent]:
        """The chunks that are new, then the cases."""
        seen = {chunk for trace in traces for chunk in trace.chunks()}
        new = sorted(seen - self._seen)
        self._seen |= seen
        now = utc_now()
        events: list[RunEvent] = [ChunksSeen(chunks=self._table.refs(new))] if new else []
        events += [CaseFinished(attempt=self._attempt, at=now, trace=trace) for trace in traces]
        return events


class RetrievalExecution:
    """The retrieval tier: every golden is a case."""

    def __init__(
        self, specification: Specification, dependencies: Dependencies, attempt: Attempt, prepared: Preparation
    ) -> None:
        self._dependencies = dependencies
        self._table = prepared.table
        self._searcher = Searcher(specification, dependencies, prepared)
        self._scorer = Scorer(measures_of(specification.plan), dependencies.corpus.ordinals)
        self._reporter = Reporter(prepared.table, attempt.number)
        self._pulse = prepared.pulse
        self.stopped: RunStatus | None = None
        self.reason = ""

    async def events(self, pending: Sequence[int]) -> AsyncGenerator[list[RunEvent], None]:
        """The events of each group as it completes. Asked to stop, it finishes the groups in flight and no more."""
        batched = self._searcher.batched
        size = GROUP if batched else 1
        most = _GROUPS_IN_FLIGHT if batched else self._dependencies.concurrency

        def limit() -> int:
            self.stopped = self.stopped or self._dependencies.stop()
            return most if self.stopped is None else 0

        groups = (pending[start : start + size] for start in range(0, len(pending), size))
        jobs = ((lambda group=group: self._group(group)) for group in groups)
        async for done in in_flight(jobs, limit, PULSE_SECONDS):
            for traces in sorted(done, key=lambda traces: traces[0].index):
                yield self._reporter.events(traces)
            if told := self._pulse.events():
                yield list(told)
        if told := self._pulse.events(at_once=True):
            yield list(told)

    async def _group(self, indexes: Sequence[int]) -> list[CaseTrace]:
        waits = Waits(self._pulse)
        cases = [self._dependencies.evaluation.cases[index] for index in indexes]
        traces = await self._searcher.traces(indexes, cases, [query_text(case) for case in cases])
        return self._scorer.scored(cases, waits.told(traces), self._table.doc, self._table.start, self._table.end)


class Searcher:
    """Questions through channels and stages."""

    def __init__(self, specification: Specification, dependencies: Dependencies, prepared: Preparation) -> None:
        self._plan = specification.plan
        self._table = prepared.table
        self._channels = prepared.channels
        self._embedder = dependencies.embedder if uses(self._plan, "vector") else None
        self.batched = all(channel.batched for channel in self._channels.values())

    async def traces(
        self, indexes: Sequence[int], cases: Sequence[EvaluationCase], texts: Sequence[str]
    ) -> list[CaseTrace]:
        """One unscored trace for each case; `texts` are what is asked of the channels."""
        queries, embed_ms = await self._queries(texts)
        names = list(self._channels)
        answers = await asyncio.gather(*(self._channels[name].search(queries) for name in names))
        by_case = [dict(zip(names, row, strict=True)) for row in zip(*answers, strict=True)]
        return [
            self._trace(index, case, query, found, embed_ms)
            for index, case, query, found in zip(indexes, cases, queries, by_case, strict=True)
        ]

    async def _queries(self, texts: Sequence[str]) -> tuple[list[Query], float | None]:
        """The queries, with vectors computed once for all vector channels, and milliseconds a case."""
        if self._embedder is None:
            return [Query(text) for text in texts], None
        started = time.perf_counter()
        vectors = await asyncio.to_thread(self._embedder.embed, texts, "query")
        check_vectors(vectors, len(texts), self._embedder.identity)
        elapsed = (time.perf_counter() - started) * 1000 / len(texts)
        return [Query(text, vectors[row : row + 1]) for row, text in enumerate(texts)], elapsed

    def _trace(
        self, index: int, case: EvaluationCase, query: Query, found: Mapping[str, Answer], embed_ms: float | None
    ) -> CaseTrace:
        started = time.perf_counter()
        rankings: dict[str, Ranking] = {name: answer.ranking for name, answer in found.items()}
        error = next((answer.error for answer in found.values() if answer.error is not None), None)
        stages = run_stages(rankings, self._plan.retrieval, self._table.doc, self._table.tie_order)
        timings = {name: round(answer.milliseconds, 3) for name, answer in found.items()}
        if embed_ms is not None:
            timings["embed"] = round(embed_ms, 3)
        timings["stages"] = round((time.perf_counter() - started) * 1000, 3)
        return CaseTrace(
            case=case.id,
            index=index,
            status="ok" if error is None else "error",
            error=error,
            query=query.text,
            channels={name: Hits.of(ranking) for name, ranking in rankings.items()},
            fused=Hits.of(stages.fused),
            floor=None if stages.floor is None else Hits.of(stages.floor),
            collapse=None if stages.collapse is None else Hits.of(stages.collapse),
            results=Hits.of(stages.results),
            notes=[note for answer in found.values() for note in answer.notes],
            timings=timings,
        )
