"""Embedding sets: exact search against numpy, the graph beyond the limit, the built-in embedder, bad embedders."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ragtui.artifacts import vectors as vectors_module
from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.ranking import Ranking, cut_at_depth, ordered
from ragtui.artifacts.recipes import Chunking
from ragtui.artifacts.vectors import EmbeddingSet, embedding_set, embedding_set_id
from ragtui.errors import ProviderUnavailable
from ragtui.inputs.corpus import document, snapshot
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.providers.protocols import EmbedderIdentity, Role, Vectors

IDENTITY = EmbedderIdentity(model="scripted", digest="1", dimensions=8)


def unit(seed: int, rows: int, columns: int = 8, distinct: int | None = None) -> Vectors:
    """Rows of length 1; `distinct` makes many of them equal."""
    source = np.random.default_rng(seed)
    made = source.normal(size=(distinct or rows, columns)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return np.ascontiguousarray(made[source.integers(0, len(made), rows)] if distinct else made)


def naive(vectors: Vectors, query: NDArray[np.float32], depth: int) -> tuple[list[int], list[float]]:
    """Every similarity, rounded, fully sorted by (score descending, row ascending)."""
    scores = [round(float(score), 6) for score in vectors.astype(np.float64) @ query.astype(np.float64)]
    rows = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:depth]
    return rows, [scores[row] for row in rows]


def test_vectors_whose_products_overflow_are_refused() -> None:
    """Each is finite; a score that is not could be written into a trace, but never be read again."""
    long = EmbeddingSet("x", IDENTITY, unit(1, 5) * np.float32(1e20), None, 1.0)
    assert len(long.search_many(unit(2, 3), 5)) == 3
    with pytest.raises(ProviderUnavailable, match="so long that their products are not finite"):
        long.search_many(unit(2, 3) * np.float32(1e20), 5)


@pytest.mark.parametrize(("rows", "distinct"), [(1, None), (5, None), (400, None), (400, 7), (300, 1)])
def test_exact_search_is_numpys(rows: int, distinct: int | None) -> None:
    vectors, queries = unit(1, rows, distinct=distinct), unit(2, 6)
    found = EmbeddingSet("x", IDENTITY, vectors, None, 1.0).search_many(queries, 20)
    for ranking, query in zip(found, queries, strict=True):
        _, scores = naive(vectors, query, 20)
        np.testing.assert_allclose(ranking.scores, scores, atol=2e-6)
        # Rows whose similarities differ in the last bit may swap; ours is the total order of its own scores.
        assert ranking.chunks.tolist() == ordered(ranking.chunks, ranking.scores).chunks.tolist()
        if distinct:
            equal = [np.flatnonzero((vectors == vectors[row]).all(axis=1)).tolist() for row in ranking.chunks]
            assert ranking.chunks.tolist() == [same[equal[:place].count(same)] for place, same in enumerate(equal)]


def test_a_batch_is_as_one_by_one() -> None:
    vectors, queries = unit(3, 500), unit(4, 70)
    found = EmbeddingSet("x", IDENTITY, vectors, None, 1.0)
    together = found.search_many(queries, 30)
    for row, ranking in enumerate(together):
        [alone] = found.search_many(queries[row : row + 1], 30)
        assert ranking.chunks.tolist() == alone.chunks.tolist()
        assert ranking.scores.tolist() == alone.scores.tolist()


def test_a_question_without_tokens_finds_nothing() -> None:
    found = EmbeddingSet("x", IDENTITY, unit(3, 50), None, 1.0)
    queries = np.zeros((2, 8), np.float32)
    queries[1, 0] = 1
    empty, full = found.search_many(queries, 5)
    assert (len(empty), len(full)) == (0, 5)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0000004, 2.25]), min_size=1, max_size=60),
    st.integers(1, 70),
    st.randoms(use_true_random=False),
)
def test_a_cut_is_the_head_of_a_full_sort(scores: list[float], depth: int, random) -> None:  # type: ignore[no-untyped-def]
    """Whatever order the engine gives to equal scores."""
    asked: list[int] = []

    def fetch(count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        asked.append(count)
        rows = list(range(len(scores)))
        random.shuffle(rows)
        rows.sort(key=lambda row: -scores[row])
        rows = rows[:count]
        return np.array(rows, np.int64), np.array([scores[row] for row in rows])

    found = cut_at_depth(fetch, depth, len(scores))
    expected = sorted(range(len(scores)), key=lambda row: (-round(scores[row], 6), row))[:depth]
    assert found.chunks.tolist() == expected
    assert asked == sorted(set(asked))


def test_a_cut_of_nothing() -> None:
    def fetch(count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.empty(0, np.int64), np.empty(0)

    assert len(cut_at_depth(fetch, 5, 10)) == 0
    assert len(cut_at_depth(fetch, 5, 0)) == 0
    assert isinstance(cut_at_depth(fetch, 5, 0), Ranking)


# -- embedders --------------------------------------------------------------------------------------------------------


TEXTS = ["Boil water for one minute.", "", "   ", "水を沸かす", "🏔️ high", "x" * 3000, "word " * 400, "\ud800 lone", "a"]


def test_the_built_in_embedder_is_wordllama() -> None:
    from wordllama import WordLlama

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    theirs = WordLlama.load(cache_dir=Path(next(iter(spec.submodule_search_locations))), disable_download=True, dim=256)
    theirs.tokenizer.no_truncation()
    texts = [text for text in TEXTS if text.strip() and "\ud800" not in text]
    ours = BuiltinEmbedder().embed(texts, "document")
    for row, text in enumerate(texts):
        np.testing.assert_allclose(ours[row], theirs.embed([text], norm=True)[0], atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=12))
def test_a_vector_does_not_depend_on_its_batch(texts: list[str]) -> None:
    embedder = BuiltinEmbedder()
    together = embedder.embed([*TEXTS, *texts], "query")
    assert together.dtype == np.float32
    for row, text in enumerate(texts, len(TEXTS)):
        assert together[row].tobytes() == embedder.embed([text], "query")[0].tobytes()
        length = float(np.linalg.norm(together[row]))
        assert length == pytest.approx(1, abs=1e-5) or not together[row].any()


def test_prefixes_and_normalisation_are_part_of_the_identity() -> None:
    plain, prefixed = BuiltinEmbedder(), BuiltinEmbedder(query_prefix="query: ")
    assert plain.identity != prefixed.identity
    assert prefixed.embed(["a"], "query").tobytes() == plain.embed(["query: a"], "query").tobytes()
    assert prefixed.embed(["a"], "document").tobytes() == plain.embed(["a"], "document").tobytes()
    assert BuiltinEmbedder(normalize=False).identity != plain.identity
    assert plain.identity.dimensions == 256
    assert plain.identity.digest.startswith("sha256:")


class Scripted:
    """An embedder that answers what it is told to."""

    def __init__(self, answer: Vectors | None = None, identity: EmbedderIdentity = IDENTITY) -> None:
        self.identity = identity
        self._answer = answer

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return self._answer if self._answer is not None else unit(len(texts[0]), len(texts))


def corpus_chunks(tmp_path: Path, count: int = 3):  # type: ignore[no-untyped-def]
    corpus = snapshot([document(f"d{place:04}", f"text {place}") for place in range(count)])
    return chunk_set(corpus, Chunking(strategy="document"), ArtifactCache(tmp_path))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((3, 7), np.float32), "scripted (8 dimensions, 1) answered with shape (3, 7) instead of (3, 8)."),
        (np.zeros((2, 8), np.float32), "scripted (8 dimensions, 1) answered with shape (2, 8) instead of (3, 8)."),
        (np.full((3, 8), np.nan, np.float32), "scripted (8 dimensions, 1) answered with a vector that is not finite."),
        (np.full((3, 8), np.inf, np.float32), "scripted (8 dimensions, 1) answered with a vector that is not finite."),
    ],
)
def test_a_bad_answer_is_refused(tmp_path: Path, answer: Vectors, message: str) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        embedding_set(corpus_chunks(tmp_path), Scripted(answer), ArtifactCache(tmp_path))
    assert caught.value.message == message
    assert not list(tmp_path.iterdir())


def test_the_id_covers_the_identity() -> None:
    base = embedding_set_id("sha256:1", IDENTITY)
    changed = [
        EmbedderIdentity(model="other", digest="1", dimensions=8),
        EmbedderIdentity(model="scripted", digest="2", dimensions=8),
        EmbedderIdentity(model="scripted", digest="1", dimensions=4),
        EmbedderIdentity(model="scripted", digest="1", dimensions=8, query_prefix="q"),
        EmbedderIdentity(model="scripted", digest="1", dimensions=8, document_prefix="d"),
        EmbedderIdentity(model="scripted", digest="1", dimensions=8, normalize=False),
    ]
    ids = {base, embedding_set_id("sha256:2", IDENTITY), *(embedding_set_id("sha256:1", other) for other in changed)}
    assert len(ids) == 8


def test_a_graph_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HNSW: the same graph from each build, its recall measured and kept, hits in the total order."""
    monkeypatch.setattr(vectors_module, "EXACT_LIMIT", 500)
    chunks = corpus_chunks(tmp_path, 1500)
    embedder = Scripted(unit(9, 1500, 32), EmbedderIdentity(model="scripted", digest="1", dimensions=32))
    monkeypatch.setattr(vectors_module, "_BATCH", 1500)
    built = embedding_set(chunks, embedder, ArtifactCache(tmp_path / "one"))
    again = embedding_set(chunks, embedder, ArtifactCache(tmp_path / "two"))
    opened = embedding_set(chunks, embedder, ArtifactCache(tmp_path / "one"))
    assert 0.8 < built.recall <= 1.0
    assert built.recall == again.recall == opened.recall
    queries = unit(10, 40, 32)
    exact = EmbeddingSet("x", built.identity, built.vectors, None, 1.0).search_many(queries, 50)
    shared = []
    for one, two, three, true in zip(
        *(found.search_many(queries, 50) for found in (built, again, opened)), exact, strict=True
    ):
        assert one.chunks.tolist() == two.chunks.tolist() == three.chunks.tolist()
        assert one.scores.tolist() == two.scores.tolist() == three.scores.tolist()
        assert one.chunks.tolist() == ordered(one.chunks, one.scores).chunks.tolist()
        shared.append(len(set(one.chunks.tolist()) & set(true.chunks.tolist())) / 50)
    assert np.mean(shared) > 0.8
