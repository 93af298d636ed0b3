"""The two chat APIs against a real HTTP server, each fault included, over the whole pipeline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.usage import usage_by_mode
from ragtui.errors import ProviderUnavailable, RagtuiError
from ragtui.events import Notice
from ragtui.experiment.generation import Budget
from ragtui.lab import Lab, Spending
from ragtui.providers.chat import ChatGenerator
from ragtui.providers.chat_wire import WARM_UP, warms_up
from ragtui.providers.protocols import ChatRequest, Message
from ragtui.providers.select import generator_named
from ragtui.settings import Profile
from ragtui.trace import CaseTrace
from tests.generation.chat_server import asked, delta, events, ollama, openai, spoken, usage
from tests.generation.station import generating, lab_with, levels, ran, station
from tests.providers.scripted_server import Reply, Request, ScriptedServer, then

Script = Callable[[Request], Reply]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return station(tmp_path_factory.mktemp("chat") / "ws")


def profile(server: ScriptedServer, kind: Any = "openai", **changes: Any) -> Profile:
    settings: dict[str, Any] = {"model": "toy", "concurrency": 4, "timeout": 5.0, "deadline": 20.0, "retries": 1}
    settings |= changes
    return Profile(kind=kind, url=server.url, **settings)


def served(folder: Path, server: ScriptedServer, kind: Any = "openai", **changes: Any) -> Lab:
    lab = lab_with(folder)
    lab.generator = ChatGenerator(profile(server, kind, **changes), "toy")
    return lab


def run_with(folder: Path, script: Script, kind: Any = "openai", **changes: Any) -> RecordedRun:
    with ScriptedServer(script) as server:
        return ran(served(folder, server, kind, **changes), generating("e2e", rewrite=False), fresh=True)


def errors(run: RecordedRun) -> set[str]:
    return {trace.error.kind for trace in run.traces if trace.error is not None}


@pytest.mark.parametrize(("kind", "script"), [("openai", openai()), ("ollama", ollama())])
def test_both_apis_give_the_same_numbers(folder: Path, kind: str, script: Script) -> None:
    run = run_with(folder, script, kind)
    assert not errors(run)
    assert levels(run)["correctness"] == levels(run)["refusalCorrectness"] == 1
    for trace in run.traces:
        answer = trace.answered
        assert answer is not None
        assert answer.usage.prompt_tokens
        assert answer.usage.completion_tokens is not None
        assert 0 < trace.timings["first_token"] <= trace.timings["generate"]
    error = levels(run)["promptTokenError"]
    assert error is not None
    assert 0 < error < 0.3


def test_openai_is_asked_for_reproducible_answers_and_counts(folder: Path) -> None:
    with ScriptedServer(openai()) as server:
        run = ran(served(folder, server), generating("oracle", "noretrieval"), fresh=True)
        warm_up, *bodies = [request.body for request in server.posts()]
    assert (warm_up["max_tokens"], warm_up["messages"][0]["content"]) == (1, WARM_UP), "it is thrown away"
    assert len(bodies) == len(run.cases) == 40
    assert all(body["temperature"] == 0 and body["seed"] == 0 and body["stream"] for body in bodies)
    assert all(body["stream_options"] == {"include_usage": True} and body["max_tokens"] == 1024 for body in bodies)
    assert server.most_at_once <= 4
    identity = run.specification.generator
    assert identity is not None
    assert identity.digest.startswith("sha256:"), "llama.cpp's description of the weights"


def test_ollama_is_given_the_window_and_evicts_others(folder: Path) -> None:
    with ScriptedServer(ollama(resident=("big:70b", "toy:latest"))) as server:
        run = ran(served(folder, server, "ollama"), generating("oracle"), fresh=True)
        evicted = [request.body for request in server.requests if request.path == "/api/generate"]
        chats = [request for request in server.requests if request.path == "/api/chat"]
    assert evicted == [{"model": "big:70b", "keep_alive": 0}]
    assert len(chats) == len(run.cases) + 1, "one warm-up is thrown away"
    assert all(request.body["options"] | {"num_predict": 0} == {
        "temperature": 0.0, "seed": 0, "num_ctx": 8192, "num_predict": 0} for request in chats)  # fmt: skip
    assert run.specification.generator is not None
    assert run.specification.generator.digest == "sha256:" + "ab" * 32


def test_reasoning_is_kept_apart_from_the_answer(folder: Path) -> None:
    def apart(chat: Any, text: str) -> Reply:
        return spoken(text, chat, thinking="The user asks for a figure.")

    def leading(chat: Any, text: str) -> Reply:
        return spoken(f"<think>The user asks for a figure.</think>\n{text}", chat)

    for script, kind in (
        (openai(reply=apart), "openai"), (openai(reply=leading), "openai"),
        (ollama(thinking="The user asks for a figure."), "ollama"),
    ):  # fmt: skip
        run = run_with(folder, script, kind)
        found = levels(run)
        assert found["correctness"] == 1
        assert found["thinkTagLeakRate"] == 0
        for trace in run.traces:
            assert trace.answered is not None
            assert trace.answered.thinking == "The user asks for a figure."
            assert "user asks" not in trace.answered.text


FAULTS: list[tuple[str, Callable[[Any, str], Reply], str]] = [
    ("an empty answer", lambda chat, text: spoken("", chat), "empty_answer"),
    ("only reasoning", lambda chat, text: spoken("", chat, thinking="hm"), "empty_answer"),
    ("reasoning without an end", lambda chat, text: spoken("<think>hm", chat), "empty_answer"),
    ("a length stop", lambda chat, text: spoken(text, chat, finish="length"), "length"),
    ("a content filter", lambda chat, text: spoken(text, chat, finish="content_filter"), "refused"),
    ("a refusal", lambda chat, text: events([delta(refusal="I must not."), delta("stop"), usage(9, 1)]), "refused"),
    (
        "an error in the stream",
        lambda chat, text: events([delta(content="It"), {"error": {"message": "oom"}}]),
        "refused",
    ),
    ("a bad request", lambda chat, text: Reply.json({"error": {"message": "prompt too long"}}, 400), "refused"),
    ("no JSON", lambda chat, text: Reply.lines(["data: {oops"]), "malformed_reply"),
    ("another shape", lambda chat, text: Reply.lines(['data: {"choices": 7}']), "malformed_reply"),
    ("no end", lambda chat, text: Reply.lines([f"data: {json.dumps(delta(content='It holds'))}"]), "malformed_reply"),
    ("prose", lambda chat, text: Reply.text("<html>hello</html>"), "malformed_reply"),
]


@pytest.mark.parametrize(
    ("reply", "kind"), [(reply, kind) for _, reply, kind in FAULTS], ids=[name for name, *_ in FAULTS]
)
def test_a_fault_is_an_error_of_its_case_and_never_a_pass(
    folder: Path, reply: Callable[[Any, str], Reply], kind: str
) -> None:
    def only_for_diesel(chat: Any, text: str) -> Reply:
        return reply(chat, text) if "diesel" in chat.messages[-1].content else spoken(text, chat)

    run = run_with(folder, openai(reply=only_for_diesel))
    failed = [trace for trace in run.traces if trace.error is not None]
    assert [trace.case for trace in failed] == ["diesel-litres@e2e#1"]
    trace = failed[0]
    assert trace.error is not None
    assert trace.error.kind == kind
    assert set(trace.scores.values()) == {None}
    assert set(trace.unscored.values()) == {trace.error.message}
    assert trace.answered is not None
    assert trace.answered.passed is None


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ({"done_reason": "length"}, "length"),
        ({"error": "out of memory"}, "refused"),
        ({"done": "yes"}, "malformed_reply"),
    ],
)
def test_faults_of_ollama(folder: Path, last: dict[str, Any], kind: str) -> None:
    warm_up = [Reply.json({}), Reply.json({"done": True})]
    with ScriptedServer(then(warm_up, ollama(last=last))) as server:
        run = ran(served(folder, server, "ollama"), generating("noretrieval", rewrite=False), fresh=True)
    assert errors(run) == {kind}


def test_patience_is_the_servers(folder: Path) -> None:
    busy = [
        Reply.json({"error": "slow down"}, 429, retry_after="0"),
        Reply.json({"error": "oops"}, 503, retry_after="0"),
    ]
    with ScriptedServer(then(busy, openai())) as server:
        run = ran(served(folder, server, retries=4), generating("e2e", rewrite=False), fresh=True)
        assert len(server.posts()) == len(run.cases) + 2 + 1, "one of them is the warm-up"
    assert not errors(run)


@pytest.mark.parametrize(
    ("changes", "kind", "warm"),
    [
        ({}, "openai", True),
        ({"warm_up": False}, "openai", False),
        ({"input_price": 1.0}, "openai", False),
        ({"input_price": 1.0, "warm_up": True}, "openai", True),
        ({}, "ollama", True),
        ({"warm_up": False}, "ollama", False),
    ],
)
def test_a_first_answer_is_thrown_away_where_it_costs_nothing(
    folder: Path, changes: dict[str, Any], kind: str, warm: bool
) -> None:
    with ScriptedServer(ollama() if kind == "ollama" else openai()) as server:
        run = ran(served(folder, server, kind, **changes), generating("noretrieval"), fresh=True)
        chats = [request.body for request in server.posts() if "messages" in request.body]
    assert len(chats) == len(run.cases) + warm
    assert [body["messages"][0]["content"] == WARM_UP for body in chats] == [True] * warm + [False] * len(run.cases)
    assert not errors(run)
    replies = usage_by_mode(run)["noretrieval"].fresh.replies
    assert replies == len(run.cases), "it is in no count"


def test_a_server_elsewhere_is_not_warmed_up_unless_asked() -> None:
    for url, warm in (
        ("https://api.example.com/v1", False), ("https://127.0.0.1:8000", True), ("http://localhost:8080/v1", True),
        ("http://[::1]:1", True), ("http://10.0.0.7:8000", False), ("", False),
    ):  # fmt: skip
        assert warms_up(Profile(kind="openai", url=url, insecure=True)) == warm
        assert warms_up(Profile(kind="openai", url=url, warm_up=True))


def test_a_warm_up_that_fails_is_a_notice(folder: Path) -> None:
    with ScriptedServer(then([Reply.json({"error": "max_tokens is too small"}, 400)], openai())) as server:
        lab = served(folder, server)
        specification = lab.bind(generating("noretrieval"))

        async def notices() -> list[str]:
            events = lab.events(specification, spending=Spending(fresh=True))
            return [event.message async for event in events if isinstance(event, Notice)]

        told = asyncio.run(notices())
    assert [message for message in told if "warm-up failed" in message and "max_tokens is too small" in message]
    assert not errors(lab.recorded("latest"))


def test_a_deadline_a_case(folder: Path) -> None:
    def slow_for_diesel(request: Request) -> Reply:
        reply = openai()(request)
        slow = request.body is not None and "diesel" in asked(request).messages[-1].content
        return Reply(reply.parts, pause=0.4) if slow else reply

    run = run_with(folder, slow_for_diesel, deadline=1.0)
    failed = [trace for trace in run.traces if trace.error is not None]
    assert [trace.case for trace in failed] == ["diesel-litres@e2e#1"]
    assert failed[0].error is not None
    assert "deadline" in failed[0].error.message


def test_a_server_that_is_gone_ends_the_run_and_the_rest_can_be_resumed(folder: Path, tmp_path: Path) -> None:
    place = station(tmp_path / "ws")
    with ScriptedServer(openai()) as server:
        lab = served(place, server, retries=0)
        plan = generating("oracle", "e2e", "noretrieval")
        specification = lab.bind(plan)
    with pytest.raises(ProviderUnavailable, match="cannot be reached"):
        lab.run(specification)
    row = lab.store.runs()[0]
    assert row.status == "failed"
    assert 0 < row.errors < 60
    with ScriptedServer(openai()) as server:
        again = served(place, server)

        async def finish() -> None:
            async for _ in again.events(specification, run_id=row.run_id, resume=True):
                pass

        asyncio.run(finish())
    recorded = again.recorded(row.run_id)
    assert recorded.status == "completed"
    assert len(recorded.traces) == 60
    assert not errors(recorded)


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_an_unknown_model_is_told_with_the_list_of_those_there_are(kind: Any) -> None:
    script = openai(models=("alpha", "beta")) if kind == "openai" else ollama(models=("alpha", "beta"))
    with ScriptedServer(script) as server, pytest.raises(ProviderUnavailable) as failure:
        _ = ChatGenerator(profile(server, kind), "toy").identity
    assert "does not have the model 'toy'" in failure.value.message
    assert "alpha, beta" in failure.value.hint


def test_a_server_without_models_and_a_profile_without_a_model() -> None:
    with ScriptedServer(openai(models=())) as server, pytest.raises(ProviderUnavailable, match="lists no models"):
        _ = ChatGenerator(profile(server), "toy").identity
    with (
        ScriptedServer(openai(models=("a", "b"))) as server,
        pytest.raises(ProviderUnavailable, match="names no model"),
    ):
        _ = ChatGenerator(profile(server, model=""), "toy").identity
    with ScriptedServer(openai(models=("only",))) as server:
        assert ChatGenerator(profile(server, model=""), "toy").identity.model == "only"


def test_a_path_on_a_disk_is_no_identity() -> None:
    for name, shown in (
        ("/home/me/models/gemma.gguf", "gemma.gguf"), (r"C:\models\gemma.gguf", "gemma.gguf"),
        ("./gemma.gguf", "gemma.gguf"),
        ("org/model-7b", "org/model-7b"), ("gemma3:4b", "gemma3:4b"),
    ):  # fmt: skip
        with ScriptedServer(openai(models=(name,))) as server:
            model = ChatGenerator(profile(server, model=""), "toy")
            assert model.identity.model == shown
            asyncio.run(
                model.answer(ChatRequest(messages=(Message("user", "hello"),), max_tokens=5, context_window=99))
            )
            assert server.posts()[0].body["model"] == name


def test_a_model_whose_context_is_shorter_than_the_window(folder: Path) -> None:
    with ScriptedServer(ollama(context_length=2048)) as server, pytest.raises(RagtuiError) as failure:
        ran(served(folder, server, "ollama"), generating("oracle"), fresh=True)
    assert "2048" in failure.value.message
    assert failure.value.hint == "--set generation.budget.context_window=2048"


def test_a_key_never_reaches_a_trace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", "sk-very-secret")

    def tells(request: Request) -> Reply:
        if request.method == "POST":
            return Reply.json({"error": f"bad key {request.headers['authorization']}"}, 400)
        return openai()(request)

    run = run_with(folder, tells, key_env="TOY_KEY")
    assert errors(run) == {"refused"}
    assert not any("secret" in _whole(trace) for trace in run.traces)


SECRET = "sk-very-secret-1"
TELLING: dict[str, list[Any]] = {
    "error": [{"error": {"message": f"Incorrect API key provided: {SECRET}"}}],
    "refusal": [delta(refusal=f"no {SECRET}")],
    "answer": [delta(content=f"boil {SECRET}"), delta("stop")],
    "pieces": [*(delta(content=char) for char in f"boil {SECRET}"), delta("stop")],
    "thinking": [delta(reasoning_content=SECRET[:5]), delta(reasoning_content=SECRET[5:]), delta("stop")],
    "finish": [delta(content="boil"), delta(f"stop{SECRET}")],
}


@pytest.mark.parametrize("kind", TELLING)
def test_a_key_in_an_answer_with_a_good_status_never_reaches_a_trace(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("TOY_KEY", SECRET)

    def tells(request: Request) -> Reply:
        return events(TELLING[kind]) if request.method == "POST" else openai()(request)

    run = run_with(folder, tells, key_env="TOY_KEY")
    assert not any("secret" in _whole(trace) for trace in run.traces)
    assert all("[key]" in _whole(trace) for trace in run.traces)


@pytest.mark.parametrize("wanted", ["other", ""])
def test_a_list_of_models_is_cut_and_inert(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", SECRET)
    names = [f"a-{SECRET}\x1b[31m", "b" * 5000, *(f"m{number}" for number in range(10_000))]
    with ScriptedServer(openai(models=names)) as server, pytest.raises(ProviderUnavailable) as failure:
        _ = ChatGenerator(profile(server, model=wanted, key_env="TOY_KEY"), "toy").identity
    assert "a-[key]\\x1b[31m" in failure.value.hint
    assert "and 9,990 more" in failure.value.hint
    assert len(failure.value.hint) < 600


@pytest.mark.parametrize(("prompt", "completion"), [(-5, 10**18), (2**63 - 1, -1)])
def test_counts_that_cannot_be_are_none(folder: Path, prompt: int, completion: int) -> None:
    def counts(request: Request) -> Reply:
        if request.method != "POST":
            return openai()(request)
        return events([delta(content="boil"), delta("stop"), usage(prompt, completion)])

    run = run_with(folder, counts)
    assert errors(run) == set()
    used = [trace.answer.usage for trace in run.traces if trace.answer]
    assert used
    assert {(each.prompt_tokens, each.completion_tokens) for each in used} == {(None, None)}


def _whole(trace: CaseTrace) -> str:
    import msgspec

    return msgspec.json.encode(trace).decode()


def test_names_of_generators() -> None:
    profiles = {
        "local": Profile(kind="ollama", model="gemma3:4b"),
        "host": Profile(kind="openai", model="big", url="https://host/v1"),
        "e5": Profile(kind="model2vec", model="folder"),
    }
    for name in ("local", "host", "local:llama3.2:3b", "gemma3:4b"):
        assert isinstance(generator_named(name, profiles), ChatGenerator)
    with pytest.raises(ProviderUnavailable, match="no model 'e5'") as failure:
        generator_named("e5", profiles)
    assert "mock, host, local" in failure.value.hint


def test_the_estimate_is_learnt_from_the_counts_once(tmp_path: Path) -> None:
    from ragtui.pipeline import calibration

    place = station(tmp_path / "ws")
    with ScriptedServer(openai()) as server:
        lab = served(place, server)
        plan = generating("oracle", budget=Budget())
        first = ran(lab, plan)
        before = levels(first, "oracle")["promptTokenError"]
        answers = [trace.answered for trace in first.traces if trace.answered is not None]
        measured = calibration.measured(answers)
        assert measured is not None
        assert measured.characters_per_token == pytest.approx(4.2, abs=0.1)
        identity = first.specification.generator
        assert identity is not None
        assert calibration.keep(lab.workspace.state, identity, measured)
        assert not calibration.keep(lab.workspace.state, identity, measured), "what was learnt stays"
        second = ran(lab, plan)
    after = levels(second, "oracle")["promptTokenError"]
    assert before is not None
    assert after is not None
    assert after < 0.03 < before
    assert second.specification.plan.generation is not None
    assert second.specification.plan.generation.budget.characters_per_token == measured.characters_per_token
