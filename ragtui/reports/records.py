"""The JSON objects that `--json` prints: their keys keep their names."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.summary import counts, summary
from ragtui.events import RunStatus
from ragtui.metrics.aggregate import Estimate
from ragtui.reports.generation import answer_record, generation_record
from ragtui.trace import CaseTrace, Hits


class CountsRecord(msgspec.Struct, frozen=True):
    """Cases of the run; those with and without a value under any ranking measure; those that ended in an error."""

    cases: int
    scored: int
    unscored: int
    errors: int


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The object of `run --json` and `show --json`. Times are UTC ISO-8601; `elapsed_s` is over all attempts."""

    run_id: str
    spec_id: str
    name: str
    note: str
    status: RunStatus
    tier: str
    corpus_id: str
    evaluation_id: str
    measures: dict[str, Estimate]
    by_tag: dict[str, dict[str, Estimate]]
    counts: CountsRecord
    attempts: int
    started_at: str
    elapsed_s: float


def run_record(run: RecordedRun) -> dict[str, Any]:
    """What `run --json` and `show --json` print."""
    estimates = summary(run)
    tally = counts(run.cases, run.trace_of)
    record = RunRecord(
        run_id=run.run_id,
        spec_id=run.spec_id,
        name=run.provenance.name,
        note=run.provenance.note,
        status=run.status,
        tier=run.tier,
        corpus_id=run.specification.corpus_id,
        evaluation_id=run.specification.evaluation_id,
        measures=estimates.overall,
        by_tag=estimates.by_tag,
        counts=CountsRecord(tally.cases, tally.scored, tally.unscored, tally.errors),
        attempts=len(run.environments),
        started_at=run.started_at,
        elapsed_s=run.elapsed_s,
    )
    plain = cast("dict[str, Any]", msgspec.to_builtins(record))
    return plain | generation_record(run) if run.tier == "generation" else plain


def trace_record(run: RecordedRun, case_id: str) -> dict[str, Any]:
    """What `trace --json` prints: the whole trace with chunks by name; every duration sits under `timings`."""
    trace = run.trace_of[case_id]
    case = next(case for case in run.cases if case.id == case_id)
    return {
        "run_id": run.run_id,
        "spec_id": run.spec_id,
        "golden": msgspec.to_builtins(case),
        "case": trace.case,
        "status": trace.status,
        "error": msgspec.to_builtins(trace.error),
        "query": trace.query,
        "channels": {name: _hits(run, hits) for name, hits in trace.channels.items()},
        "fused": _hits(run, trace.fused),
        "floor": _hits(run, trace.floor),
        "collapse": _hits(run, trace.collapse),
        "results": _hits(run, trace.results),
        "scores": trace.scores,
        "unscored": trace.unscored,
        "notes": trace.notes,
        "timings": trace.timings,
    } | ({"answer": answer_record(run, trace)} if run.tier == "generation" else {})


def _hits(run: RecordedRun, hits: Hits | None) -> list[dict[str, Any]] | None:
    if hits is None:
        return None
    return [
        {"chunk": run.chunk_of[chunk].name if chunk in run.chunk_of else None, "rank": rank, "score": score}
        for rank, (chunk, score) in enumerate(zip(hits.chunks, hits.scores, strict=True), 1)
    ]


def comparable_trace(run: RecordedRun, trace: CaseTrace) -> dict[str, Any]:
    """A trace without its timings: what must be equal, byte for byte, on every repeat on one machine."""
    record = trace_record(run, trace.case)
    return {key: value for key, value in record.items() if key not in ("timings", "run_id")}
