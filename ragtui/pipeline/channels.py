"""Sources of candidates. A channel answers a batch of queries; each answer is a ranking, or why there is none."""

from __future__ import annotations

import asyncio
import inspect
import math
import operator
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice, takewhile
from typing import Any, Protocol

import msgspec
import numpy as np

from ragtui.artifacts.bm25 import Bm25Index
from ragtui.artifacts.ranking import Ranking
from ragtui.artifacts.vectors import EmbeddingSet
from ragtui.errors import IsolationLeak, ProviderUnavailable, RagtuiError
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.query import Query
from ragtui.providers.protocols import RetrieverHit
from ragtui.trace import CaseError

_LONGEST_MESSAGE = 2000
# More than anybody fuses; what never ends would fill the memory within its time limit.
_MOST_HITS = 100_000


class Answer(msgspec.Struct, frozen=True):
    """What a channel found for one query, in how many milliseconds, and what it noticed."""

    ranking: Ranking
    milliseconds: float
    error: CaseError | None = None
    notes: tuple[str, ...] = ()


class SearchChannel(Protocol):
    """One source of candidates, bound to its depth."""

    #: Whether a batch is searched natively in one go; if not, cases are sent one by one, many at a time.
    batched: bool

    async def search(self, queries: Sequence[Query]) -> list[Answer]:
        """One answer for each query. Raises only what must end the run."""
        ...


class Bm25Channel:
    """Terms against the index, in a thread."""

    batched = True

    def __init__(self, index: Bm25Index, depth: int) -> None:
        self._index, self._depth = index, depth

    async def search(self, queries: Sequence[Query]) -> list[Answer]:
        """Each query by itself; the native search releases the GIL."""
        return await asyncio.to_thread(self._search, queries)

    def _search(self, queries: Sequence[Query]) -> list[Answer]:
        started = time.perf_counter()
        rankings = self._index.search_many([query.text for query in queries], self._depth)
        return _shared(rankings, started)


class VectorChannel:
    """Query vectors against the embedding set, in a thread."""

    batched = True

    def __init__(self, embeddings: EmbeddingSet, depth: int) -> None:
        self._embeddings, self._depth = embeddings, depth

    async def search(self, queries: Sequence[Query]) -> list[Answer]:
        """All queries in one call."""
        return await asyncio.to_thread(self._search, queries)

    def _search(self, queries: Sequence[Query]) -> list[Answer]:
        started = time.perf_counter()
        vectors = np.concatenate([query.vector for query in queries if query.vector is not None])
        return _shared(self._embeddings.search_many(vectors, self._depth), started)


class CallableChannel:
    """Somebody's own retriever: production code, measured as it is.

    A call that raises, hangs, or answers with something else than hits is an error of its case. A hit outside the
    snapshot ends the run. A synchronous callable runs in a daemon thread, which a hung call cannot keep alive.
    """

    batched = False

    def __init__(self, name: str, call: Callable[..., Any], depth: int, table: ChunkTable, timeout: float) -> None:
        self._name, self._call, self._depth = name, call, depth
        self._table, self._timeout = table, timeout

    async def search(self, queries: Sequence[Query]) -> list[Answer]:
        """Each query concurrently."""
        return list(await asyncio.gather(*(self._one(query) for query in queries)))

    async def _one(self, query: Query) -> Answer:
        started = time.perf_counter()
        try:
            found = await asyncio.wait_for(self._called(query.text), self._timeout)
            ranking, notes = self._ranking(found)
        except TimeoutError as error:
            # A retriever's own network may time out as well; that is its failure, not our patience.
            if _elapsed(started) < self._timeout * 1000:
                return self._failed(started, "retriever_failed", f"raised TimeoutError: {error}")
            return self._failed(started, "timeout", f"did not answer within {self._timeout:g} s")
        except (IsolationLeak, ProviderUnavailable):
            raise
        except _Malformed as error:
            return self._failed(started, "malformed_answer", str(error))
        except Exception as error:
            return self._failed(started, "retriever_failed", f"raised {type(error).__name__}: {error}")
        return Answer(ranking, _elapsed(started), notes=tuple(notes))

    async def _called(self, query: str) -> Sequence[Any]:
        """The answer as a list. Whatever an iterable does while it is read belongs to the call and its time limit."""
        if _is_async(self._call):
            found = self._call(query, self._depth)
        else:
            found = await _in_daemon_thread(lambda wanted: self._taken(self._call(query, self._depth), wanted))
        if inspect.isawaitable(found):
            found = await _awaited(found)
        if isinstance(found, (list, tuple)):
            return found
        taken: Sequence[Any] = await _in_daemon_thread(lambda wanted: self._taken(found, wanted))
        return taken

    def _taken(self, found: Any, wanted: Callable[[], bool]) -> Any:
        """An iterable as a list, read while it is `wanted`; what is awaitable, or a list already, is left as it is."""
        if isinstance(found, (list, tuple)) or inspect.isawaitable(found):
            return found
        if found is None or isinstance(found, (str, bytes)) or not hasattr(found, "__iter__"):
            raise _Malformed(f"answered with {type(found).__name__} instead of a list of hits")
        most = max(_MOST_HITS, self._depth)
        hits = list(islice(takewhile(lambda _: wanted(), found), most + 1))
        if len(hits) > most:
            raise _Malformed(f"answered with more than {most} hits")
        return hits

    def _ranking(self, found: Sequence[Any]) -> tuple[Ranking, list[str]]:
        hits = [_hit(item) for item in found]
        best: dict[int, float] = {}
        for hit in hits:
            ordinal = self._table.resolve(hit.doc, hit.start, hit.end)
            best[ordinal] = max(hit.score, best.get(ordinal, -math.inf))
        notes = []
        if len(best) < len(hits):
            notes.append(f"{self._name}: {len(hits) - len(best)} repeated hits were merged, the best score kept")
        if len(best) > self._depth:
            notes.append(f"{self._name}: {len(best)} hits were answered, the first {self._depth} kept")
        chunks = np.fromiter(best, np.int64, len(best))
        scores = np.fromiter(best.values(), np.float64, len(best))
        order = np.lexsort((self._table.tie_order(chunks), -scores))
        return Ranking(chunks[order], scores[order]).top(self._depth), notes

    def _failed(self, started: float, kind: str, what: str) -> Answer:
        # A message that is no valid Unicode, or has no end, could not be kept in a journal.
        what = what[:_LONGEST_MESSAGE].encode("utf-8", "backslashreplace").decode()
        return Answer(Ranking.empty(), _elapsed(started), CaseError(kind, f"channel {self._name!r} {what}"))


async def _awaited(found: Awaitable[Any]) -> Any:
    """What it gives. Only what is meant for us cancels or ends us: a retriever that leaves has failed, no more."""
    try:
        return await found
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("CancelledError") from None
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _is_async(call: Callable[..., Any]) -> bool:
    """Whether calling gives a coroutine: an async function, or an object whose class defines an async `__call__`."""
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


class _Malformed(Exception):
    """An answer that is no list of hits."""


def _hit(item: Any) -> RetrieverHit:
    """A hit in any of the accepted forms."""
    if isinstance(item, RetrieverHit):
        hit = item
    elif isinstance(item, (tuple, list)) and len(item) in (2, 4):
        hit = RetrieverHit(item[0], item[-1], *item[1:-1])
    elif isinstance(item, dict) and "doc" in item and "score" in item:
        hit = RetrieverHit(item["doc"], item["score"], item.get("start"), item.get("end"))
    else:
        raise _Malformed(f"answered with the hit {item!r}; expected (doc, score) or (doc, start, end, score)")
    if not isinstance(hit.doc, str):
        raise _Malformed(f"answered with the document {hit.doc!r}, which is not a string")
    start, end = _offset(hit.start), _offset(hit.end)
    if (start is None) != (hit.start is None) or (end is None) != (hit.end is None) or (start is None) != (end is None):
        raise _Malformed(f"answered with the offsets {hit.start!r} and {hit.end!r}")
    try:
        score = float(hit.score)
    except (TypeError, ValueError, OverflowError):
        raise _Malformed(f"answered with the score {hit.score!r}, which is not a number") from None
    if not math.isfinite(score):
        raise _Malformed(f"answered with the score {score} for {hit.doc!r}, which is not finite")
    return RetrieverHit(hit.doc, score, start, end)


def _offset(value: Any) -> int | None:
    """A whole number of whatever type, NumPy's too, as an integer; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


async def _in_daemon_thread(call: Callable[[Callable[[], bool]], Any]) -> Any:
    """What the call gives; it gets a function that tells whether anybody still waits for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        try:
            setter, value = future.set_result, call(lambda: not future.done())
        except BaseException as error:
            setter, value = future.set_exception, error
            if not isinstance(error, Exception):
                value = RuntimeError(f"{type(error).__name__}: {error}")
        # The loop may be closed already when a call comes back after its time.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, setter, value)

    threading.Thread(target=work, daemon=True, name="ragtui-retriever").start()
    return await future


def _shared(rankings: list[Ranking], started: float) -> list[Answer]:
    each = _elapsed(started) / max(len(rankings), 1)
    return [Answer(ranking, each) for ranking in rankings]


def _elapsed(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def failure(error: RagtuiError) -> CaseError:
    """A provider's error as the error of one case."""
    return CaseError(error.kind, error.message)
