"""The BM25 index: questions are terms, cuts are exact, scores follow the formula."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtui.artifacts.analyzer import bigrams, resolve
from ragtui.artifacts.bm25 import Bm25Index, bm25_id, write_index
from ragtui.artifacts.ranking import ordered
from ragtui.artifacts.recipes import Lexical
from ragtui.inputs.corpus import document, snapshot

PLAIN = Lexical(stemming=False, bigrams="off")


def index_of(folder: Path, texts: Sequence[str], lexical: Lexical = PLAIN) -> Bm25Index:
    folder.mkdir(exist_ok=True)
    write_index(folder, texts, lexical)
    return Bm25Index("sha256:x", lexical, tantivy.Index.open(str(folder)))


@pytest.fixture(scope="module")
def repetitive(tmp_path_factory: pytest.TempPathFactory) -> Bm25Index:
    """600 texts of which many are equal to the term, so that nearly every cut crosses a tie."""
    source = random.Random(3)
    texts = [" ".join(source.choices(["red", "green", "blue", "x", "y"], k=3)) for _ in range(600)]
    return index_of(tmp_path_factory.mktemp("bm25") / "i", texts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["red", "green", "blue", "x", "none"]), max_size=4), st.integers(1, 650))
def test_a_cut_is_the_head_of_the_full_order(repetitive: Bm25Index, words: list[str], depth: int) -> None:
    query = " ".join(words)
    full = repetitive.search(query, 10_000)
    cut = repetitive.search(query, depth)
    assert cut.chunks.tolist() == full.chunks[:depth].tolist()
    assert cut.scores.tolist() == full.scores[:depth].tolist()
    again = ordered(full.chunks, full.scores)
    assert again.chunks.tolist() == full.chunks.tolist()


@settings(max_examples=30, deadline=None)
@given(st.permutations(["red", "green", "blue", "red", "x"]))
def test_the_order_of_words_does_not_matter(repetitive: Bm25Index, words: list[str]) -> None:
    one, other = repetitive.search(" ".join(words), 50), repetitive.search("red red green blue x", 50)
    assert one.chunks.tolist() == other.chunks.tolist()
    assert one.scores.tolist() == other.scores.tolist()


def test_threads_do_not_matter(repetitive: Bm25Index) -> None:
    queries = ["red green", "blue x y", "y"] * 20
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda query: repetitive.search(query, 30).chunks.tolist(), queries))
    assert answers == [repetitive.search(query, 30).chunks.tolist() for query in queries]


def test_scores_are_bm25s(tmp_path: Path) -> None:
    """k1 = 1.2, b = 0.75; lengths are stored in one byte, exact up to 40."""
    source = random.Random(5)
    texts = [" ".join(source.choices("abcdefgh", k=source.randint(1, 30))) for _ in range(80)]
    index = index_of(tmp_path / "i", texts)
    counts = [Counter(text.split()) for text in texts]
    average = sum(sum(count.values()) for count in counts) / len(counts)

    def score(count: Counter[str], query: Sequence[str]) -> float:
        total = 0.0
        for term in query:
            having = sum(term in other for other in counts)
            idf = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            length = 1.2 * (1 - 0.75 + 0.75 * sum(count.values()) / average)
            total += idf * 2.2 * count[term] / (count[term] + length)
        return total

    for query in (["a"], ["a", "b"], ["c", "c", "h"]):
        found = index.search(" ".join(query), 80)
        expected = np.array([score(counts[chunk], query) for chunk in found.chunks])
        assert len(found) == sum(any(term in count for term in query) for count in counts)
        np.testing.assert_allclose(found.scores, expected, atol=2e-5)


OPERATORS = 'what\'s "C++" AND (x:y)~^*'


@pytest.mark.parametrize(
    "query",
    [OPERATORS, "a OR", "body:fuel", "NOT fuel", "[a TO b]", "fuel*", "+fuel -stove", "\\", '"', "fuel^9", "a:b:c"],
)
def test_a_question_is_never_syntax(tmp_path: Path, query: str) -> None:
    index = index_of(tmp_path / "i", ["fuel for the stove", "c and x or y", "what s in it", "to a b"])
    words = " ".join("".join(char if char.isalnum() else " " for char in query).split())
    assert index.search(query, 10).chunks.tolist() == index.search(words, 10).chunks.tolist()
    assert index.terms(query) == sorted(words.lower().split())


def test_operators_find_their_words(tmp_path: Path) -> None:
    index = index_of(tmp_path / "i", ["nothing here", "C++ and x", "fuel"])
    assert index.terms(OPERATORS) == ["and", "c", "s", "what", "x", "y"]
    assert index.search(OPERATORS, 10).chunks.tolist() == [1]


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00\x1b", "🏔", "x" * 200])
def test_no_term_finds_nothing(tmp_path: Path, query: str) -> None:
    index = index_of(tmp_path / "i", ["fuel"])
    assert index.terms(query) == []
    assert len(index.search(query, 10)) == 0


def test_lone_surrogates_are_no_error(tmp_path: Path) -> None:
    index = index_of(tmp_path / "i", ["fuel \ud800 stove"])
    assert index.search("stove \udfff", 10).chunks.tolist() == [0]


def test_stop_words_alone_find_nothing(tmp_path: Path) -> None:
    index = index_of(tmp_path / "i", ["the fuel", "it is the"], Lexical(stop_words=True, bigrams="off"))
    assert len(index.search("the it is", 10)) == 0
    assert index.search("the fuel", 10).chunks.tolist() == [0]


def test_stemming(tmp_path: Path) -> None:
    texts = ["boiling waters", "unrelated"]
    assert index_of(tmp_path / "stem", texts, Lexical(bigrams="off")).search("water boils", 5).chunks.tolist() == [0]
    assert len(index_of(tmp_path / "plain", texts).search("water boils", 5)) == 0
    german = Lexical(language="german", bigrams="off")
    assert index_of(tmp_path / "de", ["die Häuser"], german).search("Häusern", 5).chunks.tolist() == [0]


def test_bigrams() -> None:
    assert bigrams("北京大学 is old, 水") == "北京 京大 大学 is old 水"
    assert bigrams("plain, text") == "plain text"
    assert bigrams("カタカナとabc") == "カタ タカ カナ ナと abc"


def test_bigrams_find_words_inside(tmp_path: Path) -> None:
    index = index_of(tmp_path / "i", ["我住在北京大学", "上海很大"], Lexical(bigrams="on"))
    assert index.search("北京", 5).chunks.tolist() == [0]
    assert index.search("很大", 5).chunks.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "mode"), [("plain words only", "off"), ("水" * 3 + "a" * 90, "on"), ("é" * 99, "off")]
)
def test_auto_is_decided_by_the_corpus_and_recorded(text: str, mode: str) -> None:
    corpus = snapshot([document("a", text)])
    assert resolve(Lexical(), corpus).bigrams == mode
    assert resolve(Lexical(bigrams="on"), corpus).bigrams == "on"
    assert resolve(Lexical(bigrams="off"), corpus).bigrams == "off"


def test_the_id_covers_what_the_index_depends_on() -> None:
    ids = {
        bm25_id("sha256:1", PLAIN),
        bm25_id("sha256:2", PLAIN),
        bm25_id("sha256:1", Lexical(stemming=True, bigrams="off")),
        bm25_id("sha256:1", Lexical(stemming=False, stop_words=True, bigrams="off")),
        bm25_id("sha256:1", Lexical(stemming=False, language="french", bigrams="off")),
        bm25_id("sha256:1", Lexical(stemming=False, bigrams="on")),
    }
    assert len(ids) == 6


def test_an_index_is_the_same_each_time_it_is_built(tmp_path: Path) -> None:
    source = random.Random(1)
    texts = [" ".join(source.choices(["red", "green", "blue"], k=4)) for _ in range(500)]
    first, second = index_of(tmp_path / "1", texts), index_of(tmp_path / "2", texts)
    for query in ("red", "green blue"):
        assert first.search(query, 40).chunks.tolist() == second.search(query, 40).chunks.tolist()
        assert first.search(query, 40).scores.tolist() == second.search(query, 40).scores.tolist()
