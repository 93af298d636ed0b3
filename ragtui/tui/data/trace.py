"""What the trace screen shows, as immutable values: pure functions from a store to rows, cases and marks.

Everything here blocks on the store's file; the screen calls it in threads and receives the values in messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.artifacts.recipes import Lexical
from ragtui.errors import InvalidInput, StoreUnavailable
from ragtui.ids import text_id
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.store.cases import CaseDetail, CaseFilter
from ragtui.store.rows import Baseline, CaseRow, RunRecord, RunRow
from ragtui.trace import CaseError, ChunkRef, Hits

if TYPE_CHECKING:
    from ragtui.analysis.attribution import Miss
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab
    from ragtui.store.store import Store

Label = Literal["working", "reference"]
Kind = Literal["all", "missed", "nothing", "error", "pending", "changed"]
KINDS: tuple[Kind, ...] = ("all", "missed", "nothing", "error", "pending", "changed")
KIND_WORDS: dict[Kind, str] = {
    "all": "all cases", "missed": "missed", "nothing": "found nothing", "error": "errors", "pending": "not executed",
    "changed": "changed against baseline",
}  # fmt: skip
LONGEST_SHOWN = 20_000
_SAME = 1e-12


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list; `store` says which file it is in, `baseline` the name under which it is promoted."""

    row: RunRow
    store: Label
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
    store: Label
    decisive: str
    tags: tuple[tuple[str, int], ...]
    baseline: Baseline | None


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
    the gold was lost, `words` the question's terms as `stemmer` cuts them."""

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


def open_run(lab: Lab, run_id: str, label: Label | None = None) -> RunView:
    """One run with what its list needs, by any name that `lab.resolve` takes, or by its id in the store `label`."""
    if label is None:
        store, run_id = lab.resolve(run_id)
    else:
        store = store_named(lab, label)
    record = store.run(run_id)
    primary = record.specification.plan.metrics.primary
    return RunView(
        record=record,
        store="working" if store is lab.store else "reference",
        decisive=decisive(record.measure_names, primary),
        tags=tuple(store.tags_of(run_id).items()),
        baseline=baseline_of(lab, record),
    )


def decisive(measures: Sequence[str], primary: str) -> str:
    """`decisive_measure`, or nothing for a run without measures."""
    from ragtui.analysis.summary import decisive_measure

    return decisive_measure(measures, primary) if measures else ""


def baseline_of(lab: Lab, record: RunRow) -> Baseline | None:
    """The newest promotion for a run's corpus, suites and tier, in the working store first."""
    suites = tuple(sorted(set(record.suites)))
    for _, store in _stores(lab):
        for item in store.baselines():
            if (item.corpus_id, item.suites, item.tier) == (record.corpus_id, suites, record.tier):
                return item
    return None


def case_order(lab: Lab, view: RunView, query: CaseQuery) -> CaseOrder:
    """The cases that the query leaves. Where words as typed find nothing, mistyped ones are looked for."""
    store, run_id = store_named(lab, view.store), view.record.run_id
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
    changed = changed_indexes(store, run_id, *lab.resolve(view.baseline.run_id))
    return CaseOrder(indexes=indexes[np.isin(indexes, changed)], near=near)


def fitting(view: RunView, query: CaseQuery) -> CaseQuery:
    """The query as far as the run can answer it: a remembered measure or tag that it lacks is left out."""
    sort = query.sort if query.sort == "index" or query.sort in view.record.measure_names else "index"
    tag = query.tag if query.tag in dict(view.tags) else None
    unscored = query.kind in ("missed", "nothing") and not view.decisive
    return msgspec.structs.replace(query, sort=sort, tag=tag, kind="all" if unscored else query.kind)


def changed_indexes(store: Store, run_id: str, base_store: Store, base_id: str) -> NDArray[np.int64]:
    """The indexes of executed cases of a run for which a measure that both runs report has another value."""
    names, rows, present = store.score_columns(run_id)
    base_names, base_rows, old = base_store.score_columns(base_id)
    shared = [name for name in names if name in base_names]
    cases = [case for case in rows if case in base_rows]
    left = present[np.ix_([rows[case] for case in cases], [names.index(name) for name in shared])]
    right = old[np.ix_([base_rows[case] for case in cases], [base_names.index(name) for name in shared])]
    differs = ~((np.abs(left - right) <= _SAME) | (np.isnan(left) & np.isnan(right)))
    changed = {cases[row] for row in np.flatnonzero(differs.any(axis=1))}
    executed = sorted(store.finished_indexes(run_id))
    return np.asarray([index for index, case in zip(executed, rows, strict=True) if case in changed], np.int64)


def case_page(lab: Lab, view: RunView, indexes: Sequence[int]) -> list[CaseRow]:
    """The rows under these indexes."""
    return store_named(lab, view.store).cases_at(view.record.run_id, indexes)


def case_view(lab: Lab, view: RunView, case_id: str) -> CaseView:
    """One case as it is shown."""
    run_id = view.record.run_id
    detail = store_named(lab, view.store).case_detail(run_id, case_id)
    relevance = view.record.specification.plan.metrics.relevance
    trace = detail.trace
    asked = detail.case.query if trace is None or not trace.query else trace.query
    stemmer = _stemmer(view.record.specification.plan.lexical)
    return CaseView(
        run_id=run_id,
        case=detail.case,
        index=detail.index,
        status="pending" if trace is None else trace.status,
        error=None if trace is None else trace.error,
        asked=asked,
        stages=_stages(detail, relevance),
        scores=_scores(view, detail),
        notes=() if trace is None else tuple(trace.notes),
        timings=() if trace is None else tuple(trace.timings.items()),
        chunks=detail.chunks,
        lost=_lost(view.record, detail),
        relevance=relevance,
        words=stemmer.terms(asked),
        stemmer=stemmer,
    )


def case_record(lab: Lab, view: RunView, case_id: str) -> bytes:
    """The case as `ragtui trace RUN CASE --json` prints it; InvalidInput where it was not executed."""
    from ragtui.reports.records import trace_record

    detail = store_named(lab, view.store).case_detail(view.record.run_id, case_id)
    if detail.trace is None:
        run_id = view.record.run_id
        raise InvalidInput(f"Run {run_id} has not executed the case {case_id!r}.", f"Finish it with `ragtui resume {run_id}`.")
    record = trace_record(_recorded_case(view.record, detail), case_id)
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def export_case(lab: Lab, view: RunView, case_id: str) -> Path:
    """Write `case_record` into the workspace's state folder; the file. StoreUnavailable where that cannot be."""
    data = case_record(lab, view, case_id)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", case_id)[:60].strip(".-") or "case"
    if plain != case_id:
        plain += "-" + text_id(case_id).removeprefix("sha256:")[:8]
    path = lab.workspace.state / "exports" / f"{view.record.run_id}-{plain}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        aside.write_bytes(data)
        aside.replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}.", "Check the folder's permissions.") from error
    return path


def manifest(record: RunRecord) -> str:
    """The exact specification that produced a run, with its fingerprint, provenance and each attempt's environment."""
    from ragtui.artifacts.recipes import canonical

    plain = {
        "run_id": record.run_id,
        "spec_id": record.spec_id,
        "specification": canonical(record.specification),
        "provenance": canonical(record.provenance),
        "attempts": [msgspec.to_builtins(row) for row in record.attempt_rows],
    }
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


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


def store_named(lab: Lab, label: Label) -> Store:
    """The working or the reference store."""
    return lab.reference if label == "reference" and lab.reference is not None else lab.store


@lru_cache(8)
def _stemmer(lexical: Lexical) -> Stemmer:
    return Stemmer(lexical)


def _stores(lab: Lab) -> list[tuple[Label, Store]]:
    stores: list[tuple[Label, Store]] = [("working", lab.store)]
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


def _lost(record: RunRecord, detail: CaseDetail) -> tuple[Miss, ...]:
    """What analysis says of the judgments that the results do not hold."""
    from ragtui.analysis.attribution import attribute

    return tuple(attribute(_recorded_case(record, detail)))
