"""Documents and questions as JSON Lines, under the names that the collections of the field use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import Problems, byte_lines
from ragtui.inputs.formats.source import SourceDocument, SourceQuestion
from ragtui.inputs.goldens import Turn
from ragtui.inputs.patterns import compile_pattern

T = TypeVar("T")
_Text = str | None
_Id = str | int | None


class _Record(msgspec.Struct):
    """Every field of interest under every name; others are ignored."""

    beir_id: _Id = msgspec.field(default=None, name="_id")
    id: _Id = None
    docno: _Id = None
    docid: _Id = None
    doc_id: _Id = None
    query_id: _Id = None
    qid: _Id = None
    title: _Text = None
    text: _Text = None
    contents: _Text = None
    body: _Text = None
    query: _Text = None
    question: _Text = None
    turns: Any = None
    must_include: Any = msgspec.field(default=None, name="mustInclude")
    must_not_include: Any = msgspec.field(default=None, name="mustNotInclude")
    expect_refusal: Any = msgspec.field(default=None, name="expectRefusal")
    tags: Any = None

    def first_id(self) -> str | None:
        """The id under whatever name it has."""
        names = (self.beir_id, self.id, self.docno, self.docid, self.doc_id, self.query_id, self.qid)
        return next((str(value) for value in names if value is not None), None)


def read_documents(path: Path, problems: Problems) -> Iterator[SourceDocument]:
    """A document a line; a line that is none goes to `problems`."""
    for number, record, identifier in _records(path, problems):
        text = next((value for value in (record.text, record.contents, record.body) if value is not None), "")
        yield SourceDocument(identifier, text, record.title or "", path.name, number)


def read_questions(path: Path, problems: Problems) -> Iterator[SourceQuestion]:
    """A question a line; a line that is none goes to `problems`.

    A golden's fields are taken over where they have a golden's form: `ragtui export` writes them.
    """
    for number, record, identifier in _records(path, problems):
        names = (record.query, record.question, record.text, record.title)
        query = next((value for value in names if value is not None), "")
        yield SourceQuestion(
            id=identifier,
            query=query,
            turns=golden_field(record.turns, tuple[Turn, ...], ()),
            must_include=tuple(filter(_compiles, golden_field(record.must_include, tuple[str, ...], ()))),
            must_not_include=tuple(filter(_compiles, golden_field(record.must_not_include, tuple[str, ...], ()))),
            expect_refusal=golden_field(record.expect_refusal, bool, False),
            tags=golden_field(record.tags, tuple[str, ...], ()),
            file=path.name,
            line=number,
        )


def golden_field(value: Any, kind: type[T], otherwise: T) -> T:
    """A golden's field from a record or a cell, which holds it or its JSON.

    `otherwise` where it holds anything else: another collection may mean something of its own by the name.
    """
    try:
        if isinstance(value, str):
            return msgspec.json.decode(value, type=kind)
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return otherwise


def _compiles(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except InvalidInput:
        return False
    return True


def _records(path: Path, problems: Problems) -> Iterator[tuple[int, _Record, str]]:
    decode = msgspec.json.Decoder(_Record).decode
    for number, line in byte_lines(path):
        try:
            record = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            hint = 'Write {"_id": "…", "text": "…"} on each line.'
            problems.add(path.name, number, f"cannot be read: {error}.", hint)
            continue
        identifier = record.first_id()
        if identifier is None:
            problems.add(path.name, number, "has no id.", "Name it _id or id.")
        else:
            yield number, record, identifier
