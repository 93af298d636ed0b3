"""Planted defects, each over the whole pipeline: the right measure sees it, and no other does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.decomposition import decompose
from ragtui.analysis.verdict import Verdict
from ragtui.experiment.generation import Budget, Mode, Prompt
from ragtui.experiment.plan import Floor, Metrics, Plan, judged_by_answers
from ragtui.experiment.presets import preset
from ragtui.metrics.measure import parse_measure
from ragtui.pipeline.budget import fixed_tokens
from ragtui.providers.protocols import ChatRequest, Reply
from tests.generation.station import UNKNOWN, Script, generating, lab_with, levels, ran, reads, station

NOTICEABLE = 0.1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return station(tmp_path_factory.mktemp("planted") / "ws")


def answers(change: Callable[[str], str]) -> Script:
    """The honest model with its answers (not its rewrites) changed."""

    def script(request: ChatRequest) -> str:
        said = reads(request)
        return said if request.messages[0].content.startswith("Rewrite") else change(said)

    return script


def worse(folder: Path, script: Script, plan: Plan | None = None, mode: Mode = "e2e") -> set[str]:
    """The measures of a mode that the defect makes noticeably worse than the honest model."""
    sound = levels(ran(lab_with(folder, reads), generating(mode)), mode)
    defect = levels(ran(lab_with(folder, script), plan or generating(mode), fresh=True), mode)
    found = set()
    for name, value in sound.items():
        other = defect[name]
        if value is None and other is None:
            continue
        sign = 1 if parse_measure(name).higher_is_better else -1
        if value is None or other is None or sign * (value - other) > NOTICEABLE:
            found.add(name)
    return found


def test_the_honest_model_is_sound(folder: Path) -> None:
    found = levels(ran(lab_with(folder, reads), generating()))
    assert found["correctness"] == found["refusalCorrectness"] == found["groundedness"] == 1
    assert not any(
        found[name] for name in ("leakageRate", "thinkTagLeakRate", "historyElidedRate", "chunksDroppedRate")
    )


@pytest.mark.parametrize(
    ("change", "measures"),
    [
        (lambda said: said if said == UNKNOWN else f"According to the provided context, {said}", {"leakageRate"}),
        (lambda said: said if said == UNKNOWN else f"I'm not sure, but {said}", {"refusalCorrectness"}),
        (lambda said: said if said == UNKNOWN else f"{said} It was filled in 1987 with 450 kg.", {"groundedness"}),
        (lambda said: "Yes, at noon." if said == UNKNOWN else said, {"refusalCorrectness"}),
        (lambda said: f"The user wants a figure.</think> {said}", {"thinkTagLeakRate"}),
    ],
    ids=["leaks", "hedges", "invents numbers", "never refuses", "thinks aloud"],
)
def test_a_defect_of_the_model(folder: Path, change: Callable[[str], str], measures: set[str]) -> None:
    assert worse(folder, answers(change)) == measures


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        (lambda said: said if said == UNKNOWN else f"According to the provided context, {said}", "leakageRate"),
        (lambda said: said if said == UNKNOWN else f"I'm not sure, but {said}", "refusalCorrectness"),
        (lambda said: said if said == UNKNOWN else f"{said} It was filled in 1987 with 450 kg.", "groundedness"),
        (lambda said: said if said == UNKNOWN else "It holds 61 litres.", "correctness"),
    ],
    ids=["leaks", "hedges", "invents numbers", "is wrong"],
)
def test_the_gates_of_a_plan_that_names_none_find_it(folder: Path, change: Callable[[str], str], guard: str) -> None:
    plan = msgspec.structs.replace(generating(), metrics=judged_by_answers(Metrics()))
    base = ran(lab_with(folder, reads), plan)
    new = ran(lab_with(folder, answers(change)), plan, fresh=True)
    found = compare(base, new)
    assert found.verdict is Verdict.FAIL
    assert guard in {reason.split()[0] for reason in found.reasons}
    if guard != "correctness":
        assert [reason.split()[0] for reason in found.reasons] == [guard]


def test_a_leaking_prompt_is_seen_in_the_answers_of_an_obedient_model(folder: Path) -> None:
    def obeys(request: ChatRequest) -> str:
        said = reads(request)
        cites = "cite the document" in request.messages[0].content
        return f"Document 1 says: {said}" if cites and said != UNKNOWN else said

    rules = Prompt().system.replace("never mention the context, documents or passages", "cite the document")
    assert worse(folder, obeys, generating(prompt=Prompt(system=rules))) == {"leakageRate"}


def test_a_budget_that_trims_too_much(folder: Path) -> None:
    tight = Budget(context_window=300, answer_reserve=60)
    assert worse(folder, reads, generating(budget=tight)) == {"chunksDroppedRate"}
    found = levels(ran(lab_with(folder, reads), generating(budget=tight)))
    assert found["correctness"] == 1, "the best part is dropped last"
    assert found["chunksDroppedRate"] == 1


def test_a_budget_without_room_for_what_was_said_before(folder: Path) -> None:
    rules = fixed_tokens(Prompt(), Budget(), "How much oil does it hold?")
    budget = Budget(context_window=60 + rules + 15, answer_reserve=60)
    run = ran(lab_with(folder, reads), generating("oracle", budget=budget))
    assert levels(run, "oracle")["historyElidedRate"] == 1
    alone = generating("noretrieval", budget=budget)
    assert worse(folder, reads, alone, "noretrieval") == {"historyElidedRate"}, (
        "where there is no context to drop first"
    )
    kept = [trace.answered for trace in run.traces if "-turn@" in trace.case]
    assert all(answer is not None and answer.messages[1].content == "It stands in the yard." for answer in kept)


def test_a_retriever_that_returns_nothing(folder: Path) -> None:
    retrieval = msgspec.structs.replace(preset("bm25").retrieval, floor=Floor(score="fused", minimum=9.0))
    base = msgspec.structs.replace(preset("bm25"), retrieval=retrieval)
    plan = generating("oracle", "e2e", "noretrieval", base=base)
    run = ran(lab_with(folder, reads), plan)
    assert levels(run)["emptyRateOnAnswerable"] == 1
    assert worse(folder, reads, generating("oracle", base=base), "oracle") == set(), "the model is sound"
    rankings = {"R@1", "R@3", "R@5", "R@10", "Success@5", "P@5", "RR", "AP", "nDCG@10", "emptyRateOnAnswerable"}
    # A sound model that is given nothing answers nothing; what is about answers and their context cannot but follow.
    follows = {"correctness", "mustIncludeRate", "refusalCorrectness", "groundedness", "chunksDroppedRate"}
    assert worse(folder, reads, generating(base=base)) == rankings | follows
    nothing = levels(run)
    assert nothing["groundedness"] is None
    assert nothing["chunksDroppedRate"] is None
    found = decompose(run)
    assert found is not None
    assert [row.overall.value for row in found.differences] == [1, 0]
    assert any(line.startswith("Retrieval:") for line in found.findings)
    assert any(line.startswith("Retrieval does not contribute") for line in found.findings)
    assert not any(line.startswith("The model") for line in found.findings)


def test_a_server_that_truncates_the_prompt(folder: Path) -> None:
    def counts_less(request: ChatRequest) -> Reply:
        return Reply(text=reads(request), prompt_tokens=20, completion_tokens=5)

    assert worse(folder, counts_less) == {"promptTokenError"}


def test_a_server_that_truncates_some_answers(folder: Path) -> None:
    def cuts_diesel(request: ChatRequest) -> str | Reply:
        said = reads(request)
        if "How much oil does the diesel" not in request.messages[-1].content:
            return said
        return Reply(text=said[:9], finish="length", prompt_tokens=90, completion_tokens=2)

    run = ran(lab_with(folder, cuts_diesel), generating(), fresh=True)
    assert {trace.case: trace.error.kind for trace in run.traces if trace.error} == {"diesel-litres@e2e#1": "length"}
    assert worse(folder, cuts_diesel) == set(), "an answer that was cut off is in no measure"


def test_a_server_that_truncates_the_answer(folder: Path) -> None:
    def cut(request: ChatRequest) -> Reply:
        return Reply(text=reads(request)[:9], finish="length", prompt_tokens=90, completion_tokens=2)

    run = ran(lab_with(folder, cut), generating(rewrite=False), fresh=True)
    assert {trace.error.kind for trace in run.traces if trace.error} == {"length"}
    assert all(trace.error is not None and set(trace.scores.values()) == {None} for trace in run.traces)
    kept = run.traces[0].answered
    assert kept is not None
    assert kept.text
    assert kept.usage.prompt_tokens == 90
