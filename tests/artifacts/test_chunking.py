"""Chunks: exact offsets, order, heading paths, overlap."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantic_text_splitter import MarkdownSplitter

from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import LONG_LINE, ChunkSet, chunk_recipe, chunk_set, chunk_set_id, cut, heading_paths
from ragtui.artifacts.recipes import Chunking
from ragtui.errors import InvalidInput
from ragtui.inputs.corpus import CorpusSnapshot, document, snapshot
from tests.workshop import SPLITTER_FAILS

_WORDS = st.sampled_from(
    [
        "water",
        "boil",
        "北京大学",
        "水を沸かす",
        "น้ำ",
        "🏔️",
        "👩‍🚒",
        "é",
        "e\u0301",
        "x" * 50,
        "`code`",
        "**bold**",
        "a|b",
        "—",
        "\u00a0",
    ]
)
_LINE = st.lists(_WORDS, min_size=1, max_size=12).map(" ".join)
_BLOCK = st.one_of(
    _LINE,
    st.tuples(st.integers(1, 6), _LINE).map(lambda pair: "#" * pair[0] + " " + pair[1]),
    _LINE.map(lambda line: f"```\n# {line}\n```"),
    st.lists(_LINE, min_size=1, max_size=4).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(_LINE, min_size=1, max_size=3).map(lambda lines: "| a | b |\n|---|---|\n" + "\n".join(lines)),
    st.text(min_size=1, max_size=30, alphabet=st.characters(exclude_categories=["Cs"])),
)
MARKDOWN = st.lists(_BLOCK, min_size=1, max_size=8).map("\n\n".join).filter(str.strip)
RECIPES = st.builds(
    lambda size, overlap, headings: Chunking(size=size, overlap=min(overlap, size - 1), headings=headings),
    st.integers(20, 300), st.integers(0, 60), st.booleans(),
)  # fmt: skip


def chunked(texts: dict[str, str], recipe: Chunking) -> ChunkSet:
    corpus = snapshot([document(name, text) for name, text in texts.items()])
    return ChunkSet(chunk_set_id(corpus.corpus_id, recipe), corpus, cut(corpus, recipe))


@settings(max_examples=150, deadline=None)
@given(MARKDOWN, RECIPES, st.sampled_from(["\n", "\r\n"]))
def test_offsets_are_exact(text: str, recipe: Chunking, end: str) -> None:
    chunks = chunked({"b": text.replace("\n", end), "a": "# Other\n\ntext"}, recipe)
    order = list(zip(chunks.doc.tolist(), chunks.start.tolist(), strict=True))
    assert order == sorted(order)
    assert {chunks.doc_id(row) for row in range(len(chunks))} == {"a", "b"}
    for row in range(len(chunks)):
        whole = chunks.corpus.document(chunks.doc_id(row)).text
        start, stop = int(chunks.start[row]), int(chunks.end[row])
        assert 0 <= start < stop <= len(whole)
        assert chunks.text(row) == whole[start:stop]
        assert chunks.text(row).strip()
        assert stop - start <= recipe.size
        assert chunks.name(row) == f"{chunks.doc_id(row)}#{start}-{stop}"
        assert chunks.ordinals[(chunks.doc_id(row), start, stop)] == row


@settings(max_examples=100, deadline=None)
@given(MARKDOWN, RECIPES)
def test_only_white_space_is_left_out(text: str, recipe: Chunking) -> None:
    chunks = chunked({"a": text}, recipe)
    whole = chunks.corpus.documents[0].text
    covered = [False] * len(whole)
    for start, stop in zip(chunks.start.tolist(), chunks.end.tolist(), strict=True):
        covered[start:stop] = [True] * (stop - start)
    assert not "".join(char for char, seen in zip(whole, covered, strict=True) if not seen).strip()


def test_overlap_repeats_the_end_of_the_chunk_before() -> None:
    text = "\n\n".join(f"Sentence number {place} says a little about water." for place in range(30))
    plain = chunked({"a": text}, Chunking(size=200))
    overlapping = chunked({"a": text}, Chunking(size=200, overlap=60))
    starts, ends = overlapping.start.tolist(), overlapping.end.tolist()
    shared = [end - start for end, start in zip(ends[:-1], starts[1:], strict=True)]
    assert all(0 < length <= 60 for length in shared)
    assert all(end <= start for end, start in zip(plain.end.tolist()[:-1], plain.start.tolist()[1:], strict=True))


def test_heading_paths() -> None:
    text = "# Stoves\nintro\n## Fuel #\nkerosene\n```\n# not a heading\n```\n### Leaks\nsmell\n"
    text += "## Parts\nlist\n# Tents\nend"
    starts = [
        text.index(word) for word in ("# Stoves", "intro", "## Fuel", "kerosene", "smell", "## Parts", "list", "end")
    ]
    assert heading_paths(text, starts) == [
        "", "Stoves", "Stoves", "Stoves > Fuel", "Stoves > Fuel > Leaks", "Stoves", "Stoves > Parts", "Tents",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# C#\n\nbody", "C#"),
        ("# C# ##\n\nbody", "C#"),
        ("# A\n\n```\n~~~\n# no\n```\n\n# B\n\nbody", "B"),
        ("# A\n\n````\n```\n# no\n````\n\n# B\n\nbody", "B"),
        ("# A\n\n```\n# no\n````\n\n# B\n\nbody", "B"),
        ("# A\n\n```inline``` code\n\n# B\n\nbody", "B"),
        ("# A\n\n~~~ `text`\n# no\n~~~\n\nbody", "A"),
        ("# A\n\n```\n# no\n``` text\n# no\nbody", "A"),
        ("# A\n####\n#no\nbody", "A"),
    ],
)
def test_what_is_a_heading_and_what_is_code(text: str, path: str) -> None:
    assert heading_paths(text, [text.index("body")]) == [path]


def test_a_long_heading_takes_no_longer_than_its_length() -> None:
    text = f"# a{' ' * 1_000_000}b\n\nbody"
    assert len(heading_paths(text, [text.index("body")])[0]) == 1_000_002


def test_indexed_texts_carry_the_heading_path() -> None:
    text = "# Stoves\n\n## Fuel\n\n" + "kerosene burns clean. " * 8
    with_paths = chunked({"a": text}, Chunking(size=100))
    assert with_paths.indexed_texts()[-1].startswith("Stoves > Fuel\n")
    without = chunked({"a": text}, Chunking(size=100, headings=False))
    assert without.indexed_texts() == [without.text(row) for row in range(len(without))]


def test_one_chunk_a_document() -> None:
    chunks = chunked({"b": "two\n", "a": " one "}, Chunking(strategy="document"))
    assert [chunks.name(row) for row in range(2)] == ["a#0-5", "b#0-4"]
    assert chunks.indexed_texts() == [" one ", "two\n"]


def test_the_id_covers_what_the_chunks_depend_on() -> None:
    base = chunk_set_id("sha256:1", Chunking())
    assert base == chunk_set_id("sha256:1", Chunking())
    others = [
        chunk_set_id("sha256:2", Chunking()),
        chunk_set_id("sha256:1", Chunking(size=801)),
        chunk_set_id("sha256:1", Chunking(overlap=1)),
        chunk_set_id("sha256:1", Chunking(headings=False)),
        chunk_set_id("sha256:1", Chunking(strategy="document")),
    ]
    assert len({base, *others}) == 6
    # What a strategy ignores makes no difference.
    assert chunk_set_id("x", Chunking(strategy="document", size=20)) == chunk_set_id("x", Chunking(strategy="document"))
    assert "semantic-text-splitter-" in chunk_recipe(Chunking())["algorithm"]


def test_from_the_cache_as_built(tmp_path: Path) -> None:
    corpus: CorpusSnapshot = snapshot([document("水/a", "# Eins\n\n" + "wort 🏔 " * 60)])
    cache = ArtifactCache(tmp_path)
    built, opened = (chunk_set(corpus, Chunking(size=90, overlap=10), cache) for _ in range(2))
    assert built.id == opened.id
    for column in ("doc", "start", "end"):
        assert getattr(built, column).tolist() == getattr(opened, column).tolist()
    assert built.headings == opened.headings
    assert [path.name for path in tmp_path.iterdir()] == [cache.folder("chunks", built.id).name]


@pytest.mark.parametrize("word", ["boil water ", "沸かす", "boil\twater\t"])
def test_a_line_without_an_end_is_cut_in_time_that_grows_with_it(word: str) -> None:
    told: list[str] = []
    text = "# Water\n\n" + word * (3 * LONG_LINE // len(word)) + "\n\n## After\n\nthe end"
    began = time.perf_counter()
    chunks = cut(snapshot([document("long", text), document("short", "x")]), Chunking(size=800), told.append)
    assert time.perf_counter() - began < 4
    rows = [row for row, doc in enumerate(chunks.doc) if doc == 0]
    assert "".join("".join(text[chunks.start[row] : chunks.end[row]] for row in rows).split()) == "".join(text.split())
    assert chunks.headings[rows[-1]].startswith("Water")
    assert told == [f"long: a line of more than {LONG_LINE:,} characters was cut at white space first."]


def test_a_text_of_ordinary_lines_is_given_to_the_splitter_whole() -> None:
    told: list[str] = []
    text = ("water " * (LONG_LINE // 12) + "\n") * 3
    columns = cut(snapshot([document("d", text)]), Chunking(size=800), told.append)
    whole = MarkdownSplitter(800).chunk_indices(text)
    assert list(zip(columns.start, columns.end, strict=True)) == [(start, start + len(part)) for start, part in whole]
    assert told == []


def test_a_document_on_which_the_splitter_fails_is_named() -> None:
    """Its panic is no Exception: uncaught, it would pass by everything that tells errors."""
    recipe = Chunking(size=SPLITTER_FAILS[1], overlap=SPLITTER_FAILS[2])
    with pytest.raises(InvalidInput, match="Document 'odd' cannot be cut by the splitter, which failed: "):
        chunked({"even": "Fine.", "odd": SPLITTER_FAILS[0]}, recipe)
    assert len(chunked({"even": "Fine.", "odd": SPLITTER_FAILS[0]}, Chunking())) == 2


@pytest.mark.parametrize("text", ["\u200b", "\ufeffx", "a\x00b"])
def test_odd_but_not_empty_texts(text: str) -> None:
    chunks = chunked({"a": text}, Chunking())
    assert len(chunks) == 1
