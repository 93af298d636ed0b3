"""From a store to recorded runs: whole, in outline, in slices, or one case. Less asked for is less memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ragtui.errors import InvalidInput
from ragtui.experiment.cases import expand, parse_case
from ragtui.trace import CaseTrace, ChunkRef, Hits

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


def runs_to_compare(
    base: tuple[Store, str], new: tuple[Store, str], tell: Callable[[str], None] = lambda text: None
) -> tuple[RecordedRun, RecordedRun]:
    """Two runs with what `compare` reads of them, which mostly is their goldens and scores.

    Rankings and the chunks in them are read only where the comparison would look at them: to compute a measure that a
    run does not report, to see whether runs with equal scores are identical, to name what differs between corpora.
    Runs of the generation tier are read whole. `tell` hears how far the reading is.
    """
    runs = [(store, run_id, store.run(run_id)) for store, run_id in (base, new)]
    if all(row.tier == "generation" for _, _, row in runs):
        left, right = (recorded_run(store, run_id) for store, run_id, _ in runs)
        return left, right
    scored = []
    for store, run_id, row in runs:
        tell(f"Reading {run_id}: {row.cases:,} cases …")
        with store.session():
            scored.append(_with_chunks(row, store.cases_of(run_id), tuple(store.outlines(run_id)), ()))
    if _scores_suffice(*scored):
        return scored[0], scored[1]
    everything = scored[0].specification.corpus_id != scored[1].specification.corpus_id
    shared = set.intersection(*({case.id for case in run.cases} for run in scored))
    left, right = (
        _ranked_run(store, row, run, None if everything else shared, tell)
        for (store, _, row), run in zip(runs, scored, strict=True)
    )
    return left, right


def _scores_suffice(base: RecordedRun, new: RecordedRun) -> bool:
    from ragtui.analysis.contrast import applies
    from ragtui.analysis.gates import gating_measures

    if base.specification.corpus_id != new.specification.corpus_id:
        return False
    gating = [str(measure) for measure in gating_measures(new.specification.plan)]
    unreported = [name for name in gating if name not in base.measures or name not in new.measures]
    if applies(new.cases, unreported).any():
        return False
    shared = base.trace_of.keys() & new.trace_of.keys()
    return any(base.trace_of[name].scores != new.trace_of[name].scores for name in shared)


def _ranked_run(
    store: Store, row: RunRecord, scored: RecordedRun, only: set[str] | None, tell: Callable[[str], None]
) -> RecordedRun:
    """The run with its rankings, of some cases only where they are named: a few kilobytes a case."""
    wanted = {trace.index for trace in scored.traces if only is None or trace.case in only}
    ranked = {}
    for place, found in enumerate(store.rankings(row.run_id, wanted)):
        if place % _SLICE == 0:
            tell(f"Reading {row.run_id}: {place:,} of {len(wanted):,} rankings …")
        ranked[found.index] = found
    return _assembled(store, row, scored.cases, [ranked.get(trace.index, trace) for trace in scored.traces])


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
    """The run as if it had one case; InvalidInput if that case never finished.

    Of the generation tier the case's golden in every mode and repeat that finished, in the order of the run.
    """
    with store.session():
        row = store.run(run_id)
        wanted = store.case_detail(run_id, case_id).case
        found = {case_id: store.trace(run_id, case_id)}
        recipe = row.specification.plan.generation
        if recipe is not None:
            golden = msgspec.structs.replace(wanted, id=parse_case(case_id).golden)
            for name in (case.id for case in expand([golden], recipe) if case.id != case_id):
                # One that never finished has no trace.
                with suppress(InvalidInput):
                    found[name] = store.trace(run_id, name)
        traces = sorted(found.values(), key=lambda trace: trace.index)
        cases = tuple(msgspec.structs.replace(wanted, id=trace.case) for trace in traces)
        return _assembled(store, row, cases, traces)


def _outline(trace: CaseTrace) -> CaseTrace:
    results = Hits(trace.results.chunks[:_RESULTS_IN_OUTLINE], trace.results.scores[:_RESULTS_IN_OUTLINE])
    return msgspec.structs.replace(
        trace, channels={}, fused=None, floor=None, collapse=None, results=results, timings={}, notes=[]
    )


def _assembled(
    store: Store, row: RunRecord, cases: tuple[EvaluationCase, ...], traces: Iterable[CaseTrace]
) -> RecordedRun:
    kept = tuple(traces)
    ordinals = {chunk for trace in kept for chunk in trace.chunks()}
    return _with_chunks(row, cases, kept, tuple(store.chunks(row.run_id, sorted(ordinals)).values()))


def _with_chunks(
    row: RunRecord, cases: tuple[EvaluationCase, ...], traces: tuple[CaseTrace, ...], chunks: tuple[ChunkRef, ...]
) -> RecordedRun:
    from ragtui.analysis.recorded import RecordedRun

    return RecordedRun(
        run_id=row.run_id,
        spec_id=row.spec_id,
        status=row.status,
        tier=row.tier,
        specification=row.specification,
        provenance=row.provenance,
        measures=tuple(row.measure_names),
        cases=cases,
        traces=traces,
        chunks=chunks,
        environments=tuple(row.environments),
        started_at=row.started_at,
        elapsed_s=row.elapsed_s,
    )
