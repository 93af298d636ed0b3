"""Comparisons and verdicts over runs made by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from ragtui.analysis.compare import Comparison, compare
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import holm
from ragtui.analysis.summary import summary
from ragtui.analysis.verdict import Verdict, check_floors
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.experiment.plan import Channel, Metrics, Plan, Retrieval
from ragtui.reports.junit import comparison_junit
from ragtui.trace import CaseError, Hits
from tests.analysis.factory import PLAN, make_case, make_chunks, make_run, ranks_run

REPLACE = msgspec.structs.replace


def with_scores(run: RecordedRun, measure: str, change: Any) -> RecordedRun:
    """The run with one measure's scores changed and nothing else."""
    traces = [
        REPLACE(trace, scores=trace.scores | {measure: change(trace.scores[measure])}, results=trace.results)
        for trace in run.traces
    ]
    return REPLACE(run, run_id="new", traces=tuple(traces))


def test_a_run_against_itself_passes_and_says_so() -> None:
    run = ranks_run([1, 2, None, 4])
    result = compare(run, run)
    assert result.verdict is Verdict.PASS
    assert result.reasons == ("Every case has the same ranking in both runs.",)
    assert "A run is compared with itself." in result.notes
    assert result.measures["nDCG@10"].delta == 0
    assert result.measures["nDCG@10"].word == "equal"
    assert result.specification_diff == ()
    assert result.flips == ()


def test_what_differs_by_rounding_only_is_equal() -> None:
    base = ranks_run([1, 2, None, 4])
    result = compare(base, with_scores(base, "AP", lambda value: value + 1e-15))
    change = result.measures["AP"]
    assert change.delta != 0
    assert (change.word, change.wins, change.losses) == ("equal", 0, 0)


def test_a_pass_says_what_it_has_shown_of_the_primary_and_what_of_the_guards() -> None:
    base, new = ranks_run([3] * 40), ranks_run([1] * 40, run_id="new")
    result = compare(base, new)
    assert result.verdict is Verdict.PASS
    assert result.reasons[0].startswith("nDCG@10 is better (+")
    assert result.reasons[0].endswith("a loss of 0.02 or more is excluded. No guard lost more than that significantly.")


@pytest.mark.parametrize("measure", ["nDCG@10", "R@5", "RR"])
def test_one_measure_down_by_a_third_and_all_others_unchanged_fails(measure: str) -> None:
    base = ranks_run([1] * 40)
    new = with_scores(base, measure, lambda value: value * 2 / 3)
    # Rankings of equal documents would be called identical: let the new run's last hits differ.
    shorter = [Hits(trace.results.chunks[:-1], trace.results.scores[:-1]) for trace in new.traces]
    traces = [REPLACE(trace, results=results) for trace, results in zip(new.traces, shorter, strict=True)]
    new = REPLACE(new, traces=tuple(traces))
    result = compare(base, new)
    assert result.verdict is Verdict.FAIL
    assert result.reasons == (f"{measure} lost 0.3333, more than the tolerance of 0.02 (adjusted p 0.0003).",)
    assert {name: change.delta for name, change in result.measures.items() if change.delta} == {
        measure: pytest.approx(-1 / 3)
    }


def test_the_same_scores_make_the_verdict_even_where_rankings_are_identical() -> None:
    base = ranks_run([1] * 40)
    assert compare(base, with_scores(base, "nDCG@10", lambda value: value * 2 / 3)).verdict is Verdict.FAIL


def test_every_number_of_a_row() -> None:
    source = np.random.default_rng(1)
    tags = [["a"] if i % 3 else ["b", "c"] for i in range(60)]
    base = ranks_run(source.integers(1, 9, 60).tolist(), tags=tags)
    new = ranks_run(source.integers(1, 9, 60).tolist(), run_id="new", tags=tags)
    result = compare(base, new)
    row = result.measures["RR"]
    old = np.array([trace.scores["RR"] for trace in base.traces], float)
    now = np.array([trace.scores["RR"] for trace in new.traces], float)
    sample = [*(now - old), -1, 1]
    low, high = stats.t.interval(0.95, len(sample) - 1, np.mean(sample), stats.sem(sample))
    assert [row.base, row.new, row.delta] == pytest.approx([old.mean(), now.mean(), (now - old).mean()])
    assert [row.low, row.high] == pytest.approx([low, high])
    assert (row.wins, row.ties, row.losses) == ((now > old).sum(), (now == old).sum(), (now < old).sum())
    assert (row.scored, row.total) == (60, 60)
    gates = [name for name, change in result.measures.items() if change.role]
    assert gates[:3] == ["R@5", "RR", "nDCG@10"]
    adjusted = holm([result.measures[name].p or 0 for name in gates])
    assert [result.measures[name].p_adjusted for name in gates] == adjusted
    assert result.measures["AP"].p_adjusted is None
    assert list(result.by_tag) == ["a", "b", "c"]
    assert result.by_tag["b"]["RR"] == result.by_tag["c"]["RR"]
    assert result.by_tag["a"]["RR"].total == 40
    narrowed = compare(base, new, tag="a")
    assert narrowed.measures["RR"].delta == result.by_tag["a"]["RR"].delta
    assert narrowed.cases.shared == tuple(case.id for case in base.cases if "a" in case.tags)


def test_a_comparison_is_json() -> None:
    result = compare(ranks_run([1, None]), ranks_run([2, 1], run_id="new"))
    data = msgspec.json.encode(result)
    assert msgspec.json.decode(data, type=Comparison) == result
    plain = json.loads(data)
    assert plain["verdict"] == "INCONCLUSIVE"
    assert {"base", "new", "delta", "low", "high", "p", "p_adjusted", "wins", "ties", "losses"} <= set(
        plain["measures"]["nDCG@10"]
    )
    assert [(flip["case"], flip["direction"]) for flip in plain["flips"]] == [("q0001", "found")]


def test_flips_go_both_ways_at_the_guards_cutoff() -> None:
    result = compare(ranks_run([1, 5, 6, None]), ranks_run([6, 5, 5, 2], run_id="new"))
    assert result.flip_measure == "R@5"
    assert [(flip.case, flip.direction) for flip in result.flips] == [
        ("q0000", "lost"), ("q0002", "found"), ("q0003", "found"),
    ]  # fmt: skip


def test_flips_of_a_measure_that_goes_down_are_lost_where_it_went_up() -> None:
    base, new = refusal_runs(30)
    plan = REPLACE(PLAN, metrics=Metrics(primary="nonEmptyRateOnRefusal", guards=()))
    base, new = (REPLACE(run, specification=REPLACE(run.specification, plan=plan)) for run in (base, new))
    worse, better = compare(base, new), compare(new, base)
    assert worse.flip_measure == "nonEmptyRateOnRefusal"
    assert [(flip.direction, flip.base, flip.new) for flip in worse.flips] == [("lost", 0, 1)] * 30
    assert [(flip.direction, flip.base, flip.new) for flip in better.flips] == [("found", 1, 0)] * 30
    assert 'failures="30"' not in comparison_junit(better, base)
    assert 'failures="30"' in comparison_junit(worse, new)


def test_little_evidence_is_inconclusive_and_says_what_it_would_take() -> None:
    result = compare(ranks_run([1, 2, 3] * 5), ranks_run([2, 1, 3] * 5, run_id="new"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.detectable is not None
    assert result.detectable > 0.02
    assert result.more_questions is not None
    assert f"one of 0.02 takes {result.more_questions} more questions." in result.reasons[-1]
    assert "a loss of 0.02 is not excluded" in result.reasons[0]


def test_much_evidence_passes() -> None:
    result = compare(ranks_run([2] * 200), ranks_run([1] * 200, run_id="new"))
    assert result.verdict is Verdict.PASS
    assert result.reasons[0].startswith("nDCG@10 is better (+0.3691")
    ties = compare(ranks_run([2, 1] * 200), ranks_run([2, 1] * 199 + [2, 2], run_id="new"))
    assert ties.verdict is Verdict.PASS
    assert "no clear change" in ties.reasons[0]


def test_a_real_loss_fails_and_a_small_one_does_not() -> None:
    assert compare(ranks_run([1] * 60), ranks_run([3] * 60, run_id="new")).verdict is Verdict.FAIL
    small = compare(ranks_run([1] * 600), ranks_run([1] * 591 + [2] * 9, run_id="new"))
    assert small.verdict is Verdict.PASS
    assert "worse, but within the tolerance" in small.reasons[0] or "no clear change" in small.reasons[0]


def test_the_plain_rule() -> None:
    base, new = ranks_run([1] * 6), ranks_run([1, 1, 1, 1, 1, 3], run_id="new")
    assert compare(base, new).verdict is Verdict.INCONCLUSIVE
    failed = compare(base, new, mode="threshold")
    assert failed.verdict is Verdict.FAIL
    assert failed.reasons[0] == "nDCG@10 lost 0.0833, more than the tolerance of 0.02."
    assert compare(base, new, mode="threshold", tolerance=0.2).verdict is Verdict.PASS
    with pytest.raises(InvalidInput, match=r"A tolerance of 2 is not between 0 and 1\."):
        compare(base, new, tolerance=2)


def refusal_runs(empty_then_full: int) -> tuple[RecordedRun, RecordedRun]:
    chunks = make_chunks({"a": 1, "b": 1})
    cases = [make_case(f"q{i}", {"a": 1}) for i in range(200)] + [make_case(f"r{i}") for i in range(40)]
    hits = {"bm25": [(0, 1.0)], "vector": [(0, 1.0)]}
    nothing: dict[str, list[tuple[int, float]]] = {"bm25": [], "vector": []}
    base = make_run(cases, [hits] * 200 + [nothing] * 40, chunks)
    answers = [hits] * (200 + empty_then_full) + [nothing] * (40 - empty_then_full)
    new = make_run(cases, answers, chunks, run_id="new")
    return base, new


def test_refusals_guard_and_their_rate_goes_down() -> None:
    base, new = refusal_runs(30)
    result = compare(base, new)
    row = result.measures["nonEmptyRateOnRefusal"]
    assert (row.role, row.wins, row.losses, row.total, row.higher_is_better) == ("guard", 0, 30, 40, False)
    assert row.word == "worse"
    assert result.verdict is Verdict.FAIL
    assert result.reasons[0].startswith("nonEmptyRateOnRefusal lost 0.7500")
    back = compare(new, base)
    assert back.measures["nonEmptyRateOnRefusal"].word == "better"
    assert back.verdict is Verdict.PASS
    assert "nonEmptyRateOnRefusal" not in {
        name for name, change in compare(ranks_run([1]), ranks_run([1])).measures.items() if change.role
    }


def test_another_corpus_is_refused_with_what_is_known() -> None:
    base, new = ranks_run([1]), ranks_run([1], run_id="new", corpus_id="sha256:other")
    with pytest.raises(ComparisonRefused) as refused:
        compare(base, new)
    assert refused.value.message == (
        "base ran on the corpus corpus and new on other; which documents differ is not in the two records."
    )
    edited = [REPLACE(chunk, text="edited") if chunk.doc == "d03" else chunk for chunk in new.chunks]
    with pytest.raises(ComparisonRefused, match=r"Documents \(of those that both runs retrieved\) changed:\n  d03$"):
        compare(base, REPLACE(new, chunks=tuple(edited)))
    with pytest.raises(ComparisonRefused) as refused:
        compare(base, new, documents=({"a": "1", "b": "1", "\x1bc": "1"}, {"a": "2", "b": "1", "d": "1"}))
    assert refused.value.message.endswith("Documents added:\n  d\nremoved:\n  \\x1bc\nchanged:\n  a")
    assert refused.value.as_dict()["changed"] == ["a"]
    assert refused.value.exit_code == 3


def test_goldens_that_changed_under_their_ids_are_all_named() -> None:
    base, new = ranks_run([1, 1, 1]), ranks_run([1, 1, 1], run_id="new")
    cases = [REPLACE(case, retrieval_hash="other") if case.id != "q0001" else case for case in new.cases]
    with pytest.raises(ComparisonRefused) as refused:
        compare(base, REPLACE(new, cases=tuple(cases)))
    assert refused.value.message == (
        "2 goldens with the same id differ between base and new in what they ask or judge:\n  q0000\n  q0002"
    )
    answers = [REPLACE(case, answer_hash="other") for case in new.cases]
    assert compare(base, REPLACE(new, cases=tuple(answers))).verdict is Verdict.PASS


def test_partial_overlap_is_announced_and_passes_only_when_asked() -> None:
    base, new = ranks_run([1, 2, 3]), ranks_run([1, 2, 3, 4], run_id="new")
    result = compare(base, new)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.cases.only_new == ("q0003",)
    assert "3 cases are shared; 0 are only in base, 1 only in new (q0003)." in result.notes
    assert result.reasons == (
        "The two runs do not have the same cases; `ragtui compare --subset` compares those that they share.",
    )
    assert compare(base, new, subset=True).verdict is Verdict.PASS


def test_nothing_to_compare_is_refused() -> None:
    run = ranks_run([1, 2])
    empty = make_run([], [], [], run_id="empty")
    with pytest.raises(ComparisonRefused, match=r"^Run empty has no case\.$"):
        compare(run, empty)
    with pytest.raises(ComparisonRefused, match=r"^base and base share no case with the tag 'nope'\.$"):
        compare(run, run, tag="nope")
    other = REPLACE(run, run_id="new", cases=tuple(REPLACE(case, id=case.id + "x") for case in run.cases))
    with pytest.raises(ComparisonRefused, match=r"^base and new share no case\.$"):
        compare(run, other)
    with pytest.raises(ComparisonRefused, match="is a retrieval run and new a generation run"):
        compare(run, REPLACE(run, run_id="new", tier="generation"))


def test_an_unfinished_run_is_announced_and_cannot_pass() -> None:
    base = ranks_run([1, 2, 3])
    new = REPLACE(base, run_id="new", status="interrupted", traces=base.traces[:2])
    result = compare(base, new)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "new is interrupted: 2 of 3 cases finished." in result.notes
    assert result.measures["RR"].scored == 2
    assert result.measures["RR"].total == 3
    assert result.reasons[0] == "A run is not complete; `ragtui resume` finishes it."
    nothing = compare(base, REPLACE(new, traces=()))
    assert nothing.verdict is Verdict.INCONCLUSIVE
    assert "nDCG@10 decides, but no case is scored under it in both runs." in nothing.reasons
    assert nothing.measures["RR"].delta is None
    assert nothing.measures["RR"].p is None
    assert nothing.detectable is None


def test_errored_cases_block_a_pass_unless_allowed() -> None:
    base = ranks_run([2] * 200)
    better = ranks_run([1] * 200, run_id="new")
    traces = [
        REPLACE(trace, error=CaseError("timeout", "slow"), status="error", scores=dict.fromkeys(trace.scores))
        if trace.index == 7 else trace
        for trace in better.traces
    ]  # fmt: skip
    new = REPLACE(better, traces=tuple(traces))
    result = compare(base, new)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert (
        result.reasons[0] == "nDCG@10 is scored in 199 of 200 cases only; `ragtui compare --allow-errors` accepts that."
    )
    assert compare(base, new, allow_errors=True).verdict is Verdict.PASS


def test_missing_measures_are_named_and_gates_are_computed_from_traces() -> None:
    base = ranks_run([1, 2, 3])
    plan = REPLACE(PLAN, metrics=Metrics(measures=("R@3",), primary="nDCG@5", guards=("R@2",)))
    new = ranks_run([1, 2, 3], run_id="new", plan=plan)
    result = compare(base, new)
    assert result.verdict is Verdict.PASS
    assert result.not_compared["AP"] == "not reported by new"
    assert result.not_compared["R@3"] == "not reported by base"
    assert [name for name, change in result.measures.items() if change.role] == ["nDCG@5", "R@2"]
    assert "Computed from the traces, because a run does not report it: nDCG@5, R@2." in result.notes
    assert result.measures["nDCG@5"].base == pytest.approx((1 + 1 / math.log2(3) + 0.5) / 3)
    assert [change.path for change in result.specification_diff] == [
        "plan.metrics.guards", "plan.metrics.measures", "plan.metrics.primary",
    ]  # fmt: skip


def test_chunk_level_measures_need_the_same_chunks() -> None:
    result = compare(ranks_run([1]), ranks_run([1], run_id="new", chunk_set_id="sha256:finer"))
    assert result.not_compared == {"P@5": "it counts chunks, and the two runs have different chunk sets"}
    plan = REPLACE(PLAN, metrics=Metrics(guards=("P@5",)))
    blocked = compare(ranks_run([1], plan=plan), ranks_run([1], run_id="new", chunk_set_id="sha256:finer", plan=plan))
    assert blocked.verdict is Verdict.INCONCLUSIVE
    assert blocked.reasons == ("P@5 gates, but cannot be compared between these runs.",)


def test_a_gate_that_looks_deeper_than_the_results_of_the_other_run() -> None:
    shallow = Plan(
        retrieval=Retrieval(channels={"bm25": Channel(kind="bm25"), "vector": Channel(kind="vector")}, results=2),
        metrics=Metrics(measures=("R@1",), primary="R@1", guards=()),
    )
    result = compare(ranks_run([1], plan=shallow), ranks_run([1], run_id="new"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.not_compared["nDCG@10"] == "base kept fewer results than it looks at"


def test_one_case_and_all_ties_and_nan() -> None:
    one = compare(ranks_run([1]), ranks_run([3], run_id="new"))
    assert one.verdict is Verdict.INCONCLUSIVE
    assert one.measures["RR"].p == 1
    assert one.detectable == 1
    tied = with_scores(ranks_run([1, 2]), "AP", lambda value: math.nan)
    result = compare(ranks_run([1, 2]), tied)
    assert result.measures["AP"].scored == 0
    assert result.measures["AP"].total == 2
    assert result.verdict is Verdict.PASS


def test_floors() -> None:
    table = summary(ranks_run([1, 2]))
    results = check_floors(table, {"ndcg@10": 0.6, "RR": 0.9, "emptyRateOnAnswerable": 0.1})
    assert [(result.measure, result.passed) for result in results] == [
        ("nDCG@10", True), ("RR", False), ("emptyRateOnAnswerable", True),
    ]  # fmt: skip
    assert results[1].reason == "RR is 0.7500, below 0.9."
    errored = check_floors(table, {"RR": 0.5}, errors=2)
    assert not errored[0].passed
    assert errored[0].reason == "2 cases have no score because of an error."
    assert check_floors(table, {"RR": 0.5}, errors=2, allow_errors=True)[0].passed
    assert check_floors(table, {"nonEmptyRateOnRefusal": 0.5})[0].reason == "nonEmptyRateOnRefusal has no scored case."
    with pytest.raises(InvalidInput, match=r"^The run does not report R@7\.$"):
        check_floors(table, {"R@7": 0.5})
