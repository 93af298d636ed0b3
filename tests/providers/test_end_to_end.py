"""Whole runs against good and bad servers, and a key that may appear nowhere."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from ragtui.__main__ import main
from ragtui.providers.embeddings import PROBE_TEXT
from tests.providers.scripted_server import Reply, Request, ScriptedServer, embedding_service, then

CANARY = "sk-canary-c41d77e0"
SERVICE: Any = embedding_service()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(40):
        (tmp_path / "corpus" / f"d{number}.md").write_text(f"# Note {number}\n\nSomething {'very ' * number}plain.")
    (tmp_path / "goldens").mkdir()
    goldens = [{"id": f"q{number}", "query": f"note {number}", "relevantDocIds": [f"d{number}"]} for number in range(8)]
    (tmp_path / "goldens" / "core.jsonl").write_text("".join(json.dumps(golden) + "\n" for golden in goldens))
    monkeypatch.setenv("CANARY_KEY", CANARY)
    return tmp_path


def settings(folder: Path, url: str, kind: str = "openai", more: str = "") -> None:
    (folder / "ragtui.toml").write_text(
        f'[profiles.mine]\nkind = "{kind}"\nmodel = "toy"\nurl = "{url}"\nkey_env = "CANARY_KEY"\nbatch = 8\n{more}\n'
    )


def run(folder: Path, *options: str) -> int:
    return main(["-w", str(folder), "run", "vector", "--set", "embedding.model=mine", "--display", "plain", *options])


def assert_no_key(folder: Path, *printed: str) -> None:
    for text in printed:
        assert CANARY not in text
    for path in folder.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_a_run_records_neither_key_nor_address(workspace: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    with ScriptedServer(SERVICE) as server:
        settings(workspace, server.url, kind)
        assert run(workspace) == 0
        assert main(["-w", str(workspace), "verify", "latest"]) == 0
        assert all(CANARY in request.headers["authorization"] for request in server.requests)
        first = len(server.posts())
        assert run(workspace, "--set", "retrieval.results=50") == 0
        texts = [text for request in server.posts()[first:] for text in request.body["input"]]
    out, err = capsys.readouterr()
    assert "Embedded with toy: 40 texts" in err
    assert not any(text.startswith(("# Note", "note")) for text in texts)
    assert_no_key(workspace, out, err)
    (workspace / "ragtui.toml").unlink()
    for path in workspace.rglob("*"):
        assert not (path.is_file() and str(server.port).encode() + b"/" in path.read_bytes()), path.name


@pytest.mark.parametrize(("reply", "message"), [
    (Reply.json({"error": f"key {CANARY} is wrong"}, 401), "refuses the key"),
    (Reply.json({"error": f"{CANARY}"}, 500), "HTTP 500"),
    (Reply.json({"error": f"{CANARY}"}, 404), "does not know the model"),
    (Reply.text("{}"), "another shape"),
    (Reply.text("busy"), "not JSON"),
    (Reply.text('{"data": [{"index": 0, "embedding": [NaN]}]}'), "not JSON"),
    (Reply.json({"data": [{"index": 0, "embedding": [0.1] * 5}]}), "5 dimensions instead of 8|1 vector for 8 texts"),
    (Reply.json({"data": []}), "0 vectors for"),
    (Reply.closed(), "closed the connection"),
    (Reply.cut_short('{"data": [1, 2, 3]}'), "closed the connection"),
    (Reply.text("", 302, location=f"http://127.0.0.3/{CANARY}"), "another server"),
    (Reply.json({}, 429, retry_after="900"), "before the deadline"),
    (Reply.json({}, wait=2.0), "before the deadline"),
    (Reply.endless(), "more than 67 MB|before the deadline"),
])  # fmt: skip
def test_a_bad_server_ends_the_run_with_its_message(
    workspace: Path, capsys: pytest.CaptureFixture[str], reply: Reply, message: str
) -> None:
    probe: Any = SERVICE(Request("POST", "/v1/embeddings", {}, {"model": "toy", "input": [PROBE_TEXT]}))
    started = time.monotonic()
    with ScriptedServer(then([probe], lambda request: reply)) as server:
        settings(workspace, server.url, more="retries = 1\ntimeout = 1.0\ndeadline = 1.0")
        code = run(workspace)
    out, err = capsys.readouterr()
    assert code == 4
    assert re.search(message, err), err
    assert "Traceback" not in err
    assert time.monotonic() - started < 20
    assert_no_key(workspace, out, err)


def test_an_absent_server_is_refused_before_anything_is_recorded(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(SERVICE) as server:
        url = server.url
    settings(workspace, url)
    assert run(workspace, "--json") == 4
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "provider_unavailable"
    assert not (workspace / "runs.duckdb").exists()


@pytest.mark.parametrize("again", [["run", "vector", "--set", "embedding.model=mine"], ["resume", "latest"]])
def test_after_a_failure_only_the_rest_is_paid_for(workspace: Path, again: list[str]) -> None:
    probe: Any = SERVICE(Request("POST", "/v1/embeddings", {}, {"model": "toy", "input": [PROBE_TEXT]}))
    answered = 0

    def stumbling(request: Request) -> Reply:
        nonlocal answered
        answered += request.method == "POST"
        return Reply.text("down", 500) if 2 < answered <= 6 else SERVICE(request)

    with ScriptedServer(then([probe], stumbling)) as server:
        settings(workspace, server.url, more="retries = 0\nconcurrency = 1")
        assert run(workspace) == 4
        asked = [text for request in server.posts() for text in request.body["input"] if "Note" in text]
        answered = 100
        assert main(["-w", str(workspace), *again, "--display", "none"]) == 0
    sent = [text for request in server.posts() for text in request.body["input"] if "Note" in text]
    assert len(asked) > 8
    assert all(sent.count(text) == 1 for text in asked[:16])
