"""The judge: strict verdicts, its own section, and no way into a gate unless it is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.judge import judge_section
from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import InvalidInput, ProviderUnavailable
from ragtui.experiment.generation import Judge
from ragtui.experiment.plan import Plan
from ragtui.experiment.validate import check_plan
from ragtui.metrics.numbers import numbers_in
from ragtui.pipeline.judging import Verdict, read_verdict, verdict_schema
from ragtui.providers.protocols import ChatRequest
from ragtui.providers.scripted import ScriptedGenerator
from tests.generation.station import UNKNOWN, generating, lab_with, levels, ran, reads, station


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def judged(plan: Plan) -> Plan:
    assert plan.generation is not None
    return msgspec.structs.replace(
        plan, generation=msgspec.structs.replace(plan.generation, judge=Judge(model="judge"))
    )


def fair(request: ChatRequest) -> str:
    """Checks each number of the answer against the context that it is shown."""
    said = request.messages[-1].content
    answer, context = said.partition("Answer to judge:\n")[2].split("\n\nContext:\n")
    claims = [{"claim": f"it is {n}", "supported": str(n) in context} for n in map(int, numbers_in(answer))]
    good = 1 if UNKNOWN in answer or not all(claim["supported"] for claim in claims) else 5
    return json.dumps({"claims": claims, "completeness": good, "relevance": 5})


def run_judged(
    folder: Path, judge: Callable[[ChatRequest], str], model: Callable[[ChatRequest], str] = reads, repeats: int = 1
) -> RecordedRun:
    lab = lab_with(folder, model)
    lab.judge = ScriptedGenerator(judge, model="judge", digest="sha256:judge")
    return ran(lab, judged(generating("e2e", repeats=repeats, rewrite=False)))


def test_a_fair_judge_agrees_with_what_is_counted(folder: Path) -> None:
    def invents(request: ChatRequest) -> str:
        said = reads(request)
        return said.replace("61 litres", "1987 litres") if "diesel" in said else said

    run = run_judged(folder, fair, invents)
    section = judge_section(run)
    assert section is not None
    assert section.judge.model == "judge"
    assert (section.asked, section.judged, section.failures) == (20, 20, {})
    faith = section.measures["e2e"]["faithfulness"]
    assert faith.n == len([trace for trace in run.traces if trace.answered and trace.answered.text != UNKNOWN])
    assert faith.value == pytest.approx((faith.n - 2) / faith.n), "two questions are about diesel"
    for row in section.agreement:
        assert row.agree == 1
        assert row.kappa == 1
    judge = run.trace_of["diesel-litres@e2e#1"].answered.judge  # type: ignore[union-attr]
    assert judge is not None
    assert judge.claims[0].supported is False
    assert json.loads(judge.raw)["completeness"] == 1
    assert judge.usage.prompt_tokens


@pytest.mark.parametrize(
    "raw",
    [
        "The answer looks faithful to me.",
        '```json\n{"claims": [], "completeness": 5, "relevance": 5}\n```',
        '{"claims": [], "completeness": 9, "relevance": 5}',
        '{"claims": [], "completeness": 5}',
        '{"claims": [{"claim": "x", "supported": "yes"}], "completeness": 5, "relevance": 5}',
        '{"claims": [], "completeness": 5, "relevance": 5, "score": 1}',
        "[]",
    ],
)
def test_what_is_no_verdict_is_unjudged_and_kept(folder: Path, raw: str) -> None:
    assert isinstance(read_verdict(raw), str)
    run = run_judged(folder, lambda request: raw)
    section = judge_section(run)
    assert section is not None
    assert (section.judged, section.failures) == (0, {"no_verdict": 20})
    assert section.measures["e2e"]["faithfulness"].value is None
    assert section.agreement[0].agree is None
    assert levels(run)["refusalCorrectness"] == 1, "the case stays what it is"
    assert not any(trace.error for trace in run.traces)
    judge = run.traces[0].answered.judge  # type: ignore[union-attr]
    assert judge is not None
    assert judge.raw == raw


def test_a_judge_that_is_not_there_fails_no_case(folder: Path) -> None:
    def gone(request: ChatRequest) -> str:
        if "diesel" in request.messages[-1].content.partition("Question: ")[2].partition("\n")[0]:
            raise ProviderUnavailable("The server of profile 'judge' cannot be reached.", "")
        return fair(request)

    run = run_judged(folder, gone)
    section = judge_section(run)
    assert section is not None
    assert section.failures == {"provider_unavailable": 1}
    assert not any(trace.error for trace in run.traces)


def test_the_spread_over_repeats(folder: Path) -> None:
    asked = 0

    def moody(request: ChatRequest) -> str:
        nonlocal asked
        asked += 1
        return json.dumps({"claims": [], "completeness": 1 + 4 * (asked % 2), "relevance": 3})

    section = judge_section(run_judged(folder, moody, repeats=3))
    assert section is not None
    assert section.asked == 60
    assert section.spread["relevance"] == 0
    assert section.spread["completeness"] is not None
    assert section.spread["completeness"] > 0.1
    assert section.spread["faithfulness"] is None
    assert section.measures["e2e"]["relevance"].n == 20, "the sampling unit is the golden"


def test_judged_measures_are_in_no_table_and_no_gate(folder: Path) -> None:
    run = run_judged(folder, fair)
    assert not set(run.measures) & {"faithfulness", "completeness", "relevance"}
    assert not set(compare(run, run).measures) & {"faithfulness", "completeness", "relevance"}
    plain = lab_with(folder, reads)
    assert plain.bind(generating("e2e", rewrite=False)).judge is None


def test_verdicts_already_paid_for_are_replayed(folder: Path) -> None:
    lab = lab_with(folder, reads)
    judge = ScriptedGenerator(fair, model="judge", digest="sha256:judge")
    lab.judge = judge
    plan = judged(generating("e2e", rewrite=False))
    first = ran(lab, plan)
    assert len(judge.requests) == 20
    second = ran(lab, plan)
    assert len(judge.requests) == 20
    assert judge_section(second) == judge_section(first)
    assert all(trace.answered.judge.replayed for trace in second.traces)  # type: ignore[union-attr]


def test_the_form_is_asked_for_and_the_same_as_is_read(folder: Path) -> None:
    lab = lab_with(folder, reads)
    judge = ScriptedGenerator(fair, model="judge")
    lab.judge = judge
    ran(lab, judged(generating("e2e", rewrite=False)))
    assert all(request.schema == verdict_schema() for request in judge.requests)
    assert set(verdict_schema()["properties"]) == set(Verdict.__struct_fields__)
    assert all("mustInclude" not in message.content for request in judge.requests for message in request.messages)


def test_a_judge_must_be_a_model(folder: Path) -> None:
    plan = judged(generating("e2e"))
    with pytest.raises(ProviderUnavailable, match="judge"):
        lab_with(folder, reads).bind(plan)
    assert plan.generation is not None
    mock = msgspec.structs.replace(plan.generation, judge=Judge(model="mock"))
    with pytest.raises(InvalidInput, match="cannot judge"):
        check_plan(msgspec.structs.replace(plan, generation=mock))
