from __future__ import annotations

import asyncio
import json
import socket
import time
import tracemalloc
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from ragtui.errors import ProviderUnavailable
from ragtui.providers.address import base_url, is_loopback, is_secret, unkeyed
from ragtui.providers.http import ProviderClient
from ragtui.providers.patience import LONGEST_RETRY_AFTER, back_off, retry_after
from ragtui.settings import Profile
from tests.providers.scripted_server import Reply, ScriptedServer

CANARY = "sk-canary-7f3a9b2c"


class Sleeper:
    """Notes how long it was asked to sleep, and does not."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.naps.append(seconds)


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


@pytest.fixture(autouse=True)
def canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)


def client(
    server: ScriptedServer, sleeper: Sleeper | None = None, limit: int = 1 << 20, **fields: Any
) -> ProviderClient:
    profile = Profile(kind="openai", model="m", **{"url": server.url, "key_env": "CANARY_KEY"} | fields)
    more = {} if sleeper is None else {"sleep": sleeper}
    return ProviderClient(profile, "toy", answer_limit=limit, **more)  # type: ignore[arg-type]


def failure(made: ProviderClient, **options: Any) -> ProviderUnavailable:
    with pytest.raises(ProviderUnavailable) as caught:
        made.post_json("/v1/x", {"a": 1}, **options)
    for text in (caught.value.message, caught.value.hint):
        assert CANARY not in text
        assert "127.0.0.1" not in text
    return caught.value


def test_sends_json_and_key_and_reads_the_answer() -> None:
    with ScriptedServer([Reply.json({"ok": [1, 2]})]) as server:
        assert client(server).post_json("/v1/x", {"q": "é"}) == {"ok": [1, 2]}
    assert server.requests[0].body == {"q": "é"}
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"


def test_absent_server_is_told_within_seconds(sleeper: Sleeper) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    made = ProviderClient(Profile(kind="openai", model="m", url=url), "toy", sleep=sleeper)
    assert "cannot be reached: nothing listens there" in failure(made).message
    assert len(sleeper.naps) == 2


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_names_the_variable_and_never_the_key(status: int) -> None:
    said = {"error": {"message": f"Incorrect API key provided: {CANARY}. \x1b[31mRed"}}
    with ScriptedServer([Reply.json(said, status)]) as server:
        error = failure(client(server))
    assert "refuses the key" in error.message
    assert "[key]" in error.message
    assert "\x1b" not in error.message
    assert "CANARY_KEY" in error.hint
    assert len(server.requests) == 1


def test_key_spelt_with_json_escapes_is_redacted_too() -> None:
    escaped = "".join(f"\\u{ord(char):04x}" for char in CANARY)
    with ScriptedServer([Reply.text(f'{{"error": "bad {escaped}"}}', 400)]) as server:
        assert "[key]" in failure(client(server)).message


ECHOES = [
    CANARY, CANARY.replace("-", "\\u002d"), "".join(f"\\u{ord(char):04X}" for char in CANARY), f"\\\\{CANARY}",
]  # fmt: skip


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_is_told_with_a_good_status_is_redacted_too(echo: str) -> None:
    with ScriptedServer([Reply.text(f'{{"data": ["a\\n{echo}", 0.25], "x": "\\u00e9\\"\\/"}}')]) as server:
        answer = client(server).post_json("/v1/x", {})
    assert CANARY not in str(answer)
    assert "[key]" in answer["data"][0]
    assert (answer["data"][1], answer["x"]) == (0.25, 'é"/')


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_in_a_stream_is_redacted(echo: str) -> None:
    async def asked(made: ProviderClient) -> list[str]:
        return [line async for line in made.stream_lines("/x", {})]

    with ScriptedServer([Reply.lines([f'data: {{"error": "{echo}"}}', "plain"])]) as server:
        first, second = asyncio.run(asked(client(server)))
    assert CANARY not in json.loads(first[5:])["error"]
    assert second == "plain"


@pytest.mark.parametrize(("key", "secret"), [
    ("ollama", False), ("anything", False), ("1234567890", False), ("1e-0000001", False), ("sk-12345", True),
    ("not-needed", True), ("8f2a9c01d", True),
])  # fmt: skip
def test_what_a_key_is_that_an_answer_could_not_hold_by_chance(key: str, secret: bool) -> None:
    assert is_secret(key) is secret
    said = f'{{"a": "{key}"}}'.encode()
    assert (unkeyed(said, key) == said) is not secret


def test_a_key_with_signs_that_json_escapes() -> None:
    key = 'a"b\\c/1234'
    for said in (json.dumps({"a": key}), json.dumps({"a": key}).replace("/", "\\/").replace("b", "\\u0062")):
        assert json.loads(unkeyed(said.encode(), key)) == {"a": "[key]"}


def test_unknown_model() -> None:
    with ScriptedServer([Reply.json({"error": "model not found"}, 404)]) as server:
        assert "does not know the model 'm'" in failure(client(server)).message


def test_rate_limit_waits_as_long_as_the_server_asks(sleeper: Sleeper) -> None:
    limited = Reply.json({"error": "slow down"}, 429, retry_after="7")
    with ScriptedServer([limited, limited, Reply.json(1)]) as server:
        assert client(server, sleeper).post_json("/x", {}) == 1
    assert len(sleeper.naps) == 2
    assert all(nap >= 6.9 for nap in sleeper.naps)


def test_server_faults_are_tried_again_a_bounded_number_of_times(sleeper: Sleeper) -> None:
    with ScriptedServer([Reply.text("oops", 500)]) as server:
        error = failure(client(server, sleeper, retries=3))
    assert "HTTP 500 (oops) (asked 4 times)" in error.message
    assert len(server.requests) == 4
    assert sleeper.naps == sorted(sleeper.naps)


def test_a_wait_beyond_the_deadline_fails_at_once(sleeper: Sleeper) -> None:
    with ScriptedServer([Reply.json({}, 429, retry_after="100")]) as server:
        error = failure(client(server, sleeper, deadline=5.0))
    assert "before the deadline" in error.message
    assert sleeper.naps == []


def test_slow_server_ends_at_the_deadline() -> None:
    started = time.monotonic()
    with ScriptedServer([Reply.json({}, wait=3.0)]) as server:
        assert "before the deadline" in failure(client(server, deadline=0.3)).message
        assert time.monotonic() - started < 2


def test_silence_within_an_answer_is_a_time_out(sleeper: Sleeper) -> None:
    with ScriptedServer([Reply([b"{", b"}"], length=2, pause=1.0)]) as server:
        assert "sent nothing for 0.2 s" in failure(client(server, sleeper, timeout=0.2, retries=1)).message


@pytest.mark.parametrize("text", ["<html>busy</html>", "{", "", "NaN", "[" * 100_000, '{"a": 1} trailing', "\ud800"])
def test_not_json(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    with ScriptedServer([Reply([data], length=len(data))]) as server:
        assert "not JSON" in failure(client(server)).message


def test_json_of_another_shape() -> None:
    with ScriptedServer([Reply.json({"embeddings": "none"})]) as server:
        assert "another shape" in failure(client(server), answer=dict[str, list[float]]).message


def test_closing_mid_answer_is_tried_again(sleeper: Sleeper) -> None:
    with ScriptedServer([Reply.cut_short('{"a": 12345678}'), Reply.closed(), Reply.json(5)]) as server:
        assert client(server, sleeper).post_json("/x", {}) == 5
    with ScriptedServer([Reply.cut_short('{"a": 12345678}')]) as server:
        assert "closed the connection" in failure(client(server, sleeper, retries=1)).message


def test_endless_answer_is_cut_in_bounded_memory() -> None:
    tracemalloc.start()
    with ScriptedServer([Reply.endless()]) as server:
        assert "more than 1 MB" in failure(client(server, limit=1 << 20)).message
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_endless_drip_ends_at_the_deadline() -> None:
    started = time.monotonic()
    with ScriptedServer([Reply.endless(b" ", pause=0.02)]) as server:
        assert "before the deadline" in failure(client(server, deadline=0.4)).message
    assert time.monotonic() - started < 3


def test_endless_refusal_is_cut() -> None:
    with ScriptedServer([Reply([b"x" * 4096] * 100, 400)]) as server:
        assert len(failure(client(server)).message) < 400


def test_compressed_answer_is_refused() -> None:
    with ScriptedServer([Reply([b"\x1f\x8b"], headers={"content-encoding": "gzip"}, length=2)]) as server:
        assert "compressed" in failure(client(server)).message


def test_redirect_to_another_server_gets_neither_key_nor_texts() -> None:
    with ScriptedServer([Reply.json(1)]) as other, ScriptedServer([Reply.text("", 307, location=other.url)]) as server:
        assert "another server" in failure(client(server)).message
    assert other.requests == []


def test_redirect_on_the_same_server_keeps_the_request() -> None:
    with ScriptedServer([Reply.text("", 308, location="/v2"), Reply.json(2)]) as server:
        assert client(server).post_json("/v1", {"a": 1}) == 2
    assert [(request.path, request.body) for request in server.requests] == [("/v1", {"a": 1}), ("/v2", {"a": 1})]


@pytest.mark.parametrize(("reply", "message"), [
    (Reply.text("", 307, location="/again"), "in a circle"),
    (Reply.text("", 302, location="/elsewhere"), "loses the request"),
    (Reply.text("", 307, location="http://[::1"), "not an address"),
    (Reply.text("", 307, location="ftp://127.0.0.1/"), "another server"),
])  # fmt: skip
def test_other_redirects(reply: Reply, message: str) -> None:
    with ScriptedServer([reply]) as server:
        assert message in failure(client(server)).message


def test_no_more_requests_at_once_than_the_profile_says() -> None:
    async def many(made: ProviderClient) -> None:
        await asyncio.gather(*(made.post("/x", {}) for _ in range(8)))
        await made.aclose()

    with ScriptedServer([Reply.json(1, wait=0.05)]) as server:
        asyncio.run(many(client(server, concurrency=3)))
    assert server.most_at_once == 3


def test_stream_yields_lines_as_they_arrive() -> None:
    async def read(made: ProviderClient) -> list[str]:
        return [line async for line in made.stream_lines("/chat", {"stream": True})]

    with ScriptedServer([Reply.text("busy", 503), Reply.lines(["data: é", "", "data: [DONE]"])]) as server:
        made = client(server, Sleeper())
        assert asyncio.run(read(made)) == ["data: é", "", "data: [DONE]"]


@pytest.mark.parametrize(("reply", "message"), [
    (Reply([b"one\n", b"tw"], length=400), "closed the connection"),
    (Reply.lines(["x"] * 1000, pause=0.02), "before the deadline"),
    (Reply.endless(b"y" * 65536), "more than"),
    (Reply([b"x\n\xff\n"]), "not UTF-8"),
])  # fmt: skip
def test_broken_streams_end_with_a_message(reply: Reply, message: str) -> None:
    async def read(stream: AsyncIterator[str]) -> None:
        async for _ in stream:
            pass

    with ScriptedServer([reply]) as server, pytest.raises(ProviderUnavailable, match=message):
        asyncio.run(read(client(server, Sleeper()).stream_lines("/chat", {}, deadline=0.5)))
    assert len(server.requests) == 1 or message == "more than"


def test_leaving_a_stream_early_frees_its_place() -> None:
    async def twice(made: ProviderClient) -> Any:
        stream = made.stream_lines("/chat", {})
        first = await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        return first, await made.post("/x", {})

    with ScriptedServer([Reply.lines(["a"] * 50, pause=0.02), Reply.json(3)]) as server:
        assert asyncio.run(twice(client(server, concurrency=1))) == ("a", 3)


@pytest.mark.parametrize(("url", "insecure", "message"), [
    ("http://embeddings.example", False, "plain http"),
    ("ftp://127.0.0.1", False, "not an address"),
    ("127.0.0.1:8080", False, "not an address"),
    ("", False, "names no server"),
    ("https://user:secret@host.example", False, "a user or a password"),
    ("https://host.example/v1?key=secret", False, "a query"),
    ("https://[::1", False, "not an address"),
    ("https://host.example:99999", False, "not an address"),
    ("https://host.example/a\nb", False, "not an address"),
])  # fmt: skip
def test_urls_that_are_refused(url: str, insecure: bool, message: str) -> None:
    with pytest.raises(ProviderUnavailable, match=message) as caught:
        base_url(Profile(kind="openai", url=url, insecure=insecure), "p")
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(("url", "insecure"), [
    ("http://localhost:11434/", False), ("http://127.8.9.1", False), ("http://[::1]:80", False),
    ("http://10.0.0.7", True), ("https://host.example/api", False),
])  # fmt: skip
def test_urls_that_are_taken(url: str, insecure: bool) -> None:
    assert base_url(Profile(kind="openai", url=url, insecure=insecure), "p") == url.rstrip("/")


@pytest.mark.parametrize("pasted", ["sk-SECRET-pasted", "SECRET pasted", "ghp_SECRETpasted"])
def test_a_key_in_place_of_its_variable_is_never_told(pasted: str) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        ProviderClient(Profile(kind="openai", url="https://host.example", key_env=pasted), "toy")
    assert "key_env in [profiles.toy]" in caught.value.message
    assert "SECRET" not in caught.value.message + caught.value.hint


def test_a_pasted_key_that_could_be_a_name_is_not_told_by_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ghp_SECRETpasted", CANARY)
    with ScriptedServer([Reply.json({}, 401)]) as server:
        error = failure(client(server, key_env="ghp_SECRETpasted"))
    assert error.hint == "Set the right key in the variable that key_env in [profiles.toy] names."


@pytest.mark.parametrize(("host", "loopback"), [
    ("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("evil.localhost", False),
    ("localhost.evil.example", False), ("10.0.0.1", False),
])  # fmt: skip
def test_what_this_machine_is(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_missing_and_unusable_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = Profile(kind="openai", url="https://host.example", key_env="CANARY_KEY")
    for value in ("", "  ", f"{CANARY}\n{CANARY}", f"{CANARY}ü"):
        monkeypatch.setenv("CANARY_KEY", value)
        with pytest.raises(ProviderUnavailable, match="CANARY_KEY") as caught:
            ProviderClient(profile, "p")
        assert CANARY not in caught.value.message


def test_back_off_grows_and_stays_bounded() -> None:
    assert [back_off(attempt, lambda: 1.0) for attempt in range(4)] == [0.5, 1.0, 2.0, 4.0]
    assert back_off(500, lambda: 1.0) == 30.0
    assert back_off(2, lambda: 0.0) == 1.0


def test_retry_after_takes_seconds_and_dates() -> None:
    now = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    assert retry_after("12") == 12.0
    assert retry_after(format_datetime(now + timedelta(seconds=30), usegmt=True), now) == 30.0
    assert retry_after(format_datetime(now - timedelta(hours=1), usegmt=True), now) == 0.0
    assert retry_after("99999999") == LONGEST_RETRY_AFTER
    assert retry_after("-5") == 0.0
    for nonsense in (None, "", "soon", "nan", "Mon, 99 Foo 2026"):
        assert retry_after(nonsense) is None
