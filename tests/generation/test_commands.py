"""`generate` and `matrix` as processes of their own, against a real HTTP server."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.generation.chat_server import asked, ollama, openai, spoken
from tests.generation.station import TANKS, reads, station
from tests.providers.scripted_server import Reply, Request, ScriptedServer
from tests.workshop import journal_of, ragtui, reported_cases, start, wait_for_lines

CONFIG = """
[profiles.toy]
kind = "openai"
model = "toy"
url = "{url}"
concurrency = 4
retries = 1
input_price = 1.0
output_price = 2.0

[profiles.local]
kind = "ollama"
model = "toy"
url = "{url}"

[profiles.locked]
kind = "openai"
model = "toy"
url = "{url}"
key_env = "LOCKED_KEY"

[profiles.judge]
kind = "openai"
model = "toy"
url = "{url}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def both(request: Request) -> Reply:
    """One server with both APIs."""
    return (ollama() if request.path.startswith("/api/") else openai())(request)


def configure(folder: Path, url: str) -> None:
    (folder / "ragtui.toml").write_text(CONFIG.format(url=url))


def result(folder: Path, *arguments: str, code: int = 0, **changes: str) -> dict[str, Any]:
    done = ragtui(folder, *arguments, "--json", **changes)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_mock_needs_no_server(folder: Path) -> None:
    found = result(folder, "generate", "mock", "--all-modes")
    assert found["status"] == "completed"
    assert set(found["by_mode"]) == {"oracle", "e2e", "noretrieval"}
    assert found["by_mode"]["oracle"]["measures"]["mustIncludeRate"]["value"] == 1
    assert found["by_mode"]["noretrieval"]["by_tag"]["fictional"]["mustIncludeRate"]["value"] == 0
    assert found["counts"]["cases"] == 60
    lost = json.loads(ragtui(folder, "show", "latest", "--lost", "--json").stdout)
    assert {miss["case"].partition("@")[2] for miss in lost["misses"]} <= {"e2e#1"}
    again = result(folder, "generate", "--mode", "mock")
    assert set(again["by_mode"]) == {"mock"}
    assert again["spec_id"] == result(folder, "generate", "hybrid", "--model", "mock", "--mode", "mock")["spec_id"]
    shown = ragtui(folder, "generate", "--model", "mock", "--all-modes", COLUMNS="80")
    assert shown.returncode == 0
    assert "oracle − e2e" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 82


@pytest.mark.parametrize("profile", ["toy", "local"])
def test_all_modes_against_a_server(folder: Path, profile: str) -> None:
    with ScriptedServer(both) as server:
        configure(folder, server.url)
        found = result(folder, "generate", "bm25", "--model", profile, "--all-modes", "--repeats", "2")
        assert found["counts"] == {"cases": 140, "scored": 140, "unscored": 0, "errors": 0}
        assert list(found["by_mode"]) == ["oracle", "e2e", "noretrieval", "mock"]
        assert found["measures"]["correctness"]["value"] == 1
        assert found["measures"]["unstableRate"]["value"] == 0
        assert found["usage"]["e2e"]["fresh"]["prompt_tokens"] > 1000
        assert found["usage"]["e2e"]["latency"]["first_token_p50"] > 0
        assert server.url not in json.dumps(found)
        calls = len(server.posts())
        shown = ragtui(folder, "show", "latest")
        assert "What it took" in shown.stdout
        assert "Differences by tag" in shown.stdout
        replayed = result(folder, "generate", "bm25", "--model", profile, "--all-modes", "--repeats", "2")
        warm_up = 2 if profile == "local" else 0
        assert len(server.posts()) == calls + warm_up, "every answer was paid for"
        assert replayed["usage"]["e2e"]["fresh"]["replies"] == 0
        assert replayed["usage"]["e2e"]["latency"]["answers"] == 0
        assert ragtui(folder, "verify", "latest").returncode == 0
        trace = ragtui(folder, "trace", "latest", "diesel-litres@e2e#1")
        assert "Prompt, as sent" in trace.stdout
        assert "(replayed)" in trace.stdout
        modes = trace.stdout.partition("All modes")[2].partition("Measures")[0]
        assert "which means  retrieval works: passes with what was found, fails without" in trace.stdout
        told = result(folder, "trace", "latest", "diesel-litres@noretrieval#2")
        assert told["outcome"] == {
            "oracle": True, "e2e": True, "noretrieval": False,
            "meaning": "retrieval works: passes with what was found, fails without",
        }  # fmt: skip
        rows = [line.split()[:3] for line in modes.splitlines() if "tank" in line or "know" in line]
        assert rows == [
            ["oracle", "1", "✓"], ["e2e", "1", "✓"], ["noretrieval", "1", "✗"], ["mock", "1", "✓"],
            ["oracle", "2", "✓"], ["e2e", "2", "✓"], ["noretrieval", "2", "✗"],
        ]  # fmt: skip


def test_kill_nine_loses_nothing_and_resume_asks_only_for_the_rest(folder: Path) -> None:
    def slow(request: Request) -> Reply:
        reply = openai()(request)
        return Reply(reply.parts, wait=0.05) if request.method == "POST" else reply

    with ScriptedServer(slow) as server:
        configure(folder, server.url)
        arguments = ("generate", "bm25", "--model", "toy", "--mode", "oracle,e2e,noretrieval", "--repeats", "2")
        process = start(folder, *arguments)
        journal = journal_of(folder, process)
        seen = reported_cases(wait_for_lines(journal, 40, process))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert 10 < len(seen) < 120
        before = len(server.posts())
        found = result(folder, "resume", "latest")
        assert found["status"] == "completed"
        assert found["attempts"] == 2
        assert found["counts"]["cases"] == found["counts"]["scored"] == 120
        rest = len(server.posts()) - before
        assert rest <= 120 + 8 - len(seen)
    trace = json.loads(ragtui(folder, "trace", "latest", next(iter(seen)), "--json").stdout)
    assert trace["status"] == "ok"


def test_ctrl_c_keeps_all_that_came_back(folder: Path) -> None:
    def slow(request: Request) -> Reply:
        reply = openai()(request)
        return Reply(reply.parts, wait=0.05) if request.method == "POST" else reply

    with ScriptedServer(slow) as server:
        configure(folder, server.url)
        process = start(folder, "generate", "bm25", "--model", "toy", "--mode", "oracle", "--repeats", "3")
        wait_for_lines(journal_of(folder, process), 12, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert "ragtui resume" in err
        assert "oracle" in out
        asked_for = len(server.posts())
    shown = result(folder, "show", "latest")
    assert shown["status"] == "interrupted"
    assert shown["counts"]["errors"] == 0
    assert shown["usage"]["oracle"]["fresh"]["replies"] == asked_for


def test_before_spending(folder: Path) -> None:
    with ScriptedServer(both) as server:
        configure(folder, server.url)
        rows = result(folder, "generate", "bm25", "--model", "toy", "--all-modes", "--repeats", "2", "--dry-run")[
            "estimate"
        ]
        assert not server.posts()
        assert [row["calls"] for row in rows] == [40, 48, 40, 0]
        assert all(row["cost"] > 0 for row in rows[:3])
        matrix = result(folder, "matrix", "--models", "toy,mock", "--specs", "bm25", "--limit", "5", "--dry-run")
        assert [row["model"] for row in matrix["estimate"]] == ["toy"] * 3 + ["mock"] * 3
        stopped = ragtui(folder, "generate", "bm25", "--model", "toy", "--max-calls", "7", "--json")
        assert stopped.returncode == 7, "a limit ends a run incomplete; nobody interrupted it"
        assert json.loads(stopped.stdout)["error"]["kind"] == "run_failed"
        assert "cases: 7 calls were made, as many as --max-calls allows." in stopped.stderr
        assert len(server.posts()) == 7
        again = ragtui(folder, "resume", "latest", "--max-calls", "5")
        assert again.returncode == 7
        assert len(server.posts()) == 12
        assert result(folder, "resume", "latest")["status"] == "completed"
        listed = result(folder, "runs")["runs"]
        costly = ragtui(folder, "generate", "bm25", "--model", "local", "--max-cost", "1")
        assert costly.returncode == 2
        assert "input_price" in costly.stderr
        assert result(folder, "runs")["runs"] == listed, "nothing was begun"
        cheap = ragtui(folder, "generate", "bm25", "--model", "toy", "--fresh", "--max-cost", "0.01")
        assert cheap.returncode == 7
        assert "the next call might exceed --max-cost." in cheap.stderr
        begun = json.loads(ragtui(folder, "show", "latest", "--json").stdout)
        assert 0 < begun["usage"]["e2e"]["fresh"]["cost"] <= 0.01
        before = len(server.posts())
        resumed = ragtui(folder, "resume", "latest", "--json")
        assert resumed.returncode == 0, resumed.stderr
        assert "begun with --fresh, and goes on so" in resumed.stderr
        anew = json.loads(resumed.stdout)
        assert anew["usage"]["e2e"]["replayed"]["replies"] == 0
        assert len(server.posts()) > before


def test_only_errors_are_retried(folder: Path) -> None:
    broken = True

    def script(request: Request) -> Reply:
        if broken and request.body is not None and "diesel" in asked(request).messages[-1].content:
            return Reply.json({"error": "no"}, 400)
        return openai()(request)

    with ScriptedServer(script) as server:
        configure(folder, server.url)
        failed = result(folder, "generate", "bm25", "--model", "toy", "--repeats", "1", "--no-rewrite", code=7)
        assert failed["counts"]["errors"] == 1
        broken = False
        before = len(server.posts())
        mended = result(folder, "generate", "--retry-errors", "latest")
        assert len(server.posts()) == before + 1
    assert mended["run_id"] == failed["run_id"]
    assert mended["counts"]["errors"] == 0
    assert mended["attempts"] == 2


def test_a_server_whose_every_answer_is_cut_off(folder: Path) -> None:
    with ScriptedServer(openai(reply=lambda chat, text: spoken(text[:5], chat, finish="length"))) as server:
        configure(folder, server.url)
        done = ragtui(folder, "generate", "bm25", "--model", "toy", "--repeats", "1", "--no-rewrite")
    assert done.returncode == 7
    assert done.stdout.startswith("! completed with errors")
    assert "No case has an answer that can be measured." in done.stdout
    assert "20 of 20 cases failed." in done.stderr
    trace = ragtui(folder, "trace", "latest", "diesel-litres").stdout
    assert "✗ length: the answer was cut off at the limit of tokens" in trace
    assert "none: the case failed" in trace
    matrix = ragtui(folder, "show", "latest", "--json")
    assert json.loads(matrix.stdout)["measures"]["correctness"] == {"value": None, "n": 0, "low": 0, "high": 1}


def test_how_often_answers_are_unstable_has_a_ceiling(folder: Path) -> None:
    asked_before: dict[str, int] = {}

    def wavers(chat: Any) -> str:
        question = chat.messages[-1].content
        asked_before[question] = asked_before.get(question, 0) + 1
        return "It holds 7 litres." if asked_before[question] == 1 and "the diesel" in question else reads(chat)

    with ScriptedServer(openai(wavers)) as server:
        configure(folder, server.url)
        arguments = ("generate", "bm25", "--model", "toy", "--repeats", "2", "--no-rewrite")
        assert ragtui(folder, *arguments, "--min", "unstableRate=0.1").returncode == 0
        done = ragtui(folder, *arguments, "--min", "unstableRate=0.04")
        assert done.returncode == 1
        assert "unstableRate is 0.0500, above 0.04" in done.stderr
        once = ragtui(folder, *arguments[:-2], "1", "--min", "unstableRate=0.1")
        assert once.returncode == 2
        assert "the plan does not report unstableRate" in once.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["generate"], 2, "No model is named"),
        (["generate", "nothing"], 2, "no preset, no plan file and no model"),
        (["generate", "--model", "unknown"], 4, "There is no model 'unknown'"),
        (["generate", "--model", "locked"], 4, "needs a key, but the variable LOCKED_KEY is not set"),
        (["generate", "--model", "toy:absent"], 4, "does not have the model 'absent'"),
        (["generate", "mock", "--mode", "e3e"], 2, "There is no mode 'e3e'"),
        (["generate", "mock", "--set", "generation.prompt.system={contxt}"], 2,
         "unknown field {contxt}. Did you mean {context}?"),
        (["generate", "mock", "--set", "generation.budget.context_window=100",
          "--set", "generation.budget.answer_reserve=60"], 2, "20 of 20 goldens do not fit"),
        (["generate", "mock", "--set", "generation.budget.context_window=100"], 2, "do not hold the answer reserve"),
        (["generate", "mock", "--repeats", "0"], 2, "generation.repeats"),
        (["generate", "mock", "--min", "faithfulness=0.5"], 2, "nothing judges the answers"),
        (["generate", "mock", "--judge", "absent"], 4, "There is no model 'absent'"),
        (["generate", "--retry-errors", "zzz"], 2, "There is no run 'zzz'"),
        (["matrix"], 2, "No model is named"),
        (["matrix", "lookup", "toy", "--correctness", "0.5"], 2, "There is no matrix yet"),
        (["run", "bm25", "--set", "metrics.primary=correctness"], 2, "looks at answers"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_a_sentence(folder: Path, arguments: list[str], code: int, told: str) -> None:
    with ScriptedServer(both) as server:
        configure(folder, server.url)
        done = ragtui(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_judge_that_returns_prose(folder: Path) -> None:
    with ScriptedServer(both) as server:
        configure(folder, server.url)
        found = result(folder, "generate", "bm25", "--model", "toy", "--judge", "judge", "--repeats", "1")
        assert found["judge"]["judged"] == 0
        assert found["judge"]["failures"] == {"no_verdict": 20}
        assert found["counts"]["errors"] == 0
        asked = ("generate", "bm25", "--model", "toy", "--judge", "judge", "--repeats", "1")
        gated = ragtui(folder, *asked, "--min", "faithfulness=0.5", "--json")
    assert gated.returncode == 1
    assert "faithfulness (judged) is unknown" in gated.stderr
    assert json.loads(gated.stdout)["gates"] == [
        {"measure": "faithfulness", "floor": 0.5, "value": None, "passed": False}
    ]


def test_a_floor_for_answers(folder: Path) -> None:
    done = ragtui(folder, "generate", "mock", "--mode", "noretrieval", "--min", "correctness=0.5")
    assert done.returncode == 1
    assert "correctness is 0.0000, below 0.5" in done.stderr


def test_a_suite_may_be_bound_to_the_tier(folder: Path) -> None:
    (folder / "ragtui.toml").write_text('[suites.core]\ntier = "generation"\n')
    refused = ragtui(folder, "run", "bm25")
    assert refused.returncode == 2
    assert "ragtui generate" in refused.stderr
    assert result(folder, "generate", "mock")["status"] == "completed"


def test_the_matrix_and_a_support_question(folder: Path) -> None:
    def half(request: Request) -> Reply:
        """Forgets every second tank."""
        known = set(list(TANKS)[::2])

        def answer(chat: Any) -> str:
            said = reads(chat)
            return said if any(name in said for name in known) else "It holds 7 litres."

        return openai(answer)(request)

    with ScriptedServer(half) as server:
        configure(folder, server.url)
        arguments = ("matrix", "--models", "toy,mock", "--specs", "bm25,hybrid", "--limit", "20", "--repeats", "1")
        found = result(folder, *arguments)
        assert [(row["model"], row["plan"], row["errors"]) for row in found["rows"]] == [
            ("toy", "bm25", 0), ("toy", "hybrid", 0), ("mock", "bm25", 0), ("mock", "hybrid", 0)]  # fmt: skip
        cell = found["rows"][0]["cells"]["oracle"]["correctness"]
        assert 0.2 < cell["value"] < 0.8
        assert cell["low"] < cell["value"] < cell["high"]
        assert len({row["run_id"] for row in found["rows"]}) == 4
        text = ragtui(folder, *arguments, "--promote", "--markdown")
        assert text.returncode == 0, text.stderr
        assert text.stdout.startswith("### oracle\n\n| model | plan | correctness |")
        assert (folder / "goldens" / "baselines" / "matrix.json").exists()
        assert ragtui(folder, "corpus", "check").returncode == 0, "a kept table is no suite"
        table = ragtui(folder, *arguments, COLUMNS="80")
        assert "refusal" in table.stdout
        begun = result(folder, "runs")["runs"]
        absent = ragtui(folder, "matrix", "--models", "mock,absent,gone", "--specs", "bm25", "--limit", "5")
        assert absent.returncode == 4
        assert "There is no model 'absent'. There is no model 'gone'." in absent.stderr
        assert result(folder, "runs")["runs"] == begun, "every name is known before anything is run"
        kept = (folder / "goldens" / "baselines" / "matrix.json").read_bytes()
        missing = ("matrix", "--models", "toy:absent,mock", "--specs", "bm25", "--limit", "5")
        faulty = ragtui(folder, *missing)
        assert faulty.returncode == 4
        assert "toy:absent with bm25: " in faulty.stderr
        faulty = ragtui(folder, *missing, "--promote")
        assert faulty.returncode == 7
        assert "1.000" in faulty.stdout, "what was measured is shown all the same"
        assert "the table was not promoted" in faulty.stderr
        assert (folder / "goldens" / "baselines" / "matrix.json").read_bytes() == kept
    value = found["rows"][0]["cells"]["e2e"]["correctness"]["value"]
    at = result(folder, "matrix", "lookup", "toy", "--correctness", str(value))["lookup"][0]
    assert at["verdict"] == "at its ceiling"
    below = result(folder, "matrix", "lookup", "toy", "--correctness", "0")["lookup"]
    assert {row["verdict"] for row in below} == {"well below its row"}
    above = result(folder, "matrix", "lookup", "toy", "--correctness", "1")["lookup"][0]
    assert above["verdict"] in ("above its row", "at its ceiling")


def test_a_matrix_tells_which_rows_have_failed_cases(folder: Path) -> None:
    def script(request: Request) -> Reply:
        if request.body is not None and "diesel" in asked(request).messages[-1].content:
            return Reply.json({"error": "no"}, 400)
        return openai()(request)

    with ScriptedServer(script) as server:
        configure(folder, server.url)
        told = ragtui(
            folder, "matrix", "--models", "mock,toy", "--specs", "bm25", "--mode", "e2e", "--repeats", "1",
            "--limit", "20",
        )  # fmt: skip
    assert told.returncode == 7
    assert "toy with bm25: 2 of 20 cases failed." in told.stderr
    assert "mock with bm25" not in told.stderr
    newest = result(folder, "runs")["runs"][0]["run_id"]
    assert f"ragtui generate --retry-errors {newest}" in told.stderr


def test_what_could_not_be_compared_is_refused_before_anything_is_asked(folder: Path) -> None:
    arguments = ("generate", "bm25", "--model", "toy", "--repeats", "1", "--no-rewrite")
    with ScriptedServer(openai()) as server:
        configure(folder, server.url)
        base = result(folder, *arguments)["run_id"]
        found = result(folder, "run", "bm25")["run_id"]
        asked_for = len(server.posts())
        listed = result(folder, "runs")["runs"]

        def refused(*more: str) -> str:
            done = ragtui(folder, *arguments, "--fresh", *more)
            assert done.returncode == 3
            return done.stderr

        assert "have no mode in common" in refused("--mode", "oracle", "--against", base)
        assert "is a retrieval run and the new run a generation run" in refused("--against", found)
        suite = folder / "goldens" / "core.jsonl"
        whole = suite.read_text()
        suite.write_text(whole.replace("9999", "8888"))
        assert "12 goldens with the same id differ" in refused("--against", base)
        suite.write_text(whole)
        document = folder / "corpus" / "diesel-tank.md"
        document.write_text(document.read_text().replace("yard", "shed"))
        told = refused("--against", base)
        assert "the new run on" in told
        assert "changed:\n  diesel-tank\n" in told
        assert "anchor-tank" not in told
        assert len(server.posts()) == asked_for
    assert result(folder, "runs")["runs"] == listed
