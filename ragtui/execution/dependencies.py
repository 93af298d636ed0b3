"""What an execution needs, and what it records of its process."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import msgspec

from ragtui.artifacts.cache import ArtifactCache
from ragtui.events import RunEvent, RunStatus
from ragtui.experiment.plan import Provenance
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationSet
from ragtui.providers.protocols import Embedder, Generator
from ragtui.trace import ChunkRef, PaidReply

_PACKAGES = ("ragtui", "tantivy", "usearch", "semantic-text-splitter", "wordllama", "numpy")


class EventSink(Protocol):
    """Where events are kept before anybody sees them."""

    def write(self, events: Sequence[RunEvent]) -> None:
        """Persist the events; returns when they would survive the death of this process."""
        ...


class PaidReplies(Protocol):
    """Replies of earlier runs, by the key of model, prompt, parameters and repeat."""

    def get(self, key: str) -> PaidReply | None:
        """The reply under this key; None where nobody paid for it. May block for a moment."""
        ...


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution needs besides the specification; nothing in it can move a measured number.

    `stop` is asked between groups and gives the status to end with, or None to go on. `timeout` is seconds for one
    call of a retriever, `concurrency` how many such calls are under way at once. `generator` is the model of the
    generation tier (None for `mock`), `judge` the one that judges its answers, `paid` and `paid_judge` what they need
    not be asked again; `max_calls` and `max_cost` (in the unit of the generator's prices) end the attempt before
    they are exceeded.
    """

    corpus: CorpusSnapshot
    evaluation: EvaluationSet
    cache: ArtifactCache
    journal: EventSink
    embedder: Embedder | None = None
    sources: Mapping[str, Callable[..., Any]] = {}
    stop: Callable[[], RunStatus | None] = lambda: None
    generator: Generator | None = None
    judge: Generator | None = None
    paid: PaidReplies | None = None
    paid_judge: PaidReplies | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    timeout: float = 30.0


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """Which run this process works on, and which of its cases; `pending` None means all.

    `chunks` are those that earlier attempts referred to, so that foreign spans keep their ordinals. `fresh` says that
    no reply of another run is replayed; it is recorded, so that the next attempt does the same.
    """

    run_id: str
    number: int = 1
    pending: tuple[int, ...] | None = None
    chunks: tuple[ChunkRef, ...] = ()
    provenance: Provenance = Provenance()
    fresh: bool = False


def environment_record(fresh: bool = False) -> dict[str, Any]:
    """Versions and processor of this process, without a host's name or a path; `fresh` where that was asked for."""
    packages = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "packages": packages,
    } | ({"fresh": True} if fresh else {})


def utc_now() -> str:
    """Now, ISO-8601 in UTC with milliseconds, ending in Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
