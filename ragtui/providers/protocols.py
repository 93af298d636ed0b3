"""The protocols that providers fulfil."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.errors import ProviderUnavailable

Role = Literal["query", "document"]
Vectors = NDArray[np.float32]


class EmbedderIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two embedders the same: equal identities give equal vectors.

    `digest` is of the weights, or empty where a server gives none; `algorithm` names tokeniser and pooling.
    """

    model: str
    digest: str
    dimensions: int
    algorithm: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    normalize: bool = True

    def __str__(self) -> str:
        return f"{self.model} ({self.dimensions} dimensions, {self.digest[:19] or 'no digest'})"


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def identity(self) -> EmbedderIdentity:
        """What the vectors depend on."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of shape (len(texts), dimensions), float32; a text without any token gives zeros."""
        ...


class RetrieverHit(msgspec.Struct, frozen=True):
    """What a retriever of one's own returns: a document, or with `start` and `end` a span of it, and a score."""

    doc: str
    score: float
    start: int | None = None
    end: int | None = None


class Retriever(Protocol):
    """A callable that is measured as a channel, e.g. production code.

    `identity` is any JSON value that changes when its results may (a version, a revision, its settings).
    It may be a plain function or `async`; it may return RetrieverHit, `(doc, score)`, or `(doc, start, end, score)`.
    """

    identity: Any

    def __call__(self, query: str, depth: int) -> Any:
        """At most `depth` hits, best first."""
        ...


class Message(msgspec.Struct, frozen=True):
    """One message of a chat, as it is sent to a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class GeneratorIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two generators the same. `digest` is of the weights, or empty where a server gives none."""

    model: str
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.model} ({self.digest[:19] or 'no digest'})"


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked. `max_tokens` bounds the answer, `context_window` prompt and answer together.

    `schema` is a JSON Schema that the answer must follow, for servers that can enforce one.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    context_window: int
    temperature: float = 0.0
    seed: int = 0
    schema: dict[str, Any] | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered. `thinking` is reasoning that it gave apart; tokens are the server's counts, or None.

    Times are milliseconds from the request to the first token and to the last.
    """

    text: str
    thinking: str = ""
    finish: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token_ms: float | None = None
    total_ms: float = 0.0


class UnusableReply(ProviderUnavailable):
    """A reply that is no answer: empty, cut off, refused or malformed. An error of its case, never a pass.

    `kind` says which; `reply` holds what came all the same.
    """

    def __init__(self, kind: str, message: str, hint: str = "", reply: Reply | None = None) -> None:
        super().__init__(message, hint)
        self.kind = kind  # type: ignore[misc]
        self.reply = reply


class Generator(Protocol):
    """A model that answers chats. `concurrency` is how many requests it may be sent at once.

    `prices` are for a million tokens of prompt and of answer, None where they are unknown.
    """

    concurrency: int
    prices: tuple[float, float] | None

    @property
    def identity(self) -> GeneratorIdentity:
        """What the answers depend on. Raises ProviderUnavailable where the server has no such model."""
        ...

    async def prepare(self, request: ChatRequest) -> list[str]:
        """Make ready for requests like this one; gives sentences for the user. Raises ProviderUnavailable."""
        ...

    async def answer(self, request: ChatRequest) -> Reply:
        """The whole reply. Raises UnusableReply for this case, ProviderUnavailable where the server is not there."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
