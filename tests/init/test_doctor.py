from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from ragtui.__main__ import main
from tests.providers.scripted_server import Reply, ScriptedServer, embedding_service

CANARY = "sk-canary-doctor-91"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    for name in ("tea", "snow"):
        (tmp_path / "corpus" / f"{name}.md").write_text(f"# {name}\n\nAbout {name}.")
    (tmp_path / "goldens").mkdir()
    golden = {"id": "q1", "query": "tea?", "relevantDocIds": ["tea"]}
    (tmp_path / "goldens" / "core.jsonl").write_text(json.dumps(golden) + "\n")
    return tmp_path


def profile(folder: Path, **fields: object) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    (folder / "ragtui.toml").write_text("[profiles.mine]\n" + "\n".join(lines) + "\n")


def examined(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[dict[str, Any]]]:
    capsys.readouterr()
    code = main(["-w", str(folder), "doctor", "--json", *options])
    out, err = capsys.readouterr()
    assert CANARY not in out + err
    found = json.loads(out)
    assert found["ok"] == (code == 0)
    return code, found["findings"]


def bad(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in findings if finding["state"] != "ok"]


def test_a_sound_workspace(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in workspace.rglob("*"))
    code, findings = examined(workspace, capsys)
    assert code == 0
    assert bad(findings) == []
    assert {finding["area"] for finding in findings} == {
        "terminal", "workspace", "artifacts", "stores", "journals", "profiles",
    }  # fmt: skip
    assert sorted(path.name for path in workspace.rglob("*")) == before
    assert main(["-w", str(workspace), "doctor"]) == 0
    assert "all is well" in capsys.readouterr().out


def test_every_failure_says_what_it_means_and_what_mends_it(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-w", str(workspace), "run", "hybrid", "--display", "none"]) == 0
    artifact = next((workspace / ".ragtui" / "artifacts").glob("vectors-*"))
    (artifact / "vectors.npy").write_bytes(b"damaged")
    (workspace / ".ragtui" / "journal").mkdir(exist_ok=True)
    (workspace / ".ragtui" / "journal" / "abc.jsonl.damaged").write_text("{}")
    (workspace / "corpus" / "bad.txt").write_bytes(b"\xff")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        profile(workspace, kind="ollama", model="m", url=f"http://127.0.0.1:{free.getsockname()[1]}")
    code, findings = examined(workspace, capsys)
    faults = bad(findings)
    assert code == 7
    assert [(fault["area"], fault["exit_code"]) for fault in faults] == [
        ("workspace", 2), ("artifacts", 7), ("journals", 0), ("profiles", 4),
    ]  # fmt: skip
    assert all(fault["meaning"] and fault["mend"] for fault in faults)
    assert examined(workspace, capsys, "--offline")[1][-1]["area"] == "journals"


def test_a_damaged_store_and_a_missing_corpus(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "runs.duckdb").write_bytes(b"no database" * 1000)
    shutil.rmtree(workspace / "corpus")
    code, findings = examined(workspace, capsys)
    assert code == 7
    assert [fault["area"] for fault in bad(findings)] == ["workspace", "stores"]


def test_a_damaged_cache_of_vectors(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / ".ragtui" / "embeddings").mkdir(parents=True)
    (workspace / ".ragtui" / "embeddings" / "vectors.sqlite").write_bytes(b"no database" * 1000)
    code, findings = examined(workspace, capsys)
    assert code == 7
    assert bad(findings)[0]["what"].startswith("The cache of embeddings cannot be used")
    assert findings[-1]["area"] == "profiles"


def test_artifacts_that_no_run_names(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-w", str(workspace), "run", "bm25"]) == 0
    assert main(["-w", str(workspace), "corpus", "ingest", "bm25", "--set", "lexical.stemming=false"]) == 0
    _, findings = examined(workspace, capsys)
    assert "that no recorded run names" in bad(findings)[0]["what"]


def test_artifacts_that_wait_for_the_first_run_are_no_finding(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-w", str(workspace), "corpus", "ingest"]) == 0
    assert bad(examined(workspace, capsys)[1]) == []


def test_wrong_settings_are_a_finding(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "ragtui.toml").write_text("corpus = [")
    code, findings = examined(workspace, capsys)
    assert code == 2
    assert "ragtui.toml" in bad(findings)[0]["what"]


@pytest.mark.parametrize("url", ["https://me:sk-pasted@host.example", "http://host.example", "file:///x"])
def test_addresses_are_looked_at_without_asking(workspace: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    profile(workspace, kind="openai", model="m", url=url)
    code, findings = examined(workspace, capsys, "--offline")
    assert code == 4
    assert "url" in bad(findings)[0]["what"] or "plain http" in bad(findings)[0]["what"]
    assert "sk-pasted" not in str(findings)


@pytest.mark.parametrize(("reply", "message", "code"), [
    (None, "mine: toy (8 dimensions", 0),
    (Reply.json({"error": f"no such key {CANARY}"}, 401), "refuses the key", 4),
    (Reply.text("<html>"), "not JSON", 4),
    (Reply.json({"models": []}), "does not have the model 'toy'", 4),
    (Reply.text("", 307, location="http://127.0.0.2:9/"), "another server", 4),
])  # fmt: skip
def test_profiles(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    reply: Reply | None, message: str, code: int,
) -> None:  # fmt: skip
    monkeypatch.setenv("CANARY_KEY", CANARY)
    script: Any = embedding_service() if reply is None else [reply]
    with ScriptedServer(script) as server:
        profile(workspace, kind="ollama", model="toy", url=server.url, key_env="CANARY_KEY")
        found, findings = examined(workspace, capsys)
    assert found == code
    assert any(message in finding["what"] for finding in findings if finding["area"] == "profiles")


def test_a_model_that_writes_but_does_not_embed_is_no_failure(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def chat_only(request: Any) -> Reply:
        if request.method == "GET":
            return Reply.json({"data": [{"id": "writer"}]})
        return Reply.json({"error": "this model does not support embeddings"}, 400)

    with ScriptedServer(chat_only) as server:
        profile(workspace, kind="openai", model="writer", url=server.url)
        code, findings = examined(workspace, capsys)
    assert code == 0
    assert "gives no embedding" in bad(findings)[0]["what"]


def test_a_server_that_is_not_there_or_refuses_the_key_is_a_failure(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        profile(workspace, kind="openai", model="m", url=f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        code, findings = examined(workspace, capsys)
    [fault] = bad(findings)
    assert (code, fault["state"], fault["exit_code"]) == (4, "failure", 4)
    assert "nothing listens there" in fault["what"]
    assert "has the model" not in fault["what"]

    def open_list(request: Any) -> Reply:
        if request.method == "GET":
            return Reply.json({"data": [{"id": "m"}]})
        return Reply.json({"error": "no such key"}, 401)

    with ScriptedServer(open_list) as server:
        profile(workspace, kind="openai", model="m", url=server.url)
        code, findings = examined(workspace, capsys)
    assert code == 4
    assert "refuses the key" in bad(findings)[0]["what"]


def test_a_model_that_is_served_under_any_name_is_no_failure(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service: Any = embedding_service()

    def one_model(request: Any) -> Reply:
        if request.method == "GET":
            return Reply.json({"data": [{"id": "/models/only.gguf"}]})
        found: Reply = service(request)
        return found

    with ScriptedServer(one_model) as server:
        profile(workspace, kind="openai", model="toy", url=server.url)
        code, findings = examined(workspace, capsys)
        assert code == 0
        [told] = bad(findings)
        assert "toy (8 dimensions" in told["what"]
        assert "does not list" in told["what"]
        assert "/models/only.gguf" in told["mend"]
        profile(workspace, kind="openai", model="other", url=server.url)
        code, findings = examined(workspace, capsys)
    assert code == 4
    assert "does not have the model 'other'" in bad(findings)[0]["what"]


def test_a_set_by_a_former_model_is_told(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for digest in ("aaaa", "bbbb"):
        with ScriptedServer(embedding_service(digest=digest)) as server:
            profile(workspace, kind="ollama", model="toy", url=server.url)
            if digest == "aaaa":
                command = ["run", "vector", "--set", "embedding.model=mine", "--display", "none"]
                assert main(["-w", str(workspace), *command]) == 0
            _, findings = examined(workspace, capsys)
    [fault] = bad(findings)
    assert "was made by toy (8 dimensions, sha256:aaaa" in fault["what"]
    assert "embedding.model=mine" in fault["mend"]


def test_a_retriever_is_asked_whether_it_is_there(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer([Reply.text("", 405)]) as server:
        profile(workspace, kind="retriever", url=server.url)
        code, findings = examined(workspace, capsys)
    assert code == 0
    assert "its server answers (HTTP 405)" in findings[-1]["what"]
