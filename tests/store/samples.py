"""Runs, traces and journals to store, made without an engine."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ragtui.events import CaseFinished, ChunksSeen, Notice, RunEvent, RunFinished, RunStarted, RunStatus
from ragtui.experiment.plan import Channel, Plan, Provenance, Retrieval
from ragtui.experiment.specification import Specification
from ragtui.ids import text_id
from ragtui.inputs.evaluation import EvaluationCase, Selection
from ragtui.store.journal import JournalWriter, journal_path
from ragtui.trace import CaseError, CaseTrace, ChunkRef, Hits

MEASURES = ("R@1", "R@3", "R@5", "R@10", "Success@5", "P@5", "RR", "AP", "nDCG@10")


def specification(seed: int = 0, suites: tuple[str, ...] = ("core",)) -> Specification:
    """A hybrid specification over invented content ids."""
    plan = Plan(
        retrieval=Retrieval(channels={"bm25": Channel(kind="bm25"), "vector": Channel(kind="vector")}),
        evaluation=Selection(suites=suites, seed=seed),
    )
    ids: dict[str, Any] = {name: text_id(name) for name in ("corpus_id", "chunk_set_id", "bm25_id", "evaluation_id")}
    return Specification(plan=plan, embedding_set_id=None, embedder=None, sources={}, **ids)


def golden(index: int) -> EvaluationCase:
    """A frozen golden with a tag of three."""
    return EvaluationCase(
        f"q {index}/é", "core", f"How long is question {index}?", (), {"doc": 3}, (), (), (), False,
        (("single-hop", "numeric", "multi-hop")[index % 3],), text_id(f"r{index}"), text_id("a"),
    )  # fmt: skip


def hits(source: random.Random, count: int, scale: float, chunks: int) -> Hits:
    """`count` different chunks with descending scores of six decimals."""
    scores = sorted((round(source.random() * scale, 6) for _ in range(count)), reverse=True)
    return Hits(source.sample(range(chunks), count), scores)


def trace(index: int, depth: int = 3, chunks: int = 50, seed: int = 0, error: bool = False) -> CaseTrace:
    """A trace with two channels of `depth` hits, their fusion, and results."""
    if error:
        return CaseTrace(
            case=golden(index).id, index=index, status="error", error=CaseError("provider_unavailable", "It broke."),
            scores=dict.fromkeys(MEASURES), unscored=dict.fromkeys(MEASURES, "error"),
        )  # fmt: skip
    source = random.Random(f"{seed}:{index}")
    lexical, semantic = hits(source, depth, 20, chunks), hits(source, depth, 1, chunks)
    sums: dict[int, float] = {}
    for ranking in (lexical, semantic):
        for rank, chunk in enumerate(ranking.chunks, 1):
            sums[chunk] = sums.get(chunk, 0.0) + 1 / (60 + rank)
    order = sorted(sums, key=lambda chunk: (-sums[chunk], chunk))
    fused = Hits(order, [sums[chunk] for chunk in order])
    return CaseTrace(
        case=golden(index).id,
        index=index,
        query=golden(index).query,
        channels={"bm25": lexical, "vector": semantic},
        fused=fused,
        results=Hits(fused.chunks[:depth], fused.scores[:depth]),
        scores={name: float(source.randrange(3)) / 2 for name in MEASURES},
        timings={"bm25": round(source.random(), 4), "vector": round(source.random(), 4)},
    )


def chunk(ordinal: int, length: int = 40) -> ChunkRef:
    """A chunk of words that compress like prose."""
    source = random.Random(ordinal)
    words = " ".join("".join(source.choices("etaoinshrdlu", k=source.randint(2, 8))) for _ in range(length // 6))
    return ChunkRef(ordinal, f"doc-{ordinal // 7}", ordinal * 10, ordinal * 10 + length, f"{ordinal} {words}")


def started(run_id: str, count: int, attempt: int = 1, at: str = "2026-01-01T00:00:00Z", **changes: Any) -> RunStarted:
    """The first event of an attempt over `count` cases."""
    spec = changes.pop("specification", specification())
    fields: dict[str, Any] = {
        "run_id": run_id, "attempt": attempt, "spec_id": spec.spec_id, "specification": spec,
        "provenance": Provenance(name="hybrid"), "measures": MEASURES,
        "cases": tuple(golden(index) for index in range(count)), "pending": tuple(range(count)),
        "environment": {"python": "3.11", "attempt": attempt}, "started_at": at,
    }  # fmt: skip
    return RunStarted(**fields | changes)


def finished(index: int, attempt: int = 1, **changes: Any) -> CaseFinished:
    """A case's event, at second `index` of the run."""
    at = f"2026-01-01T00:{index // 60 % 60:02d}:{index % 60:02d}Z"
    return CaseFinished(attempt=attempt, at=at, trace=trace(index, **changes))


def ended(attempt: int = 1, status: RunStatus = "completed") -> RunFinished:
    """The last event of an attempt."""
    return RunFinished(attempt=attempt, status=status, at="2026-01-01T01:00:00Z", elapsed_s=2.5)


def whole_run(run_id: str, count: int, chunks: int = 50, **changes: Any) -> list[RunEvent]:
    """All events of a completed run."""
    return [
        started(run_id, count, **changes),
        Notice(message="ready"),
        ChunksSeen(chunks=[chunk(ordinal) for ordinal in range(chunks)]),
        *(finished(index) for index in range(count)),
        ended(),
    ]


def write_journal(folder: Path, run_id: str, events: Iterable[Any]) -> Path:
    """A closed journal of the events."""
    with JournalWriter.open(folder, run_id) as writer:
        writer.write(list(events))
    return journal_path(folder, run_id)
