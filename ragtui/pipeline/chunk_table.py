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
        self._next = len(chunks)

    def adopt(self, refs: Iterable[ChunkRef]) -> None:
        """Keep the ordinals that an earlier attempt of the run gave to foreign spans."""
        for ref in refs:
            if ref.ordinal >= len(self.chunks):
                self._place((ref.doc, ref.start, ref.end), ref.ordinal)

    def resolve(self, doc_id: str, start: int | None, end: int | None) -> int:
        """The ordinal of a span, or of a whole document; IsolationLeak if it is not in the snapshot."""
        corpus = self.chunks.corpus
        if doc_id not in corpus:
            raise IsolationLeak(
                f"A retriever returned the document {doc_id!r}, which is not in the snapshot.",
                "Point it at this corpus only; if the document was renamed or removed here, index the corpus anew.",
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
        ordinal = self._next
        self._place(key, ordinal)
        return ordinal

    def _place(self, key: tuple[str, int, int], ordinal: int) -> None:
        if ordinal >= len(self.doc):
            # Doubling keeps the cost of many foreign spans linear.
            more = max(64, 2 * len(self._foreign), ordinal + 1 - len(self.doc))
            self.doc, self.start, self.end = (np.pad(column, (0, more)) for column in (self.doc, self.start, self.end))
        self._foreign[key] = ordinal
        self.doc[ordinal] = self.chunks.corpus.ordinals[key[0]]
        self.start[ordinal], self.end[ordinal] = key[1], key[2]
        self._next = max(self._next, ordinal + 1)
