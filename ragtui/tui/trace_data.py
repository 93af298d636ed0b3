"""What the trace screen shows, as immutable values: pure functions from a store to rows, cases and marks.

Everything here blocks on the store's file; the screen calls it in threads and receives the values in messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.inputs.evaluation import EvaluationCase
from ragtui.store.cases import CaseDetail, CaseFilter
from ragtui.store.rows import Baseline, CaseRow, RunRecord, RunRow
from ragtui.trace import CaseError, ChunkRef, Hits

if TYPE_CHECKING:
    from ragtui.lab import Lab
    from ragtui.store.store import Store

Kind = Literal["all", "missed", "nothing", "error", "pending", "changed"]
KINDS: tuple[Kind, ...] = ("all", "missed", "nothing", "error", "pending", "changed")
KIND_WORDS: dict[Kind, str] = {
    "all": "all cases", "missed": "missed", "nothing": "found nothing", "error": "errors", "pending": "not executed",
    "changed": "changed against baseline",
}  # fmt: skip
_SAME = 1e-12


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list; `store` says which file it is in, `baseline` the name under which it is promoted."""

    row: RunRow
    store: Literal["working", "reference"]
    baseline: str = ""


class CaseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases are listed and in which order; `sort` is a measure or `index`."""

    text: str = ""
    tag: str | None = None
    kind: Kind = "all"
    sort: str = "index"
    descending: bool = False


class CaseOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The cases that a query leaves, as indexes into the run, and how they were found.

    `near` is true where no case held the words as typed and mistyped ones were taken too. `note` says in a sentence
    why a list is empty that needs more than its words to be understood.
    """

    indexes: NDArray[np.int64]
    near: bool = False
    note: str = ""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """One run, opened: its record, the measure that decides, its tags with their counts, and its baseline if any."""

    record: RunRecord
    store: Literal["working", "reference"]
    decisive: str
    tags: tuple[tuple[str, int], ...]
    baseline: Baseline | None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A hit of a stage: `grade` is its document's judgment, None where nobody judged it."""

    rank: int
    ordinal: int
    doc: str
    name: str
    score: float
    grade: int | None
    relevant: bool


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
    """One case as it is shown. `timings` are milliseconds in the order of the pipeline; `lost` are sentences."""

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
    lost: tuple[str, ...]
    relevance: int


class Mark(msgspec.Struct, frozen=True, order=True):
    """A part of a chunk's text, in its characters: a judged span or a word of the question."""

    start: int
    end: int
    kind: Literal["span", "term"]
    grade: int = 0


def run_lines(lab: Lab, limit: int = 10_000) -> tuple[RunLine, ...]:
    """Every recorded run, newest first, the working store's before the reference's, baselines named."""
    lines: list[RunLine] = []
    seen: set[str] = set()
    for label, store in _stores(lab):
        promoted = {item.run_id: item.name for item in reversed(store.baselines())}
        for row in store.runs(limit=limit):
            if row.run_id not in seen:
                seen.add(row.run_id)
                lines.append(RunLine(row=row, store=label, baseline=promoted.get(row.run_id, "")))
    return tuple(lines)


def open_run(lab: Lab, run_id: str, baseline_name: str | None = None) -> RunView:
    """One run with what its list needs. The baseline is the newest one of its corpus, suites and tier."""
    store, run_id = lab.resolve(run_id)
    record = store.run(run_id)
    primary = record.specification.plan.metrics.primary
    return RunView(
        record=record,
        store="working" if store is lab.store else "reference",
        decisive=decisive(record.measure_names, primary),
        tags=tuple(store.tags_of(run_id).items()),
        baseline=baseline_of(lab, record, baseline_name),
    )


def decisive(measures: Sequence[str], primary: str) -> str:
    """`decisive_measure`, or nothing for a run without measures."""
    from ragtui.analysis.summary import decisive_measure

    return decisive_measure(measures, primary) if measures else ""


def baseline_of(lab: Lab, record: RunRow, name: str | None = None) -> Baseline | None:
    """The newest promotion for a run's corpus, suites and tier, in the working store first."""
    suites = tuple(sorted(set(record.suites)))
    for _, store in _stores(lab):
        for item in store.baselines():
            key = (item.corpus_id, item.suites, item.tier)
            if key == (record.corpus_id, suites, record.tier) and name in (None, item.name):
                return item
    return None


def case_order(lab: Lab, view: RunView, query: CaseQuery) -> CaseOrder:
    """The cases that the query leaves. Where words as typed find nothing, mistyped ones are looked for."""
    store, run_id = lab.resolve(view.record.run_id)
    wanted = _filter(view, query)
    options = {"sort": query.sort, "descending": query.descending}
    indexes, near = store.case_order(run_id, wanted, **options), False  # type: ignore[arg-type]
    if not len(indexes) and query.text.strip():
        fuzzy = msgspec.structs.replace(wanted, fuzzy=True)
        indexes = store.case_order(run_id, fuzzy, **options)  # type: ignore[arg-type]
        near = bool(len(indexes))
    if query.kind != "changed":
        return CaseOrder(indexes=indexes, near=near)
    if view.baseline is None:
        return CaseOrder(indexes=indexes[:0], note="No baseline is promoted for this run's corpus and suites.")
    if view.baseline.run_id == run_id:
        return CaseOrder(indexes=indexes[:0], note="This run is the baseline.")
    changed = changed_indexes(lab, run_id, view.baseline.run_id)
    return CaseOrder(indexes=indexes[np.isin(indexes, changed)], near=near)


def changed_indexes(lab: Lab, run_id: str, base_id: str) -> NDArray[np.int64]:
    """The indexes of executed cases of a run for which a measure that both runs report has another value."""
    store, run_id = lab.resolve(run_id)
    base_store, base_id = lab.resolve(base_id)
    names, rows, present = store.score_columns(run_id)
    base_names, base_rows, old = base_store.score_columns(base_id)
    shared = [name for name in names if name in base_names]
    cases = [case for case in rows if case in base_rows]
    left = present[np.ix_([rows[case] for case in cases], [names.index(name) for name in shared])]
    right = old[np.ix_([base_rows[case] for case in cases], [base_names.index(name) for name in shared])]
    differs = ~((np.abs(left - right) <= _SAME) | (np.isnan(left) & np.isnan(right)))
    changed = {case for case, row in zip(cases, differs.any(axis=1).tolist(), strict=True) if row}
    executed = sorted(store.finished_indexes(run_id))
    return np.asarray([index for index, case in zip(executed, rows, strict=True) if case in changed], np.int64)


def case_page(lab: Lab, run_id: str, indexes: Sequence[int]) -> list[CaseRow]:
    """The rows under these indexes."""
    store, run_id = lab.resolve(run_id)
    return store.cases_at(run_id, indexes)


def case_view(lab: Lab, view: RunView, case_id: str) -> CaseView:
    """One case as it is shown."""
    store, run_id = lab.resolve(view.record.run_id)
    detail = store.case_detail(run_id, case_id)
    relevance = view.record.specification.plan.metrics.relevance
    trace = detail.trace
    return CaseView(
        run_id=run_id,
        case=detail.case,
        index=detail.index,
        status="pending" if trace is None else trace.status,
        error=None if trace is None else trace.error,
        asked=detail.case.query if trace is None else trace.query,
        stages=_stages(detail, relevance),
        scores=_scores(view, detail),
        notes=() if trace is None else tuple(trace.notes),
        timings=() if trace is None else tuple(trace.timings.items()),
        chunks=detail.chunks,
        lost=_lost(view.record, detail),
        relevance=relevance,
    )


def case_record(lab: Lab, run_id: str, case_id: str) -> bytes:
    """The case as `ragtui trace RUN CASE --json` prints it."""
    from ragtui.reports.records import trace_record

    store, run_id = lab.resolve(run_id)
    run = _recorded_case(store.run(run_id), store.case_detail(run_id, case_id))
    return msgspec.json.format(msgspec.json.encode(trace_record(run, case_id)), indent=2)


def marks(chunk: ChunkRef, case: EvaluationCase, words: frozenset[str], stem: Stemmer) -> tuple[Mark, ...]:
    """The judged spans and the question's words in a chunk, by place; a word's mark inside a span stays."""
    found = [
        Mark(max(span.start, chunk.start) - chunk.start, min(span.end, chunk.end) - chunk.start, "span", span.grade)
        for span in case.spans
        if span.doc == chunk.doc and span.start < chunk.end and chunk.start < span.end
    ]
    found += [Mark(start, end, "term") for start, end in stem.places(chunk.text, words)]
    return tuple(sorted(found))


class Stemmer:
    """Cuts text into the terms that the run's BM25 recipe searches by, so that what is marked is what matched."""

    def __init__(self, record: RunRecord) -> None:
        from ragtui.artifacts.bm25 import text_analyzer

        self._pairs = record.specification.plan.lexical.bigrams == "on"
        self._analyzer = text_analyzer(record.specification.plan.lexical)
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


def _stores(lab: Lab) -> list[tuple[Literal["working", "reference"], Store]]:
    stores: list[tuple[Literal["working", "reference"], Store]] = [("working", lab.store)]
    if lab.reference is not None:
        stores.append(("reference", lab.reference))
    return stores


def _filter(view: RunView, query: CaseQuery) -> CaseFilter:
    return CaseFilter(
        text=query.text,
        tag=query.tag,
        status=query.kind if query.kind in ("error", "pending") else None,
        missed_by=view.decisive if query.kind == "nothing" else None,
        imperfect_by=view.decisive if query.kind == "missed" else None,
    )


def _stages(detail: CaseDetail, relevance: int) -> tuple[Stage, ...]:
    """The lists that ran, in order. Fusion of one channel and a last stage that changes nothing are left out."""
    trace = detail.trace
    if trace is None:
        return ()
    lists: list[tuple[str, Hits]] = list(trace.channels.items())
    for name, hits in (("fused", trace.fused), ("floor", trace.floor), ("collapse", trace.collapse)):
        if hits is not None and (name != "fused" or len(trace.channels) > 1):
            lists.append((name, hits))
    lists.append(("results", trace.results))
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


def _scores(view: RunView, detail: CaseDetail) -> tuple[Score, ...]:
    trace = detail.trace
    if trace is None:
        return tuple(Score(name, None, "not executed") for name in view.record.measure_names)
    return tuple(
        Score(name, trace.scores.get(name), trace.unscored.get(name, "")) for name in view.record.measure_names
    )


def _recorded_case(record: RunRecord, detail: CaseDetail) -> RecordedRun:
    """A run of nothing but this case, for functions over recorded runs."""
    from ragtui.analysis.recorded import RecordedRun

    return RecordedRun(
        run_id=record.run_id, spec_id=record.spec_id, status=record.status, tier=record.tier,
        specification=record.specification, provenance=record.provenance, measures=record.measure_names,
        cases=(detail.case,), traces=() if detail.trace is None else (detail.trace,),
        chunks=tuple(detail.chunks.values()), environments=record.environments, started_at=record.started_at,
        elapsed_s=record.elapsed_s,
    )  # fmt: skip


def _lost(record: RunRecord, detail: CaseDetail) -> tuple[str, ...]:
    return ()


if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
