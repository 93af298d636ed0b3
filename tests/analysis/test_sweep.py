"""Grids, ablations, and the best of many."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ragtui.analysis.points import check_points, grid, holdout
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import holm
from ragtui.analysis.sweep import ablations, best_of, earnings
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.experiment.validate import check_plan
from ragtui.trace import CaseError
from tests.analysis.factory import PLAN, make_case, ranks_run


def test_a_grid_is_every_combination() -> None:
    assert grid(["a.b=1,2", 'c=[1,2],"x,y",z']) == [
        [f"a.b={a}", f"c={c}"] for a in (1, 2) for c in ("[1,2]", '"x,y"', "z")
    ]
    assert grid([]) == []
    assert grid(["a=1, 1,2"]) == [["a=1"], ["a=2"]]
    floors = 'retrieval.floor={"score":"fused","minimum":0.01},null'
    for point in grid(["retrieval.fusion.rank_constant=10,20", floors]):
        check_plan(edit(PLAN, point))


@pytest.mark.parametrize("setting", ["a", "a=", "=1", "a=1,,2"])
def test_a_bad_axis_is_refused(setting: str) -> None:
    with pytest.raises(InvalidInput, match="is not of the form path=value"):
        grid([setting])
    with pytest.raises(InvalidInput, match="names a twice"):
        grid(["a=1", "a=2"])
    with pytest.raises(InvalidInput, match="The grid has 1000000 points"):
        grid([f"{name}={','.join(map(str, range(100)))}" for name in "abc"])


def test_an_ablation_leaves_out_one_thing_each() -> None:
    plan = edit(preset("hybrid-weighted"), [
        "retrieval.channels.lexical.min_score=2", 'retrieval.floor={"score":"semantic","minimum":0.2}',
    ])  # fmt: skip
    found = dict(ablations(plan))
    assert list(found) == [
        "channel lexical", "channel semantic", "weights", "minimum score of lexical", "floor", "collapse",
    ]  # fmt: skip
    for ablated in found.values():
        check_plan(ablated)
        assert ablated != plan
    assert found["channel semantic"].retrieval.floor is None
    assert found["channel semantic"].retrieval.fusion.weights == {}
    assert found["channel lexical"].retrieval.floor == plan.retrieval.floor
    assert found["weights"].retrieval.fusion.weights == {}
    assert found["collapse"].retrieval.collapse == "none"
    assert ablations(preset("bm25")) == []
    muted = edit(preset("hybrid"), ["retrieval.fusion.weights.vector=0"])
    assert [name for name, _ in ablations(muted)] == ["channel vector", "weights"]


def test_what_a_stage_earns() -> None:
    whole = ranks_run([1] * 40)
    table = earnings(whole, {"a": ranks_run([2] * 40), "b": ranks_run([1] * 40)}, ["mrr"])
    assert [(row.name, row.measures["RR"].delta) for row in table] == [("a", 0.5), ("b", 0.0)]
    p_values = [row.measures["RR"].p or 0 for row in table]
    assert [row.measures["RR"].p_adjusted for row in table] == holm(p_values)
    assert set(earnings(whole, {"a": whole})[0].measures) == set(whole.measures)
    assert "P@5" not in earnings(whole, {"a": ranks_run([1] * 40, chunk_set_id="finer")})[0].measures
    with pytest.raises(ComparisonRefused, match="answer different goldens"):
        earnings(whole, {"a": ranks_run([1] * 3)})


def test_the_best_of_many_says_whether_it_differs() -> None:
    present = ranks_run([2, 3] * 30)
    sweep = best_of(present, {"k=1": ranks_run([3, 3] * 30), "k=2": ranks_run([1, 2] * 30), "k=3": present}, "RR")
    assert (sweep.best, sweep.distinguishable, sweep.held_out) == ("k=2", True, None)
    assert sweep.points[2].change is not None
    assert sweep.points[2].change.delta == 0
    assert sweep.notes == (
        "The best of 3 points was chosen on the questions that score it, so its value is too good: "
        "choose and report on different questions with --holdout.",
    )
    same = best_of(present, {"k=3": present}, "RR")
    assert not same.distinguishable
    assert same.notes == ("The best point cannot be told from the present plan by RR on these questions.",)
    down = best_of(present, {"x": present, "y": present}, "emptyRateOnAnswerable")
    assert down.best == "x"
    with pytest.raises(InvalidInput, match="The sweep has no point"):
        best_of(present, {}, "RR")


def failing(run: RecordedRun, places: range) -> RecordedRun:
    """The run with errors at these places."""
    replace = msgspec.structs.replace
    traces = [
        replace(trace, status="error", error=CaseError("failed", "boom"), scores=dict.fromkeys(trace.scores))
        if trace.index in places else trace
        for trace in run.traces
    ]  # fmt: skip
    return replace(run, run_id="flaky", traces=tuple(traces))


def test_a_point_that_fails_on_the_hard_questions_is_not_the_best() -> None:
    good = ranks_run([1] * 9 + [2])
    flaky = failing(ranks_run([1] * 10), range(3, 10))
    sweep = best_of(good, {"flaky": flaky, "good": good}, "RR")
    assert sweep.best == "good"
    assert [(point.value.value, point.value.n, point.lacking) for point in sweep.points] == [(1, 3, 7), (0.95, 10, 0)]
    assert sweep.notes[1] == (
        "Cases failed or never finished in flaky (7, run flaky), so that they were not chosen from; "
        "`ragtui resume` tries them again."
    )
    unfinished = msgspec.structs.replace(flaky, traces=flaky.traces[:3])
    assert best_of(good, {"flaky": unfinished, "good": good}, "RR").best == "good"
    # Where every point lacks cases, those that all of them score decide.
    worse = failing(ranks_run([2, 1, 1] + [1] * 7), range(9, 10))
    assert best_of(good, {"worse": worse, "flaky": flaky}, "RR").best == "flaky"


def test_a_best_point_that_is_worse_than_the_present_plan_is_said_to_be() -> None:
    sweep = best_of(ranks_run([1] * 10), {"bad": ranks_run([None] * 10), "worse": ranks_run([None] * 10)}, "RR")
    assert (sweep.best, sweep.distinguishable) == ("bad", True)
    assert sweep.notes[0].startswith("No point beats the present plan: the best of them, bad, changes RR by -1.0000 [")


def test_points_that_cannot_be_compared_are_refused_before_anything_runs() -> None:
    check_points(PLAN, {"k": edit(PLAN, ["retrieval.fusion.rank_constant=1"])}, "P@5")
    finer = {"size=60": edit(PLAN, ["chunking.size=60"])}
    check_points(PLAN, finer, "nDCG@10")
    with pytest.raises(InvalidInput, match=r"size=60 has other chunks than the plan, and P@5, which decides"):
        check_points(PLAN, finer, "P@5")
    with pytest.raises(InvalidInput, match="limit=3 asks other questions than the plan"):
        check_points(PLAN, {"limit=3": edit(PLAN, ["evaluation.limit=3"])}, "RR")
    with pytest.raises(ComparisonRefused, match="P@5 counts chunks, and the points have different chunk sets"):
        best_of(ranks_run([1]), {"finer": ranks_run([1], chunk_set_id="finer")}, "P@5")


def test_noise_is_not_called_better() -> None:
    source = np.random.default_rng(2)
    present = ranks_run(source.integers(1, 8, 80).tolist())
    points = {f"k={i}": ranks_run(source.integers(1, 8, 80).tolist()) for i in range(12)}
    assert not best_of(present, points, "RR").distinguishable


def test_a_holdout_chooses_on_one_part_and_reports_on_the_other() -> None:
    tags = [["a"] if i < 30 else ["b"] for i in range(60)]
    present = ranks_run([2] * 60, tags=tags)
    choose, report = holdout(present.cases, "b")
    assert (len(choose), len(report)) == (30, 30)
    lucky = ranks_run([1] * 30 + [4] * 30, tags=tags)
    sweep = best_of(present, {"lucky": lucky, "same": present}, "RR", report_on=report)
    assert sweep.best == "lucky"
    assert sweep.held_out is not None
    assert sweep.held_out.delta == -0.25
    assert sweep.notes[-1].startswith("On the 30 questions held out, lucky changes RR by -0.2500 [")


def test_a_fraction_is_drawn_by_id() -> None:
    cases = [make_case(f"q{i}", {"a": 1}, tags=["t"]) for i in range(50)]
    choose, report = holdout(cases, 0.3, seed=4)
    assert (len(choose), len(report)) == (35, 15)
    assert (choose, report) == holdout(cases, "0.3", seed=4)
    assert report != holdout(cases, 0.3, seed=5)[1]
    assert set(choose) | set(report) == {case.id for case in cases}
    for part in ("nope", 0.0, 1.0, "t", "nan", "inf", "-inf", "-0.5", "1e9"):
        with pytest.raises(InvalidInput, match=r"^Holding out .* cases to report on\.$"):
            holdout(cases, part)
