"""From a store to recorded runs: whole, in outline, in slices, or one case. Less asked for is less memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ragtui.trace import CaseTrace, Hits

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.inputs.evaluation import EvaluationCase
    from ragtui.store.rows import RunRecord
    from ragtui.store.store import Store

_SHORT_RUN = 1000
_SLICE = 1000
_RESULTS_IN_OUTLINE = 12


def recorded_run(store: Store, run_id: str) -> RecordedRun:
    """One run, whole: about 30 KB a case for a hybrid run of depth 100."""
    return _read(store, run_id, lambda row: _assembled(store, row, store.cases_of(run_id), store.traces(run_id)))


def outlined_run(store: Store, run_id: str) -> RecordedRun:
    """One run with what summaries and misses read: scores, errors and the first results, but no channels.

    Of the generation tier it is whole: what its reports show is in the answers.
    """

    def assemble(row: RunRecord) -> RecordedRun:
        traces = store.traces(run_id)
        kept = traces if row.tier == "generation" else map(_outline, traces)
        return _assembled(store, row, store.cases_of(run_id), kept)

    return _read(store, run_id, assemble)


def _read(store: Store, run_id: str, assemble: Callable[[RunRecord], RecordedRun]) -> RecordedRun:
    """A short run is read in one opening of the file; a long one in pages, so that nobody's writing waits for it."""
    with store.session():
        row = store.run(run_id)
        if row.cases <= _SHORT_RUN:
            return assemble(row)
    return assemble(row)


def run_slices(store: Store, run_id: str) -> Iterator[RecordedRun]:
    """The run as several, each of up to a thousand finished cases with their goldens and chunks."""
    row = store.run(run_id)
    cases = {case.id: case for case in store.cases_of(run_id)}
    remaining = iter(store.traces(run_id))
    while traces := tuple(islice(remaining, _SLICE)):
        yield _assembled(store, row, tuple(cases[trace.case] for trace in traces), traces)


def recorded_case(store: Store, run_id: str, case_id: str) -> RecordedRun:
    """The run as if it had one case; InvalidInput if that case never finished."""
    trace = store.trace(run_id, case_id)
    return _assembled(store, store.run(run_id), (store.case_detail(run_id, case_id).case,), (trace,))


def _outline(trace: CaseTrace) -> CaseTrace:
    results = Hits(trace.results.chunks[:_RESULTS_IN_OUTLINE], trace.results.scores[:_RESULTS_IN_OUTLINE])
    return msgspec.structs.replace(
        trace, channels={}, fused=None, floor=None, collapse=None, results=results, timings={}, notes=[]
    )


def _assembled(
    store: Store, row: RunRecord, cases: tuple[EvaluationCase, ...], traces: Iterable[CaseTrace]
) -> RecordedRun:
    from ragtui.analysis.recorded import RecordedRun

    kept = tuple(traces)
    ordinals = {chunk for trace in kept for chunk in trace.chunks()}
    return RecordedRun(
        run_id=row.run_id,
        spec_id=row.spec_id,
        status=row.status,
        tier=row.tier,
        specification=row.specification,
        provenance=row.provenance,
        measures=tuple(row.measure_names),
        cases=cases,
        traces=kept,
        chunks=tuple(store.chunks(row.run_id, sorted(ordinals)).values()),
        environments=tuple(row.environments),
        started_at=row.started_at,
        elapsed_s=row.elapsed_s,
    )
