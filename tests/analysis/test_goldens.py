"""Generation runs are compared golden by golden."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.replay import BeyondRecording, replay
from ragtui.analysis.sweep import best_of
from ragtui.analysis.verdict import Verdict
from ragtui.errors import ComparisonRefused
from ragtui.experiment.cases import expand, parse_case
from ragtui.experiment.generation import Generation, Mode
from ragtui.reports.junit import comparison_junit
from ragtui.trace import AnswerTrace, CaseError
from tests.analysis.factory import ranks_run

REPLACE = msgspec.structs.replace


def answered_run(run_id: str, passes: Sequence[Sequence[bool | None]], modes: Sequence[Mode] = ("e2e",)) -> RecordedRun:
    """Three repeats a golden in each mode, all alike; None is a repeat that failed."""
    run = ranks_run([1] * len(passes), run_id=run_id)
    generation = Generation(model="m", modes=tuple(modes), repeats=3)
    plan = run.specification.plan
    plan = REPLACE(plan, generation=generation, metrics=REPLACE(plan.metrics, primary="correctness", guards=()))
    cases = expand(run.cases, generation)
    traces = []
    for index, case in enumerate(cases):
        name = parse_case(case.id)
        golden = next(trace for trace in run.traces if trace.case == name.golden)
        passed = passes[golden.index][name.repeat - 1]
        traces.append(
            REPLACE(
                golden, case=case.id, index=index,
                error=None if passed is not None else CaseError("timeout", "slow"),
                scores={"correctness": None if passed is None else float(passed)},
                answer=AnswerTrace(mode=name.mode, repeat=name.repeat, passed=passed),
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


def test_repeats_that_failed_block_a_pass_unless_allowed() -> None:
    """Each golden still has one good repeat, so every measure has all its values."""
    base = answered_run("base", [[True, True, True]] * 40)
    new = answered_run("new", [[None, True, None]] * 3 + [[True, True, True]] * 37)
    result = compare(base, new, tolerance=0.3)
    assert (result.measures["correctness"].scored, result.measures["correctness"].total) == (40, 40)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons[0] == "Cases failed: 6 of new; `ragtui compare --allow-errors` accepts that."
    assert compare(base, new, tolerance=0.3, allow_errors=True).verdict is Verdict.PASS
    assert (
        compare(new, base, tolerance=0.3).reasons[0]
        == "Cases failed: 6 of new; `ragtui compare --allow-errors` accepts that."
    )


def test_repeats_that_never_ran_block_a_pass_until_the_run_is_resumed() -> None:
    base = answered_run("base", [[True, True, True]] * 40)
    whole = answered_run("new", [[True, True, True]] * 40)
    new = REPLACE(whole, status="interrupted", traces=whole.traces[:111])
    result = compare(base, new, tolerance=0.3, allow_errors=True)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons[0] == "A run is not complete; `ragtui resume` finishes it."
    assert "new is interrupted: 111 of 120 cases finished." in result.notes
    assert compare(base, whole, tolerance=0.3).verdict is Verdict.PASS


def test_a_sweep_does_not_choose_a_point_whose_repeats_failed() -> None:
    good = answered_run("good", [[True, True, True]] * 9 + [[False, False, False]])
    flaky = answered_run("flaky", [[True, None, None]] * 10)
    found = best_of(good, {"flaky": flaky, "good": good}, "correctness")
    assert (found.best, [point.lacking for point in found.points]) == ("good", [20, 0])


def test_runs_are_compared_in_a_mode_that_both_have() -> None:
    right, wrong = [[True, True, True]] * 40, [[False, False, False]] * 40
    e2e, both = answered_run("base", right), answered_run("both", right, ("oracle", "e2e"))
    assert compare(e2e, both).answer_mode == "e2e"
    assert not any("in the mode" in note for note in compare(e2e, both).notes)
    oracle = answered_run("oracle", wrong, ("oracle",))
    result = compare(both, oracle)
    assert (result.answer_mode, result.verdict) == ("oracle", Verdict.FAIL)
    assert "Compared in the mode oracle, which both runs have." in result.notes
    assert {flip.base_answer.case for flip in result.flips if flip.base_answer} >= {"q0000@oracle#1"}
    assert 'failures="40"' in comparison_junit(result, oracle)
    neither = "The runs have no mode in common: base has e2e and oracle has oracle."
    for refused in (compare, lambda base, new: best_of(base, {"new": new}, "correctness")):
        with pytest.raises(ComparisonRefused, match=neither):
            refused(e2e, oracle)


def test_answers_cannot_be_replayed() -> None:
    run = answered_run("base", [[True, True, True]])
    with pytest.raises(BeyondRecording, match="which takes the model"):
        replay(run, run.specification.plan)
