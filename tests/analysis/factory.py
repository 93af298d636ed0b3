"""Recorded runs made by hand: chunks of documents, questions, channels' hits; stages and scores are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from ragtui.analysis.recorded import RecordedRun
from ragtui.artifacts.ranking import Ranking, ordered
from ragtui.events import RunStatus
from ragtui.experiment.plan import Channel, Metrics, Plan, Retrieval
from ragtui.experiment.specification import Specification
from ragtui.experiment.validate import measures_of
from ragtui.ids import content_id
from ragtui.inputs.evaluation import EvaluationCase, Span
from ragtui.pipeline.scoring import Scorer
from ragtui.pipeline.stages import run_stages
from ragtui.trace import CaseError, CaseTrace, ChunkRef, Hits

Found = Mapping[str, Sequence[tuple[int, float]]]

PLAN = Plan(
    retrieval=Retrieval(channels={"bm25": Channel(kind="bm25"), "vector": Channel(kind="vector")}),
    metrics=Metrics(measures=("R@1", "R@5", "Success@5", "P@5", "RR", "AP", "nDCG@10")),
)


def make_case(
    name: str, grades: Mapping[str, int] | None = None, spans: Sequence[Span] = (), tags: Sequence[str] = (),
    query: str | None = None, suite: str = "core",
) -> EvaluationCase:  # fmt: skip
    judged = dict(grades or {})
    for span in spans:
        judged[span.doc] = max(span.grade, judged.get(span.doc, 0))
    asked = f"question {name}?" if query is None else query
    return EvaluationCase(
        id=name, suite=suite, query=asked, turns=(), grades=judged, spans=tuple(sorted(spans)), must_include=(),
        must_not_include=(), expect_refusal=not judged, tags=tuple(tags),
        retrieval_hash=content_id([asked, sorted(judged.items()), [list(msgspec.structs.astuple(s)) for s in spans]]),
        answer_hash="sha256:answers",
    )  # fmt: skip


def make_chunks(documents: Mapping[str, int], size: int = 100) -> list[ChunkRef]:
    """Each document as so many chunks of `size` characters, in the order of (id, start)."""
    places = [(doc, part) for doc in sorted(documents) for part in range(documents[doc])]
    return [
        ChunkRef(ordinal, doc, part * size, (part + 1) * size, f"text of {doc} part {part}")
        for ordinal, (doc, part) in enumerate(places)
    ]


def make_run(
    cases: Sequence[EvaluationCase],
    found: Sequence[Found | CaseError | None],
    chunks: Sequence[ChunkRef],
    *,
    plan: Plan = PLAN,
    run_id: str = "base",
    corpus_id: str = "sha256:corpus",
    chunk_set_id: str = "sha256:chunks",
    status: RunStatus = "completed",
) -> RecordedRun:
    """A run as the engine would record it. `found` gives each case's channels as (chunk, score), None if unfinished."""
    measures = measures_of(plan)
    specification = Specification(
        plan=plan, corpus_id=corpus_id, chunk_set_id=chunk_set_id, bm25_id=None, embedding_set_id=None, embedder=None,
        sources={}, evaluation_id=content_id({case.id: case.retrieval_hash for case in cases}),
    )  # fmt: skip
    run = RecordedRun(
        run_id=run_id, spec_id=specification.spec_id, status=status, specification=specification,
        measures=tuple(map(str, measures)), cases=tuple(cases), traces=(), chunks=tuple(chunks),
        started_at="2024-02-29T12:00:00.000Z", elapsed_s=1.5,
    )  # fmt: skip
    pairs = enumerate(zip(cases, found, strict=True))
    done = [(index, case, hits) for index, (case, hits) in pairs if hits is not None]
    traces = [_trace(index, case, hits, run) for index, case, hits in done]
    scored = Scorer(measures, run.documents).scored([case for _, case, _ in done], traces, *run.columns)
    return msgspec.structs.replace(run, traces=tuple(scored))


def ranked(hits: Sequence[tuple[int, float]]) -> Ranking:
    return ordered(np.array([c for c, _ in hits], np.int64), np.array([s for _, s in hits], np.float64))


def _trace(index: int, case: EvaluationCase, hits: Found | CaseError, run: RecordedRun) -> CaseTrace:
    retrieval = run.specification.plan.retrieval
    if isinstance(hits, CaseError):
        return CaseTrace(case=case.id, index=index, status="error", error=hits, query=case.query)
    channels = {name: ranked(found).top(retrieval.channels[name].depth) for name, found in hits.items()}
    stages = run_stages(channels, retrieval, run.columns[0])
    return CaseTrace(
        case=case.id,
        index=index,
        query=case.query,
        channels={name: Hits.of(ranking) for name, ranking in channels.items()},
        fused=Hits.of(stages.fused),
        floor=None if stages.floor is None else Hits.of(stages.floor),
        collapse=None if stages.collapse is None else Hits.of(stages.collapse),
        results=Hits.of(stages.results),
        timings={"bm25": 1.0, "stages": 0.1},
    )


def ranks_run(
    ranks: Sequence[int | None], *, run_id: str = "base", tags: Sequence[Sequence[str]] | None = None, **options: object
) -> RecordedRun:
    """One question a rank: its only relevant document stands there among 20 others, or nowhere."""
    documents = {f"d{number:02}": 1 for number in range(21)}
    chunks = make_chunks(documents)
    cases = [make_case(f"q{i:04}", {"d20": 1}, tags=tags[i] if tags else ("all",)) for i in range(len(ranks))]
    found: list[Found] = []
    for rank in ranks:
        order = list(range(20))
        if rank is not None:
            order.insert(rank - 1, 20)
        hits = [(chunk, 50.0 - place) for place, chunk in enumerate(order[:20])]
        found.append({"bm25": hits, "vector": hits})
    return make_run(cases, found, chunks, run_id=run_id, **options)  # type: ignore[arg-type]
