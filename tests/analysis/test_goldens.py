"""Generation runs are compared golden by golden."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.replay import BeyondRecording, replay
from ragtui.analysis.verdict import Verdict
from ragtui.experiment.cases import expand
from ragtui.experiment.generation import Generation
from ragtui.trace import AnswerTrace, CaseError
from tests.analysis.factory import ranks_run

REPLACE = msgspec.structs.replace


def answered_run(run_id: str, passes: Sequence[Sequence[bool | None]]) -> RecordedRun:
    """Three repeats a golden in the mode e2e; None is a repeat that failed."""
    run = ranks_run([1] * len(passes), run_id=run_id)
    generation = Generation(model="m", modes=("e2e",), repeats=3)
    plan = run.specification.plan
    plan = REPLACE(plan, generation=generation, metrics=REPLACE(plan.metrics, primary="correctness", guards=()))
    cases = expand(run.cases, generation)
    traces = []
    for index, case in enumerate(cases):
        passed = passes[index % len(passes)][index // len(passes)]
        traces.append(
            REPLACE(
                run.traces[index % len(passes)], case=case.id, index=index,
                error=None if passed is not None else CaseError("timeout", "slow"),
                scores={"correctness": None if passed is None else float(passed)},
                answer=AnswerTrace(mode="e2e", repeat=1 + index // len(passes), passed=passed),
            )
        )  # fmt: skip
    return REPLACE(
        run, tier="generation", specification=REPLACE(run.specification, plan=plan), measures=("correctness",),
        cases=cases, traces=tuple(traces),
    )  # fmt: skip


def test_repeats_are_averaged_first() -> None:
    run = by_golden(answered_run("base", [[True, False, True], [True, True, None]]))
    assert [case.id for case in run.cases] == ["q0000", "q0001"]
    assert [trace.scores for trace in run.traces] == [
        {"correctness": pytest.approx(2 / 3), "unstableRate": 1.0}, {"correctness": 1.0, "unstableRate": 0.0},
    ]  # fmt: skip
    assert by_golden(ranks_run([1])).cases == ranks_run([1]).cases


def test_goldens_are_the_sampling_unit_and_instability_gates() -> None:
    steady, shaky = [[True, True, True]] * 40, [[True, False, True], [True, True, False]] * 20
    result = compare(answered_run("base", steady), answered_run("new", shaky))
    assert result.measures["correctness"].total == 40
    assert result.measures["correctness"].delta == pytest.approx(-1 / 3)
    assert result.measures["unstableRate"].losses == 40
    assert result.verdict is Verdict.FAIL
    assert [reason.split()[0] for reason in result.reasons] == ["correctness", "unstableRate"]


def test_a_golden_without_an_answer_is_unscored() -> None:
    nothing: list[Sequence[bool | None]] = [*[[True] * 3] * 39, [None, None, None]]
    result = compare(answered_run("base", [[True, True, True]] * 40), answered_run("new", nothing))
    assert (result.measures["correctness"].scored, result.measures["correctness"].total) == (39, 40)
    assert result.verdict is Verdict.INCONCLUSIVE


def test_answers_cannot_be_replayed() -> None:
    run = answered_run("base", [[True, True, True]])
    with pytest.raises(BeyondRecording, match="which takes the model"):
        replay(run, run.specification.plan)
