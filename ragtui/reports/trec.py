"""A run as a TREC run, and its questions and judgments as topics and qrels.

Hits are documents: a chunk's document stands at its first chunk's rank. Scores fall strictly, also as 32-bit floats, so
that every evaluator sees our order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import InvalidInput
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.text import plural
from ragtui.metrics.ranking import collapse_to_documents
from ragtui.trace import Hits

_SHOWN = 3
# A line that begins so is a comment, a file that begins so is JSON.
_MARKS = "#[{"


def trec_run(run: RecordedRun, escape: bool = False) -> bytes:
    """`query Q0 document rank score tag` for every document of every finished case.

    Raises InvalidInput naming ids that six columns cannot carry, unless `escape` writes them percent-encoded.
    """
    tag = quote(run.provenance.name or run.run_id, safe="")
    rankings = [(trace.case, document_ranking(run, trace.results)) for trace in run.traces if trace.error is None]
    ids = _Ids([case for case, _ in rankings], (doc for _, ranking in rankings for doc, _ in ranking), escape)
    lines = [
        f"{ids(case)} Q0 {ids(doc)} {rank} {score} {tag}\n"
        for case, ranking in rankings
        for rank, (doc, score) in enumerate(ranking, 1)
    ]
    return "".join(lines).encode()


def document_ranking(run: RecordedRun, hits: Hits) -> list[tuple[str, str]]:
    """Documents, best first, with scores as decimal numbers that fall strictly as 32-bit floats too."""
    ordinals = np.asarray(hits.chunks, np.int64)
    if not len(ordinals):
        return []
    doc_of_chunk = run.columns[0]
    best: dict[int, float] = {}
    for doc, score in zip(doc_of_chunk[ordinals].tolist(), hits.scores, strict=True):
        best.setdefault(doc, score)
    names = list(run.documents)
    ranking: list[tuple[str, str]] = []
    ceiling = np.float32(np.inf)
    for doc in collapse_to_documents(doc_of_chunk, ordinals).tolist():
        ceiling = min(np.float32(best[doc]), np.nextafter(ceiling, np.float32(-np.inf)))
        ranking.append((names[doc], np.format_float_positional(ceiling, unique=True, trim="-")))
    return ranking


def qrels(run: RecordedRun, escape: bool = False) -> bytes:
    """`query 0 document grade` for every judgment; a judged span counts as its document."""
    judged = [(case.id, doc, grade) for case in run.cases for doc, grade in case.grades.items()]
    ids = _Ids((case for case, _, _ in judged), (doc for _, doc, _ in judged), escape)
    return "".join(f"{ids(case)} 0 {ids(doc)} {grade}\n" for case, doc, grade in judged).encode()


def topics(run: RecordedRun, escape: bool = False) -> bytes:
    """`{"id", "query"}` a line for every question, judged or not, with what else its golden says but its judgments."""
    ids = _Ids((case.id for case in run.cases), (), escape)
    encode = msgspec.json.Encoder().encode
    return b"".join(encode({"id": ids(case.id), "query": case.query} | _more(case)) + b"\n" for case in run.cases)


def _more(case: EvaluationCase) -> dict[str, Any]:
    """The golden's further fields that are not empty."""
    fields = {
        "turns": msgspec.to_builtins(case.turns),
        "mustInclude": case.must_include,
        "mustNotInclude": case.must_not_include,
        "expectRefusal": case.expect_refusal,
        "tags": case.tags,
    }
    return {name: value for name, value in fields.items() if value}


def lost_in_trec(run: RecordedRun) -> str:
    """What of the judgments these formats do not carry, as a sentence; empty where nothing is lost."""
    spans = sum(bool(case.spans) for case in run.cases)
    if not spans:
        return ""
    judged = plural(spans, "question")
    return f"Qrels judge documents: the judged spans of {judged} became judgments of their documents."


class _Ids:
    """Writes ids as one column each."""

    def __init__(self, queries: Iterable[str], docs: Iterable[str], escape: bool) -> None:
        self._escape = escape
        if escape:
            return
        unsafe = {name for name in queries if not _carried(name) or name[0] in _MARKS}
        unsafe |= {name for name in docs if not _carried(name)}
        if unsafe:
            shown = ", ".join(map(repr, sorted(unsafe)[:_SHOWN]))
            more = f" and {len(unsafe) - _SHOWN:,} more" if len(unsafe) > _SHOWN else ""
            raise InvalidInput(
                f"A TREC file cannot carry the ids {shown}{more}: they hold white space or control characters, "
                "or begin like a comment or JSON.",
                "Say --escape to write such characters as %20 (`ragtui import trec --escaped` reads them back).",
            )

    def __call__(self, name: str) -> str:
        return escaped(name) if self._escape else name


def escaped(name: str) -> str:
    """The id with white space, control characters, `%` and what may mark a comment or JSON percent-encoded."""
    return "".join(char if _plain(char) else quote(char, safe="", errors="surrogatepass") for char in name)


def _plain(char: str) -> bool:
    return char.isprintable() and not char.isspace() and char not in f"%{_MARKS}"


def _carried(name: str) -> bool:
    return bool(name) and all(char.isprintable() and not char.isspace() for char in name)
