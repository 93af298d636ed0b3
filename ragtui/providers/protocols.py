"""The protocols that providers fulfil."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

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
