"""A recorded run as one value: what the store gives back, what `export --format json` writes, what analysis reads."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.errors import InvalidInput
from ragtui.events import RunStatus
from ragtui.experiment.plan import Provenance
from ragtui.experiment.specification import Specification
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.trace import CaseTrace, ChunkRef

RECORD_SCHEMA = 1
HIGHEST_GRADE = 3
_ROUNDING = 1e-6


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run, whole. `traces` holds the finished cases in the order of `cases`; a missing one never finished.

    `chunks` are the chunks that the traces refer to; their `text` may be left empty. Times are UTC ISO-8601,
    `elapsed_s` seconds over all attempts; `environments` has one record an attempt.
    """

    schema: int = RECORD_SCHEMA
    run_id: str
    spec_id: str
    status: RunStatus
    tier: Literal["retrieval", "generation"] = "retrieval"
    specification: Specification
    provenance: Provenance = Provenance()
    measures: tuple[str, ...]
    cases: tuple[EvaluationCase, ...]
    traces: tuple[CaseTrace, ...]
    chunks: tuple[ChunkRef, ...] = ()
    environments: tuple[dict[str, Any], ...] = ()
    started_at: str = ""
    elapsed_s: float = 0.0

    @cached_property
    def trace_of(self) -> dict[str, CaseTrace]:
        """Case id → trace."""
        return {trace.case: trace for trace in self.traces}

    @cached_property
    def chunk_of(self) -> dict[int, ChunkRef]:
        """Ordinal → chunk."""
        return {chunk.ordinal: chunk for chunk in self.chunks}

    @cached_property
    def documents(self) -> dict[str, int]:
        """Document id → a dense ordinal, in the order of ids, for every document of a chunk or judgment."""
        named = {chunk.doc for chunk in self.chunks}
        named.update(doc for case in self.cases for doc in case.grades)
        return {doc: position for position, doc in enumerate(sorted(named))}

    @cached_property
    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """`doc`, `start` and `end` indexed by chunk ordinal (`doc` counts as in `documents`; -1 where unknown)."""
        size = max((chunk.ordinal for chunk in self.chunks), default=-1) + 1
        doc = np.full(size, -1, np.int64)
        start, end = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for chunk in self.chunks:
            doc[chunk.ordinal] = self.documents[chunk.doc]
            start[chunk.ordinal], end[chunk.ordinal] = chunk.start, chunk.end
        return doc, start, end


def decode_recorded(data: bytes, source: str) -> RecordedRun:
    """Read an exported run; InvalidInput names what is wrong with it."""
    try:
        recorded = msgspec.json.decode(data, type=RecordedRun)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"{source} is not an exported run: {error}.", "`ragtui export RUN --format json` writes one."
        ) from error
    if recorded.schema != RECORD_SCHEMA:
        raise InvalidInput(
            f"{source} has schema {recorded.schema}; this version reads {RECORD_SCHEMA}.", "Update ragtui."
        )
    fault = _inconsistency(recorded)
    if fault:
        raise InvalidInput(f"{source} contradicts itself: {fault}.", "Export the run again.")
    return recorded


def _inconsistency(run: RecordedRun) -> str:
    """What a record that was edited or cut says of itself that cannot be; empty where nothing is."""
    cases = {case.id for case in run.cases}
    if len(cases) < len(run.cases):
        return "two cases have one id"
    if len(run.trace_of) < len(run.traces):
        return "a case has two traces"
    described = {chunk.ordinal for chunk in run.chunks}
    fault = next((chunk.fault for chunk in run.chunks if chunk.fault), "")
    if fault:
        return fault
    for case in run.cases:
        for grade in (*case.grades.values(), *(span.grade for span in case.spans)):
            if not 0 <= grade <= HIGHEST_GRADE:
                return f"case {case.id!r} has a judgment of grade {grade}, but grades are 0 to {HIGHEST_GRADE}"
    for trace in run.traces:
        if trace.case not in cases:
            return f"there is a trace, but no case {trace.case!r}"
        for name, score in trace.scores.items():
            if score is not None and not -_ROUNDING <= score <= 1 + _ROUNDING:
                return f"case {trace.case!r} has the score {score:g} for {name}, but scores are 0 to 1"
        for hits in (*trace.channels.values(), trace.results):
            if len(hits.chunks) != len(hits.scores):
                return f"case {trace.case!r} has {len(hits.chunks)} hits with {len(hits.scores)} scores"
            if not described.issuperset(hits.chunks):
                return f"case {trace.case!r} refers to a chunk that is not described"
    return ""
