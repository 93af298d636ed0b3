"""Everything that a user, a disk, another process or somebody's retriever can do wrong, as the terminal tells it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ragtui.lab import open_lab
from ragtui.store.journal import journal_path, journals
from tests.cli.conftest import Call
from tests.workshop import (
    ROOT,
    SPLITTER_FAILS,
    environment,
    make_workspace,
    ragtui,
    sample_goldens,
    write_suite,
)


def test_all_problems_of_the_inputs_as_json(workspace: Path, call: Call) -> None:
    (workspace / "corpus" / "bad.md").write_bytes(b"fine\n\xff")
    (workspace / "corpus" / "empty.md").write_text(" ")
    told = call(workspace, "run", "bm25", "--json")
    assert told.code == 2
    error = told.json["error"]
    assert (error["kind"], error["exit_code"]) == ("invalid_files", 2)
    assert [(problem["file"], problem["line"]) for problem in error["problems"]] == [("bad.md", 2), ("empty.md", 0)]
    assert "bad.md:2: is not UTF-8 (byte 0xFF). Save the file as UTF-8." in told.err
    checked = call(workspace, "corpus", "check", "--json")
    assert checked.code == 2
    assert len(checked.json["problems"]) == 2
    checked = call(workspace, "corpus", "check")
    assert (checked.code, checked.out) == (2, "")
    assert "2 problems in corpus and goldens." in checked.err


def test_missing_core(workspace: Path, call: Call) -> None:
    (workspace / "goldens" / "core.jsonl").rename(workspace / "goldens" / "extra.jsonl")
    told = call(workspace, "run", "bm25")
    assert (told.code, told.out) == (2, "")
    assert "suite 'core' does not exist. Suites in " in told.err
    assert call(workspace, "run", "bm25", "--suite", "extra", "--json").code == 0
    assert "goldens/core.jsonl: is missing." in call(workspace, "corpus", "check").err


def test_one_document_runs_with_a_warning_from_check(tmp_path: Path, call: Call) -> None:
    golden = {"id": "g", "query": "alpha", "relevantDocIds": ["only"]}
    folder = make_workspace(tmp_path / "ws", {"only": "Alpha beta."}, [golden])
    told = call(folder, "corpus", "check")
    assert told.code == 0
    assert "warning  corpus: has one document: every question finds it, so nothing is measured." in told.err
    assert call(folder, "run", "hybrid", "--json").json["measures"]["RR"]["value"] == 1.0


def test_a_library_that_panics(workspace: Path) -> None:
    """Over a document it is the document's fault, anywhere else one of ours; never a traceback, nor a failed gate."""
    text, size, overlap = SPLITTER_FAILS
    (workspace / "corpus" / "odd.md").write_text(text, "utf-8")
    settings = ("--set", f"chunking.size={size}", "--set", f"chunking.overlap={overlap}")
    told = ragtui(workspace, "run", "bm25", *settings, "--json", RUST_BACKTRACE="0")
    assert told.returncode == 2
    assert json.loads(told.stdout)["error"]["kind"] == "invalid_input"
    assert "ragtui: Document 'odd' cannot be cut by the splitter, which failed: " in told.stderr
    assert "Traceback" not in told.stderr
    assert json.loads(ragtui(workspace, "runs", "--json").stdout)["runs"][0]["status"] == "failed"
    (workspace / "plan.py").write_text(
        "from semantic_text_splitter import MarkdownSplitter\n"
        f"MarkdownSplitter({size}, overlap={overlap}).chunk_indices({text!r})\n"
    )
    told = ragtui(workspace, "run", "plan.py", RUST_BACKTRACE="0")
    assert told.returncode == 70
    assert "ragtui has a fault: PanicException: " in told.stderr
    assert "Traceback" not in told.stderr


def test_no_workspace(tmp_path: Path, call: Call) -> None:
    told = call(tmp_path / "nowhere", "run")
    assert told.code == 2
    assert f"{tmp_path / 'nowhere'} is not a folder." in told.err
    told = call(tmp_path, "run")
    assert told.code == 2
    assert f"{tmp_path / 'corpus'}: is not a folder. Put the documents there, or run `ragtui init`." in told.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("corpus = 3", "ragtui.toml:1: Expected `str`, got `int` at `corpus`."),
        ("store = 'a'\ncorpsu = 'x'", "ragtui.toml:2: unknown field corpsu (did you mean corpus?)."),
        (
            "corpsu = 'x'\n[profiles.a]\nkind = 'ollama'\nbach = 3\ntimeout = 'long'\n[profiles.b]\nmodel = 'm'",
            "4 problems in ragtui.toml.\n  ragtui.toml:1: unknown field corpsu (did you mean corpus?).\n"
            "  ragtui.toml:4: unknown field profiles.a.bach (did you mean profiles.a.batch?).\n"
            "  ragtui.toml:5: Expected `float`, got `str` at `profiles.a.timeout`.\n"
            "  ragtui.toml:6: Object missing required field `profiles.b.kind`.\n",
        ),
        (
            "[profiles.a]\nkind = 'openai'\nkey_env = 'sk-pasted'",
            "ragtui.toml:3: key_env in [profiles.a] is not a variable's name. Write the NAME",
        ),
        ("[profiles.a]\nkind = 'olama'", "ragtui.toml:2: Invalid enum value 'olama' at `profiles.a.kind`."),
        ("corpus = ", "ragtui.toml"),
        pytest.param("corpus = " + "9" * 5000, "ragtui.toml: holds a number that is too large.", id="digits"),
        pytest.param(".".join("a" * 50_000) + " = 1", "ragtui.toml:1: a key has more than 50 parts.", id="dotted"),
        pytest.param(
            "x = {" + ".".join(["'a'"] * 50_000) + " = 1}", "ragtui.toml:1: a key has more than 50 parts.", id="inline"
        ),
        ('store = "a\\u0000b"', "ragtui.toml: a path holds a zero byte."),
    ],
)
def test_a_bad_workspace_file(workspace: Path, call: Call, content: str, message: str) -> None:
    (workspace / "ragtui.toml").write_text(content)
    told = call(workspace, "runs")
    assert told.code == 2
    assert message in told.err
    assert "sk-pasted" not in told.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["dangling", "circle", "pipe", "folder"])
def test_settings_that_are_no_file_are_not_ignored(workspace: Path, call: Call, kind: str) -> None:
    path = workspace / "ragtui.toml"
    path.unlink(missing_ok=True)
    match kind:
        case "dangling":
            path.symlink_to(workspace / "nowhere")
        case "circle":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    told = call(workspace, "runs")
    assert told.code == 2
    assert "ragtui.toml" in told.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.toml", ".".join("a" * 50_000) + " = 1", "p.toml:1: a key has more than 50 parts."),
        ("p.toml", "chunking.size = " + "9" * 5000, "p.toml: holds a number that is too large."),
        ("p.json", "[" * 200_000, "is not JSON"),
        ("p.json", '{"a":' * 400 + "1" + "}" * 400, "deeper than any of a plan"),
        ("p.json", json.dumps({f"unknown{number}": 1 for number in range(100_000)}), "; and 99,98"),
        ("p.json", json.dumps({"x" * 1_000_000: 1}), "xxx…"),
    ],
    ids=["dotted", "digits", "unclosed", "deep", "many", "long"],
)
def test_a_plan_that_is_out_of_all_proportion(
    workspace: Path, tmp_path: Path, call: Call, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    for command in (("run",), ("spec", "validate"), ("spec", "show")):
        told = call(workspace, *command, str(tmp_path / name))
        assert (told.code, message in told.err, len(told.err) < 5000) == (2, True, True), told.err[:500]


def test_a_setting_of_endless_depth(workspace: Path, call: Call) -> None:
    told = call(workspace, "run", "bm25", "--set", ".".join("a" * 20_000) + "=1")
    assert (told.code, len(told.err) < 500) == (2, True)


def test_a_golden_out_of_all_proportion(workspace: Path, call: Call) -> None:
    many = json.dumps({"id": "g", "query": "q"} | {f"unknown{number}": 1 for number in range(100_000)})
    (workspace / "goldens" / "x.jsonl").write_text("[" * 200_000 + "\n" + many + "\n" + '{"x":' + "[" * 200_000)
    told = call(workspace, "corpus", "check")
    assert told.code == 2
    assert "x.jsonl:1: is not JSON" in told.out + told.err
    assert "and 99,980 more faults on this line" in told.out + told.err
    assert len(told.out + told.err) < 20_000


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run", "--nonsense"],
        ["trace"],
        ["run", "bm25", "--limit", "x"],
        ["corpus"],
        ["spec"],
        ["show", "--display", "x"],
    ],
)
def test_usage(workspace: Path, call: Call, arguments: list[str]) -> None:
    told = call(workspace, *arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("ragtui: ")
    assert "Traceback" not in told.err
    told = call(workspace, *arguments, "--json")
    assert told.code == 2
    assert told.json["error"]["exit_code"] == 2


def test_unknown_preset_and_plan_faults(workspace: Path, call: Call) -> None:
    told = call(workspace, "run", "hybird")
    assert told.code == 2
    assert "There is no preset 'hybird'. Did you mean 'hybrid'?" in told.err
    told = call(
        workspace, "run", "hybrid", "--set", "retrieval.fusion.weights.dense=2", "--set", "chunking.size=1", "--json"
    )
    assert told.code == 2
    assert len(told.json["error"]["faults"]) == 2
    assert told.json["error"]["kind"] == "invalid_plan"


# -- disk and store ---------------------------------------------------------------------------------------------------


# The administrator may write anywhere, so the process gives that privilege up for good before it becomes ragtui.
_OBEYS_PERMISSIONS = """
import ctypes, os, sys
drop, dac_override, dac_read_search = 24, 1, 2
for privilege in (dac_override, dac_read_search) if os.geteuid() == 0 else ():
    if ctypes.CDLL(None).prctl(drop, privilege, 0, 0, 0) != 0:
        sys.exit(99)
os.execv(sys.executable, [sys.executable, "-m", "ragtui", *sys.argv[1:]])
"""


def obeying(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command to which read-only means read-only."""
    command = [sys.executable, "-c", _OBEYS_PERMISSIONS, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), text=True, capture_output=True, timeout=60)
    if done.returncode == 99:
        pytest.skip("the administrator's privileges cannot be given up here")
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="privileges are given up in Linux's way")
def test_a_read_only_folder(workspace: Path, call: Call) -> None:
    assert call(workspace, "run", "bm25", "--json").code == 0
    paths = [workspace, *workspace.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        told = obeying(workspace, "run", "bm25")
        assert told.returncode == 7, told
        assert ".ragtui/journal/" in told.stderr
        assert "cannot be written: Permission denied." in told.stderr
        assert f"Make {workspace / '.ragtui' / 'journal'} writable, or choose another workspace with -w." in told.stderr
        # What needs no writing works.
        for arguments in (("show",), ("spec", "validate", "bm25")):
            assert obeying(workspace, *arguments).returncode == 0, arguments
    finally:
        for path in paths:
            path.chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="privileges are given up in Linux's way")
def test_a_store_that_may_only_be_read_is_read_while_a_journal_waits(workspace: Path, call: Call) -> None:
    assert call(workspace, "run", "bm25", "--json").code == 0
    store = workspace / "runs.duckdb"
    store.chmod(0o444)
    assert obeying(workspace, "run", "bm25").returncode == 7
    told = obeying(workspace, "runs")
    assert told.returncode == 0
    assert "A journal waits to be loaded: " in told.stderr
    assert told.stdout.count("bm25") == 1
    store.chmod(0o644)
    assert obeying(workspace, "runs").stdout.count("bm25") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="privileges are given up in Linux's way")
@pytest.mark.parametrize("closed", [".ragtui", "corpus", "goldens", "corpus/sub"])
def test_a_folder_that_may_not_be_looked_into_is_named(workspace: Path, closed: str) -> None:
    (workspace / "corpus" / "sub").mkdir()
    folder = workspace / closed
    folder.mkdir(exist_ok=True)
    folder.chmod(0)
    try:
        for arguments in (("run", "bm25"), ("runs",), ("doctor", "--offline"), ("watch",), ("corpus", "check")):
            told = obeying(workspace, *arguments)
            assert told.returncode != 70, told.stderr
            if arguments[0] == "run":
                assert told.returncode in (2, 7)
                assert str(folder) in told.stderr
                assert "ermission" in told.stderr
    finally:
        folder.chmod(0o755)


_LITTLE_ROOM = """
import resource, sys
# Python would leave a cut bytecode file where it may not write all of it.
sys.dont_write_bytecode = True
from ragtui.__main__ import entry
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
entry()
"""


def with_room(folder: Path, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that can make no file larger than `limit` bytes."""
    command = [sys.executable, "-c", _LITTLE_ROOM, str(limit), *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), text=True, capture_output=True, timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_full_disk_leaves_a_file_as_it_was(workspace: Path, call: Call) -> None:
    call(workspace, "run", "bm25")
    for name, arguments in (
        ("ragtui.toml", ("init", "corpus", "--force")), ("out.json", ("spec", "save", "bm25", "-o", "out.json")),
        ("run.json", ("export", "latest", "--format", "json", "-o", "run.json")),
    ):  # fmt: skip
        (workspace / name).write_text("# mine\n")
        told = with_room(workspace, 100, *arguments)
        assert told.returncode == 7, arguments
        assert "cannot be written: File too large" in told.stderr
        assert (workspace / name).read_text() == "# mine\n"
    assert not list(workspace.glob(".*.new"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_disk_that_fills_during_the_run(workspace: Path, call: Call) -> None:
    done = call(workspace, "run", "hybrid", "--json")
    whole = done.json
    lab = open_lab(workspace)
    # Which of the two groups in flight is written first is chance; a little more room each time lets one of them fit.
    for room in range(60_000, 300_000, 15_000):
        told = with_room(workspace, room, "run", "hybrid")
        assert told.returncode == 7
        assert "Traceback" not in told.stderr
        [run_id] = re.findall(r"([0-9a-z]{12})\.jsonl cannot be written: File too large\.", told.stderr)
        assert f"Free some space, then go on with `ragtui resume {run_id}`; what was reported is kept." in told.stderr
        lab.recover()
        run = lab.recorded(run_id)
        assert run.status == "failed"
        if run.traces:
            break
    assert 0 < len(run.traces) < 40
    resumed = call(workspace, "resume", run_id, "--json")
    assert resumed.code == 0
    assert resumed.json["measures"] == whole["measures"]


_FULL_AT_THE_END = """
import resource, sys
# Python would leave a cut bytecode file where it may not write all of it.
sys.dont_write_bytecode = True
from ragtui.__main__ import entry
from ragtui.store import load
load_journal = load.load
def late(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    return load_journal(*arguments)
load.load = late
entry()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_disk_that_is_full_when_the_store_is_written(workspace: Path, call: Call) -> None:
    call(workspace, "run", "hybrid", "--json")
    told = subprocess.run(
        [sys.executable, "-c", _FULL_AT_THE_END, "run", "hybrid"], cwd=workspace, env=environment(), text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert told.returncode == 7
    assert f"{workspace / 'runs.duckdb'} cannot be written: the disk is full (" in told.stderr
    assert "Free some space and try again; what was reported is kept in the journal." in told.stderr
    assert "Traceback" not in told.stderr
    [journal] = journals(workspace / ".ragtui" / "journal")
    listed = call(workspace, "runs", "--json")
    assert listed.json["runs"][0]["run_id"] == journal.stem
    assert listed.json["runs"][0]["status"] == "completed"
    assert f"Loaded run {journal.stem}, which had completed." in listed.err


_HOLDS = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_locked_store_names_its_holder(recorded: Path, tmp_path: Path, call: Call) -> None:
    folder = shutil.copytree(recorded, tmp_path / "ws")
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(folder / "runs.duckdb")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        # A run keeps its journal, and the store gets it later.
        told = call(folder, "run", "bm25", "--display", "none")
        assert told.code == 7
        assert f"{folder / 'runs.duckdb'} is locked by " in told.err
        assert f"(pid {holder.pid})" in told.err
        [journal] = journals(folder / ".ragtui" / "journal")
    finally:
        holder.communicate()
    listed = call(folder, "runs", "--json").json["runs"]
    assert (listed[0]["run_id"], listed[0]["status"]) == (journal.stem, "completed")


def test_a_store_that_is_none_or_newer(recorded: Path, tmp_path: Path, call: Call) -> None:
    folder = shutil.copytree(recorded, tmp_path / "ws")
    with duckdb.connect(str(folder / "runs.duckdb")) as connection:
        [table] = [
            row[0]
            for row in connection.execute("SELECT table_name FROM duckdb_tables() WHERE column_count < 4").fetchall()
            if "schema" in row[0] or "version" in row[0] or "migration" in row[0]
        ]
        [column] = [
            row[0]
            for row in connection.execute(f"DESCRIBE {table}").fetchall()
            if row[0] in ("version", "schema", "number", "id")
        ][:1]
        connection.execute(f"INSERT INTO {table} ({column}) SELECT max({column}) + 1 FROM {table}")
    told = call(folder, "runs")
    assert told.code == 7
    assert "was written by a newer ragtui (schema " in told.err
    assert "Update ragtui, or give another file with --store." in told.err
    (folder / "runs.duckdb").write_text("this is no database at all, whatever its name says")
    told = call(folder, "runs", "--json")
    assert told.code == 7
    assert told.json["error"]["kind"] == "store_unavailable"
    assert "is not a store: it is no DuckDB file." in told.err


def test_another_store(recorded: Path, tmp_path: Path, call: Call) -> None:
    folder = shutil.copytree(recorded, tmp_path / "ws")
    other = str(tmp_path / "other.duckdb")
    assert call(folder, "--store", other, "run", "bm25", "--json").code == 0
    assert len(call(folder, "--store", other, "runs", "--json").json["runs"]) == 1
    assert len(call(folder, "runs", "--json").json["runs"]) == 2


@pytest.mark.parametrize("cut", [1, 100, 5_000, 20_000, -1])
def test_a_torn_journal(workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    """A journal cut at any byte is a run that was interrupted there."""
    whole = call(workspace, "run", "hybrid", "--json").json
    data = journal_bytes(workspace)
    run_id = json.loads(data[: data.index(b"\n")])["run_id"]
    path = journal_path(workspace / ".ragtui" / "journal", run_id)
    path.write_bytes(data[:cut])
    before = data[:cut].count(b'"case_finished"') - (0 if data[:cut].endswith(b"\n") else 1)
    listed = call(workspace, "runs", "--json")
    assert listed.code == 0
    assert not path.exists()
    statuses = {row["run_id"]: row["status"] for row in listed.json["runs"]}
    if b"\n" not in data[:cut]:
        assert run_id not in statuses
        return
    assert statuses[run_id] == "interrupted"
    assert f"Recovered the interrupted run {run_id}." in listed.err
    assert len(open_lab(workspace).recorded(run_id).traces) >= max(0, before)
    resumed = call(workspace, "resume", run_id, "--json")
    assert resumed.code == 0
    assert resumed.json["measures"] == whole["measures"]


def journal_bytes(folder: Path) -> bytes:
    """The journal of a whole run, as it stands before it is loaded."""
    import asyncio

    from ragtui.experiment.presets import preset
    from ragtui.providers.builtin import BuiltinEmbedder
    from ragtui.store import Store

    lab = open_lab(folder, execution="allow_runs", query_embedder=BuiltinEmbedder())
    kept: list[bytes] = []

    class Keeps(Store):
        """Looks at the journal instead of loading it."""

        def load_journal(self, path: Path, status_if_unfinished: object = "interrupted") -> str:
            kept.append(path.read_bytes())
            path.unlink()
            return path.stem

    lab.__dict__["store"] = Keeps(lab.workspace.store)

    async def drain() -> None:
        async for _ in lab.events(lab.bind(preset("hybrid"))):
            pass

    asyncio.run(drain())
    return kept[0]


def test_a_damaged_line_of_a_journal_is_set_aside(workspace: Path, call: Call) -> None:
    call(workspace, "run", "hybrid", "--json")
    lines = journal_bytes(workspace).splitlines(keepends=True)
    run_id = json.loads(lines[0])["run_id"]
    path = journal_path(workspace / ".ragtui" / "journal", run_id)
    path.write_bytes(b"".join(lines[:20]) + b'{"event": "case_fin\n' + b"".join(lines[20:]))
    told = call(workspace, "runs", "--json")
    assert told.code == 0
    assert {row["run_id"]: row["status"] for row in told.json["runs"]}[run_id] == "interrupted"
    assert path.with_name(path.name + ".damaged").exists()
    assert call(workspace, "resume", run_id, "--json").code == 0


# -- a retriever of one's own -----------------------------------------------------------------------------------------


def own(folder: Path, body: str, identity: str = 'retrieve.identity = "1"') -> Path:
    (folder / "my_search.py").write_text(f"{body}\n\n{identity}\n")
    return folder


def test_a_retriever_that_raises_now_and_then(workspace: Path) -> None:
    found = "    return [('anchor-notes', 1.0)]"
    fault = "    if 'question 3' in query:\n        raise ValueError('no index\\x1b[31m')\n"
    body = f"def retrieve(query, depth):\n{fault}{found}"
    told = ragtui(own(workspace, body), "run", "own.toml", "--json", "--display", "plain")
    assert told.returncode == 7
    record = json.loads(told.stdout)
    errors = record["counts"]["errors"]
    assert errors == sum("question 3" in golden["query"] for golden in sample_goldens())
    assert record["counts"]["scored"] == 36 - errors
    assert record["status"] == "completed"
    assert f"{errors} of 40 cases failed." in told.stderr
    assert "\x1b" not in told.stderr
    shown = ragtui(workspace, "show", "--errors", "--json")
    [first, *rest] = json.loads(shown.stdout)["errors"]
    assert len(rest) == errors - 1
    assert (first["case"], first["kind"]) == ("q-003", "retriever_failed")
    assert first["message"] == "channel 'own' raised ValueError: no index\x1b[31m"
    told = ragtui(workspace, "show", "latest")
    assert told.stdout.startswith("! completed with errors")
    assert f"{errors} errors: ragtui show" in told.stdout
    assert "! with errors" in ragtui(workspace, "runs").stdout
    # Mended, only what failed is done again.
    mended = f"def retrieve(query, depth):\n{found}"
    resumed = ragtui(own(workspace, mended), "resume", "latest", "--json")
    assert resumed.returncode == 0
    assert json.loads(resumed.stdout)["counts"]["errors"] == 0
    assert json.loads(resumed.stdout)["attempts"] == 2


def test_a_retriever_that_leaks_another_collection(workspace: Path) -> None:
    body = "def retrieve(query, depth):\n    return [('secret' if 'violins' in query else 'anchor-notes', 1.0)]"
    told = ragtui(own(workspace, body), "run", "own.toml")
    assert told.returncode == 5
    assert "A retriever returned the document 'secret', which is not in the snapshot." in told.stderr
    listed = json.loads(ragtui(workspace, "runs", "--json").stdout)["runs"]
    assert listed[0]["status"] == "failed"
    told = ragtui(own(workspace, body), "run", "own.toml", "--json")
    assert told.returncode == 5
    assert json.loads(told.stdout)["error"]["kind"] == "isolation_leak"


@pytest.mark.parametrize(
    ("body", "identity", "code", "message"),
    [
        ("def retrieve(query, depth):\n    return []", "", 2, "No identity is declared for 'my_search:retrieve'."),
        ("1 / 0", "", 4, "The retriever 'my_search:retrieve' cannot be loaded: ZeroDivisionError: division by zero."),
        ("other = 1", "", 4, "The retriever 'my_search:retrieve' cannot be loaded: AttributeError: "),
        ("retrieve = 3", "", 2, "The retriever 'my_search:retrieve' is not callable."),
    ],
)
def test_a_retriever_that_cannot_be_used(workspace: Path, body: str, identity: str, code: int, message: str) -> None:
    told = ragtui(own(workspace, body, identity), "run", "own.toml")
    assert (told.returncode, told.stdout) == (code, "")
    assert message in told.stderr


def test_what_a_retriever_prints_is_no_result(workspace: Path) -> None:
    body = "print('loading')\ndef retrieve(query, depth):\n    print('searching')\n    return [('anchor-notes', 1.0)]"
    told = ragtui(own(workspace, body), "run", "own.toml", "--json")
    assert told.returncode == 0
    assert json.loads(told.stdout)["status"] == "completed"
    assert "searching" in told.stderr


def test_a_hung_retriever_does_not_keep_the_process(workspace: Path) -> None:
    """The second ctrl-c leaves although a call never comes back; see test_kill for the first."""
    body = "import time\ndef retrieve(query, depth):\n    time.sleep(1000)"
    process = subprocess.Popen(
        [sys.executable, "-m", "ragtui", "run", "own.toml"], cwd=own(workspace, body), env=environment(), text=True,
        stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline().startswith("run ")
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline().startswith("Finishing what is in flight")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_the_tests_measure_this_tree() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import ragtui; print(ragtui.__file__)"],
        env=environment(), text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(ROOT)


def test_odd_ids_all_the_way(tmp_path: Path, call: Call) -> None:
    ids = ["two words", "水/煮沸", "<b>bold</b>", "007", "[red]x[/red]", "a'b\"c", "tab\tbed", "-dash"]
    folder = make_workspace(
        tmp_path / "ws", {}, [{"id": name, "query": f"word{n}", "relevantDocIds": [name]} for n, name in enumerate(ids)]
    )
    lines = [json.dumps({"id": name, "text": f"# T\n\nword{n} and more"}) for n, name in enumerate(ids)]
    (folder / "corpus" / "all.jsonl").write_text("\n".join(lines))
    told = call(folder, "run", "bm25", "--json")
    assert told.code == 0
    assert told.json["measures"]["RR"]["value"] == 1.0
    for name in ids:
        record = call(folder, "trace", "latest", "--json", "--", name).json
        assert record["case"] == name
        assert record["results"][0]["chunk"] == f"{name}#0-{len('# T') + len('word0 and more') + 2}"
    assert call(folder, "verify").code == 0
    write_suite(folder, "core", [{"id": "7", "query": "word3", "relevantDocIds": ["7"]}])
    assert "names the document '7', which is not in the corpus." in call(folder, "run", "bm25").err
