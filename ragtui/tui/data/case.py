"""One case as the screens show it: its stages, the marks in a chunk's text, and where the gold was lost."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

from ragtui.artifacts.recipes import Lexical
from ragtui.experiment.cases import CaseName, parse_case
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.store.cases import CaseDetail
from ragtui.store.rows import RunRecord
from ragtui.trace import AnswerTrace, CaseError, ChunkRef, Hits

if TYPE_CHECKING:
    from ragtui.analysis.attribution import Miss
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.store.store import Store

LONGEST_SHOWN = 20_000


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A hit of a stage: `grade` is its document's judgment, None where nobody judged it; `note` a few letters more."""

    rank: int
    ordinal: int
    doc: str
    name: str
    score: float
    grade: int | None
    relevant: bool
    note: str = ""


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's list, best first."""

    name: str
    hits: tuple[Hit, ...]

    def rank_of(self, doc: str) -> int | None:
        """The first rank of a document, None where the stage does not have it."""
        return next((hit.rank for hit in self.hits if hit.doc == doc), None)


class Score(msgspec.Struct, frozen=True):
    """A measure's value, or why it has none."""

    measure: str
    value: float | None
    reason: str


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """One case as it is shown. `timings` are milliseconds in the order of the pipeline; `lost` is where
    the gold was lost, `words` the question's terms as `stemmer` cuts them. `searched` is whether the retriever was
    asked: not in the modes `oracle` and `noretrieval`."""

    run_id: str
    case: EvaluationCase
    index: int
    status: Literal["ok", "error", "pending"]
    error: CaseError | None
    asked: str
    stages: tuple[Stage, ...]
    scores: tuple[Score, ...]
    notes: tuple[str, ...]
    timings: tuple[tuple[str, float], ...]
    chunks: dict[int, ChunkRef]
    lost: tuple[Miss, ...]
    relevance: int
    words: frozenset[str]
    stemmer: Stemmer
    answer: AnswerTrace | None = None
    searched: bool = True


class Mark(msgspec.Struct, frozen=True, order=True):
    """A part of a chunk's text, in its characters: a judged span or a word of the question."""

    start: int
    end: int
    kind: Literal["span", "term"]
    grade: int = 0


def case_view(store: Store, record: RunRecord, case_id: str) -> CaseView:
    """One case as it is shown; InvalidInput if the run has none of that id."""
    detail = store.case_detail(record.run_id, case_id)
    relevance = record.specification.plan.metrics.relevance
    trace = detail.trace
    asked = detail.case.query if trace is None or not trace.query else trace.query
    searched = retrieves(record, case_id)
    stemmer = _stemmer(record.specification.plan.lexical)
    return CaseView(
        run_id=record.run_id,
        case=detail.case,
        index=detail.index,
        status="pending" if trace is None else trace.status,
        error=None if trace is None else trace.error,
        asked=asked,
        stages=_stages(detail, relevance, searched),
        searched=searched,
        scores=_scores(record, detail),
        notes=() if trace is None else tuple(trace.notes),
        timings=() if trace is None else tuple(trace.timings.items()),
        chunks=detail.chunks,
        lost=_lost(record, detail),
        relevance=relevance,
        words=stemmer.terms(asked),
        stemmer=stemmer,
        answer=None if trace is None else trace.answered,
    )


def marks(chunk: ChunkRef, case: EvaluationCase, words: frozenset[str], stem: Stemmer) -> tuple[Mark, ...]:
    """The judged spans and the question's words in a chunk, by place; a word's mark inside a span stays."""
    found = [
        Mark(max(span.start, chunk.start) - chunk.start, min(span.end, chunk.end) - chunk.start, "span", span.grade)
        for span in case.spans
        if span.doc == chunk.doc and span.start < chunk.end and chunk.start < span.end
    ]
    found += [Mark(start, end, "term") for start, end in stem.places(chunk.text[:LONGEST_SHOWN], words)]
    return tuple(sorted(found))


class Stemmer:
    """Cuts text into the terms that the run's BM25 recipe searches by, so that what is marked is what matched.

    Words without a meaning of their own are left out even where the recipe searches by them: half of a text is "the".
    """

    def __init__(self, lexical: Lexical) -> None:
        from ragtui.artifacts.bm25 import text_analyzer

        self._pairs = lexical.bigrams == "on"
        try:
            self._analyzer = text_analyzer(msgspec.structs.replace(lexical, stop_words=True))
        except ValueError:
            # There are languages with a stemmer and without a list of such words.
            self._analyzer = text_analyzer(lexical)
        self._known: dict[str, frozenset[str]] = {}

    def terms(self, text: str) -> frozenset[str]:
        """The text's terms."""
        from ragtui.artifacts.analyzer import bigrams

        cut = bigrams(text) if self._pairs else text
        return frozenset(self._analyzer.analyze(cut.encode("utf-8", "replace").decode()))

    def places(self, text: str, words: frozenset[str]) -> list[tuple[int, int]]:
        """Start and end of each word of the text that is, once cut, among the given terms."""
        import regex

        found = []
        for match in regex.finditer(r"[\p{L}\p{N}\p{M}]+", text):
            word = match.group()
            if word not in self._known:
                self._known[word] = self.terms(word)
            if self._known[word] & words:
                found.append((match.start(), match.end()))
        return found


@lru_cache(8)
def _stemmer(lexical: Lexical) -> Stemmer:
    return Stemmer(lexical)


def case_name(case_id: str) -> CaseName | None:
    """The parts of a generation case's id; None for a case of the retrieval tier."""
    try:
        return parse_case(case_id)
    except ValueError:
        return None


def retrieves(record: RunRecord, case_id: str) -> bool:
    """Whether the case asks the retriever: one of the retrieval tier, or of a mode that injects what was found."""
    name = case_name(case_id) if record.tier == "generation" else None
    return name is None or name.mode in ("e2e", "mock")


def _stages(detail: CaseDetail, relevance: int, searched: bool) -> tuple[Stage, ...]:
    """The lists that ran, in order. Fusion of one channel and a last stage that changes nothing are left out."""
    trace = detail.trace
    if trace is None:
        return ()
    lists: list[tuple[str, Hits]] = list(trace.channels.items())
    for name, hits in (("fused", trace.fused), ("floor", trace.floor), ("collapse", trace.collapse)):
        if hits is not None and (name != "fused" or len(trace.channels) > 1):
            lists.append((name, hits))
    if searched:
        lists.append(("results", trace.results))
    if trace.answered is not None:
        scores = dict(zip(trace.results.chunks, trace.results.scores, strict=True))
        for name, chunks in (("context", trace.answered.context), ("dropped", trace.answered.dropped)):
            if chunks or name == "context":
                lists.append((name, Hits(chunks, [scores.get(chunk, math.nan) for chunk in chunks])))
    return tuple(Stage(name=name, hits=_hits(detail, hits, relevance)) for name, hits in lists)


def _hits(detail: CaseDetail, hits: Hits, relevance: int) -> tuple[Hit, ...]:
    made = []
    for rank, (ordinal, score) in enumerate(zip(hits.chunks, hits.scores, strict=True), 1):
        chunk = detail.chunks.get(ordinal)
        doc = chunk.doc if chunk is not None else ""
        grade = detail.case.grades.get(doc)
        made.append(
            Hit(
                rank=rank, ordinal=ordinal, doc=doc, name=chunk.name if chunk is not None else f"chunk {ordinal}",
                score=score, grade=grade, relevant=grade is not None and grade >= relevance,
            )
        )  # fmt: skip
    return tuple(made)


def _scores(record: RunRecord, detail: CaseDetail) -> tuple[Score, ...]:
    trace = detail.trace
    if trace is None:
        return tuple(Score(name, None, "not executed") for name in record.measure_names)
    return tuple(Score(name, trace.scores.get(name), trace.unscored.get(name, "")) for name in record.measure_names)


def recorded_case(record: RunRecord, detail: CaseDetail) -> RecordedRun:
    """A run of nothing but this case, for functions over recorded runs."""
    from ragtui.analysis.recorded import RecordedRun

    return RecordedRun(
        run_id=record.run_id, spec_id=record.spec_id, status=record.status, tier=record.tier,
        specification=record.specification, provenance=record.provenance, measures=record.measure_names,
        cases=(detail.case,), traces=() if detail.trace is None else (detail.trace,),
        chunks=tuple(detail.chunks.values()), environments=record.environments, started_at=record.started_at,
        elapsed_s=record.elapsed_s,
    )  # fmt: skip


def _lost(record: RunRecord, detail: CaseDetail) -> tuple[Miss, ...]:
    """What analysis says of the judgments that the results do not hold; nothing where nothing was looked for."""
    from ragtui.analysis.attribution import attribute

    if not retrieves(record, detail.case.id):
        return ()
    return tuple(attribute(recorded_case(record, detail)))
