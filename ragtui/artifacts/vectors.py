"""Embedding sets and their search: the only place that imports usearch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from usearch.index import Index, MetricKind, search

from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import ChunkSet
from ragtui.artifacts.ranking import Ranking, cut_at_depth
from ragtui.errors import ProviderUnavailable
from ragtui.ids import content_id
from ragtui.providers.protocols import Embedder, EmbedderIdentity, Vectors

KIND = "vectors"
EXACT_LIMIT = 200_000
_VECTORS, _GRAPH, _RECALL = "vectors.npy", "graph.usearch", "recall.json"
_BATCH = 1024
_RECALL_SAMPLE, _RECALL_DEPTH = 200, 100

Progress = Callable[[int, int], None]


class EmbeddingSet:
    """The vectors of a chunk set; row i is chunk i.

    Search is exact up to EXACT_LIMIT vectors and HNSW beyond; `recall` is the graph's recall@100, 1.0 when exact.
    """

    def __init__(
        self, artifact_id: str, identity: EmbedderIdentity, vectors: Vectors, graph: Any, recall: float
    ) -> None:
        self.id = artifact_id
        self.identity = identity
        self.vectors = vectors
        self.recall = recall
        self._graph = graph

    def search_many(self, queries: Vectors, depth: int) -> list[Ranking]:
        """The best `depth` chunks for each row of `queries` (float32, normalised), by cosine similarity in [-1, 1].

        A query of zeros (a question without any token) finds nothing.
        """
        available = len(self.vectors)
        first = min(depth + 8, available)
        if first == 0 or len(queries) == 0:
            return [Ranking.empty() for _ in queries]
        keys, scores = self._fetch(queries, first)
        silent = np.asarray(~queries.any(axis=1), np.bool_)
        return [
            Ranking.empty() if silent[row] else self._cut(queries[row : row + 1], keys[row], scores[row], depth)
            for row in range(len(queries))
        ]

    def _cut(self, query: Vectors, keys: Any, scores: Any, depth: int) -> Ranking:
        """Cut the hits already fetched; fetch deeper only if a tie crosses the depth."""

        def fetch(count: int) -> tuple[Any, Any]:
            if count <= len(keys):
                return keys[:count], scores[:count]
            more_keys, more_scores = self._fetch(query, count)
            return more_keys[0], more_scores[0]

        return cut_at_depth(fetch, depth, len(self.vectors))

    def _fetch(self, queries: Vectors, count: int) -> tuple[Any, Any]:
        if self._graph is not None:
            found = self._graph.search(queries, count, threads=0)
        else:
            found = search(self.vectors, queries, count, MetricKind.IP, exact=True, threads=0)
        shape = (len(queries), -1)
        keys = np.asarray(found.keys, np.int64).reshape(shape)
        scores = 1.0 - np.asarray(found.distances, np.float64).reshape(shape)
        if not np.isfinite(scores).all():
            raise ProviderUnavailable(
                f"Vectors of {self.identity} are so long that their products are not finite.",
                "Set embedding.normalize to true.",
            )
        return keys, scores


def embedding_set_id(chunk_set_id: str, identity: EmbedderIdentity, representation: str = "raw") -> str:
    """The id of the vectors of these chunks by this embedder, built or not."""
    recipe = {"embedder": msgspec.to_builtins(identity), "representation": representation, "version": 1}
    return content_id({"kind": KIND, "chunks": chunk_set_id, "recipe": recipe})


def embedding_set(
    chunks: ChunkSet, embedder: Embedder, cache: ArtifactCache, progress: Progress = lambda done, total: None,
    **options: Any,
) -> EmbeddingSet:  # fmt: skip
    """The vectors, from the cache or embedded into it. `progress(done, total)` counts chunks."""
    artifact_id = embedding_set_id(chunks.id, embedder.identity)

    def build(folder: Path) -> None:
        vectors = embed_all(chunks.indexed_texts(), embedder, progress)
        account = getattr(embedder, "account", None)
        if account is not None and "notify" in options:
            options["notify"](f"Embedded with {embedder.identity.model}: {account}.")
        np.save(folder / _VECTORS, vectors, allow_pickle=False)
        if len(vectors) > EXACT_LIMIT:
            graph, recall = build_graph(vectors)
            graph.save(str(folder / _GRAPH))
            (folder / _RECALL).write_bytes(msgspec.json.encode(recall))

    folder = cache.get(KIND, artifact_id, msgspec.to_builtins(embedder.identity), build, **options)
    return open_embedding_set(folder, artifact_id, embedder.identity)


def open_embedding_set(folder: Path, artifact_id: str, identity: EmbedderIdentity) -> EmbeddingSet:
    """The vectors of an intact artifact, mapped into memory."""
    vectors = np.load(folder / _VECTORS, mmap_mode="r", allow_pickle=False)
    graph, recall = None, 1.0
    if (folder / _GRAPH).exists():
        graph = Index(ndim=vectors.shape[1], metric=MetricKind.IP, path=str(folder / _GRAPH), view=True)
        recall = msgspec.json.decode((folder / _RECALL).read_bytes(), type=float)
    return EmbeddingSet(artifact_id, identity, vectors, graph, recall)


def embed_all(texts: list[str], embedder: Embedder, progress: Progress) -> Vectors:
    """Vectors of shape (len(texts), dimensions); ProviderUnavailable for an answer of another shape or not finite."""
    dimensions = embedder.identity.dimensions
    vectors = np.empty((len(texts), dimensions), np.float32)
    # A server's answers come slowly: smaller groups keep the progress moving.
    group = min(_BATCH, getattr(embedder, "group", _BATCH))
    if group < len(texts):
        # The first group may take a minute: say that it has begun.
        progress(0, len(texts))
    for start in range(0, len(texts), group):
        batch = texts[start : start + group]
        found = embedder.embed(batch, "document")
        check_vectors(found, len(batch), embedder.identity)
        vectors[start : start + len(batch)] = found
        progress(start + len(batch), len(texts))
    return vectors


def check_vectors(vectors: Vectors, count: int, identity: EmbedderIdentity) -> None:
    """Raise ProviderUnavailable unless there are `count` finite vectors of the identity's dimensions."""
    if vectors.shape != (count, identity.dimensions):
        expected = (count, identity.dimensions)
        raise ProviderUnavailable(f"{identity} answered with shape {vectors.shape} instead of {expected}.",
                                  "Check the model and the plan's embedding.dimensions.")  # fmt: skip
    if not np.isfinite(vectors).all():
        raise ProviderUnavailable(f"{identity} answered with a vector that is not finite.", "Check the model.")


def build_graph(vectors: Vectors) -> tuple[Any, float]:
    """An HNSW graph, built by one thread so that it is the same each time, and its recall@100 on a sample."""
    graph = Index(ndim=vectors.shape[1], metric=MetricKind.IP, dtype="f32")
    graph.add(np.arange(len(vectors)), vectors, threads=1)
    sample = np.ascontiguousarray(vectors[:: max(1, len(vectors) // _RECALL_SAMPLE)][:_RECALL_SAMPLE])
    depth = min(_RECALL_DEPTH, len(vectors))
    near = np.asarray(graph.search(sample, depth, threads=0).keys).reshape(len(sample), -1)
    exact = np.asarray(search(vectors, sample, depth, MetricKind.IP, exact=True).keys).reshape(len(sample), -1)
    found = [len(np.intersect1d(left, right)) / depth for left, right in zip(near, exact, strict=True)]
    return graph, round(float(np.mean(found)), 6)
