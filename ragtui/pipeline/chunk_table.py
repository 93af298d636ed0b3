"""The chunks that a run refers to: those of its chunk set, and spans that only a retriever of one's own knows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.chunking import ChunkSet
from ragtui.errors import IsolationLeak
from ragtui.trace import ChunkRef

Ordinals = NDArray[np.int64]


class ChunkTable:
    """Ordinals 0 to n-1 are the chunk set's; a foreign span gets the next free one.

    `doc`, `start` and `end` are indexed by ordinal. Every hit is resolved here, so nothing from outside the snapshot
    passes.
    """

    def __init__(self, chunks: ChunkSet) -> None:
        self.chunks = chunks
        self.doc, self.start, self.end = chunks.doc, chunks.start, chunks.end
        self._foreign: dict[tuple[str, int, int], int] = {}

    def resolve(self, doc_id: str, start: int | None, end: int | None) -> int:
        """The ordinal of a span, or of a whole document; IsolationLeak if it is not in the snapshot."""
        corpus = self.chunks.corpus
        if doc_id not in corpus:
            raise IsolationLeak(
                f"A retriever returned the document {doc_id!r}, which is not in the snapshot.",
                "Point it at this corpus only, or run `ragtui corpus ingest` if the corpus has changed.",
            )
        length = len(corpus.document(doc_id).text)
        first, last = (0, length) if start is None or end is None else (start, end)
        if not 0 <= first < last <= length:
            raise IsolationLeak(
                f"A retriever returned characters {first} to {last} of {doc_id!r}, which has {length}.",
                "The retriever reads another revision of the document.",
            )
        key = (doc_id, first, last)
        known = self.chunks.ordinals.get(key, self._foreign.get(key))
        return self._add(key) if known is None else known

    def tie_order(self, ordinals: Ordinals) -> Ordinals:
        """What breaks ties among these chunks: the order of (document id, start, end)."""
        if not self._foreign or not len(ordinals) or ordinals.max() < len(self.chunks):
            return ordinals
        doc = self.doc[ordinals]
        order = np.lexsort((self.end[ordinals], self.start[ordinals], doc))
        ranks = np.empty(len(ordinals), np.int64)
        ranks[order] = np.arange(len(ordinals))
        return ranks

    def refs(self, ordinals: Iterable[int]) -> list[ChunkRef]:
        """The chunks under these ordinals, with their texts."""
        documents = self.chunks.corpus.documents
        found = []
        for ordinal in ordinals:
            document = documents[self.doc[ordinal]]
            start, end = int(self.start[ordinal]), int(self.end[ordinal])
            found.append(ChunkRef(ordinal, document.id, start, end, document.text[start:end]))
        return found

    def _add(self, key: tuple[str, int, int]) -> int:
        ordinal = len(self.chunks) + len(self._foreign)
        self._foreign[key] = ordinal
        self.doc = np.append(self.doc, self.chunks.corpus.ordinals[key[0]])
        self.start = np.append(self.start, key[1])
        self.end = np.append(self.end, key[2])
        return ordinal
