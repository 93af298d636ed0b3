"""Runs of the generation tier: modes, repeats, replay, limits, retries, estimates."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.decomposition import MEANINGS, REFUSAL_MEANINGS, decompose
from ragtui.analysis.modes import mode_summary, passes
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.summary import counts, summary
from ragtui.analysis.usage import usage_by_mode
from ragtui.analysis.verify import verify_run
from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput
from ragtui.experiment.cases import CaseName, expand, parse_case
from ragtui.experiment.generation import Budget, Generation, Mode
from ragtui.experiment.presets import preset
from ragtui.experiment.specification import Specification
from ragtui.lab import Lab, Spending
from ragtui.metrics.aggregate import mean_estimate
from ragtui.providers.protocols import ChatRequest, Reply, UnusableReply
from ragtui.providers.scripted import ScriptedGenerator
from ragtui.reports.records import run_record, trace_record
from tests.generation.station import TANKS, UNKNOWN, Script, generating, lab_with, levels, ran, reads, station


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return station(tmp_path_factory.mktemp("runs") / "ws")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def asks(request: ChatRequest) -> str:
    """What a request asks."""
    return request.messages[-1].content


def resumed(lab: Lab, specification: Specification, run_id: str, only_errors: bool = False) -> RecordedRun:
    async def drain() -> None:
        async for _ in lab.events(specification, run_id=run_id, resume=True, only_errors=only_errors):
            pass

    asyncio.run(drain())
    return lab.recorded(run_id)


# -- cases and specifications -----------------------------------------------------------------------------------------


def test_a_case_is_a_golden_in_a_mode_repeated(shared: Path) -> None:
    lab = lab_with(shared)
    goldens = lab.evaluation(generating().evaluation, "generation").cases
    cases = expand(goldens, Generation(modes=("oracle", "mock"), repeats=2))
    assert [case.id for case in cases[:3]] == [
        "anchor-litres@oracle#1",
        "anchor-litres@mock#1",
        "beacon-litres@oracle#1",
    ]
    assert len(cases) == 20 * 3, "the echo is the same each time"
    assert parse_case("a@b@oracle#12") == CaseName("a@b", "oracle", 12)
    for wrong in ("a", "a@oracle", "a@other#1", "@oracle#1", "a@oracle#x"):
        with pytest.raises(ValueError, match="not the id"):
            parse_case(wrong)


def test_the_retrieval_tier_is_untouched_by_the_recipe() -> None:
    plain = canonical(preset("hybrid"))
    assert "generation" not in plain
    assert "judge" not in canonical(generating())["generation"]


def test_both_hashes_make_the_evaluation_of_this_tier(folder: Path) -> None:
    lab = lab_with(folder, reads)
    before, retrieval = lab.bind(generating()), lab.bind(preset("bm25"))
    suite = folder / "goldens" / "core.jsonl"
    suite.write_text(suite.read_text().replace("9999", "8888"))
    again = lab_with(folder, reads)
    assert again.bind(generating()).evaluation_id != before.evaluation_id
    assert again.bind(preset("bm25")).evaluation_id == retrieval.evaluation_id


def test_a_run_records_prompt_context_and_answer(shared: Path) -> None:
    run = ran(lab_with(shared, reads), generating("oracle", "e2e", "noretrieval"))
    assert run.tier == "generation"
    trace = run.trace_of["diesel-litres@oracle#1"]
    answer = trace.answered
    assert answer is not None
    assert {run.chunk_of[chunk].doc for chunk in answer.context} == {"diesel-tank"}
    assert "holds 61 litres" in answer.messages[0].content
    assert answer.messages[-1].content == "How much oil does the diesel tank hold?"
    assert not trace.channels, "the oracle does not search"
    nothing = run.trace_of["diesel-litres@noretrieval#1"].answered
    assert nothing is not None
    assert nothing.context == []
    assert nothing.text == UNKNOWN
    found = run.trace_of["diesel-litres@e2e#1"]
    assert found.results.chunks[: len(found.answered.context)] == found.answered.context  # type: ignore[union-attr]
    record = trace_record(run, "diesel-litres@e2e#1")
    assert record["answer"]["text"] == "The diesel tank holds 61 litres of oil."
    assert record["answer"]["context"][0].startswith("diesel-tank#")


@pytest.mark.parametrize("modes", [("e2e",), ("oracle", "noretrieval"), ("noretrieval", "e2e", "mock")])
def test_a_list_shows_the_means_of_the_summary(folder: Path, modes: tuple[Mode, ...]) -> None:
    """Repeats of which some failed, and modes that do not stand for the run, weigh in both alike."""
    asked: Counter[str] = Counter()

    def flaky(request: ChatRequest) -> str:
        asked[request.messages[0].content] += 1
        if asked[request.messages[0].content] > 1 and "anchor" in asks(request):
            raise UnusableReply("empty", "said nothing")
        return "It holds 9999 litres." if "beacon" in asks(request) else reads(request)

    lab = lab_with(folder, flaky)
    run = ran(lab, generating(*modes, repeats=3))
    assert counts(run.cases, run.trace_of).errors > 0
    row = next(row for row in lab.store.runs() if row.run_id == run.run_id)
    shown = summary(run).overall
    assert row.measures == {name: shown[name].value for name in row.measures}
    assert row.measures["correctness"] not in (None, 0.0, 1.0)
    assert (row.scored, row.errors) == (counts(run.cases, run.trace_of).scored, counts(run.cases, run.trace_of).errors)


def test_every_number_can_be_recomputed(shared: Path) -> None:
    run = ran(lab_with(shared, reads), generating("oracle", "e2e", "noretrieval", "mock", repeats=2))
    verified = verify_run(run)
    assert verified.ok
    assert verified.numbers > 1000
    broken = msgspec.structs.replace(
        run,
        traces=(
            msgspec.structs.replace(run.traces[0], scores=run.traces[0].scores | {"correctness": 0.0}),
            *run.traces[1:],
        ),
    )
    assert not verify_run(broken).ok


def test_turns_are_rewritten_for_the_search_and_kept_for_the_answer(shared: Path) -> None:
    run = ran(lab_with(shared, reads), generating("e2e"))
    for name in list(TANKS)[:4]:
        trace = run.trace_of[f"{name}-turn@e2e#1"]
        answer = trace.answered
        assert answer is not None
        assert answer.rewrite is not None
        assert trace.query == answer.rewrite.question == f"How much oil does the {name} tank hold?"
        assert answer.rewrite.usage.prompt_tokens
        assert run.chunk_of[trace.results.chunks[0]].doc == f"{name}-tank"
        assert answer.messages[-1].content == "How much oil does it hold?"
        assert len(answer.messages) == 4
    floor = ran(lab_with(shared, reads), generating("e2e", rewrite=False))
    assert all(trace.answered is not None and trace.answered.rewrite is None for trace in floor.traces)
    tagged = [mode_summary(one, "e2e").by_tag["multi-turn"]["RR"].value for one in (run, floor)]
    assert tagged[0] == 1
    assert tagged[1] is not None
    assert tagged[1] < 1


# -- repeats ----------------------------------------------------------------------------------------------------------


def flips(every: int) -> Callable[[ChatRequest], str]:
    """The honest model, which loses its head each `every`-th time it is asked about diesel."""
    asked = 0

    def script(request: ChatRequest) -> str:
        nonlocal asked
        if "diesel" in asks(request):
            asked += 1
            if asked % every:
                return "Twelve, I would say."
        return reads(request)

    return script


def test_a_case_whose_pass_flips_is_unstable(shared: Path) -> None:
    run = ran(
        lab_with(shared, ScriptedGenerator(flips(3), digest="sha256:flips")),
        generating("e2e", repeats=3, rewrite=False),
    )
    unstable = [row for row in passes(run, "e2e") if row.unstable]
    assert [(row.golden, sum(row.passes), row.passed) for row in unstable] == [("diesel-litres", 1, False)]
    found = mode_summary(run, "e2e").overall
    assert found["unstableRate"].value == pytest.approx(1 / 20)
    assert found["correctness"].n == 16, "the sampling unit is the golden"
    assert found["correctness"] == mean_estimate([1.0] * 15 + [1 / 3])


def test_three_of_three_becoming_one_of_three_does_not_vanish(shared: Path) -> None:
    plan = generating("e2e", repeats=3, rewrite=False)
    base = ran(lab_with(shared, reads), plan)
    new = ran(lab_with(shared, ScriptedGenerator(flips(3), digest="sha256:flipping")), plan)
    found = compare(base, new)
    assert found.measures["unstableRate"].role == "guard"
    assert found.measures["unstableRate"].delta == pytest.approx(1 / 20)
    assert found.measures["correctness"].losses == 1
    assert "diesel-litres" in found.cases.shared


def test_the_same_answers_pass_without_an_interval(shared: Path) -> None:
    plan = generating("e2e", repeats=2)
    base, new = ran(lab_with(shared, reads), plan), ran(lab_with(shared, reads), plan)
    found = compare(base, new)
    assert found.verdict == "PASS"
    assert found.reasons == ("Every case has the same ranking and answers in both runs.",)
    other = ran(lab_with(shared, ScriptedGenerator(lambda request: reads(request) + " So.", digest="sha256:so")), plan)
    assert compare(base, other).verdict == "INCONCLUSIVE", "the same rankings are not enough"


# -- decomposition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", MEANINGS)
def test_the_eight_outcomes(folder: Path, outcome: tuple[bool, bool, bool]) -> None:
    """A model that passes in just the modes of one outcome, told by what its prompt holds."""

    def script(request: ChatRequest) -> str:
        context = request.messages[0].content.partition("Context:\n")[2]
        name = next(name for name in TANKS if name in asks(request))
        parts = context.count("tank holds")
        mode = 2 if context == "(none)" else 0 if parts == 1 and context.startswith("# The") else 1
        return f"It holds {TANKS[name]} litres." if outcome[mode] else UNKNOWN

    plan = generating("oracle", "e2e", "noretrieval")
    plan = msgspec.structs.replace(plan, evaluation=msgspec.structs.replace(plan.evaluation, tags=("single-hop",)))
    found = decompose(ran(lab_with(folder, script), plan))
    assert found is not None
    assert {(row.oracle, row.e2e, row.noretrieval): len(row.goldens) for row in found.outcomes if row.goldens} == {
        outcome: 12
    }
    row = found.outcome_of("diesel-litres")
    assert row is not None
    assert row.meaning == MEANINGS[outcome]


def test_the_outcomes_of_goldens_that_expect_a_refusal_have_words_of_their_own(folder: Path) -> None:
    """A model that answers whatever has a context: right for the tanks, wrong for what cannot be answered."""

    def script(request: ChatRequest) -> str:
        name = next((name for name in TANKS if name in asks(request)), None)
        context = request.messages[0].content.partition("Context:\n")[2]
        if context == "(none)":
            return UNKNOWN if name is None else f"It holds {TANKS[name]} litres."
        return f"It holds {9999 if name is None or context.count('tank holds') > 1 else TANKS[name]} litres."

    found = decompose(ran(lab_with(folder, script), generating("oracle", "e2e", "noretrieval")))
    assert found is not None
    tempted = (True, False, True)
    refusal, tank = found.outcome_of("no-2"), found.outcome_of("diesel-litres")
    assert refusal is not None
    assert tank is not None
    assert refusal.refusals == ("no-2", "no-3"), "the search finds nothing for the others"
    assert (refusal.meaning, tank.meaning) == (REFUSAL_MEANINGS[tempted], MEANINGS[tempted])
    row = next(row for row in found.outcomes if (row.oracle, row.e2e, row.noretrieval) == tempted)
    assert row.meaning == f"{MEANINGS[tempted]}; for the 2 to be refused, {REFUSAL_MEANINGS[tempted]}"
    assert list(REFUSAL_MEANINGS) == list(MEANINGS)


def confused(share: float) -> Script:
    """Fails with the golden's own document, in the given share of repeats."""
    asked = 0

    def script(request: ChatRequest) -> str:
        nonlocal asked
        context = request.messages[0].content.partition("Context:\n")[2]
        if "diesel" in asks(request) and context.count("tank holds") == 1 and context.startswith("# The"):
            asked += 1
            if asked <= share * 3:
                return UNKNOWN
        return reads(request)

    return script


@pytest.mark.parametrize(("share", "steady"), [(1.0, ("diesel-litres",)), (0.34, ())])
def test_oracle_below_e2e_is_noise_unless_it_survives_the_repeats(
    folder: Path, share: float, steady: tuple[str, ...]
) -> None:
    found = decompose(ran(lab_with(folder, confused(share)), generating("oracle", "e2e", "noretrieval", repeats=3)))
    assert found is not None
    assert found.reversed == ("diesel-litres",)
    assert found.reversed_steady == steady
    line = next(line for line in found.findings if line.startswith("Oracle is below"))
    assert ("it survives the repeats" in line) == bool(steady)


def test_what_the_modes_say_together(shared: Path) -> None:
    def guesses(request: ChatRequest) -> str:
        return "It holds 7 litres."

    guesser = ScriptedGenerator(guesses, digest="sha256:guesses")
    found = decompose(ran(lab_with(shared, guesser), generating("oracle", "e2e", "noretrieval")))
    assert found is not None
    assert found.findings[0].startswith("The model: with the right documents only 0.00")
    assert decompose(ran(lab_with(shared, reads), generating("oracle", "e2e"))) is None
    sound = decompose(ran(lab_with(shared, reads), generating("oracle", "e2e", "noretrieval", "mock")))
    assert sound is not None
    assert list(sound.levels) == ["oracle", "e2e", "noretrieval", "mock"]
    assert sound.differences[1].by_tag["fictional"].value == 1
    assert sound.differences[1].overall.n == 16


# -- replay -----------------------------------------------------------------------------------------------------------


def test_what_was_paid_for_is_replayed_and_told_apart(folder: Path) -> None:
    plan = generating("oracle", "e2e", repeats=2)
    lab = lab_with(folder, reads)
    model = lab.generator
    assert isinstance(model, ScriptedGenerator)
    first = ran(lab, plan)
    paid = len(model.requests)
    assert paid == 2 * (20 + 20 + 4)
    second = ran(lab, plan)
    assert len(model.requests) == paid
    assert second.spec_id == first.spec_id
    assert {name: levels(first, "e2e")[name] for name in levels(first)} == levels(second, "e2e")
    usage = usage_by_mode(second)
    assert usage["e2e"].fresh.replies == 0
    assert usage["e2e"].replayed.replies == 2 * 24
    assert usage["e2e"].latency.answers == 0
    assert all("generate" not in trace.timings for trace in second.traces)
    third = ran(lab, generating("oracle", "e2e", repeats=3))
    assert len(model.requests) == paid + 44, "the repeat is part of the key"
    mixed = usage_by_mode(third)["oracle"]
    assert (mixed.fresh.replies, mixed.replayed.replies, mixed.latency.answers) == (20, 40, 20)
    ran(lab, plan, fresh=True)
    assert len(model.requests) == 2 * paid + 44


def test_another_model_prompt_or_parameter_is_asked_anew(folder: Path) -> None:
    plan = generating("oracle")
    ran(lab_with(folder, reads), plan)
    assert plan.generation is not None
    recipe = msgspec.structs.replace(plan.generation, temperature=0.5)
    numbered = generating("oracle", prompt=msgspec.structs.replace(recipe.prompt, numbered=True))
    for lab, changed, asked in (
        (lab_with(folder, ScriptedGenerator(reads, digest="sha256:other")), plan, 20),
        (lab_with(folder, reads), msgspec.structs.replace(plan, generation=recipe), 20),
        # Without any context there is nothing to number: those four prompts are the same.
        (lab_with(folder, reads), numbered, 16),
    ):
        model = lab.generator
        assert isinstance(model, ScriptedGenerator)
        ran(lab, changed)
        assert len(model.requests) == asked


def fails_for(*names: str) -> Script:
    """The honest model, whose server refuses some questions."""

    def script(request: ChatRequest) -> str:
        if any(name in asks(request) for name in names):
            raise UnusableReply(
                "refused", "the server refused", reply=Reply(text="", prompt_tokens=9, completion_tokens=0)
            )
        return reads(request)

    return script


def test_only_what_failed_is_repeated(folder: Path) -> None:
    plan = generating("e2e", rewrite=False)
    lab = lab_with(folder, fails_for("diesel", "engine"))
    first = ran(lab, plan)
    assert sorted(trace.case for trace in first.traces if trace.error) == ["diesel-litres@e2e#1", "engine-litres@e2e#1"]
    again = lab_with(folder, reads)
    model = again.generator
    assert isinstance(model, ScriptedGenerator)
    recorded = resumed(again, again.bind(plan), first.run_id, only_errors=True)
    assert sorted(asks(request) for request in model.requests) == [
        "How much oil does the diesel tank hold?", "How much oil does the engine tank hold?"]  # fmt: skip
    assert not any(trace.error for trace in recorded.traces)
    assert levels(recorded)["correctness"] == 1
    assert len(recorded.environments) == 2


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_limit_of_calls_ends_the_run_cleanly_and_the_rest_is_resumed(folder: Path) -> None:
    lab = lab_with(folder, reads)
    model = lab.generator
    assert isinstance(model, ScriptedGenerator)
    plan = generating("oracle", "e2e", "noretrieval")
    run = ran(lab, plan, max_calls=25)
    assert len(model.requests) == 25
    assert run.status == "interrupted"
    assert "25 calls were made" in lab.store.run(run.run_id).attempt_rows[0].reason
    assert 20 <= len(run.traces) <= 25
    assert not any(trace.error for trace in run.traces)
    whole = resumed(lab, lab.bind(plan), run.run_id)
    assert whole.status == "completed"
    assert len(whole.traces) == 60
    assert len(model.requests) <= 64 + 4, "at most the rewrites whose answers were not reached are asked again"


def test_a_limit_of_cost_is_never_exceeded(folder: Path) -> None:
    model = ScriptedGenerator(reads, prices=(10.0, 50.0))
    lab = lab_with(folder, model)
    plan = generating("oracle", budget=Budget(answer_reserve=64))
    run = ran(lab, plan, max_cost=0.012)
    assert run.status == "interrupted"
    cost = usage_by_mode(run)["oracle"].fresh.cost
    assert cost is not None
    assert 0.005 < cost <= 0.012
    with pytest.raises(InvalidInput, match="prices"):
        ran(lab_with(folder, reads), plan, max_cost=1.0)


def test_an_estimate_asks_nobody(folder: Path) -> None:
    model = ScriptedGenerator(reads, prices=(1.0, 2.0))
    lab = lab_with(folder, model)
    plan = generating("oracle", "e2e", "noretrieval", "mock", repeats=2)
    rows = {row.mode: row for row in lab.estimate(lab.bind(plan))}
    assert not model.requests
    assert not lab.store.runs()
    assert {mode: (row.cases, row.calls) for mode, row in rows.items()} == {
        "oracle": (40, 40), "e2e": (40, 48), "noretrieval": (40, 40), "mock": (20, 0)}  # fmt: skip
    run = ran(lab, plan)
    usage = usage_by_mode(run)
    for mode in ("oracle", "e2e", "noretrieval"):
        assert usage[mode].fresh.replies == rows[mode].calls
        assert rows[mode].prompt_tokens == pytest.approx(usage[mode].fresh.prompt_tokens, rel=0.3)
        assert (rows[mode].cost or 0) > (usage[mode].fresh.cost or 0)
    assert {row.mode: row.calls for row in lab.estimate(lab.bind(plan))} == dict.fromkeys(rows, 0), "all is paid for"
    assert {row.calls for row in lab.estimate(lab.bind(plan), Spending(fresh=True))} == {40, 48, 0}


def test_the_record_has_every_mode_and_the_ends_measures(shared: Path) -> None:
    run = ran(lab_with(shared, reads), generating("oracle", "e2e", "noretrieval"))
    record = run_record(run)
    assert set(record["by_mode"]) == {"oracle", "e2e", "noretrieval"}
    assert record["measures"] == record["by_mode"]["e2e"]["measures"]
    assert record["by_tag"] == record["by_mode"]["e2e"]["by_tag"]
    assert record["measures"]["correctness"]["value"] == 1
    assert record["by_mode"]["noretrieval"]["measures"]["correctness"]["value"] == 0
    assert record["counts"] == {"cases": 60, "scored": 60, "unscored": 0, "errors": 0}
    assert record["decomposition"]["differences"][0]["overall"]["value"] == 0
