"""Judgments and runs as TREC, BEIR and ranx write them.

    qrels   QUERY ITERATION DOCUMENT GRADE        TREC, spaces or tabs
            QUERY DOCUMENT GRADE                  BEIR, tabs, with or without a header
            {"QUERY": {"DOCUMENT": GRADE}}        JSON
    run     QUERY Q0 DOCUMENT RANK SCORE TAG      TREC; rank and tag are ignored, as trec_eval does
            {"QUERY": {"DOCUMENT": SCORE}}        JSON; also packed as ranx's .lz4

Lines that begin with `#` are comments. Any of them may be packed with gzip or lz4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import Problems, byte_lines, decoded, read_json, starts_like_json
from ragtui.inputs.text import plural

Qrels = dict[str, dict[str, int]]
ForeignRun = dict[str, dict[str, float]]
_QREL_HINT = "Write `query iteration document grade`, or `query<tab>document<tab>grade`."
_GRADE_HEADS = ("grade", "label", "rel", "relevance", "score")
_ORDER = "The order is `ragtui score QRELS RUN`: judgments first."
_RUN_HINT = "Write `query Q0 document rank score tag`."


class Qrel(msgspec.Struct, frozen=True):
    """One judgment and its line (0 in a JSON file)."""

    line: int
    query: str
    doc: str
    grade: int


def read_qrels(path: Path) -> Qrels:
    """Query → document → grade, in the file's order. Raises InvalidFiles with every problem."""
    problems = Problems()
    qrels: Qrels = {}
    for item in iter_qrels(path, problems):
        grades = qrels.setdefault(item.query, {})
        if grades.setdefault(item.doc, item.grade) != item.grade:
            message = f"judges {item.doc!r} for {item.query!r} as {item.grade}, before as {grades[item.doc]}."
            problems.add(path.name, item.line, message, "Keep one.")
    problems.refuse("Correct the judgments.")
    if not qrels:
        raise InvalidInput(f"{path.name} holds no judgment.", _QREL_HINT)
    return qrels


def iter_qrels(path: Path, problems: Problems) -> Iterator[Qrel]:
    """Each judgment as it is read, in bounded memory where the file is line-based; bad lines go to `problems`."""
    if starts_like_json(path):
        for query, grades in _json_table(path, "grade").items():
            for doc, given in grades.items():
                whole = _whole(str(given))
                if whole is None:
                    problems.add(path.name, 0, f"the grade {given} of {doc!r} for {query!r} is not a whole number.")
                else:
                    yield Qrel(0, query, doc, whole)
        return
    first = True
    for number, line in byte_lines(path):
        if line.startswith(b"#"):
            continue
        columns = _qrel_columns(line)
        if columns is None:
            if first and _run_fault(line.split(None, 6)) is None:
                raise InvalidInput(f"{path.name} is a run, not a file of judgments.", _ORDER)
            found = plural(len(line.split()), "column")
            problems.add(path.name, number, f"has {found} instead of 4 (or 3 separated by tabs).", _QREL_HINT)
        else:
            query, doc, grade = (decoded(column, path, number) for column in columns)
            value = _whole(grade)
            if value is not None:
                yield Qrel(number, query, doc, value)
            elif not (first and _names_grades(grade, len(line.split()))):
                problems.add(path.name, number, f"the grade {grade!r} is not a whole number.", _QREL_HINT)
        first = False


def _names_grades(text: str, columns: int) -> bool:
    """Whether this is the heading of the grades and not a faulty grade: of three columns any word, of four a known."""
    word = len(text) > 1 and text.replace("_", "").replace("-", "").isalpha() and not _is_number(text)
    return text.lower() in _GRADE_HEADS or (columns == 3 and word)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _qrel_columns(line: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Query, document and grade. Three columns between tabs may hold spaces; four are separated by any white space."""
    tabbed = line.split(b"\t")
    if len(tabbed) == 3:
        return tabbed[0].strip(b" "), tabbed[1].strip(b" "), tabbed[2].strip(b" ")
    columns = line.split()
    if len(columns) == 4:
        return columns[0], columns[2], columns[3]
    if len(tabbed) == 4:
        return tabbed[0], tabbed[2], tabbed[3].strip(b" ")
    if len(columns) == 3:
        return columns[0], columns[1], columns[2]
    return None


def _whole(text: str) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 1e9 else None


def read_run(path: Path) -> ForeignRun:
    """Query → document → score. Raises InvalidFiles with every problem: columns, scores, a document given twice."""
    if starts_like_json(path):
        return _checked_json_run(_json_table(path, "score"), path)
    problems = Problems()
    run: ForeignRun = {}
    last, query = b"", ""
    hits: dict[str, float] = {}
    for number, line in byte_lines(path):
        if line.startswith(b"#"):
            continue
        columns = line.split(None, 6)
        fault = _run_fault(columns)
        if fault and not run and not problems.count and len(columns) == 4 and _number(columns[3]) is not None:
            raise InvalidInput(f"{path.name} holds judgments, it is not a run.", _ORDER)
        if fault:
            problems.add(path.name, number, *fault)
            continue
        # A run has thousands of lines of one query after another.
        if columns[0] != last:
            last, query = columns[0], decoded(columns[0], path, number)
            hits = run.setdefault(query, {})
        doc = decoded(columns[2], path, number)
        if doc in hits:
            problems.add(path.name, number, f"gives the document {doc!r} to query {query!r} again.", "Keep one.")
        hits[doc] = float(columns[4])
    problems.refuse("Correct the run.")
    if not run:
        raise InvalidInput(f"{path.name} holds no hit.", _RUN_HINT)
    return run


def _run_fault(columns: list[bytes]) -> tuple[str, str] | None:
    """What is wrong with the columns of a line, and what to do; None where nothing is."""
    if len(columns) < 6:
        return f"has {plural(len(columns), 'column')} instead of 6.", _RUN_HINT
    if len(columns) > 6 and _number(columns[3]) is None:
        shown = columns[3].decode("utf-8", "replace")
        return f"the rank {shown!r} is no number.", "If an id holds a space, write the run as JSON."
    score = _number(columns[4])
    if score is None or math.isnan(score):
        return f"the score {columns[4].decode('utf-8', 'replace')!r} is not a number.", _RUN_HINT
    return None


def _checked_json_run(run: ForeignRun, path: Path) -> ForeignRun:
    if not any(run.values()):
        raise InvalidInput(f"{path.name} holds no hit.", 'Write {"query": {"document": score}}.')
    return run


def _json_table(path: Path, what: str) -> dict[str, dict[str, float]]:
    """Query → document → number; InvalidInput says in the file's own terms where it is none."""
    kind = dict[str, dict[str, float]]
    try:
        table: dict[str, dict[str, float]] = read_json(path, kind)
    except InvalidInput:
        hint = f'Write {{"query": {{"document": {what}}}}}.'
        data = read_json(path)
        if isinstance(data, dict) and {"run_id", "spec_id"} <= data.keys():
            ours = "`ragtui export RUN --format trec` writes a run, `--format qrels` its judgments."
            raise InvalidInput(f"{path.name} is a whole run of ragtui, not a table of {what}s.", ours) from None
        for query, row in data.items() if isinstance(data, dict) else ():
            if not isinstance(row, dict):
                raise InvalidInput(f"{path.name}: query {query!r} has no object of documents.", hint) from None
            for doc, value in row.items():
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    message = f"{path.name}: the {what} of {doc!r} for {query!r} is not a number."
                    raise InvalidInput(message, hint) from None
        raise InvalidInput(f"{path.name} is no object of queries.", hint) from None
    return table


def _number(text: bytes) -> float | None:
    try:
        return float(text) if b"_" not in text else None
    except ValueError:
        return None
