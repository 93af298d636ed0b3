"""Against a real embedding server, where one is named (see README.md beside this file).

RAGTUI_TEST_URL=http://127.0.0.1:8080 RAGTUI_TEST_MODEL=nomic-embed-text RAGTUI_TEST_KIND=openai pytest …
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from ragtui.__main__ import main
from ragtui.providers.cache import FILE_NAME
from ragtui.providers.embeddings import PROBE_TEXT, ServerEmbedder
from ragtui.settings import Profile
from tests.providers.scripted_server import Reply, Request, ScriptedServer

URL = os.environ.get("RAGTUI_TEST_URL", "").rstrip("/")
MODEL = os.environ.get("RAGTUI_TEST_MODEL", "default")
KIND: Any = os.environ.get("RAGTUI_TEST_KIND", "openai")
ROOT = Path(__file__).resolve().parents[2]
BATCH, CONCURRENCY = 4, 2
pytestmark = pytest.mark.skipif(not URL, reason="no embedding server is named in RAGTUI_TEST_URL")


def passing_on(request: Request) -> Reply:
    """The real server's answer to a request."""
    asked = {"json": request.body} if request.method == "POST" else {}
    answer = httpx.request(request.method, URL + request.path, timeout=600, **asked)
    return Reply.text(answer.text, answer.status_code, content_type="application/json")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A tenth of the handbook, and the questions about it."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "goldens").mkdir()
    chosen = sorted((ROOT / "corpus").glob("wat-*.md"))
    for path in chosen:
        (tmp_path / "corpus" / path.name).write_text(path.read_text("utf-8"), "utf-8")
    names = {path.stem for path in chosen}
    lines = (ROOT / "goldens" / "core.jsonl").read_text("utf-8").splitlines()
    about = [line for line in lines if line.startswith("{") and (docs := wanted(json.loads(line))) and docs <= names]
    (tmp_path / "goldens" / "core.jsonl").write_text("".join(line + "\n" for line in about), "utf-8")
    return tmp_path


def wanted(golden: dict[str, Any]) -> set[str]:
    """The documents that a golden names."""
    return {*golden.get("relevantDocIds", []), *(judgment["doc"] for judgment in golden.get("judgments", []))}


def settings(folder: Path, url: str) -> None:
    (folder / "ragtui.toml").write_text(
        f'[profiles.real]\nkind = "{KIND}"\nmodel = "{MODEL}"\nurl = "{url}"\nbatch = {BATCH}\n'
        f"concurrency = {CONCURRENCY}\ntimeout = 600\ndeadline = 900\n"
    )


def texts(server: ScriptedServer) -> list[str]:
    """Every text that the server was asked for, without the probe."""
    asked = [text for request in server.posts() for text in request.body["input"]]
    return [text for text in asked if text != PROBE_TEXT]


def test_a_real_server_embeds_by_meaning(tmp_path: Path) -> None:
    profile = Profile(kind=KIND, model=MODEL, url=URL)
    made = ServerEmbedder(profile, "real", tmp_path)
    said = ["Boil water for three minutes at altitude.", "Stocks fell on Monday.", "How long must water boil up high?"]
    vectors = made.embed(said * 50, "document")
    assert vectors.shape == (150, made.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[2] @ vectors[0] > vectors[2] @ vectors[1]
    again = ServerEmbedder(profile, "real", tmp_path)
    assert again.identity == made.identity
    assert np.array_equal(again.embed(said, "document"), vectors[:3])


def test_what_was_answered_before_a_kill_is_never_asked_again(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["-w", str(workspace), "run", "vector", "--set", "embedding.model=real", "--set", "chunking.size=400"]
    with ScriptedServer(passing_on) as server:
        settings(workspace, server.url)
        process = subprocess.Popen([sys.executable, "-m", "ragtui", *command], stderr=subprocess.DEVNULL)
        until = time.monotonic() + 300
        while kept(workspace) < 3 * BATCH and time.monotonic() < until and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        process.wait()
        before, paid = texts(server), kept(workspace)
        assert paid >= 3 * BATCH
        assert main(["-w", str(workspace), "runs"]) == 0
        assert main(["-w", str(workspace), "resume", "latest", "--display", "plain"]) == 0
        said = capsys.readouterr().err
        twice = [text for text, times in Counter(texts(server)).items() if times > 1]
    print(f"{paid} answered before the kill, {len(before)} asked, {len(texts(server))} in all, {len(twice)} twice")
    # Only what was under way when the process died was not answered to anybody.
    assert len(twice) <= BATCH * CONCURRENCY
    assert f"{paid} from the cache" in said
    assert main(["-w", str(workspace), "verify", "latest"]) == 0


def kept(workspace: Path) -> int:
    """How many answers are on disk."""
    import sqlite3

    path = workspace / ".ragtui" / "embeddings" / FILE_NAME
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_the_doctor_and_wrong_dimensions(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings(workspace, URL)
    assert main(["-w", str(workspace), "doctor"]) == 0
    assert "real: " in capsys.readouterr().out
    wrong = ["--set", "embedding.model=real", "--set", "embedding.dimensions=7"]
    assert main(["-w", str(workspace), "run", "vector", *wrong]) == 4
    said = capsys.readouterr().err
    assert "instead of 7" in said
    assert "embedding.dimensions" in said
    assert not (workspace / "runs.duckdb").exists()
