"""Documents cut into chunks: spans with exact offsets, ordered by (document id, start)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.recipes import Chunking, canonical
from ragtui.errors import InvalidInput, is_panic
from ragtui.ids import content_id
from ragtui.inputs.corpus import CorpusSnapshot

KIND = "chunks"
_FILE = "chunks.json"
# No ordinary text has a line of this many characters.
LONG_LINE = 200_000
PIECE = 50_000
# Lines that open or close a code fence, and lines that may be headings.
_LINE = re.compile(r"^(?: {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)|(?P<marks>#{1,6})(?P<title>[ \t].*))$", re.MULTILINE)


class _Columns(msgspec.Struct):
    """What is stored: for each chunk its document's position, its start and end, and its heading path."""

    doc: list[int]
    start: list[int]
    end: list[int]
    headings: list[str]


class ChunkSet:
    """The chunks of a snapshot in columns. A chunk's ordinal is its row.

    `doc`, `start`, `end` are int64 arrays of shape (n,); `headings[i]` is the path above chunk i, e.g. `Stoves > Fuel`.
    """

    def __init__(self, chunk_set_id: str, corpus: CorpusSnapshot, columns: _Columns) -> None:
        self.id = chunk_set_id
        self.corpus = corpus
        self.doc: NDArray[np.int64] = np.asarray(columns.doc, np.int64)
        self.start: NDArray[np.int64] = np.asarray(columns.start, np.int64)
        self.end: NDArray[np.int64] = np.asarray(columns.end, np.int64)
        self.headings = columns.headings

    def __len__(self) -> int:
        return len(self.doc)

    def doc_id(self, ordinal: int) -> str:
        """The id of the chunk's document."""
        return self.corpus.documents[int(self.doc[ordinal])].id

    def text(self, ordinal: int) -> str:
        """The chunk's text: `document.text[start:end]`."""
        return self.corpus.documents[int(self.doc[ordinal])].text[int(self.start[ordinal]) : int(self.end[ordinal])]

    def name(self, ordinal: int) -> str:
        """The chunk's id as shown: `doc_id#start-end`."""
        return f"{self.doc_id(ordinal)}#{self.start[ordinal]}-{self.end[ordinal]}"

    def indexed_texts(self) -> list[str]:
        """What is searched for each chunk: its heading path, if it has one, and its text."""
        documents = [document.text for document in self.corpus.documents]
        rows = zip(self.doc.tolist(), self.start.tolist(), self.end.tolist(), self.headings, strict=True)
        return [f"{path}\n{documents[d][s:e]}" if path else documents[d][s:e] for d, s, e, path in rows]

    @cached_property
    def ordinals(self) -> dict[tuple[str, int, int], int]:
        """Ordinal of each (doc id, start, end)."""
        ids = [self.corpus.documents[doc].id for doc in self.doc.tolist()]
        return {key: row for row, key in enumerate(zip(ids, self.start.tolist(), self.end.tolist(), strict=True))}


def chunk_recipe(chunking: Chunking) -> dict[str, Any]:
    """The recipe with the algorithm's name and version; fields that the strategy ignores are left out."""
    if chunking.strategy == "document":
        return {"strategy": "document", "algorithm": "whole-document-v1"}
    algorithm = f"semantic-text-splitter-{version('semantic-text-splitter')}/markdown-v1"
    return canonical(chunking) | {"algorithm": algorithm}


def chunk_set_id(corpus_id: str, chunking: Chunking) -> str:
    """The id that the chunks of this corpus under this recipe have, built or not."""
    return content_id({"kind": KIND, "corpus": corpus_id, "recipe": chunk_recipe(chunking)})


def chunk_set(corpus: CorpusSnapshot, chunking: Chunking, cache: ArtifactCache, **options: Any) -> ChunkSet:
    """The chunk set, from the cache or built into it. `options` go to `ArtifactCache.get`."""
    artifact_id = chunk_set_id(corpus.corpus_id, chunking)
    # One chunk a document needs no file: it is read off the snapshot.
    if chunking.strategy == "document":
        return ChunkSet(artifact_id, corpus, _whole_documents(corpus))
    built: list[_Columns] = []

    def build(folder: Path) -> None:
        built.append(cut(corpus, chunking, options.get("notify", lambda message: None)))
        (folder / _FILE).write_bytes(msgspec.json.encode(built[0]))

    folder = cache.get(KIND, artifact_id, chunk_recipe(chunking), build, **options)
    columns = built[0] if built else msgspec.json.decode((folder / _FILE).read_bytes(), type=_Columns)
    return ChunkSet(artifact_id, corpus, columns)


def cut(corpus: CorpusSnapshot, chunking: Chunking, notify: Callable[[str], None] = lambda message: None) -> _Columns:
    """Cut every document; `notify` hears of lines without an end.

    InvalidInput names a document that gives no chunk (it is all white space to the splitter) or on which it fails.
    """
    from semantic_text_splitter import MarkdownSplitter

    if chunking.strategy == "document":
        return _whole_documents(corpus)
    splitter = MarkdownSplitter(chunking.size, overlap=chunking.overlap)
    endless: list[str] = []
    columns = _Columns([], [], [], [])
    for position, document in enumerate(corpus.documents):
        try:
            pieces = _pieces(document.text)
            chunks = [
                (begin + start, text)
                for begin, end in pieces
                for start, text in splitter.chunk_indices(document.text[begin:end])
            ]
        except BaseException as error:
            if not is_panic(error):
                raise
            raise InvalidInput(
                f"Document {document.id!r} cannot be cut by the splitter, which failed: {error}.",
                "Choose another chunking.size or chunking.overlap, or edit the document.",
            ) from None
        if not chunks:
            raise InvalidInput(f"Document {document.id!r} gives no chunk.", "Write its text or delete it.")
        endless += [document.id] * (len(pieces) > 1)
        starts = [start for start, _ in chunks]
        columns.doc += [position] * len(chunks)
        columns.start += starts
        columns.end += [start + len(text) for start, text in chunks]
        columns.headings += heading_paths(document.text, starts) if chunking.headings else [""] * len(chunks)
    if endless:
        more = f" and {len(endless) - 1:,} more" if len(endless) > 1 else ""
        notify(f"{endless[0]}{more}: a line of more than {LONG_LINE:,} characters was cut at white space first.")
    return columns


def _pieces(text: str) -> list[tuple[int, int]]:
    """Start and end of what the splitter is given at once: the whole text, unless it has a line beyond LONG_LINE.

    The splitter takes the square of a line without an end, so such a line is cut at white space beforehand.
    """
    cuts = [0]
    if len(text) > LONG_LINE:
        begin = 0
        for line in text.split("\n"):
            if len(line) > LONG_LINE:
                place, end = begin, begin + len(line)
                while end - place > PIECE:
                    space = max(text.rfind(" ", place + 1, place + PIECE), text.rfind("\t", place + 1, place + PIECE))
                    place = space + 1 if space > 0 else place + PIECE
                    cuts.append(place)
            begin += len(line) + 1
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


def heading_paths(text: str, starts: list[int]) -> list[str]:
    """For each offset (ascending) the titles of the headings that enclose it, outermost first, joined by ` > `.

    A heading at the offset itself is part of the chunk and not repeated. Lines in code fences are no headings.
    """
    headings = list(_headings(text))
    paths: list[str] = []
    stack: list[tuple[int, str]] = []
    following = 0
    for start in starts:
        while following < len(headings) and headings[following][0] < start:
            _, level, title = headings[following]
            stack = [item for item in stack if item[0] < level] + [(level, title)]
            following += 1
        above = stack
        if following < len(headings) and headings[following][0] == start:
            level = headings[following][1]
            above = [item for item in stack if item[0] < level]
        paths.append(" > ".join(title for _, title in above))
    return paths


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Offset, level and title of each ATX heading (CommonMark 4.2) outside code fences (4.5)."""
    opened = ""
    for line in _LINE.finditer(text):
        fence, info = line["fence"], line["info"]
        if fence is None:
            title = _without_closing_marks(line["title"].strip(" \t"))
            if title and not opened:
                yield line.start(), len(line["marks"]), title
        elif not opened:
            # Backticks after an opening fence of backticks make it code within a line.
            opened = "" if "`" in fence and "`" in info else fence
        elif fence.startswith(opened) and not info.strip():
            opened = ""


def _without_closing_marks(title: str) -> str:
    """`Stoves ##` without its closing marks; in `C#` the mark belongs to the title."""
    bare = title.rstrip("#")
    return title if bare and not bare.endswith((" ", "\t")) else bare.rstrip(" \t")


def _whole_documents(corpus: CorpusSnapshot) -> _Columns:
    count = len(corpus.documents)
    ends = [len(document.text) for document in corpus.documents]
    return _Columns(list(range(count)), [0] * count, ends, [""] * count)
