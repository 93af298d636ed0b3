"""A run seen golden by golden: what comparisons pair. In the generation tier repeats are averaged first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import msgspec

from ragtui.analysis.modes import UNSTABLE, cases_of_mode, headline_mode, mode_table, modes_of
from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import ComparisonRefused
from ragtui.experiment.cases import parse_case
from ragtui.experiment.generation import Mode, headline_of
from ragtui.trace import CaseTrace


class Standing(msgspec.Struct, frozen=True):
    """What a run lacks, in cases by golden: `failed` ended with an error, `missing` never finished."""

    failed: dict[str, int]
    missing: dict[str, int]


def common_mode(runs: Iterable[RecordedRun]) -> Mode | None:
    """The mode that generation runs are compared in: the one that stands for those that all of them have.

    None where a run is of the retrieval tier; ComparisonRefused where they have no mode in common.
    """
    runs = list(runs)
    modes = [modes_of(run) for run in runs]
    if not all(modes):
        return None
    shared = [mode for mode in modes[0] if all(mode in others for others in modes)]
    if not shared:
        told = " and ".join(f"{run.run_id} has {', '.join(own)}" for run, own in zip(runs, modes, strict=True))
        raise ComparisonRefused(
            f"The runs have no mode in common: {told}.", "Answers with different contexts are not compared."
        )
    return headline_of(shared)


def standing(run: RecordedRun, mode: Mode | None = None) -> Standing:
    """What a whole run lacks; of a generation run in one mode, the one that stands for it unless another is named."""
    asked = [(case.id, case.id) for case in run.cases]
    if run.tier == "generation" and modes_of(run) and UNSTABLE not in run.measures:
        mode = mode or headline_mode(run)
        names = [(case, parse_case(case)) for case, _ in asked]
        asked = [(name.golden, case) for case, name in names if name.mode == mode]
    traces = [(golden, run.trace_of.get(case)) for golden, case in asked]
    return Standing(
        failed=dict(Counter(golden for golden, trace in traces if trace is not None and trace.error is not None)),
        missing=dict(Counter(golden for golden, trace in traces if trace is None)),
    )


def by_golden(run: RecordedRun, mode: Mode | None = None) -> RecordedRun:
    """The run with one case a golden: itself in the retrieval tier, and where it is so already.

    Of a generation run, one mode, that which stands for it unless another is named: each trace is that of the first
    repeat without an error, with the mean scores of all repeats, and `unstableRate` as one more measure.
    """
    # No recorded run reports how often its answers are unstable; one seen by golden does.
    if run.tier == "retrieval" or not modes_of(run) or UNSTABLE in run.measures:
        return run
    mode = mode or headline_mode(run)
    table = mode_table(run, mode)
    chosen: dict[str, CaseTrace] = {}
    for golden, _, trace in cases_of_mode(run, mode):
        if golden not in chosen or (chosen[golden].error is not None and trace.error is None):
            chosen[golden] = trace
    traces = [
        msgspec.structs.replace(
            chosen[golden],
            case=golden,
            scores={
                name: None if math.isnan(value) else value
                for name, value in zip(table.measures, row, strict=True)
            },
        )
        for golden, row in zip(table.goldens, table.scores.tolist(), strict=True)
    ]  # fmt: skip
    named = {parse_case(case.id): case for case in run.cases}
    cases = {name.golden: case for name, case in named.items() if name.mode == mode and name.repeat == 1}
    return msgspec.structs.replace(
        run,
        measures=tuple(dict.fromkeys((*run.measures, UNSTABLE))),
        cases=tuple(msgspec.structs.replace(case, id=golden) for golden, case in cases.items()),
        traces=tuple(traces),
    )
