"""Grids, ablations, and the best of many."""

from __future__ import annotations

import numpy as np
import pytest

from ragtui.analysis.statistics import holm
from ragtui.analysis.sweep import ablations, best_of, earnings, grid, holdout
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.experiment.validate import check_plan
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
    for part in ("nope", 0.0, 1.0, "t"):
        with pytest.raises(InvalidInput, match=r"^Holding out .* cases to report on\.$"):
            holdout(cases, part)
