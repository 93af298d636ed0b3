"""Documents and questions as JSON Lines, under the names that the collections of the field use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ragtui.inputs.formats.files import Problems, byte_lines
from ragtui.inputs.formats.source import SourceDocument, SourceQuestion

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
    """A question a line; a line that is none goes to `problems`."""
    for number, record, identifier in _records(path, problems):
        names = (record.query, record.question, record.text, record.title)
        query = next((value for value in names if value is not None), "")
        yield SourceQuestion(id=identifier, query=query, file=path.name, line=number)


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
