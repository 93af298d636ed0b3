"""A retriever of one's own: every form that it may answer in, and every way in which it may misbehave."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.recipes import Chunking
from ragtui.errors import IsolationLeak
from ragtui.inputs.corpus import document, snapshot
from ragtui.pipeline.channels import Answer, CallableChannel
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.query import Query
from ragtui.providers.protocols import RetrieverHit

CORPUS = snapshot([document("a", "Alpha."), document("b", "Beta, longer."), document("c/水", "Gamma.")])


@pytest.fixture
def table(tmp_path: Path) -> ChunkTable:
    return ChunkTable(chunk_set(CORPUS, Chunking(strategy="document"), ArtifactCache(tmp_path)))


def asked(table: ChunkTable, call: Callable[..., Any], depth: int = 10, timeout: float = 5.0) -> Answer:
    channel = CallableChannel("own", call, depth, table, timeout)
    [answer] = asyncio.run(channel.search([Query("a question")]))
    return answer


def names(table: ChunkTable, answer: Answer) -> list[tuple[str, float]]:
    refs = table.refs(answer.ranking.chunks.tolist())
    return [(ref.name, score) for ref, score in zip(refs, answer.ranking.scores.tolist(), strict=True)]


FORMS: dict[str, Any] = {
    "pairs": [("a", 2.0), ("b", 1.0)],
    "lists": [["a", 2], ["b", 1]],
    "spans": [("a", 0, 6, 2.0), ("b", 0, 13, 1.0)],
    "hits": [RetrieverHit("a", 2.0), RetrieverHit("b", 1.0, 0, 13)],
    "dicts": [{"doc": "a", "score": 2.0}, {"doc": "b", "score": 1.0, "start": 0, "end": 13, "more": "ignored"}],
    "a generator": None,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["plain", "async", "object", "async object"])
def test_forms(table: ChunkTable, form: str, how: str) -> None:
    def answer() -> Any:
        return FORMS[form] if FORMS[form] is not None else (hit for hit in [("b", 1.0), ("a", 2.0)])

    async def later(query: str, depth: int) -> Any:
        await asyncio.sleep(0)
        return answer()

    class Object:
        def __call__(self, query: str, depth: int) -> Any:
            return answer()

    class AsyncObject:
        async def __call__(self, query: str, depth: int) -> Any:
            return answer()

    call: dict[str, Callable[..., Any]] = {
        "plain": lambda query, depth: answer(), "async": later, "object": Object(), "async object": AsyncObject(),
    }  # fmt: skip
    found = asked(table, call[how])
    assert found.error is None
    assert names(table, found) == [("a#0-6", 2.0), ("b#0-13", 1.0)]


def test_it_gets_the_question_and_the_depth(table: ChunkTable) -> None:
    seen = []

    def call(query: str, depth: int) -> list[Any]:
        seen.append((query, depth))
        return []

    assert len(asked(table, call, depth=7).ranking) == 0
    assert seen == [("a question", 7)]


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e308])
def test_scores_of_any_size_keep_their_order(table: ChunkTable, scale: float) -> None:
    """They are the retriever's own: rounded to our six decimals they would tie, or overflow."""
    hits = [("c/水", 1.7 * scale), ("b", 1.6 * scale), ("a", 1.6 * scale * (1 - 1e-12)), ("a", 0, 2, -1.7 * scale)]
    found = names(table, asked(table, lambda query, depth: hits))
    expected = ["c/水#0-6", "b#0-13", "a#0-6", "a#0-2"]
    assert found == list(zip(expected, (hit[-1] for hit in hits), strict=True))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, int])
def test_whole_numbers_of_any_type_are_offsets(table: ChunkTable, kind: Callable[[int], Any]) -> None:
    found = asked(table, lambda query, depth: [("b", kind(0), kind(4), np.float32(0.5))])
    assert names(table, found) == [("b#0-4", 0.5)]


def test_ties_go_by_document_and_place(table: ChunkTable) -> None:
    hits = [("c/水", 1.0), ("b", 3, 6, 1.0), ("b", 1.0), ("a", 1, 3, 1.0), ("b", 0, 2, 1.0)]
    found = asked(table, lambda query, depth: hits)
    assert [name for name, _ in names(table, found)] == ["a#1-3", "b#0-2", "b#0-13", "b#3-6", "c/水#0-6"]


def test_duplicates_are_merged_and_told(table: ChunkTable) -> None:
    found = asked(table, lambda query, depth: [("a", 1.0), ("b", 2.0), ("a", 3.0), ("a", 0, 6, 0.5)])
    assert names(table, found) == [("a#0-6", 3.0), ("b#0-13", 2.0)]
    assert found.notes == ("own: 2 repeated hits were merged, the best score kept",)


def test_too_many_are_cut_and_told(table: ChunkTable) -> None:
    found = asked(table, lambda query, depth: [("a", 1.0), ("b", 3.0), ("c/水", 2.0)], depth=2)
    assert names(table, found) == [("b#0-13", 3.0), ("c/水#0-6", 2.0)]
    assert found.notes == ("own: 3 hits were answered, the first 2 kept",)


def raises(query: str, depth: int) -> Any:
    raise KeyError("no such index")


class Sudden(BaseException):
    """Not even an Exception."""


class Lazy:
    """What is not asked for its hits before it is read."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[Any]:
        self._begin()
        return iter([("a", 1.0)])


def exits() -> None:
    raise SystemExit(3)


def bursts() -> None:
    raise Sudden("now")


def leaves(query: str, depth: int) -> Any:
    raise SystemExit(3)


MISBEHAVIOUR = [
    (raises, "retriever_failed", "channel 'own' raised KeyError: 'no such index'"),
    (leaves, "retriever_failed", "channel 'own' raised RuntimeError: SystemExit: 3"),
    (lambda query, depth: None, "malformed_answer", "channel 'own' answered with NoneType instead of a list of hits"),
    (lambda query, depth: 7, "malformed_answer", "channel 'own' answered with int instead of a list of hits"),
    (lambda query, depth: "a", "malformed_answer", "channel 'own' answered with str instead of a list of hits"),
    (
        lambda query, depth: ["a"],
        "malformed_answer",
        "channel 'own' answered with the hit 'a'; expected (doc, score) or (doc, start, end, score)",
    ),
    (
        lambda query, depth: [("a", 1, 2)],
        "malformed_answer",
        "channel 'own' answered with the hit ('a', 1, 2); expected (doc, score) or (doc, start, end, score)",
    ),
    (
        lambda query, depth: [(1, 2.0)],
        "malformed_answer",
        "channel 'own' answered with the document 1, which is not a string",
    ),
    (
        lambda query, depth: [("a", "high")],
        "malformed_answer",
        "channel 'own' answered with the score 'high', which is not a number",
    ),
    (
        lambda query, depth: [("a", None)],
        "malformed_answer",
        "channel 'own' answered with the score None, which is not a number",
    ),
    (
        lambda query, depth: [("a", math.nan)],
        "malformed_answer",
        "channel 'own' answered with the score nan for 'a', which is not finite",
    ),
    (
        lambda query, depth: [("a", -math.inf)],
        "malformed_answer",
        "channel 'own' answered with the score -inf for 'a', which is not finite",
    ),
    (
        lambda query, depth: [RetrieverHit("a", 1.0, 2)],
        "malformed_answer",
        "channel 'own' answered with the offsets 2 and None",
    ),
    (
        lambda query, depth: [("a", 0.0, 6.0, 1.0)],
        "malformed_answer",
        "channel 'own' answered with the offsets 0.0 and 6.0",
    ),
    (
        lambda query, depth: [("a", False, True, 1.0)],
        "malformed_answer",
        "channel 'own' answered with the offsets False and True",
    ),
    (
        lambda query, depth: (("a", 1.0) for _ in count()),
        "malformed_answer",
        "channel 'own' answered with more than 100000 hits",
    ),
    (lambda query, depth: Lazy(exits), "retriever_failed", "channel 'own' raised RuntimeError: SystemExit: 3"),
    (lambda query: [], "retriever_failed", None),
]


@pytest.mark.parametrize(("call", "kind", "message"), MISBEHAVIOUR)
def test_misbehaviour_is_an_error_of_the_case(
    table: ChunkTable, call: Callable[..., Any], kind: str, message: str | None
) -> None:
    found = asked(table, call)
    assert found.error is not None
    assert found.error.kind == kind
    if message is not None:
        assert found.error.message == message
    assert len(found.ranking) == 0


@pytest.mark.parametrize("begin", [exits, bursts])
@pytest.mark.parametrize("read_late", [True, False])
def test_an_async_retriever_that_leaves_has_failed(
    table: ChunkTable, begin: Callable[[], None], read_late: bool
) -> None:
    """Neither ends the run, as it would by passing through the event loop."""

    async def call(query: str, depth: int) -> Any:
        return Lazy(begin) if read_late else begin()

    found = asked(table, call)
    assert found.error is not None
    told = "SystemExit: 3" if begin is exits else "Sudden: now"
    assert (found.error.kind, found.error.message) == (
        "retriever_failed", f"channel 'own' raised RuntimeError: {told}",
    )  # fmt: skip


@pytest.mark.parametrize("how", ["a lazy answer", "async, a generator", "async, a lazy answer", "async, without end"])
def test_what_is_read_late_is_read_within_the_time(table: ChunkTable, how: str) -> None:
    """Reading it blocks neither the loop, on which other cases wait, nor a thread for longer than one more hit."""
    read: list[float] = []

    def slowly() -> Iterator[Any]:
        while len(read) < 60:
            read.append(time.monotonic())
            time.sleep(0.05)
            yield ("a", 1.0)

    def answer() -> Any:
        if how == "async, without end":
            return (("a", 1.0) for _ in iter(partial(time.sleep, 0.05), 0))
        return slowly() if how == "async, a generator" else Lazy(lambda: list(slowly()))

    async def later(query: str, depth: int) -> Any:
        return answer()

    async def both() -> tuple[Answer, float]:
        channel = CallableChannel("own", later if "async" in how else lambda query, depth: answer(), 10, table, 0.2)
        searching = asyncio.ensure_future(channel.search([Query("a question")]))
        began = time.monotonic()
        await asyncio.sleep(0.05)
        waited = time.monotonic() - began
        [found] = await searching
        return found, waited

    found, waited = asyncio.run(both())
    assert waited < 1.5
    assert found.error is not None
    assert found.error.kind == "timeout"
    if how == "async, a generator":
        time.sleep(0.2)
        seen = len(read)
        time.sleep(0.2)
        assert len(read) == seen


def test_a_generator_that_raises_half_way(table: ChunkTable) -> None:
    def call(query: str, depth: int) -> Any:
        yield ("a", 1.0)
        raise OSError("connection lost")

    found = asked(table, call)
    assert found.error is not None
    assert found.error.message == "channel 'own' raised OSError: connection lost"


def test_a_retriever_whose_own_network_times_out(table: ChunkTable) -> None:
    def call(query: str, depth: int) -> Any:
        raise TimeoutError("read timed out")

    found = asked(table, call)
    assert found.error is not None
    assert (found.error.kind, found.error.message) == (
        "retriever_failed", "channel 'own' raised TimeoutError: read timed out",
    )  # fmt: skip


def test_an_async_call_that_is_cancelled_inside(table: ChunkTable) -> None:
    async def call(query: str, depth: int) -> Any:
        raise asyncio.CancelledError

    found = asked(table, call)
    assert found.error is not None
    assert found.error.message == "channel 'own' raised RuntimeError: CancelledError"


def test_a_plain_call_that_gives_a_coroutine(table: ChunkTable) -> None:
    async def later() -> Any:
        return [("a", 1.0)]

    assert names(table, asked(table, lambda query, depth: later())) == [("a#0-6", 1.0)]


def test_a_message_that_no_journal_could_keep(table: ChunkTable) -> None:
    def call(query: str, depth: int) -> Any:
        raise ValueError("\ud800" + "x" * 10_000)

    found = asked(table, call)
    assert found.error is not None
    assert found.error.message.startswith("channel 'own' raised ValueError: \\ud800xxx")
    assert len(found.error.message.encode()) < 2100


def test_a_generator_that_hangs_is_left(table: ChunkTable) -> None:
    def call(query: str, depth: int) -> Any:
        yield ("a", 1.0)
        time.sleep(3)

    began = time.monotonic()
    found = asked(table, call, timeout=0.1)
    assert time.monotonic() - began < 2
    assert found.error is not None
    assert found.error.kind == "timeout"


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_call_that_hangs_is_left(table: ChunkTable, how: str) -> None:
    async def later(query: str, depth: int) -> Any:
        await asyncio.sleep(30)

    began = time.monotonic()
    found = asked(table, later if how == "async" else lambda query, depth: time.sleep(3), timeout=0.1)
    assert time.monotonic() - began < 2
    assert found.error is not None
    assert (found.error.kind, found.error.message) == ("timeout", "channel 'own' did not answer within 0.1 s")


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        ([("secret", 1.0)], "A retriever returned the document 'secret', which is not in the snapshot."),
        ([("a", 0, 7, 1.0)], "A retriever returned characters 0 to 7 of 'a', which has 6."),
        ([("a", 3, 3, 1.0)], "A retriever returned characters 3 to 3 of 'a', which has 6."),
        ([("a", -1, 3, 1.0)], "A retriever returned characters -1 to 3 of 'a', which has 6."),
    ],
)
def test_what_is_not_in_the_snapshot_ends_the_run(table: ChunkTable, hits: list[Any], message: str) -> None:
    with pytest.raises(IsolationLeak) as caught:
        asked(table, lambda query, depth: hits)
    assert caught.value.message == message
    assert caught.value.exit_code == 5
