"""TREC collections: documents (SGML, JSON Lines or TSV), topics (SGML, TSV or JSON Lines) and qrels."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import msgspec

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import Problems, starts_like_json, text_lines
from ragtui.inputs.formats.records import read_documents, read_questions
from ragtui.inputs.formats.source import MAIN_SUITE, Source, SourceDocument, SourceJudgment, SourceQuestion
from ragtui.inputs.formats.trec import iter_qrels

TopicField = Literal["title", "desc", "title+desc"]
DOCUMENT_LIMIT = 64 * 1024 * 1024
HEAD_LENGTH = 20_000
_DOCUMENT_NAMES = ("corpus", "docs", "documents", "collection")
_TOPIC_NAMES = ("topics", "queries", "questions")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?>")
_DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.IGNORECASE | re.DOTALL)
_HEAD = re.compile(r"<(DOCNO|DOCID|FILEID|TITLE|HEADLINE|HEAD|HL|TTL)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TITLES = ("title", "headline", "head", "hl", "ttl")
_TOPIC_PARTS = re.compile(r"<(num|title|desc|narr)>", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:\s*", re.IGNORECASE)


def trec_source(
    folder: Path, *, documents: Path | None = None, topics: Path | None = None, qrels: Sequence[Path] = (),
    topic_field: TopicField = "title", use_existing: bool = False, escaped: bool = False,
) -> Source:  # fmt: skip
    """The collection in a folder, its parts found by their names unless they are given.

    With `use_existing` the judgments are about documents that the target already has. `escaped` undoes the percent
    encoding of ids in topics and judgments that `ragtui export --escape` writes.
    """
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.", "Name the folder of the collection.")
    topics_file = topics or _named(folder, _TOPIC_NAMES, "--topics")
    judged = list(qrels) or sorted(path for path in _entries(folder) if path.is_file() and "qrel" in path.name.lower())
    if not judged:
        raise InvalidInput(f"{folder} has no file of judgments.", f"Name it with --qrels. {_listing(folder)}")
    files = [] if use_existing else document_files(documents or _named(folder, _DOCUMENT_NAMES, "--documents"))
    return Source(
        documents=None if use_existing else lambda problems: _documents(files, problems),
        questions=lambda problems: _topics(topics_file, problems, topic_field, escaped),
        judgments={_split_name(path, judged): _Judgments(path, escaped) for path in judged},
    )


def _topics(path: Path, problems: Problems, part: TopicField, escaped: bool) -> Iterator[SourceQuestion]:
    for question in read_topics(path, problems, part):
        yield msgspec.structs.replace(question, id=unquote(question.id)) if escaped else question


class _Judgments:
    """Reads one file of judgments anew at each call."""

    def __init__(self, path: Path, escaped: bool) -> None:
        self._path = path
        self._read = unquote if escaped else str

    def __call__(self, problems: Problems) -> Iterator[SourceJudgment]:
        for item in iter_qrels(self._path, problems):
            query, doc = self._read(item.query), self._read(item.doc)
            yield SourceJudgment(query, doc, item.grade, None, self._path.name, item.line)


def document_files(path: Path) -> list[Path]:
    """The files of documents at a path: itself, or every file below a folder, ordered by name."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"{path} is not there.", "Name the documents' file or folder with --documents.")
    found = sorted(item for item in path.rglob("*") if item.is_file() and not item.name.startswith("."))
    if not found:
        raise InvalidInput(f"{path} holds no file.", "Name the documents' file or folder with --documents.")
    return found


def _documents(files: Iterable[Path], problems: Problems) -> Iterator[SourceDocument]:
    for path in files:
        if starts_like_json(path):
            yield from read_documents(path, problems)
        elif path.name.removesuffix(".gz").endswith(".tsv"):
            yield from _tsv_documents(path, problems)
        else:
            yield from sgml_documents(path, problems)


def _tsv_documents(path: Path, problems: Problems) -> Iterator[SourceDocument]:
    """`id<tab>text` or `id<tab>title<tab>text` a line."""
    for number, line in text_lines(path):
        identifier, tab, rest = line.partition("\t")
        title, second, text = rest.partition("\t")
        if not tab:
            problems.add(path.name, number, "has no tab.", "Write id<tab>text.")
        elif second:
            yield SourceDocument(identifier.strip(), text, title.strip(), path.name, number)
        else:
            yield SourceDocument(identifier.strip(), title, "", path.name, number)


def sgml_documents(path: Path, problems: Problems) -> Iterator[SourceDocument]:
    """Each `<DOC>` with its `<DOCNO>`; tags are dropped, entities resolved, a headline becomes the title."""
    lines: list[str] = []
    begun = size = 0
    for number, line in text_lines(path, blank=True):
        upper = line.strip().upper()
        if upper == "<DOC>" or upper.startswith("<DOC "):
            if begun:
                problems.add(path.name, begun, "begins a <DOC> that does not end.", "Close it with </DOC>.")
            lines, begun, size = [], number, 0
            continue
        if not begun:
            continue
        if upper.endswith("</DOC>"):
            lines.append(line[: line.upper().rindex("</DOC>")])
            yield from _sgml_document("\n".join(lines), path, begun, problems)
            lines, begun = [], 0
            continue
        lines.append(line)
        size += len(line)
        if size > DOCUMENT_LIMIT:
            problems.add(path.name, begun, f"has a <DOC> of more than {DOCUMENT_LIMIT >> 20} MiB.", "Is it closed?")
            lines, begun = [], 0
    if begun:
        problems.add(path.name, begun, "begins a <DOC> that does not end.", "Close it with </DOC>.")


def _sgml_document(body: str, path: Path, line: int, problems: Problems) -> Iterator[SourceDocument]:
    # Names and titles stand at the beginning; searching no further keeps any document's cost linear.
    head, rest = body[:HEAD_LENGTH], body[HEAD_LENGTH:]
    number = _DOCNO.search(head)
    if number is None or not number.group(1).strip():
        problems.add(path.name, line, "has a <DOC> without a <DOCNO>.", "Every document needs one.")
        return
    title = next((part[1] for part in _HEAD.findall(head) if part[0].lower() in _TITLES), "")
    text = _plain(_HEAD.sub("", head) + rest)
    yield SourceDocument(number.group(1).strip(), text, " ".join(_plain(title).split()), path.name, line)


def _plain(text: str) -> str:
    """The text without tags, its entities resolved, no blank lines at its ends."""
    return html.unescape(_TAG.sub("", text)).strip()


def read_topics(path: Path, problems: Problems, part: TopicField = "title") -> Iterator[SourceQuestion]:
    """The questions of a topics file: SGML, JSON Lines, or `id<tab>question`."""
    if starts_like_json(path):
        yield from read_questions(path, problems)
        return
    first = next(text_lines(path), (0, ""))[1]
    if "\t" in first and not first.lstrip().startswith("<"):
        for number, line in text_lines(path):
            identifier, tab, query = line.partition("\t")
            if tab:
                yield SourceQuestion(id=identifier.strip(), query=query.strip(), file=path.name, line=number)
            else:
                problems.add(path.name, number, "has no tab.", "Write id<tab>question.")
        return
    yield from _sgml_topics(path, problems, part)


def _sgml_topics(path: Path, problems: Problems, part: TopicField) -> Iterator[SourceQuestion]:
    lines: list[str] = []
    begun = 0
    count = 0
    for number, line in text_lines(path):
        lower = line.strip().lower()
        if lower.startswith("<top") and not lower.startswith("<topic"):
            if begun:
                problems.add(path.name, begun, "begins a <top> that does not end.", "Close it with </top>.")
            lines, begun = [], number
        elif lower.startswith("</top") and begun:
            count += 1
            yield from _sgml_topic("\n".join(lines), path, begun, problems, part)
            begun = 0
        elif begun:
            lines.append(line)
    if begun:
        problems.add(path.name, begun, "begins a <top> that does not end.", "Close it with </top>.")
    elif not count:
        problems.add(path.name, 0, "holds no topic.", "Topics are <top>…</top>, id<tab>question, or JSON Lines.")


def _sgml_topic(body: str, path: Path, line: int, problems: Problems, part: TopicField) -> Iterator[SourceQuestion]:
    pieces = _TOPIC_PARTS.split(body)
    found = {
        name.lower(): " ".join(_LABEL.sub("", _plain(text)).split())
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    query = " ".join(found.get(name, "") for name in part.split("+")).strip()
    if not found.get("num") or not query:
        problems.add(path.name, line, f"has a topic without {'<num>' if not found.get('num') else part}.", "")
        return
    yield SourceQuestion(id=found["num"], query=query, file=path.name, line=line)


def _split_name(path: Path, all_paths: Sequence[Path]) -> str:
    """`core` for a single file of judgments, else what is left of its name."""
    if len(all_paths) == 1:
        return MAIN_SUITE
    stem = path.name.split(".")
    parts = [part for part in stem if part.lower() not in ("qrels", "qrel", "txt", "tsv", "gz", "trec")]
    return "-".join(parts) or path.stem


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _named(folder: Path, names: tuple[str, ...], option: str) -> Path:
    """The one entry of the folder whose name begins with one of the names."""
    found = [
        path for path in _entries(folder)
        if path.name.lower().startswith(names) and "qrel" not in path.name.lower()
    ]  # fmt: skip
    if len(found) == 1:
        return found[0]
    problem = "nothing" if not found else f"{len(found)} entries"
    wanted = ", ".join(f"{name}*" for name in names)
    instead = ", or judge the documents that the target has: --existing-corpus" if option == "--documents" else ""
    hint = f"Say which with {option}{instead}. {_listing(folder)}"
    raise InvalidInput(f"{folder} has {problem} named {wanted}.", hint)


def _listing(folder: Path) -> str:
    return "It holds " + (", ".join(path.name for path in _entries(folder)[:12]) or "nothing") + "."
