"""The only thing that executes a specification.

`run_experiment` is an async generator of events. It prepares artifacts, sends cases to the channels in groups, takes
them through the stages, scores them, writes the events to the journal, and only then yields them.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import msgspec

from ragtui.artifacts.bm25 import bm25_index
from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.ranking import Ranking
from ragtui.artifacts.vectors import check_vectors, embedding_set
from ragtui.errors import ProviderUnavailable, RagtuiError, RunFailed
from ragtui.events import (
    CaseFinished,
    ChunksSeen,
    Notice,
    RunEvent,
    RunFinished,
    RunStarted,
    RunStatus,
    StageProgress,
)
from ragtui.experiment.plan import Provenance, uses
from ragtui.experiment.specification import Specification
from ragtui.experiment.validate import measures_of
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationCase, EvaluationSet
from ragtui.pipeline.channels import Answer, Bm25Channel, CallableChannel, SearchChannel, VectorChannel
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.query import Query, query_text
from ragtui.pipeline.scoring import Scorer
from ragtui.pipeline.stages import run_stages
from ragtui.providers.protocols import Embedder
from ragtui.trace import CaseTrace, Hits

GROUP = 32
_GROUPS_IN_FLIGHT = 2
_PACKAGES = ("ragtui", "tantivy", "usearch", "semantic-text-splitter", "wordllama", "numpy")


class EventSink(Protocol):
    """Where events are kept before anybody sees them."""

    def write(self, events: Sequence[RunEvent]) -> None:
        """Persist the events; returns when they would survive the death of this process."""
        ...


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution needs besides the specification; nothing in it can move a measured number.

    `stop` is asked between groups and gives the status to end with, or None to go on. `timeout` is seconds for one
    call of a retriever, `concurrency` how many such calls are under way at once.
    """

    corpus: CorpusSnapshot
    evaluation: EvaluationSet
    cache: ArtifactCache
    journal: EventSink
    embedder: Embedder | None = None
    sources: Mapping[str, Callable[..., Any]] = {}
    stop: Callable[[], RunStatus | None] = lambda: None
    concurrency: int = 8
    timeout: float = 30.0


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Which run this process works on, and which of its cases; `pending` None means all."""

    run_id: str
    number: int = 1
    pending: tuple[int, ...] | None = None
    provenance: Provenance = Provenance()


async def run_experiment(
    specification: Specification, dependencies: Dependencies, attempt: Attempt
) -> AsyncGenerator[RunEvent, None]:
    """Execute a specification and yield what happens.

    Every event is in the journal before it is yielded. The last event is RunFinished, also when the run fails; the
    error that made it fail is raised after it. Raises ProviderUnavailable before anything is written when the embedder
    is not the one that the specification names.
    """
    _check_bound(specification, dependencies)
    clock = time.perf_counter()
    journal = dependencies.journal
    cases = dependencies.evaluation.cases
    pending = tuple(range(len(cases))) if attempt.pending is None else attempt.pending
    started = RunStarted(
        run_id=attempt.run_id,
        attempt=attempt.number,
        spec_id=specification.spec_id,
        specification=specification,
        provenance=attempt.provenance,
        measures=tuple(map(str, measures_of(specification.plan))),
        cases=cases,
        pending=pending,
        environment=environment_record(),
        started_at=utc_now(),
    )
    journal.write([started])
    yield started

    status: RunStatus = "failed"
    failure: BaseException | None = None
    reason = ""
    try:
        prepared = _Preparation(specification, dependencies)
        async for event in prepared.events():
            journal.write([event])
            yield event
        execution = _Execution(specification, dependencies, attempt, prepared)
        async for events in execution.events(pending):
            journal.write(events)
            for event in events:
                yield event
        status = execution.stopped or "completed"
    except RagtuiError as error:
        failure, reason = error, error.message
    except (asyncio.CancelledError, GeneratorExit):
        # Leaving at once: what was yielded is in the journal, and an unfinished journal is an interrupted run.
        raise
    except Exception as error:
        failure, reason = error, f"{type(error).__name__}: {error}"
    finished = RunFinished(
        attempt=attempt.number,
        status=status,
        at=utc_now(),
        elapsed_s=round(time.perf_counter() - clock, 6),
        reason=reason,
    )
    # A journal that cannot be written any more is often the failure itself.
    with suppress(RunFailed):
        journal.write([finished])
    yield finished
    if failure is not None:
        raise failure


class _Preparation:
    """Artifacts opened or built in a thread, with their progress as events."""

    def __init__(self, specification: Specification, dependencies: Dependencies) -> None:
        self._specification, self._dependencies = specification, dependencies
        self.table: ChunkTable
        self.channels: dict[str, SearchChannel] = {}

    async def events(self) -> AsyncIterator[RunEvent]:
        """Progress and notices while artifacts are prepared; `table` and `channels` are set at the end."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[RunEvent | None] = asyncio.Queue()

        def tell(event: RunEvent | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        def work() -> None:
            try:
                self._prepare(tell)
            finally:
                tell(None)

        task = asyncio.ensure_future(asyncio.to_thread(work))
        while (event := await queue.get()) is not None:
            yield event
        await task

    def _prepare(self, tell: Callable[[RunEvent], None]) -> None:
        plan, needed = self._specification.plan, self._dependencies
        last: dict[str, float] = {}

        def progress(stage: str, done: int, total: int) -> None:
            # Ten a second are enough for any eye, and a journal is not a log.
            now = time.monotonic()
            if done == total or now - last.get(stage, 0.0) > 0.1:
                last[stage] = now
                tell(StageProgress(stage=stage, done=done, total=total))

        def notify(message: str) -> None:
            tell(Notice(message=message))

        chunks = chunk_set(needed.corpus, plan.chunking, needed.cache, notify=notify)
        progress("chunks", len(chunks), len(chunks))
        self.table = ChunkTable(chunks)
        for name, channel in plan.retrieval.channels.items():
            if channel.kind == "bm25":
                index = bm25_index(chunks, plan.lexical, needed.cache, notify=notify)
                self.channels[name] = Bm25Channel(index, channel.depth)
            elif channel.kind == "vector" and needed.embedder is not None:
                vectors = embedding_set(
                    chunks, needed.embedder, needed.cache, notify=notify,
                    progress=lambda done, total: progress("embeddings", done, total),
                )  # fmt: skip
                if vectors.recall < 1.0:
                    tell(Notice(message=f"Vector search is approximate here: recall@100 {vectors.recall:.3f}."))
                self.channels[name] = VectorChannel(vectors, channel.depth)
            elif channel.kind in ("python", "http") and channel.source is not None:
                call = needed.sources[channel.source]
                self.channels[name] = CallableChannel(name, call, channel.depth, self.table, needed.timeout)
            progress(name, 1, 1)


class _Execution:
    """Cases in groups through channels, stages and measures."""

    def __init__(
        self, specification: Specification, dependencies: Dependencies, attempt: Attempt, prepared: _Preparation
    ) -> None:
        self._plan = specification.plan
        self._dependencies = dependencies
        self._attempt = attempt
        self._table = prepared.table
        self._channels = prepared.channels
        self._embedder = dependencies.embedder if uses(self._plan, "vector") else None
        self._scorer = Scorer(measures_of(self._plan), dependencies.corpus.ordinals)
        self._seen: set[int] = set()
        self.stopped: RunStatus | None = None

    async def events(self, pending: Sequence[int]) -> AsyncIterator[list[RunEvent]]:
        """The events of each group as it completes. Asked to stop, it finishes the groups in flight and no more."""
        batched = all(channel.batched for channel in self._channels.values())
        size = GROUP if batched else 1
        in_flight = _GROUPS_IN_FLIGHT if batched else self._dependencies.concurrency
        groups = [pending[start : start + size] for start in range(0, len(pending), size)]
        running: set[asyncio.Task[list[CaseTrace]]] = set()
        following = 0
        try:
            while running or following < len(groups):
                self.stopped = self.stopped or self._dependencies.stop()
                while following < len(groups) and len(running) < in_flight and self.stopped is None:
                    running.add(asyncio.ensure_future(self._group(groups[following])))
                    following += 1
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in sorted(done, key=lambda task: task.result()[0].index):
                    yield self._reported(task.result())
        finally:
            for task in running:
                task.cancel()

    def _reported(self, traces: Sequence[CaseTrace]) -> list[RunEvent]:
        seen = {
            chunk for trace in traces for hits in (*trace.channels.values(), trace.results) for chunk in hits.chunks
        }
        new = sorted(seen - self._seen)
        self._seen |= seen
        now = utc_now()
        events: list[RunEvent] = [ChunksSeen(chunks=self._table.refs(new))] if new else []
        events += [CaseFinished(attempt=self._attempt.number, at=now, trace=trace) for trace in traces]
        return events

    async def _group(self, indexes: Sequence[int]) -> list[CaseTrace]:
        cases = [self._dependencies.evaluation.cases[index] for index in indexes]
        queries, embed_ms = await self._queries(cases)
        names = list(self._channels)
        answers = await asyncio.gather(*(self._channels[name].search(queries) for name in names))
        by_case = [dict(zip(names, row, strict=True)) for row in zip(*answers, strict=True)]
        traces = [
            self._trace(index, case, query, found, embed_ms)
            for index, case, query, found in zip(indexes, cases, queries, by_case, strict=True)
        ]
        return self._scorer.scored(cases, traces, self._table.doc, self._table.start, self._table.end)

    async def _queries(self, cases: Sequence[EvaluationCase]) -> tuple[list[Query], float | None]:
        """The queries, with vectors computed once for all vector channels, and milliseconds a case."""
        texts = [query_text(case) for case in cases]
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


def _check_bound(specification: Specification, dependencies: Dependencies) -> None:
    """Refuse dependencies that are not what the specification names."""
    if dependencies.corpus.corpus_id != specification.corpus_id:
        raise RunFailed("The corpus is not the one that the specification names.", "Bind the plan to this corpus anew.")
    if dependencies.evaluation.evaluation_id != specification.evaluation_id:
        raise RunFailed(
            "The goldens are not those that the specification names.", "Bind the plan to these goldens anew."
        )
    expected = specification.embedder
    if expected is not None:
        given = dependencies.embedder.identity if dependencies.embedder is not None else None
        if given != expected:
            raise ProviderUnavailable(
                f"The embedding set was made by {expected}, but the embedder given is {given or 'none'}.",
                "Give the embedder of that identity, or bind the plan to this one.",
            )
    for name, channel in specification.plan.retrieval.channels.items():
        if channel.representation != "raw":
            raise RunFailed(
                f"Channel {name!r} reads the representation {channel.representation!r}, which is not materialised.",
                "Use the representation raw.",
            )
        if channel.source is not None and channel.source not in dependencies.sources:
            raise ProviderUnavailable(
                f"Channel {name!r} needs the retriever {channel.source!r}, which is not registered.",
                "Register it in the plan file or with ragtui.open(…, retrievers={…}).",
            )


def environment_record() -> dict[str, Any]:
    """Versions and processor of this process, without a host's name or a path."""
    packages = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "packages": packages,
    }


def utc_now() -> str:
    """Now, ISO-8601 in UTC with milliseconds, ending in Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
