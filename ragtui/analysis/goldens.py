"""A run seen golden by golden: what comparisons pair. In the generation tier repeats are averaged first."""

from __future__ import annotations

import math

import msgspec

from ragtui.analysis.modes import UNSTABLE, cases_of_mode, headline_mode, mode_table, modes_of
from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.cases import parse_case
from ragtui.trace import CaseTrace


def by_golden(run: RecordedRun) -> RecordedRun:
    """The run with one case a golden: itself in the retrieval tier.

    Of a generation run, the mode that stands for it: each trace is that of the first repeat without an error, with the
    mean scores of all repeats, and `unstableRate` as one more measure.
    """
    if run.tier == "retrieval" or not modes_of(run):
        return run
    mode = headline_mode(run)
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
