"""Tables with named columns: CSV, TSV, JSON Lines, or a JSON list of objects."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import LINE_LIMIT, Problems, byte_lines, decoded, opened, read_json, readable
from ragtui.inputs.formats.records import golden_field
from ragtui.inputs.formats.source import MAIN_SUITE, Source, SourceDocument, SourceJudgment, SourceQuestion
from ragtui.inputs.goldens import Turn
from ragtui.inputs.text import plural

Row = Mapping[str, Any]
QUESTION_ID = ("id", "_id", "query_id", "query-id", "qid", "question_id", "case")
QUESTION = ("query", "question", "user_input", "input", "prompt", "text")
RELEVANT = (
    "doc_id", "corpus-id", "corpus_id", "docid", "document", "document_id", "relevant", "relevant_docs",
    "relevantDocIds", "relevant_doc_ids", "reference_context_ids", "correct_chunks", "expected",
)  # fmt: skip
GRADE = ("grade", "score", "relevance", "label")
DOCUMENT_ID = ("id", "_id", "doc_id", "docid", "docno", "document_id", "chunk_id", "url", "link")
DOCUMENT_TEXT = ("text", "contents", "content", "body", "document", "passage", "page_content")
DOCUMENT_TITLE = ("title", "heading", "name")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".ndjson")


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns to read, None for the first that has a usual name. `separator` splits a cell of several ids."""

    question: str | None = None
    question_id: str | None = None
    relevant: str | None = None
    grade: str | None = None
    separator: str = "|"
    doc_id: str | None = None
    doc_text: str | None = None
    doc_title: str | None = None


def table_source(path: Path, documents: Path | None, columns: Columns) -> Source:
    """Questions, with the documents relevant to them, from one table, and documents from another.

    `path` is a table of questions, or a folder with `questions.*` (or `queries.*`) and `documents.*` (or `corpus.*`).
    Without documents the judgments are about those that the target already has. A question may have many rows.
    """
    if path.is_dir():
        documents = documents or _in_folder(path, ("documents", "corpus", "docs"))
        table = _in_folder(path, ("questions", "queries", "goldens"))
        if table is None:
            raise InvalidInput(f"{path} has no questions.csv.", "Name the table of questions itself.")
        path = table
    questions, judgments = _read_questions(path, columns)
    return Source(
        documents=None if documents is None else lambda problems: read_table_documents(documents, columns, problems),
        questions=lambda problems: iter(questions),
        judgments={MAIN_SUITE: lambda problems: iter(judgments)},
    )


def _read_questions(path: Path, columns: Columns) -> tuple[list[SourceQuestion], list[SourceJudgment]]:
    questions: dict[str, SourceQuestion] = {}
    judgments: list[SourceJudgment] = []
    by_text: dict[str, str] = {}
    pick: _Picker | None = None
    problems = Problems()
    for number, row in rows(path, problems):
        pick = pick or _Picker(path, row)
        query = cell(row, pick("question", columns.question, QUESTION))
        id_column = pick("question id", columns.question_id, QUESTION_ID, needed=False)
        relevant_column = pick("relevant documents", columns.relevant, RELEVANT)
        grade_column = pick("grade", columns.grade, GRADE, needed=False)
        # Without ids, rows with the same words are one question.
        identifier = cell(row, id_column) if id_column else by_text.setdefault(query, f"q{len(by_text) + 1:04d}")
        fresh = SourceQuestion(
            id=identifier,
            query=query,
            turns=golden_field(row.get("turns"), tuple[Turn, ...], ()),
            expect_refusal=golden_field(row.get("expectRefusal"), bool, False),
            tags=_tags(row.get("tags")),
            numbered=not id_column,
            file=path.name,
            line=number,
        )
        known = questions.setdefault(identifier, fresh)
        if known.query != query:
            problems.add(path.name, number, f"question {identifier!r} has other words than at line {known.line}.", "")
        grade = _grade(row, grade_column, path, number, problems)
        judgments += [
            SourceJudgment(identifier, doc, grade if own is None else own, None, path.name, number)
            for doc, own in _graded(row.get(relevant_column), columns.separator)
        ]
    problems.refuse("Correct the table, or name other columns.")
    if not questions:
        raise InvalidInput(f"{path.name} holds no row.", "Give it a header and a row a question.")
    return list(questions.values()), judgments


def _graded(value: Any, separator: str) -> list[tuple[str, int | None]]:
    """The documents of a cell, each with its grade where the cell maps documents to grades."""
    table: dict[str, int] = golden_field(value, dict[str, int], {})
    return list(table.items()) or [(doc, None) for doc in several(value, separator) if doc != "{}"]


def _tags(value: Any) -> tuple[str, ...]:
    """A list, or words in one cell."""
    words = re.split(r"[\s,;|]+", value) if isinstance(value, str) and not value.startswith("[") else []
    return tuple(filter(None, words)) or golden_field(value, tuple[str, ...], ())


def _grade(row: Row, column: str | None, path: Path, number: int, problems: Problems) -> int:
    if column is None:
        return 3
    text = cell(row, column)
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    hint = "Name another column with --grade-column."
    problems.add(path.name, number, f"the grade {text!r} is not a whole number.", hint)
    return 0


def read_table_documents(path: Path, columns: Columns, problems: Problems) -> Iterator[SourceDocument]:
    """A document a row."""
    pick: _Picker | None = None
    for number, row in rows(path, problems):
        pick = pick or _Picker(path, row)
        identifier = cell(row, pick("document id", columns.doc_id, DOCUMENT_ID))
        text = cell(row, pick("document text", columns.doc_text, DOCUMENT_TEXT))
        title_column = pick("document title", columns.doc_title, DOCUMENT_TITLE, needed=False)
        yield SourceDocument(identifier, text, cell(row, title_column) if title_column else "", path.name, number)


class _Picker:
    """Chooses columns by the first row's names."""

    def __init__(self, path: Path, row: Row) -> None:
        self._path, self._names = path, list(row)
        self._chosen: dict[str, str | None] = {}

    def __call__(self, what: str, wanted: str | None, usual: Sequence[str], needed: bool = True) -> Any:
        if what not in self._chosen:
            self._chosen[what] = self._pick(what, wanted, usual, needed)
        return self._chosen[what]

    def _pick(self, what: str, wanted: str | None, usual: Sequence[str], needed: bool) -> str | None:
        if wanted is not None:
            if wanted in self._names:
                return wanted
            near = difflib.get_close_matches(wanted, self._names, 1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInput(f"{self._path.name} has no column {wanted!r}.{guess}", f"Columns: {self._listing()}.")
        found = next((name for name in usual if name in self._names), None)
        if found is None and needed:
            hint = f"Columns: {self._listing()}. Name it with an option; see `ragtui import csv --help`."
            raise InvalidInput(f"{self._path.name} has no column for the {what}.", hint)
        return found

    def _listing(self) -> str:
        return ", ".join(self._names[:20])


def cell(row: Row, column: str) -> str:
    """A cell as text; empty where it is missing or null."""
    value = row.get(column)
    return "" if value is None else _as_text(value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def first_value(row: Row, names: Iterable[str]) -> Any:
    """The first value under any of the names that is not empty; None without one."""
    return next((row[name] for name in names if row.get(name) not in (None, "", [])), None)


def several(value: Any, separator: str) -> list[str]:
    """The ids in a cell: a list, a JSON list in a string, or a string with separators; empty ones are left out."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                return several(msgspec.json.decode(value), separator)
            except (msgspec.MsgspecError, RecursionError):
                pass
        return [part.strip() for part in (value.split(separator) if separator else [value]) if part.strip()]
    if isinstance(value, list):
        return [_as_text(item) for item in value if item is not None]
    return [] if value is None else [_as_text(value)]


def rows(path: Path, problems: Problems) -> Iterator[tuple[int, Row]]:
    """Line (or position from 1) and row of any kind of table; lines that are none go to `problems`."""
    suffix = next((part for part in reversed(path.suffixes) if part not in (".gz", ".lz4")), "")
    reader: Callable[[Path, Problems], Iterator[tuple[int, Row]]] = {
        ".jsonl": _json_lines, ".ndjson": _json_lines, ".json": _json_list,
    }.get(suffix, _separated)  # fmt: skip
    return reader(path, problems)


def _json_lines(path: Path, problems: Problems) -> Iterator[tuple[int, Row]]:
    for number, line in byte_lines(path):
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            problems.add(path.name, number, f"is not a JSON object: {error}.", "Write one object on each line.")


def _json_list(path: Path, problems: Problems) -> Iterator[tuple[int, Row]]:
    yield from enumerate(read_json(path, list[dict[str, Any]]), 1)


def _separated(path: Path, problems: Problems) -> Iterator[tuple[int, Row]]:
    """CSV or TSV with a header; a quoted cell may span lines."""
    delimiter = "\t" if ".tsv" in path.suffixes else None
    with opened(path) as file, readable(path):
        sample = file.read(4096)
    if delimiter is None:
        head = sample.split(b"\n")[0]
        delimiter = max(",;\t", key=lambda mark: head.count(mark.encode()))
    csv.field_size_limit(LINE_LIMIT)
    reader = csv.reader(_csv_lines(path), delimiter=delimiter, strict=False)
    header: list[str] = []
    try:
        for values in reader:
            if not header:
                header = [name.strip() for name in values]
                doubled = sorted({name for name in header if header.count(name) > 1})
                if doubled:
                    raise InvalidInput(f"{path.name} has two columns named {doubled[0]!r}.", "Rename one.")
                continue
            if not values:
                continue
            if len(values) != len(header):
                message = f"has {plural(len(values), 'cell')} under {plural(len(header), 'column')}."
                problems.add(path.name, reader.line_num, message, "Quote cells that hold the separator.")
                continue
            yield reader.line_num, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise InvalidInput(f"{path.name}:{reader.line_num}: {error}.", "Check the quotes.") from None


def _csv_lines(path: Path) -> Iterator[str]:
    """Lines with their ends, blank ones included: they may be part of a cell."""
    with opened(path) as file, readable(path):
        number = 0
        while line := file.readline(LINE_LIMIT):
            number += 1
            text = decoded(line, path, number)
            text = text.removeprefix("\ufeff") if number == 1 else text
            if "\0" in text:
                raise InvalidInput(f"{path.name}:{number}: holds a null character.", "Is it a text file?")
            if text.strip() or number > 1:
                yield text


def _in_folder(folder: Path, names: Sequence[str]) -> Path | None:
    found = [folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES]
    return next((path for path in found if path.is_file()), None)
