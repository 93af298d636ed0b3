"""What the corpus screen shows: inputs and their problems, documents, artifacts, and building them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ragtui.analysis.inputs_report import InputsReport, check_inputs
from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.bm25 import bm25_id, bm25_index
from ragtui.artifacts.chunking import chunk_set, chunk_set_id
from ragtui.artifacts.vectors import embedding_set, embedding_set_id
from ragtui.errors import Interrupted, RagtuiError, RunFailed
from ragtui.experiment.plan import Plan, uses
from ragtui.experiment.presets import PRESETS, preset
from ragtui.inputs.corpus import snapshot
from ragtui.inputs.evaluation import EvaluationCase, freeze
from ragtui.inputs.goldens import read_suites
from ragtui.lab import Lab, plan_embedder

_REBUILDS = {
    "chunks": "any text, chunking",
    "bm25": "chunks or language",
    "vectors": "chunks or embedder",
}


class DocumentRow(msgspec.Struct, frozen=True):
    """A document: characters, chunks (None: not cut yet), goldens that rely on it, whether the last run found it."""

    id: str
    characters: int
    chunks: int | None
    goldens: int
    retrieved: bool | None = None


class Inputs(msgspec.Struct, frozen=True):
    """The report, and the documents where the corpus could be read."""

    report: InputsReport
    documents: tuple[DocumentRow, ...]


class ArtifactLine(msgspec.Struct, frozen=True):
    """An artifact, built or wanted. `state` is `current`, `unused`, `damaged` or `not built`; `used_by` are presets."""

    kind: str
    id: str
    state: str
    used_by: tuple[str, ...]
    size: int = 0
    built_at: str = ""
    seconds: float | None = None
    recipe: str = ""
    damage: str = ""

    @property
    def rebuilt_by(self) -> str:
        """What has to change for it to be built anew."""
        return _REBUILDS.get(self.kind, "")


class Preview(msgspec.Struct, frozen=True):
    """A document's text with its chunks (start, end, heading path) and judged spans (start, end, grade, golden).

    `goldens` are (id, grade, question) of those that rely on it.
    """

    doc: str
    source: str
    text: str
    chunks: tuple[tuple[int, int, str], ...]
    spans: tuple[tuple[int, int, int, str], ...]
    goldens: tuple[tuple[str, int, str], ...]


def inputs(lab: Lab) -> Inputs:
    """Validate corpus and goldens, and list the documents."""
    report = check_inputs(lab.workspace.corpus, lab.workspace.goldens)
    if report.corpus_id is None:
        return Inputs(report, ())
    relying: dict[str, int] = {}
    for case in _cases(lab):
        for doc, grade in case.grades.items():
            relying[doc] = relying.get(doc, 0) + (grade > 0)
    counts = _chunk_counts(lab, preset("hybrid"))
    return Inputs(
        report,
        tuple(
            DocumentRow(item.id, len(item.text), None if counts is None else counts[place], relying.get(item.id, 0))
            for place, item in enumerate(lab.snapshot.documents)
        ),
    )


def retrieved_documents(lab: Lab) -> tuple[str, frozenset[str]] | None:
    """The last run over this corpus and the documents in any of its result lists; None without such a run."""
    corpus_id = lab.snapshot.corpus_id
    for store in (lab.store, lab.reference):
        for row in store.runs(limit=20) if store is not None else []:
            if row.corpus_id != corpus_id or row.status != "completed":
                continue
            assert store is not None
            chunks = {chunk for trace in store.traces(row.run_id) for chunk in trace.results.chunks}
            if row.tier == "generation" and not chunks:
                # None of its modes asked the retriever.
                continue
            found = store.chunks(row.run_id, chunks)
            return row.run_id, frozenset(chunk.doc for chunk in found.values())
    return None


def artifacts(lab: Lab) -> tuple[ArtifactLine, ...]:
    """Every artifact on disk and every one that a preset wants here, the wanted ones first."""
    wanted = _wanted(lab)
    found: list[ArtifactLine] = []
    seen = set()
    for stored in lab.cache.stored():
        record = stored.record
        kind, artifact_id = (record.kind, record.id) if record else (stored.folder.name.partition("-")[0], "")
        used_by = tuple(wanted.get((kind, artifact_id), ()))
        seen.add((kind, artifact_id))
        found.append(
            ArtifactLine(
                kind,
                artifact_id or stored.folder.name,
                "damaged" if stored.damage else "current" if used_by else "unused",
                used_by,
                record.size if record else 0,
                record.built_at if record else "",
                record.seconds if record else None,
                _recipe(record.recipe) if record else "",
                stored.damage,
            )
        )
    found += [
        ArtifactLine(kind, artifact_id, "not built", tuple(names))
        for (kind, artifact_id), names in wanted.items()
        if (kind, artifact_id) not in seen
    ]
    kinds = list(_REBUILDS)
    return tuple(
        sorted(
            found,
            key=lambda item: (item.state == "unused", kinds.index(item.kind) if item.kind in kinds else 9, item.id),
        )
    )


def ingest(lab: Lab, tell: Callable[[str], None], cancelled: Callable[[], bool]) -> str:
    """Build what the preset `hybrid` needs; a sentence on what was done. Raises Interrupted when cancelled."""

    def check() -> None:
        if cancelled():
            raise Interrupted("Building was cancelled; what was finished is kept.", "")

    def progress(done: int, total: int) -> None:
        check()
        tell(f"vectors: {done:,} of {total:,} chunks")

    plan = preset("hybrid")
    tell("chunks…")
    chunks = chunk_set(lab.snapshot, plan.chunking, lab.cache, notify=tell)
    check()
    tell(f"bm25 over {len(chunks):,} chunks…")
    bm25_index(chunks, resolve(plan.lexical, lab.snapshot), lab.cache, notify=tell)
    check()
    embedder = plan_embedder(plan, lab.workspace)
    if embedder is not None:
        embedding_set(chunks, embedder, lab.cache, progress, notify=tell)
    return f"Built: {len(chunks):,} chunks, their BM25 index and their vectors."


def reset(folder: Path) -> str:
    """Delete every artifact; a sentence on it. Raises RunFailed where the folder cannot be removed."""
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        raise RunFailed(f"{folder} cannot be deleted: {error.strerror or error}.", "Check its permissions.") from error
    return "All artifacts are deleted. The next run, or i, builds them anew."


def document_preview(lab: Lab, doc_id: str) -> Preview:
    """One document as the default recipe cuts it, and what the goldens say of it. Raises RunFailed if it is gone."""
    from ragtui.artifacts.chunking import cut

    if doc_id not in lab.snapshot:
        raise RunFailed(f"The document {doc_id!r} is no longer in the corpus.", "Press ctrl+l to read it again.")
    document = lab.snapshot.document(doc_id)
    columns = cut(snapshot([document]), preset("hybrid").chunking)
    cases = [case for case in _cases(lab) if case.grades.get(doc_id, 0) > 0]
    spans = [(span.start, span.end, span.grade, case.id) for case in cases for span in case.spans if span.doc == doc_id]
    return Preview(
        doc_id,
        document.source,
        document.text,
        tuple(zip(columns.start, columns.end, columns.headings, strict=True)),
        tuple(sorted(spans)),
        tuple((case.id, case.grades[doc_id], case.query) for case in cases),
    )


def _cases(lab: Lab) -> list[EvaluationCase]:
    """Every golden of every suite that can be bound."""
    placed, _ = read_suites(lab.workspace.goldens)
    return freeze(placed, lab.snapshot)[0]


def _chunk_counts(lab: Lab, plan: Plan) -> list[int] | None:
    """Chunks of each document, in the snapshot's order; None while they are not cut."""
    wanted = chunk_set_id(lab.snapshot.corpus_id, plan.chunking)
    try:
        if lab.cache.find("chunks", wanted) is None:
            return None
        chunks = chunk_set(lab.snapshot, plan.chunking, lab.cache)
    except RagtuiError:
        return None
    counted: list[int] = np.bincount(chunks.doc, minlength=len(lab.snapshot.documents)).tolist()
    return counted


def _wanted(lab: Lab) -> dict[tuple[str, str], list[str]]:
    """(kind, id) → the presets that need it over this corpus; empty while the corpus cannot be read."""
    wanted: dict[tuple[str, str], list[str]] = {}
    try:
        corpus = lab.snapshot
    except RagtuiError:
        return wanted
    for name, plan in PRESETS.items():
        chunks = chunk_set_id(corpus.corpus_id, plan.chunking)
        needed = [("chunks", chunks)]
        if uses(plan, "bm25"):
            needed.append(("bm25", bm25_id(chunks, resolve(plan.lexical, corpus))))
        embedder = plan_embedder(plan, lab.workspace)
        if embedder is not None:
            needed.append(("vectors", embedding_set_id(chunks, embedder.identity)))
        for key in needed:
            wanted.setdefault(key, []).append(name)
    return wanted


def _recipe(recipe: Any) -> str:
    """A recipe in a few words."""
    if not isinstance(recipe, dict):
        return str(recipe)
    inner = recipe.get("embedder", recipe)
    if isinstance(inner, dict) and "model" in inner:
        return f"{inner['model']}, {inner.get('dimensions', '?')} dimensions"
    if "strategy" in recipe:
        return f"{recipe['strategy']}, {recipe['size']} characters" if "size" in recipe else str(recipe["strategy"])
    if "language" in recipe:
        return f"{recipe['language']}, {'stemmed' if recipe.get('stemming') else 'not stemmed'}"
    return ", ".join(f"{key} {value}" for key, value in recipe.items())
