"""One golden of a generation run in every mode and repeat, as immutable values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ragtui.experiment.cases import CaseName
from ragtui.experiment.generation import MODE_MEANINGS, Mode
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.store.rows import RunRecord
from ragtui.trace import CaseTrace
from ragtui.tui.data.case import case_name
from ragtui.tui.data.trace import RunView, store_named

if TYPE_CHECKING:
    from ragtui.lab import Lab


class ModeAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """One mode: what its context is, and (case id, trace) of each repeat, None where it was not executed."""

    mode: Mode
    meaning: str
    repeats: tuple[tuple[str, CaseTrace | None], ...]

    def shown(self, repeat: int) -> tuple[str, CaseTrace | None]:
        """The repeat of this number, else the first."""
        return self.repeats[repeat - 1] if repeat <= len(self.repeats) else self.repeats[0]


class GoldenAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """A golden in all modes of its run. `outcome` says what the three modes mean together, empty where one lacks.

    `unstable` are the modes in which some repeats passed and others did not.
    """

    golden: str
    case: EvaluationCase
    repeat: int
    modes: tuple[ModeAnswers, ...]
    outcome: str
    unstable: tuple[Mode, ...]


def golden_answers(lab: Lab, view: RunView, case_id: str) -> GoldenAnswers | None:
    """The golden of a generation run's case in every mode; None for a run of the retrieval tier."""
    recipe, name = view.record.specification.plan.generation, case_name(case_id)
    if recipe is None or name is None:
        return None
    store, run_id = store_named(lab, view.store), view.record.run_id
    found: dict[Mode, list[tuple[str, CaseTrace | None]]] = {}
    cases = []
    with store.session():
        for mode in (mode for mode in MODE_MEANINGS if mode in recipe.modes):
            for repeat in range(1, 2 if mode == "mock" else recipe.repeats + 1):
                detail = store.case_detail(run_id, str(CaseName(name.golden, mode, repeat)))
                found.setdefault(mode, []).append((detail.case.id, detail.trace))
                cases.append(detail.case)
    outcome, unstable = _together(view.record, name.golden, cases, found)
    return GoldenAnswers(
        golden=name.golden,
        case=cases[0],
        repeat=name.repeat,
        modes=tuple(
            ModeAnswers(mode=mode, meaning=MODE_MEANINGS[mode], repeats=tuple(repeats))
            for mode, repeats in found.items()
        ),
        outcome=outcome,
        unstable=unstable,
    )


def _together(
    record: RunRecord, golden: str, cases: list[EvaluationCase], found: dict[Mode, list[tuple[str, CaseTrace | None]]]
) -> tuple[str, tuple[Mode, ...]]:
    """What analysis says of the golden: its outcome's sentence, and the modes in which it is unstable."""
    from ragtui.analysis.decomposition import decompose
    from ragtui.analysis.modes import passes
    from ragtui.analysis.recorded import RecordedRun

    run = RecordedRun(
        run_id=record.run_id, spec_id=record.spec_id, status=record.status, tier=record.tier,
        specification=record.specification, measures=record.measure_names, cases=tuple(cases),
        traces=tuple(trace for repeats in found.values() for _, trace in repeats if trace is not None),
    )  # fmt: skip
    whole = decompose(run)
    row = whole.outcome_of(golden) if whole is not None else None
    unstable = tuple(mode for mode in found if any(steady.unstable for steady in passes(run, mode)))
    return row.meaning if row is not None else "", unstable
