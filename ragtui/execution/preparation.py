"""Artifacts opened or built before the first case."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

from ragtui.artifacts.bm25 import bm25_index
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.vectors import embedding_set
from ragtui.events import Notice, RunEvent, StageProgress
from ragtui.execution.dependencies import Dependencies
from ragtui.execution.pulse import Pulse
from ragtui.experiment.specification import Specification
from ragtui.pipeline.channels import Bm25Channel, CallableChannel, SearchChannel, VectorChannel
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.providers.retries import Retry, hear_retries
from ragtui.trace import ChunkRef


class Preparation:
    """Artifacts opened or built in a thread, with their progress as events."""

    def __init__(self, specification: Specification, dependencies: Dependencies, chunks: Sequence[ChunkRef]) -> None:
        self._specification, self._dependencies, self._known = specification, dependencies, chunks
        self.table: ChunkTable
        self.channels: dict[str, SearchChannel] = {}
        self.pulse = Pulse()

    async def events(self) -> AsyncIterator[RunEvent]:
        """Progress and notices while artifacts are prepared; `table` and `channels` are set at the end."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[RunEvent | None] = asyncio.Queue()

        def tell(event: RunEvent | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        def heard(retry: Retry) -> None:
            self.pulse.retried(retry)
            for event in self.pulse.events():
                tell(event)

        def work() -> None:
            hear_retries(heard)
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
        began = time.monotonic()

        def progress(stage: str, done: int, total: int) -> None:
            # Ten a second are enough for any eye, and a journal is not a log.
            now = time.monotonic()
            if done == total or now - last.get(stage, 0.0) > 0.1:
                last[stage] = now
                tell(StageProgress(stage=stage, done=done, total=total, elapsed_s=round(now - began, 3)))

        def notify(message: str) -> None:
            tell(Notice(message=message))

        chunks = chunk_set(needed.corpus, plan.chunking, needed.cache, notify=notify)
        progress("chunks", len(chunks), len(chunks))
        self.table = ChunkTable(chunks)
        self.table.adopt(self._known)
        for name, channel in plan.retrieval.channels.items():
            began = time.monotonic()
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
