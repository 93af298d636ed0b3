from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.errors import ProviderUnavailable, RunFailed
from ragtui.providers.cache import FILE_NAME, VectorCache
from ragtui.providers.embeddings import PROBE_TEXT, ServerEmbedder, batches
from ragtui.providers.select import embedder_named, profile_named
from ragtui.settings import Profile
from tests.providers.scripted_server import Reply, Request, ScriptedServer, embedding_service, then, toy_vector

CANARY = "sk-canary-55d0e1"
SERVICE: Any = embedding_service()


def embedder(server: ScriptedServer, folder: Path, kind: Any = "ollama", **options: Any) -> ServerEmbedder:
    fields: dict[str, Any] = {"model": "toy", "retries": 1}
    fields |= {name: options.pop(name) for name in list(options) if name in Profile.__struct_fields__}
    profile = Profile(kind=kind, url=server.url, **fields)
    return ServerEmbedder(profile, "mine", folder, **options)


def expected(texts: list[str]) -> Any:
    return np.asarray([toy_vector(text) for text in texts], np.float32)


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_vectors_come_in_order_whatever_the_batches(kind: str, tmp_path: Path) -> None:
    texts = [f"text number {index} {'x' * index}" for index in range(50)] + ["text number 3 xxx"]
    with ScriptedServer(SERVICE) as server:
        made = embedder(server, tmp_path, kind, batch=7, concurrency=3, batch_characters=200)
        vectors = made.embed(texts, "document")
    np.testing.assert_allclose(vectors, expected(texts), atol=1e-6)
    assert made.identity.dimensions == 8
    sizes = [len(request.body["input"]) for request in server.posts()]
    assert max(sizes) <= 7
    assert made.account.tokens == 3 * sum(sizes)


def test_identity_carries_ollamas_digest_and_the_plans_prefixes(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        identity = embedder(server, tmp_path, query_prefix="q: ", document_prefix="d: ").identity
    assert identity.digest == "sha256:0123456789abcdef"
    assert (identity.query_prefix, identity.document_prefix) == ("q: ", "d: ")


def test_the_path_of_a_model_is_no_part_of_its_identity(tmp_path: Path) -> None:
    named = []
    for place in ("/srv/models", "/home/someone", "C:\\models\\new"):
        model = f"{place}/toy.gguf"
        with ScriptedServer(embedding_service(model)) as server:
            made = embedder(server, tmp_path, "openai", model=model)
            named.append(made.identity)
            made.embed(["tea"], "document")
        # The same weights in another folder: their vectors are at hand already.
        assert made.account.from_cache == (len(named) > 1)
        assert server.posts()[-1].body["model"] == model
    assert {identity.model for identity in named} == {"toy.gguf"}


def test_prefixes_are_sent_by_role(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        made = embedder(server, tmp_path, query_prefix="q: ", document_prefix="d: ")
        np.testing.assert_allclose(made.embed(["tea"], "query"), expected(["q: tea"]), atol=1e-6)
        np.testing.assert_allclose(made.embed(["tea"], "document"), expected(["d: tea"]), atol=1e-6)


def test_wanted_dimensions_are_asked_for_and_checked(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        assert embedder(server, tmp_path, dimensions=4).embed(["a"], "query").shape == (1, 4)
    stubborn = then([], lambda request: SERVICE(Request("POST", request.path, {}, {**request.body, "dimensions": 8})))
    with ScriptedServer(stubborn) as server, pytest.raises(ProviderUnavailable, match="8 dimensions instead of 4"):
        embedder(server, tmp_path / "b", "openai", dimensions=4).embed(["a"], "query")


def test_blank_texts_are_zeros_and_never_sent(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        made = embedder(server, tmp_path, document_prefix="d: ")
        vectors = made.embed(["", "  \n", "x"], "document")
    assert not vectors[:2].any()
    assert [request.body["input"] for request in server.posts()] == [[PROBE_TEXT], ["d: x"]]


def test_a_lone_surrogate_harms_nobody(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        assert np.isfinite(embedder(server, tmp_path).embed(["ok", "\ud800 odd"], "document")).all()


def test_vectors_are_scaled_only_where_the_plan_says_so(tmp_path: Path) -> None:
    def triple(request: Request) -> Reply:
        if request.path == "/api/tags":
            return SERVICE(request)  # type: ignore[no-any-return]
        return Reply.json({"embeddings": [[3 * value for value in toy_vector(text)] for text in request.body["input"]]})

    with ScriptedServer(triple) as server:
        assert np.linalg.norm(embedder(server, tmp_path).embed(["a"], "query")) == pytest.approx(1.0, abs=1e-6)
        raw = embedder(server, tmp_path, normalize=False).embed(["a"], "query")
        assert np.linalg.norm(raw) == pytest.approx(3.0, abs=1e-5)
    # The second embedder was served from the first one's cache: raw vectors are what is kept.
    assert [request.body["input"] for request in server.posts()] == [[PROBE_TEXT], ["a"]]


def test_what_was_answered_is_never_asked_again(tmp_path: Path) -> None:
    texts = [f"text {index}" for index in range(30)]
    with ScriptedServer(SERVICE) as server:
        embedder(server, tmp_path, batch=10).embed(texts, "document")
        asked = len(server.posts())
        again = embedder(server, tmp_path, batch=10)
        again.embed(texts[::-1], "document")
        assert len(server.posts()) == asked
        assert again.account.from_cache == 30
        again.embed(texts[:1], "query")
        assert len(server.posts()) == asked + 1


def test_a_failure_keeps_what_was_answered(tmp_path: Path) -> None:
    texts = [f"text {index}" for index in range(40)]
    good = [SERVICE(Request("POST", "/api/embed", {}, {"model": "toy", "input": part}))
            for part in ([PROBE_TEXT], texts[:10], texts[10:20])]  # fmt: skip
    with ScriptedServer(then([*good, *[Reply.text("broken", 500)] * 2], SERVICE)) as server:
        made = embedder(server, tmp_path, batch=10, concurrency=1, retries=1)
        with pytest.raises(ProviderUnavailable, match="HTTP 500"):
            made.embed(texts, "document")
        made.embed(texts, "document")
    sent = [text for request in server.posts() for text in request.body["input"]]
    assert all(sent.count(text) == 1 for text in texts[:20])


def _embed_slowly(url: str, folder: str) -> None:
    profile = Profile(kind="ollama", model="toy", url=url, batch=2, concurrency=2)
    ServerEmbedder(profile, "mine", Path(folder)).embed([f"text {index}" for index in range(60)], "document")


def test_after_kill_9_only_what_was_under_way_is_asked_again(tmp_path: Path) -> None:
    texts = [f"text {index}" for index in range(60)]

    def slow(request: Request) -> Reply:
        time.sleep(0.03)
        return SERVICE(request)  # type: ignore[no-any-return]

    with ScriptedServer(slow) as server:
        process = multiprocessing.get_context("spawn").Process(target=_embed_slowly, args=(server.url, str(tmp_path)))
        process.start()
        while len(server.posts()) < 10:
            time.sleep(0.01)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        before = {text for request in server.posts() for text in request.body["input"]}
        seen = len(server.posts())
        vectors = embedder(server, tmp_path, batch=2).embed(texts, "document")
        repeated = before & {text for request in server.posts()[seen:] for text in request.body["input"]}
    np.testing.assert_allclose(vectors, expected(texts), atol=1e-6)
    assert len(before) >= 16
    assert len(repeated) <= 4  # two requests of two texts were under way


def _keep_many(folder: str, name: str) -> None:
    cache = VectorCache(Path(folder))
    for number in range(20):
        cache.put("space", "document", [f"{name} {number}"], np.ones((1, 4), np.float32))
        assert cache.get("space", "document", [f"{name} {number}"], 4)


def test_several_processes_share_the_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_keep_many, args=(str(tmp_path), name)) for name in "abcd"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert VectorCache(tmp_path).size()[0] == 80


def answering(rows: Any) -> Any:
    """Right for the probe, then always the given rows."""
    probe = SERVICE(Request("POST", "/api/embed", {}, {"model": "toy", "input": [PROBE_TEXT]}))
    return then([probe], lambda request: SERVICE(request) if request.method == "GET" else rows)


ONE = toy_vector("x")


@pytest.mark.parametrize(("reply", "message"), [
    (Reply.json({"embeddings": [ONE[:7], ONE[:7]]}), "7 dimensions instead of 8"),
    (Reply.json({"embeddings": [ONE, ONE[:7]]}), "7, 8 dimensions instead of 8"),
    (Reply.json({"embeddings": [ONE]}), "1 vector for 2 texts"),
    (Reply.json({"embeddings": [ONE, ONE, ONE]}), "3 vectors for 2 texts"),
    (Reply.json({"embeddings": []}), "0 vectors for 2 texts"),
    (Reply.text('{"embeddings": [[NaN], [NaN]]}'), "not JSON"),
    (Reply.text('{"embeddings": [[1e999,0,0,0,0,0,0,0], [1,0,0,0,0,0,0,0]]}'), "not finite|not JSON|another shape"),
    (Reply.text('{"embeddings": [[1e300,0,0,0,0,0,0,0], [1,0,0,0,0,0,0,0]]}'), "not finite"),
    (Reply.json({"embeddings": [[None] * 8] * 2}), "another shape"),
    (Reply.json({"embeddings": [[0.0] * 8] * 2}), "zeros"),
    (Reply.json({"embedding": ONE}), "another shape"),
    (Reply.json({"error": "model is loading"}, 503), "HTTP 503 .model is loading"),
    (Reply.cut_short('{"embeddings": [[0.1, 0.2]]}'), "closed the connection"),
    (Reply.closed(), "closed the connection"),
])  # fmt: skip
def test_bad_answers_have_their_message_and_are_not_kept(reply: Reply, message: str, tmp_path: Path) -> None:
    with ScriptedServer(answering(reply)) as server:
        made = embedder(server, tmp_path)
        with pytest.raises(ProviderUnavailable, match=message) as caught:
            made.embed(["one", "two"], "document")
    assert server.url not in caught.value.message + caught.value.hint
    assert VectorCache(tmp_path).size()[0] == 0


def test_wrong_indexes_of_an_openai_server(tmp_path: Path) -> None:
    rows = [{"index": 0, "embedding": ONE}, {"index": 0, "embedding": ONE}]
    with ScriptedServer([Reply.json({"data": rows})]) as server, pytest.raises(ProviderUnavailable, match="wrongly"):
        embedder(server, tmp_path, "openai").embed(["a", "b"], "query")


def test_one_text_that_is_too_long_is_found_and_named(tmp_path: Path) -> None:
    def picky(request: Request) -> Reply:
        if request.method == "POST" and any(len(text) > 100 for text in request.body["input"]):
            return Reply.json({"error": "input exceeds the context length"}, 400)
        return SERVICE(request)  # type: ignore[no-any-return]

    texts = [f"short {index}" for index in range(63)] + ["long \x1b[31m" + "z" * 200]
    with ScriptedServer(picky) as server:
        with pytest.raises(ProviderUnavailable, match="a text of 210 characters that begins 'long") as caught:
            embedder(server, tmp_path, batch=64).embed(texts, "document")
        assert "exceeds the context length" in caught.value.message
        assert "\x1b" not in caught.value.message
        assert len(server.posts()) < 20
        assert VectorCache(tmp_path).size()[0] == 63


def test_a_batch_that_is_too_large_is_halved(tmp_path: Path) -> None:
    def small_only(request: Request) -> Reply:
        if request.method == "POST" and len(request.body["input"]) > 5:
            return Reply.text("too large", 413)
        return SERVICE(request)  # type: ignore[no-any-return]

    texts = [f"text {index}" for index in range(32)]
    with ScriptedServer(small_only) as server:
        np.testing.assert_allclose(embedder(server, tmp_path).embed(texts, "document"), expected(texts), atol=1e-6)


def test_another_model_under_the_same_name_is_refused(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        embedder(server, tmp_path, "openai").embed(["a"], "query")

    def other(request: Request) -> Reply:
        flipped = [[-value for value in toy_vector(text)] for text in request.body["input"]]
        return Reply.json({"data": [{"index": at, "embedding": row} for at, row in enumerate(flipped)]})

    with ScriptedServer(other) as server:
        with pytest.raises(ProviderUnavailable, match="serves another model as 'toy'") as caught:
            embedder(server, tmp_path, "openai").embed(["a"], "query")
        assert "revision" in caught.value.hint
        renewed = embedder(server, tmp_path, "openai", revision="2")
        assert renewed.identity.digest == "declared:2"
        assert renewed.embed(["a"], "query")[0, 0] < 0


def test_noise_below_the_tolerance_is_the_same_model(tmp_path: Path) -> None:
    def noisy(request: Request) -> Reply:
        source = np.random.default_rng(len(request.body["input"]))
        rows = [(np.asarray(toy_vector(text)) + source.normal(0, 0.003, 8)).tolist() for text in request.body["input"]]
        return Reply.json({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]})

    with ScriptedServer(SERVICE) as server:
        first = embedder(server, tmp_path, "openai").identity
    with ScriptedServer(noisy) as server:
        assert embedder(server, tmp_path, "openai").identity == first


def test_a_new_digest_is_a_new_embedder(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server:
        first = embedder(server, tmp_path)
        first.embed(["a"], "query")
    with ScriptedServer(embedding_service(digest="fedcba")) as server:
        second = embedder(server, tmp_path)
        second.embed(["a"], "query")
        assert second.identity != first.identity
        assert len(server.posts()) == 2


def test_a_model_that_ollama_lacks_says_how_to_fetch_it(tmp_path: Path) -> None:
    with ScriptedServer(SERVICE) as server, pytest.raises(ProviderUnavailable) as caught:
        embedder(server, tmp_path, model="absent").embed(["a"], "query")
    assert "ollama pull absent" in caught.value.hint
    assert "toy:latest" in caught.value.hint


def test_the_key_is_nowhere_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    with ScriptedServer(SERVICE) as server:
        embedder(server, tmp_path, "openai", key_env="CANARY_KEY").embed(["a"], "query")
        assert server.requests[0].headers["authorization"].endswith(CANARY)
    for path in tmp_path.rglob("*"):
        assert CANARY.encode() not in path.read_bytes()


def test_a_damaged_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"this is no database, not even a little" * 100)
    with ScriptedServer(SERVICE) as server, pytest.raises(RunFailed, match="cache of embeddings"):
        embedder(server, tmp_path).embed(["a"], "query")


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(1, 9), st.integers(1, 60))
def test_batches_keep_order_and_bounds(texts: list[str], count: int, characters: int) -> None:
    made = list(batches(texts, count, characters))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= count
        assert len(batch) == 1 or sum(map(len, batch)) <= characters


def test_names_of_profiles_and_models(tmp_path: Path) -> None:
    profiles = {
        "here": Profile(kind="ollama", model="nomic"),
        "there": Profile(kind="openai", model="big", url="https://h.example"),
        "search": Profile(kind="retriever", url="https://h.example"),
    }
    assert profile_named("nomic", profiles) == "here"
    assert profile_named("there", profiles) == "there"
    for unknown in ("search", "nothing"):
        with pytest.raises(ProviderUnavailable, match="no embedding model"):
            profile_named(unknown, profiles)
    assert isinstance(embedder_named("nomic", profiles, cache=tmp_path), ServerEmbedder)


def test_cost_is_the_servers_or_by_the_price(tmp_path: Path) -> None:
    def costly(request: Request) -> Reply:
        rows = [{"index": at, "embedding": toy_vector(text)} for at, text in enumerate(request.body["input"])]
        return Reply.json({"data": rows, "usage": {"prompt_tokens": 500_000, "cost": 0.25}})

    with ScriptedServer(costly) as server:
        told = embedder(server, tmp_path / "a", "openai", input_price=8.0)
        told.embed(["a"], "query")
    assert told.account.cost == pytest.approx(0.5)  # the probe and the text
    with ScriptedServer(SERVICE) as server:
        priced = embedder(server, tmp_path / "b", "openai", input_price=1e6)
        priced.embed(["a"], "query")
    assert priced.account.cost == pytest.approx(6.0)
    assert str(priced.account) == "1 text, 0 from the cache, 2 requests, 6 tokens, cost 6.0000"
