"""Gates, sweeps and ablations of generation plans: decided by answers, golden by golden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.points import holdout
from ragtui.analysis.summary import decisive_measure
from ragtui.analysis.sweep import ablations, best_of, earnings
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit, plan_from
from ragtui.experiment.plan import ANSWER_GUARDS, ANSWER_PRIMARY, Metrics, Plan
from ragtui.experiment.presets import preset
from tests.generation.station import generating, lab_with, ran, reads, station
from tests.workshop import ragtui


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return station(tmp_path_factory.mktemp("trials") / "ws")


# -- which measures decide --------------------------------------------------------------------------------------------


def gates(plan: Plan) -> tuple[str, tuple[str, ...]]:
    return plan.metrics.primary, plan.metrics.guards


def test_a_generation_plan_that_names_no_gates_is_judged_by_its_answers() -> None:
    answers = (ANSWER_PRIMARY, ANSWER_GUARDS)
    for data in (
        {"preset": "bm25", "generation": {}},
        {"preset": "hybrid-weighted", "generation": {"model": "mock"}, "metrics": {"relevance": 2}},
        {"retrieval": {"channels": {"bm25": {"kind": "bm25"}}}, "generation": {}},
    ):
        assert gates(plan_from(data)[0]) == answers
    assert gates(edit(preset("bm25"), ["generation.model=mock"])) == answers
    assert gates(edit(preset("bm25"), ['generation={"model":"mock"}'])) == answers


def test_gates_that_are_named_stay() -> None:
    named = {"primary": "nDCG@10", "guards": ["R@5", "RR"]}
    assert gates(plan_from({"preset": "bm25", "generation": {}, "metrics": named})[0]) == ("nDCG@10", ("R@5", "RR"))
    one = plan_from({"preset": "bm25", "generation": {}, "metrics": {"primary": "groundedness"}})[0]
    assert gates(one) == ("groundedness", ANSWER_GUARDS)
    one = plan_from({"preset": "bm25", "generation": {}, "metrics": {"guards": []}})[0]
    assert gates(one) == (ANSWER_PRIMARY, ())
    for setting in ("metrics.primary=nDCG@10", 'metrics={"primary":"nDCG@10"}'):
        assert gates(edit(preset("bm25"), ["generation.model=mock", setting])) == ("nDCG@10", ANSWER_GUARDS)
    chosen = msgspec.structs.replace(preset("bm25"), metrics=Metrics(primary="AP"))
    assert gates(edit(chosen, ["generation.model=mock"])) == ("AP", ("R@5", "RR"))
    assert gates(edit(plan_from({"preset": "bm25", "generation": {}, "metrics": named})[0], ["context.top_n=3"])) == (
        "nDCG@10", ("R@5", "RR"),
    )  # fmt: skip
    assert gates(edit(preset("bm25"), ["context.top_n=3"])) == gates(preset("bm25")), "the other tier is untouched"


def test_what_decides_is_the_same_everywhere(folder: Path) -> None:
    plan = plan_from({"preset": "bm25", "generation": {"model": "mock", "repeats": 1}})[0]
    run = ran(lab_with(folder), plan)
    assert decisive_measure(run.measures, run.specification.plan.metrics.primary) == "correctness"
    roles = {name: row.role for name, row in compare(run, run).measures.items() if row.role}
    assert roles == {
        "correctness": "primary", "refusalCorrectness": "guard", "groundedness": "guard", "leakageRate": "guard",
        "nonEmptyRateOnRefusal": "guard",
    }  # fmt: skip


# -- sweeps and ablations ---------------------------------------------------------------------------------------------


def test_a_sweep_pairs_goldens_not_repeats(folder: Path) -> None:
    lab = lab_with(folder, reads)
    plan = generating("oracle", "e2e", repeats=3, rewrite=False)
    present = ran(lab, plan)
    points = {f"top_n={n}": ran(lab, edit(plan, [f"context.top_n={n}"])) for n in (0, 5)}
    found = best_of(present, points, "correctness")
    assert [(point.name, point.value.value, point.value.n) for point in found.points] == [
        ("top_n=0", 0, 16), ("top_n=5", 1, 16),
    ]  # fmt: skip
    nothing = found.points[0].change
    assert nothing is not None
    assert (nothing.scored, nothing.losses, nothing.delta) == (16, 16, -1), "the oracle has no part in it"
    assert found.best == "top_n=5"
    goldens = by_golden(present)
    assert by_golden(goldens) is goldens
    choose, report = holdout(goldens.cases, 0.5)
    assert len(choose) + len(report) == 20
    assert best_of(present, points, "correctness", report_on=report).held_out is not None


def test_what_a_stage_earns_in_answers(folder: Path) -> None:
    lab = lab_with(folder, reads)
    plan = generating("e2e", repeats=2)
    parts = {part.name: part.plan for part in ablations(plan)}
    assert list(parts) == ["rewriting"]
    table = earnings(ran(lab, plan), {name: ran(lab, each) for name, each in parts.items()})
    row = table[0].measures["correctness"]
    assert (row.total, row.wins) == (16, 0), "this model answers from the turns anyway"
    assert table[0].measures["RR"].delta is not None
    assert table[0].measures["RR"].delta > 0, "but the search is better for it"
    assert "unstableRate" in table[0].measures


def test_an_ablation_needs_a_mode_that_searches() -> None:
    hybrid = generating("oracle", "mock", base=preset("hybrid"))
    with pytest.raises(InvalidInput, match="The mode oracle, which stands for this plan, does not search"):
        ablations(hybrid)
    assert [part.name for part in ablations(generating("mock", model="mock", base=preset("hybrid")))] == [
        "channel bm25", "channel vector",
    ]  # fmt: skip


def test_as_commands(folder: Path) -> None:
    (folder / "gen.toml").write_text('preset = "bm25"\n[generation]\nmodel = "mock"\nrepeats = 1\n')
    sweep = ragtui(folder, "run", "gen.toml", "--sweep", "context.top_n=0,5", "--json")
    assert sweep.returncode == 0, sweep.stderr
    plain = json.loads(sweep.stdout)["sweep"]
    assert (plain["measure"], plain["best"]) == ("correctness", "top_n=5")
    assert plain["points"][0]["value"]["n"] == 16
    held = ragtui(folder, "run", "gen.toml", "--sweep", "context.top_n=0,5", "--holdout", "0.5")
    assert "questions held out, top_n=5 changes correctness by" in held.stdout
    both = ragtui(folder, "run", "gen.toml", "--set", "retrieval.channels.vector.kind=vector", "--ablate")
    assert "What each stage earns, by correctness" in both.stdout, both.stderr
    for arguments, told in (
        (["--ablate", "--set", 'generation.modes=["noretrieval"]'], "The mode noretrieval, which stands for this plan"),
        (["--sweep", "generation=null", "--set", "metrics.primary=R@5", "--set", "metrics.guards=[]"],
         "generation=null is of the retrieval tier, the plan of the generation tier."),
    ):  # fmt: skip
        done = ragtui(folder, "run", "gen.toml", *arguments)
        assert done.returncode == 2
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_each_tier_has_its_own_baseline(tmp_path: Path) -> None:
    place = station(tmp_path / "ws")

    def told(*arguments: str) -> dict[str, Any]:
        done = ragtui(place, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    answers, found = told("generate", "mock")["run_id"], told("run", "bm25")["run_id"]
    told("baseline", "promote", found)
    missing = ragtui(place, "generate", "mock", "--against", "baseline")
    assert missing.returncode == 2
    assert "There is no baseline of the generation tier." in missing.stderr
    for run_id in (answers, found):
        told("baseline", "promote", run_id)
    (place / "goldens" / "baselines").mkdir()
    (place / "goldens" / "baselines" / "matrix.json").write_text("{}")
    assert told("generate", "mock", "--against", "baseline")["comparison"]["base_run"] == answers
    assert told("run", "bm25", "--against", "baseline")["comparison"]["base_run"] == found
    runs = len(told("runs")["runs"])
    other = ragtui(place, "generate", "mock", "--mode", "oracle", "--against", "baseline")
    assert other.returncode == 3
    assert "The runs have no mode in common: " in other.stderr
    assert "and the new run has oracle." in other.stderr
    assert len(told("runs")["runs"]) == runs
    assert told("compare", "baseline", answers)["base_run"] == answers
