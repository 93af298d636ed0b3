"""Each command: what it prints, what it leaves, how it exits."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.recorded import decode_recorded
from ragtui.analysis.summary import misses
from ragtui.events import CaseFinished, RunStarted
from ragtui.experiment.editing import edit
from ragtui.experiment.plan import Provenance
from ragtui.experiment.presets import preset
from ragtui.lab import open_lab
from ragtui.store import Store
from ragtui.store.gate import Gate
from ragtui.store.journal import JournalWriter
from tests.cli.conftest import Call
from tests.workshop import make_workspace, ragtui, sample_goldens, write_suite

ESTIMATE = {"value", "n", "low", "high"}


def test_run_json(workspace: Path, call: Call) -> None:
    told = call(workspace, "run", "hybrid", "--json", "--name", "first", "--note", "why")
    assert told.code == 0
    record = told.json
    assert set(record) >= {
        "run_id", "spec_id", "status", "corpus_id", "evaluation_id", "measures", "by_tag", "counts", "started_at",
        "elapsed_s",
    }  # fmt: skip
    assert (record["status"], record["name"], record["note"]) == ("completed", "first", "why")
    assert call(workspace, "runs", "--json").json["runs"][0]["note"] == "why"
    assert "\nwhy\n" in call(workspace, "show").out
    assert record["counts"] == {"cases": 40, "scored": 36, "unscored": 4, "errors": 0}
    assert set(record["measures"]) == {
        "R@1", "R@3", "R@5", "R@10", "Success@5", "P@5", "RR", "AP", "nDCG@10", "emptyRateOnAnswerable",
        "nonEmptyRateOnRefusal",
    }  # fmt: skip
    assert set(record["measures"]["nDCG@10"]) == ESTIMATE
    assert record["measures"]["nDCG@10"]["n"] == 36
    assert record["measures"]["nonEmptyRateOnRefusal"]["n"] == 4
    assert set(record["by_tag"]) == {"even", "odd"}
    assert set(record["by_tag"]["odd"]["RR"]) == ESTIMATE
    assert record["started_at"].endswith("Z")
    for key in ("spec_id", "corpus_id", "evaluation_id"):
        assert record[key].startswith("sha256:")
    shown = call(workspace, "show", record["run_id"][:5], "--json").json
    assert shown == record
    assert call(workspace, "show", "--json").json == record


def test_run_prints_tables_on_stdout_and_progress_on_stderr(workspace: Path, call: Call) -> None:
    told = call(workspace, "run", "bm25")
    assert told.code == 0
    for part in ("✓ completed", "nDCG@10", "95 % interval", "By tag", "run "):
        assert part in told.out
    assert "36/40" in told.out
    assert "40/40  scored 36" in told.err
    assert "\x1b" not in told.out + told.err


def test_run_display_none_is_silent(workspace: Path, call: Call) -> None:
    assert call(workspace, "run", "bm25", "--display", "none").err == ""
    assert call(workspace, "run", "bm25", "--json").err == ""


def test_verbose_lists_every_miss_with_what_came_instead(workspace: Path, call: Call) -> None:
    goldens = [
        *sample_goldens(4),
        *({"id": f"lost {n}", "query": "beacon", "relevantDocIds": ["anchor-notes"]} for n in range(8)),
    ]
    write_suite(workspace, "core", goldens)
    brief = call(workspace, "run", "bm25")
    assert "Worst by nDCG@10 (5 of 8 below 1)" in brief.out
    told = call(workspace, "show", "latest", "--verbose")
    assert "Worst by nDCG@10 (8 below 1)" in told.out
    for number in range(8):
        assert f"lost {number}" in told.out
    assert "beacon-notes" in told.out
    assert f"ragtui trace {json.loads(call(workspace, 'show', '--json').out)['run_id']} 'lost 0'" in told.out


def test_selection_options(workspace: Path, call: Call) -> None:
    write_suite(
        workspace, "extra", [{"id": "x-1", "query": "anchor", "relevantDocIds": ["anchor-notes"], "tags": ["new"]}]
    )
    assert call(workspace, "run", "bm25", "--tag", "odd", "--json").json["counts"]["cases"] == 20
    assert call(workspace, "run", "bm25", "--limit", "7", "--json").json["counts"]["cases"] == 7
    assert call(workspace, "run", "bm25", "--suite", "extra", "--json").json["counts"]["cases"] == 1
    both = call(workspace, "run", "bm25", "--suite", "core,extra", "--tag", "odd", "--tag", "new", "--json").json
    assert both["counts"]["cases"] == 21
    edited = call(workspace, "run", "bm25", "--set", "chunking.strategy=document", "--json").json
    assert edited["spec_id"] != call(workspace, "run", "bm25", "--json").json["spec_id"]


def test_floors(workspace: Path, call: Call) -> None:
    assert call(workspace, "run", "bm25", "--min", "nDCG@10=0.1", "--min", "mrr=0.1", "--json").code == 0
    told = call(workspace, "run", "bm25", "--min", "nDCG@10=1", "--min", "R@5=0", "--set", "retrieval.results=10")
    value = call(workspace, "show", "--json").json["measures"]["nDCG@10"]["value"]
    assert told.code == (1 if value < 1 else 0)
    gated = call(workspace, "run", "bm25", "--min", "nDCG@10=1", "--min", "R@5=0", "--json").json
    assert gated["gates"][0] == {"measure": "nDCG@10", "floor": 1, "value": value, "passed": value >= 1}
    assert [gate["passed"] for gate in gated["gates"]] == [value >= 1, True]
    assert "gates" not in call(workspace, "run", "bm25", "--json").json
    runs = len(call(workspace, "runs", "--json").json["runs"])
    for bad, message in (
        ("nDCG@10", "--min 'nDCG@10' is not MEASURE=VALUE with a value from 0 to 1."),
        ("nDCG@10=2", "--min 'nDCG@10=2' is not MEASURE=VALUE with a value from 0 to 1."),
        ("R@7=0.5", "--min R@7=0.5: the plan does not report R@7."),
    ):
        told = call(workspace, "run", "bm25", "--min", bad)
        assert (told.code, told.out) == (2, "")
        assert message in told.err
    # Told before anything was run.
    assert len(call(workspace, "runs", "--json").json["runs"]) == runs


def test_floors_take_the_plans_relevance(workspace: Path, call: Call) -> None:
    assert call(workspace, "run", "hybrid-weighted", "--min", "R@5=0.1", "--json").code == 0


def test_a_folder_named_as_a_preset_does_not_hide_it(
    workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "bm25").mkdir()
    (workspace / "hybrid").write_text("notes")
    monkeypatch.chdir(workspace)
    assert call(workspace, "run", "bm25", "--json").code == 0
    assert call(workspace, "spec", "validate", "hybrid", "--json").code == 0


# -- looking ----------------------------------------------------------------------------------------------------------


def test_runs(recorded: Path, call: Call) -> None:
    rows = call(recorded, "runs", "--json").json["runs"]
    assert [row["name"] for row in rows] == ["hybrid", "bm25"]
    assert set(rows[0]) >= {"run_id", "spec_id", "name", "status", "started_at", "cases"}
    assert len(call(recorded, "runs", "--limit", "1", "--json").json["runs"]) == 1
    told = call(recorded, "runs")
    assert told.code == 0
    assert all(row["run_id"] in told.out for row in rows)


def test_runs_of_nothing(workspace: Path, call: Call) -> None:
    told = call(workspace, "runs")
    assert (told.code, told.out) == (0, "")
    assert "No run is recorded yet. Start with: ragtui run hybrid" in told.err
    assert call(workspace, "runs", "--json").json == {"runs": []}
    assert not (workspace / "runs.duckdb").exists()


def test_show_separation_and_errors(recorded: Path, call: Call) -> None:
    rows = call(recorded, "show", "latest", "--separation", "--json").json["separation"]
    assert [row["name"] for row in rows] == ["bm25", "vector", "fused"]
    assert rows[0]["setting"] == "retrieval.channels.bm25.min_score"
    assert rows[2]["setting"] == "retrieval.floor.minimum (score=fused)"
    assert 0 <= rows[0]["auc"] <= 1
    assert "calibrates" in call(recorded, "show", "--separation").out
    assert call(recorded, "show", "--errors", "--json").json == {"errors": []}
    assert "failed." in call(recorded, "show", "--errors").out


def test_a_run_leads_to_its_worst_miss(workspace: Path, call: Call) -> None:
    goldens = sample_goldens(8)
    goldens[3]["relevantDocIds"] = ["jacket-notes"]
    write_suite(workspace, "core", goldens)
    assert call(workspace, "run", "bm25").code == 0
    run = open_lab(workspace).recorded("latest")
    assert misses(run)[0].case == goldens[3]["id"]
    assert f"look closer: ragtui trace {run.run_id} {goldens[3]['id']}" in call(workspace, "show").out


@pytest.mark.parametrize(
    "gate", [("--min", "nDCG@10=0.5"), ("--against", "latest"), ("--report", "out"), ("--strict",)]
)
@pytest.mark.parametrize("series", [("--ablate",), ("--sweep", "retrieval.fusion.rank_constant=1,9")])
def test_a_series_of_runs_refuses_gates(workspace: Path, call: Call, gate: list[str], series: list[str]) -> None:
    told = call(workspace, "run", "hybrid", *series, *gate)
    assert told.code == 2
    assert f"{gate[0]} would not be obeyed" in told.err
    assert call(workspace, "runs", "--json").json == {"runs": []}


def test_a_span_that_no_chunk_holds_is_told_as_not_indexed_while_the_corpus_is_there(
    tmp_path: Path, call: Call
) -> None:
    text = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa"
    quote = "foxtrot golf hotel india juliet kilo"
    golden = {"id": "g", "query": "hotel india kilo", "judgments": [{"doc": "long", "quote": quote}]}
    folder = make_workspace(tmp_path / "ws", {"long": text, "other": "Something else."}, [golden])
    assert call(folder, "run", "bm25", "--set", "chunking.size=20").code == 0

    def told() -> tuple[str, bool, bool]:
        cause = call(folder, "show", "latest", "--lost", "--json").json["misses"][0]["cause"]
        reports = [call(folder, "export", "latest", "--format", form).out for form in ("junit", "html")]
        return cause, *(cause in report for report in reports)

    assert told() == ("not indexed", True, True)
    (folder / "corpus" / "other.md").write_text("Another corpus.")
    assert told() == ("found by no channel", True, True)
    (folder / "corpus" / "other.md").write_bytes(b"\xff")
    assert told() == ("found by no channel", True, True)


def test_holdout_needs_a_sweep(workspace: Path, call: Call) -> None:
    told = call(workspace, "run", "hybrid", "--holdout", "0.3")
    assert told.code == 2
    assert "there is no --sweep" in told.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("chunking.size=60,200", "--set", "metrics.primary=P@5"), "size=60 has other chunks than the plan, and P@5"),
        (("evaluation.limit=3,5",), "limit=3 asks other questions than the plan."),
        (("retrieval.results=20,50", "--holdout", "nan"), "Holding out 'nan' leaves 0 of "),
        (("retrieval.results=20,50", "--holdout=-0.5"), "Holding out '-0.5' leaves 0 of "),
        (("foo=1",), "--sweep: unknown field foo."),
    ],
)
def test_a_sweep_that_could_not_be_judged_runs_nothing(
    workspace: Path, call: Call, given: tuple[str, ...], message: str
) -> None:
    told = call(workspace, "run", "hybrid", "--sweep", *given)
    assert told.code == 2
    assert message in told.err
    assert call(workspace, "runs", "--json").json == {"runs": []}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--report", "-"), "--report writes several files"),
        (("--name", "two\nlines"), "--name holds a line break"),
        (("--set", "retrieval.results=0"), "retrieval.results: 0 is below 1."),
    ],
)
def test_what_a_run_cannot_be_given(workspace: Path, call: Call, given: tuple[str, ...], message: str) -> None:
    told = call(workspace, "run", "bm25", *given)
    assert told.code == 2
    assert message in told.err
    assert "looks at" not in told.err
    assert call(workspace, "runs", "--json").json == {"runs": []}


@pytest.mark.parametrize(("form", "begins"), [("junit", "<?xml"), ("markdown", "## Run "), ("html", "<!doctype html>")])
def test_export_as_a_report(recorded: Path, call: Call, form: str, begins: str) -> None:
    told = call(recorded, "export", "latest", "--format", form)
    assert told.code == 0
    assert told.out.startswith(begins)


def test_trace(recorded: Path, call: Call) -> None:
    record = call(recorded, "trace", "latest", "q-003", "--json").json
    assert record["golden"]["id"] == record["case"] == "q-003"
    assert set(record["channels"]) == {"bm25", "vector"}
    assert record["results"][0]["rank"] == 1
    assert [hit["score"] for hit in record["fused"]] == sorted((hit["score"] for hit in record["fused"]), reverse=True)
    told = call(recorded, "trace", "latest", "q-003", "--depth", "3")
    assert told.code == 0
    for part in ("question", "judged", "diesel-notes (3)", "●", "Measures", " ms"):
        assert part in told.out


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("q-00", "'q-00' begins 10 cases: q-000, q-001, q-002, q-003, q-004."),
        ("q003", "has no case 'q003'. Did you mean q-003?"),
        ("zzz", "has no case 'zzz'."),
    ],
)
def test_trace_of_no_case(recorded: Path, call: Call, case: str, message: str) -> None:
    told = call(recorded, "trace", "latest", case)
    assert (told.code, told.out) == (2, "")
    assert message in told.err


def test_names_of_runs(recorded: Path, call: Call) -> None:
    told = call(recorded, "show", "nothing")
    assert told.code == 2
    assert "There is no run 'nothing'." in told.err
    told = call(recorded, "show", "baseline")
    assert "There is no baseline." in told.err
    told = call(recorded, "show", "", "--json")
    assert (told.code, told.json["error"]["message"]) == (2, "There is no run ''.")
    for name in ("\udcff", "é"):
        told = call(recorded, "show", name)
        assert (told.code, "There is no run" in told.err) == (2, True)


def test_verify(recorded: Path, tmp_path: Path, call: Call) -> None:
    told = call(recorded, "verify", "latest")
    assert told.code == 0
    assert "40 cases" in told.out
    assert "every number agrees" in told.out
    copy = shutil.copytree(recorded, tmp_path / "ws")
    checked = call(copy, "verify", "--json").json
    assert (checked["cases"], list(checked["differences"])) == (40, [])
    run_id = checked["run_id"]
    tamper(copy, "UPDATE traces SET trace = replace(trace, '\"RR\":1.0', '\"RR\":0.5') WHERE case_id = 'q-003'")
    told = call(copy, "verify", run_id)
    assert told.code == 1
    assert "q-003: RR is recorded as 0.5, recomputed as 1.0" in told.err
    assert "1 number differs" in told.out
    tamper(copy, "UPDATE chunks SET doc = 'beacon-notes' WHERE doc = 'diesel-notes'")
    assert call(copy, "verify", run_id).code == 1


def tamper(folder: Path, statement: str) -> None:
    with Gate(folder / "runs.duckdb").write() as connection:
        connection.execute(statement)


def test_export_reads_back_whole(recorded: Path, tmp_path: Path, call: Call) -> None:
    target = tmp_path / "run.json"
    assert call(recorded, "export", "latest", "--format", "json", "-o", str(target)).out == ""
    run = decode_recorded(target.read_bytes(), "run.json")
    assert run == open_lab(recorded).recorded("latest")
    data = target.read_bytes().decode()
    assert str(recorded) not in data
    assert str(Path.home()) not in data


@pytest.mark.parametrize("score", ["1e308", "-5", "1.01"])
def test_an_export_with_scores_that_cannot_be_is_refused(
    recorded: Path, tmp_path: Path, call: Call, score: str
) -> None:
    target = tmp_path / "run.json"
    data = call(recorded, "export", "latest", "--format", "json").out
    assert '"RR":1.0' in data.replace(" ", "")
    target.write_text(re.sub(r'"RR": ?1\.0', f'"RR":{score}', data, count=1))
    told = call(recorded, "compare", str(target), "latest")
    assert told.code == 2
    assert "but scores are 0 to 1" in told.err
    target.write_text(re.sub(r'"grades": ?\{([^}:]*): ?3', r'"grades":{\1:2000', data, count=1))
    told = call(recorded, "compare", str(target), "latest")
    assert (told.code, "grade 2000, but grades are 0 to 3" in told.err) == (2, True)


def test_export_to_nowhere(recorded: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "file").write_text("")
    told = call(recorded, "export", "latest", "--format", "json", "-o", str(tmp_path / "file" / "run.json"))
    assert told.code == 7
    assert "run.json cannot be written: " in told.err
    told = call(recorded, "export", "latest", "--format", "yaml")
    assert told.code == 2
    assert "yaml" in told.err


@pytest.mark.parametrize("form", ["json", "csv", "trec", "parquet", "html"])
def test_export_makes_the_folder(recorded: Path, tmp_path: Path, call: Call, form: str) -> None:
    assert call(recorded, "export", "latest", "--format", form, "-o", str(tmp_path / "a" / "b" / "run.x")).code == 0
    assert (tmp_path / "a" / "b" / "run.x").stat().st_size


def test_an_exported_file_stands_for_its_run(recorded: Path, tmp_path: Path, call: Call) -> None:
    file = str(tmp_path / "run.json")
    assert call(recorded, "export", "latest", "-o", file).code == 0
    edit = ("--set", "retrieval.fusion.rank_constant=10", "--json")
    told = [call(recorded, "replay", name, *edit).json["measures"] for name in (file, "latest")]
    assert told[0] == told[1]
    assert (
        call(recorded, "export", file, "--format", "csv").out
        == call(recorded, "export", "latest", "--format", "csv").out
    )


def test_watch_and_resume_of_a_run_that_ended(recorded: Path, tmp_path: Path, call: Call) -> None:
    told = call(recorded, "watch", "latest")
    assert told.code == 0
    assert "is not live; this is how it ended." in told.err
    assert "✓ completed" in told.out
    copy = shutil.copytree(recorded, tmp_path / "ws")
    told = call(copy, "resume", "latest", "--json")
    assert told.code == 0
    assert "is complete; there is nothing to resume." in told.err
    assert told.json["attempts"] == 1


def test_resume_of_what_cannot_be_reproduced(recorded: Path, tmp_path: Path, call: Call) -> None:
    copy = shutil.copytree(recorded, tmp_path / "ws")
    run_id = call(copy, "show", "--json").json["run_id"]
    (copy / "corpus" / "anchor-notes.md").write_text("# Anchor\n\nAnother text.")
    tamper(copy, "DELETE FROM traces WHERE case_id = 'q-003'")
    told = call(copy, "resume", run_id)
    assert told.code == 7
    assert f"Run {run_id} cannot be resumed: its corpus, goldens or embedder cannot be reproduced here." in told.err


def test_a_reference_store_is_read_and_never_written(recorded: Path, tmp_path: Path, call: Call) -> None:
    folder = make_workspace(tmp_path / "ws")
    shutil.copy(recorded / "runs.duckdb", folder / "runs.duckdb")
    before = (folder / "runs.duckdb").read_bytes()
    (folder / "ragtui.toml").write_text('store = ".ragtui/runs.duckdb"\nreference = "runs.duckdb"\n')
    run_id = call(folder, "run", "hybrid", "--json").json["run_id"]
    rows = call(folder, "runs", "--json").json["runs"]
    assert [row["store"] for row in rows] == ["working", "reference", "reference"]
    assert call(folder, "show", rows[1]["run_id"], "--json").code == 0
    assert call(folder, "show", "latest", "--json").json["run_id"] == run_id
    told = call(folder, "resume", rows[1]["run_id"])
    assert (told.code, "read-only" in told.err) == (2, True)
    assert (folder / "runs.duckdb").read_bytes() == before


@pytest.mark.parametrize("name", ["../../../evil", "x" * 300, "nul", "a\x1b[31m"])
def test_a_baseline_never_leads_out_of_its_folder(recorded: Path, tmp_path: Path, call: Call, name: str) -> None:
    folder = make_workspace(tmp_path / "ws")
    shutil.copy(recorded / "runs.duckdb", folder / "mine.duckdb")
    (folder / "ragtui.toml").write_text('store = "mine.duckdb"\nreference = "reference.duckdb"\n')
    before = sorted(tmp_path.rglob("*"))
    told = call(folder, "baseline", "promote", "latest", "--name", name, "--to-reference")
    assert told.code == 2
    assert "The baseline name" in told.err
    assert sorted(tmp_path.rglob("*")) == before
    assert open_lab(folder).store.baselines() == []


# -- corpus, spec, prune ----------------------------------------------------------------------------------------------


def test_corpus_check_and_status(workspace: Path, call: Call) -> None:
    told = call(workspace, "corpus", "check")
    assert (told.code, told.out) == (0, "12 documents, 40 goldens (core 40): no problem\n")
    assert call(workspace, "corpus", "check", "--json").json["suites"] == {"core": 40}
    built = call(workspace, "corpus", "ingest", "hybrid", "--json").json["artifacts"]
    assert set(built) == {"chunks", "bm25", "vectors"}
    status = call(workspace, "corpus", "status", "--json").json
    assert sorted(row["id"] for row in status["artifacts"]) == sorted(built.values())
    assert all(row["damage"] is None and row["size"] > 0 for row in status["artifacts"])
    assert "intact" in call(workspace, "corpus", "status").out
    assert not (workspace / "runs.duckdb").exists()


def test_corpus_reset(workspace: Path, call: Call) -> None:
    assert "There is no artifact to delete." in call(workspace, "corpus", "reset").err
    call(workspace, "corpus", "ingest", "bm25")
    told = call(workspace, "corpus", "reset")
    assert told.code == 2
    assert "This deletes 2 artifacts" in told.err
    told = call(workspace, "corpus", "reset", "--yes")
    assert told.code == 0
    assert told.out.startswith("Deleted 2 artifacts")
    assert call(workspace, "corpus", "status", "--json").json["artifacts"] == []


def test_spec_save_show_diff_validate(workspace: Path, tmp_path: Path, call: Call) -> None:
    saved = tmp_path / "hybrid.json"
    told = call(workspace, "spec", "save", "hybrid", "-o", str(saved))
    spec_id = json.loads(saved.read_text())["spec_id"]
    assert told.out == f"{spec_id}  {saved}\n"
    assert json.loads(call(workspace, "spec", "save", "hybrid").out)["spec_id"] == spec_id
    assert call(workspace, "spec", "show", str(saved), "--json").json["spec_id"] == spec_id
    assert call(workspace, "spec", "validate", "hybrid", "--json").json == {"spec_id": spec_id, "valid": True}
    assert call(workspace, "spec", "validate", str(saved)).out == f"valid  {spec_id}\n"
    told = call(workspace, "spec", "diff", str(saved), "hybrid")
    assert (told.code, told.out) == (0, "equal\n")
    told = call(workspace, "spec", "diff", "bm25", "hybrid", "--json")
    assert told.code == 1
    fields = {row["field"] for row in told.json["differences"]}
    assert {"spec_id", "embedding_set_id", "plan.retrieval.channels.vector"} <= fields
    assert call(workspace, "spec", "diff", "bm25", "hybrid").code == 1
    # A run of the saved specification is a run of the preset.
    assert call(workspace, "run", str(saved), "--json").json["spec_id"] == spec_id
    assert call(workspace, "spec", "diff", "latest", "hybrid").code == 0
    assert "plan.chunking.size" in call(workspace, "spec", "show", "latest").out
    told = call(workspace, "spec", "show", "nothing")
    assert told.code == 2
    assert "'nothing' is no preset, file or run." in told.err


def test_code_that_a_plan_names_is_not_executed_by_a_look(
    workspace: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "executed"
    (tmp_path / "planted_search.py").write_text(
        f"open({str(mark)!r}, 'w').close()\ndef retrieve(query, depth): return []\nretrieve.identity = 'v1'\n"
    )
    (tmp_path / "regex.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text('[retrieval.channels.mine]\nkind = "python"\nsource = "planted_search:retrieve"\n')
    told = call(workspace, "spec", "validate", "p.toml")
    assert (told.code, told.out.partition("  ")[0]) == (0, "valid")
    assert call(workspace, "spec", "validate", "p.toml", "--json").json == {"spec_id": None, "valid": True}
    for arguments in (("show", "p.toml"), ("save", "p.toml"), ("diff", "bm25", "p.toml")):
        told = call(workspace, "spec", *arguments)
        assert told.code == 2
        assert "planted_search:retrieve" in told.err
    assert not mark.exists()
    spec_id = call(workspace, "spec", "validate", "p.toml", "--load", "--json").json["spec_id"]
    assert mark.exists()
    assert sys.path[0] != str(tmp_path), "what is imported later is not taken from the folder"
    assert call(workspace, "run", "p.toml", "--json").json["spec_id"] == spec_id
    mark.unlink()
    sys.modules.pop("planted_search")
    assert "nothing to resume" in call(workspace, "resume", "latest").err
    assert not mark.exists()
    for source in ("evil", "evil:", ":x", "a b:c", "../evil:x"):
        (tmp_path / "p.toml").write_text(f'[retrieval.channels.mine]\nkind = "python"\nsource = "{source}"\n')
        assert call(workspace, "spec", "validate", "p.toml").code == 2


def test_prune_shows_sizes_then_frees(workspace: Path, call: Call) -> None:
    for name in ("bm25", "hybrid"):
        call(workspace, "run", name, "--json")
    call(workspace, "run", "bm25", "--set", "chunking.size=200", "--json")
    planned = call(workspace, "prune", "--keep", "1", "--json").json
    assert planned["done"] is False
    runs = [item for item in planned["items"] if item["what"].startswith("run ")]
    artifacts = [item for item in planned["items"] if item["what"].startswith("artifact ")]
    assert len(runs) == 2
    assert len(artifacts) == 3
    assert all(item["bytes"] > 0 for item in planned["items"])
    told = call(workspace, "prune", "--keep", "1")
    assert "Nothing was deleted; say --yes to do it." in told.err
    assert len(call(workspace, "runs", "--json").json["runs"]) == 3
    assert "5 items" in told.err
    assert call(workspace, "prune", "--keep", "1", "--yes", "--json").json["done"] is True
    assert len(call(workspace, "runs", "--json").json["runs"]) == 1
    assert len(call(workspace, "corpus", "status", "--json").json["artifacts"]) == 2
    assert call(workspace, "verify", "latest").code == 0
    assert "There is nothing to prune." in call(workspace, "prune", "--keep", "1").err


def test_prune_spares_baselines(workspace: Path, call: Call) -> None:
    first = call(workspace, "run", "bm25", "--json").json["run_id"]
    call(workspace, "run", "hybrid", "--json")
    open_lab(workspace).store.promote(first, "main", "why")
    pruned = call(workspace, "prune", "--keep", "0", "--yes")
    assert "deleted" in pruned.out
    assert "freed" in pruned.out
    assert pruned.err.startswith("Deleted 2 items, "), "the run, and the vectors that it alone needed"
    assert [row["run_id"] for row in call(workspace, "runs", "--json").json["runs"]] == [first]
    assert call(workspace, "show", "baseline", "--json").json["run_id"] == first


def test_a_run_that_is_going_on_is_listed_whole_and_never_pruned(workspace: Path, call: Call) -> None:
    """One that was resumed is in the store besides; one that has just begun is in its journal alone."""
    resumed = call(workspace, "run", "bm25", "--json").json["run_id"]
    lab = open_lab(workspace)
    stored = lab.recorded(resumed)
    specification = lab.bind(edit(preset("bm25"), ["chunking.size=300"]))
    call(workspace, "corpus", "ingest", "bm25", "--set", "chunking.size=300")
    begun = RunStarted(
        run_id=resumed, attempt=2, spec_id=stored.spec_id, specification=stored.specification, provenance=Provenance(),
        measures=stored.measures, cases=stored.cases, pending=(7, 9), environment={}, started_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    fresh = msgspec.structs.replace(begun, run_id="fresh", specification=specification, attempt=1)
    finished = CaseFinished(attempt=2, at="2030-01-01T00:00:01Z", trace=stored.traces[7])
    journals = lab.workspace.journals
    with JournalWriter.open(journals, resumed) as first, JournalWriter.open(journals, "fresh") as second:
        first.write([begun, finished])
        second.write([fresh])
        listed = call(workspace, "runs", "--json").json["runs"]
        shown = {row["run_id"]: (row["status"], row["cases"], row["finished"]) for row in listed}
        assert shown == {resumed: ("running", 40, 39), "fresh": ("running", 40, 38)}
        call(workspace, "run", "bm25", "--set", "chunking.size=200", "--json")
        planned = call(workspace, "prune", "--keep", "0", "--json").json["items"]
        assert [item["what"].split()[0] for item in planned] == ["run", "artifact", "artifact"]
        assert call(workspace, "prune", "--keep", "0", "--yes").code == 0
        assert [row.run_id for row in lab.store.runs()] == [resumed]
        kept = {stored.record.id for stored in lab.cache.stored() if stored.record is not None}
        wanted = (stored.specification, specification)
        assert kept == {artifact for bound in wanted for artifact in (bound.chunk_set_id, bound.bm25_id)}


def test_a_prefix_is_unique_over_both_stores_and_what_is_going_on(workspace: Path, call: Call) -> None:
    (workspace / "ragtui.toml").write_text('store = ".ragtui/runs.duckdb"\nreference = "runs.duckdb"\n')
    lab = open_lab(workspace, execution="allow_runs")
    plan = preset("bm25")

    async def run(run_id: str) -> None:
        async for _ in lab.events(lab.bind(plan), run_id=run_id):
            pass

    for run_id in ("a1", "a2", "b1"):
        asyncio.run(run(run_id))
    assert lab.workspace.reference is not None
    reference = Store(lab.workspace.reference)
    for run_id in ("b1", "a2"):
        lab.store.copy_run(run_id, reference)
    lab.store.delete_runs(["a2"])
    told = call(workspace, "show", "a")
    assert told.code == 2
    assert "'a' names 2 runs: a1 (no name, " in told.err
    assert ", a2 (no name, " in told.err
    assert [call(workspace, "show", name, "--json").json["run_id"] for name in ("a1", "a2")] == ["a1", "a2"]
    assert lab.resolve("b") == (lab.store, "b1"), "the same run in both stores is one"
    with JournalWriter.open(lab.workspace.journals, "b2"):
        told = call(workspace, "show", "b")
        assert told.code == 2
        assert ", b2 (running)." in told.err
        assert "Run b2 is still running." in call(workspace, "show", "b2").err
    assert call(workspace, "show", "c").err.startswith("ragtui: There is no run 'c'.")


def test_a_list_tells_the_numbers_of_the_report(workspace: Path, call: Call) -> None:
    shown = call(workspace, "run", "hybrid", "--json").json
    [listed] = call(workspace, "runs", "--json").json["runs"]
    assert {name: listed[name] for name in shown["counts"]} == shown["counts"]
    assert listed["measures"] == {name: estimate["value"] for name, estimate in shown["measures"].items()}


def test_a_run_in_which_every_case_failed_is_not_called_fine(workspace: Path) -> None:
    (workspace / "my_search.py").write_text(
        "def retrieve(query, depth):\n    raise ValueError('no index')\n\nretrieve.identity = '1'\n"
    )
    told = ragtui(workspace, "run", "own.toml")
    assert told.returncode == 7
    assert told.stdout.startswith("! completed with errors")
    assert "40 errors: ragtui show" in told.stdout
    assert "40 of 40 cases failed.\n  Why: ragtui show" in told.stderr
    assert "Try them again: ragtui resume" in told.stderr
    assert json.loads(ragtui(workspace, "show", "--json").stdout)["status"] == "completed"


def test_the_reasons_of_a_verdict_are_told_once(workspace: Path, call: Call) -> None:
    base = call(workspace, "run", "bm25", "--json").json["run_id"]
    # One result each, so that most of what the base finds is lost.
    worse = ["retrieval.channels.bm25.depth=1", "retrieval.channels.bm25.min_score=99"]
    new = call(workspace, "run", "bm25", "--set", worse[0], "--set", worse[1], "--json").json["run_id"]
    failed = call(workspace, "compare", base, new)
    assert failed.code == 1
    assert "✗ FAIL\n  nDCG@10 lost" in failed.out
    assert failed.err.startswith(
        f"ragtui: the gate failed: {new} is worse than {base}.\n  Look at a question that was "
    )
    assert "lost 0" not in failed.err + failed.out.partition("✗ FAIL")[0]
    asked = failed.err.rpartition(f"ragtui trace {new} ")[2].strip()
    assert call(workspace, "trace", new, asked).code == 0
    plain = call(workspace, "compare", base, new, "--json")
    assert plain.json["reasons"][0].startswith("nDCG@10 lost")
    assert "nDCG@10" not in plain.err

    other = call(workspace, "run", "hybrid", "--json").json["run_id"]
    unclear = call(workspace, "compare", base, other)
    assert (unclear.code, unclear.err) == (0, "")
    assert "? INCONCLUSIVE" in unclear.out
    strict = call(workspace, "compare", base, other, "--strict")
    assert strict.code == 6
    assert strict.err.startswith("ragtui: the comparison is inconclusive, and --strict wants a decision.\n")
