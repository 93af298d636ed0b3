"""A folder of documents, frozen into a snapshot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec

from ragtui.errors import InvalidFiles, InvalidInput, Problem
from ragtui.ids import content_id, text_id
from ragtui.inputs.text import normalize_text, read_text

TEXT_SUFFIXES = (".md", ".markdown", ".txt")
LINES_SUFFIX = ".jsonl"


class Document(msgspec.Struct, frozen=True):
    """A text with an id. `revision` is the content id of the text alone."""

    id: str
    text: str
    revision: str
    source: str = ""


class CorpusSnapshot(msgspec.Struct, frozen=True, dict=True):
    """The documents of a corpus in the order of their ids, and the content id of them all.

    `corpus_id` covers ids and revisions; file suffixes, line ends and a BOM do not change it.
    """

    corpus_id: str
    documents: tuple[Document, ...]

    @cached_property
    def ordinals(self) -> dict[str, int]:
        """Position of each document id in `documents`."""
        return {document.id: position for position, document in enumerate(self.documents)}

    def document(self, doc_id: str) -> Document:
        """The document with this id; KeyError if there is none."""
        return self.documents[self.ordinals[doc_id]]

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.ordinals

    @property
    def characters(self) -> int:
        """Length of all texts together."""
        return sum(len(document.text) for document in self.documents)


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a `.jsonl` corpus file: for ids that no file name can carry, and for large collections."""

    id: str
    text: str
    title: str = ""


def snapshot(documents: Sequence[Document]) -> CorpusSnapshot:
    """Freeze documents that are already in memory; raises InvalidInput for a repeated id."""
    ordered = tuple(sorted(documents, key=lambda document: document.id))
    for left, right in pairwise(ordered):
        if left.id == right.id:
            raise InvalidInput(f"Two documents have the id {left.id!r}.", "Ids must be unique within a corpus.")
    return CorpusSnapshot(content_id([[document.id, document.revision] for document in ordered]), ordered)


def document(doc_id: str, text: str, source: str = "") -> Document:
    """A document from an id and a text, normalised as a file's would be."""
    text = normalize_text(text)
    return Document(doc_id, text, text_id(text), source)


def titled(title: str, text: str) -> str:
    """The text of a document that a `.jsonl` file gives with its title apart; blank where there is none."""
    return normalize_text(f"{title}\n\n{text}" if title else text)


def load_corpus(folder: Path) -> CorpusSnapshot:
    """Read every `.md`, `.markdown`, `.txt` and `.jsonl` file below `folder`.

    A text file is one document whose id is its path without the suffix; a `.jsonl` file holds one
    `{"id", "text", "title"?}` a line. Raises InvalidFiles with every problem found.
    """
    documents, problems = read_corpus(folder)
    if problems:
        raise InvalidFiles(problems)
    return snapshot(documents)


def read_corpus(folder: Path) -> tuple[list[Document], list[Problem]]:
    """The documents that can be read, and all problems with the rest."""
    if not folder.is_dir():
        missing = Problem(str(folder), 0, "is not a folder.", "Put the documents there, or run `ragtui init`.")
        return [], [missing]
    documents: list[Document] = []
    places: dict[str, str] = {}
    files, problems = _files(folder)
    for path in files:
        name = path.relative_to(folder).as_posix()
        for item in _read(path, name):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            first = places.setdefault(item.id, item.source)
            if first != item.source:
                line = int(item.source[len(name) + 1 :] or 0)
                problems.append(Problem(name, line, f"repeats the document id {item.id!r} of {first}.", "Rename one."))
            else:
                documents.append(item)
    if not documents and not problems:
        hint = f"Add at least one {', '.join(TEXT_SUFFIXES)} or {LINES_SUFFIX} file."
        problems.append(Problem(str(folder), 0, "holds no document.", hint))
    return documents, problems


def _files(folder: Path) -> tuple[list[Path], list[Problem]]:
    """The files below the folder that documents come from, by path, and the folders that cannot be looked into."""
    suffixes = (*TEXT_SUFFIXES, LINES_SUFFIX)
    found: list[Path] = []
    refused: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=refused.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(place, name) for name in names if not name.startswith(".")]
        # A link could lead outside the corpus, and then the snapshot would not be the folder's.
        found += [
            path for path in paths if path.suffix.lower() in suffixes and path.is_file() and not path.is_symlink()
        ]
    hint = "Let ragtui read it, or move it out: a corpus that is only half read would be another corpus."
    problems = [Problem(str(error.filename), 0, f"cannot be read: {error.strerror}.", hint) for error in refused]
    return sorted(found), problems


def _read(path: Path, name: str) -> Iterator[Document | Problem]:
    if not name.isprintable() and name != (shown := os.fsencode(name).decode("utf-8", "backslashreplace")):
        # An id is text; such a name is bytes that only this file system knows.
        yield Problem(shown, 0, "has a name that is not UTF-8.", "Rename the file.")
        return
    text = read_text(path, name)
    if isinstance(text, Problem):
        yield text
    elif path.suffix.lower() == LINES_SUFFIX:
        yield from _read_lines(text, name)
    elif not text.strip():
        yield Problem(name, 0, "is empty.", "Write the document or delete the file.")
    else:
        yield Document(name[: -len(path.suffix)], text, text_id(text), name)


def _read_lines(text: str, name: str) -> Iterator[Document | Problem]:
    decoder = msgspec.json.Decoder(_Record)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
            yield Problem(name, number, f"is not a document: {error}.", 'Write {"id": "…", "text": "…"} on each line.')
            continue
        body = titled(record.title, record.text)
        if not record.id.strip():
            yield Problem(name, number, "has an empty id.", "Give every document an id.")
        elif not body.strip():
            yield Problem(name, number, f"document {record.id!r} is empty.", "Write its text or delete the line.")
        else:
            yield Document(record.id, body, text_id(body), f"{name}:{number}")
