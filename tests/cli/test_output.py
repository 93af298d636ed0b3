"""What reaches the terminal: help, streams, colours, hostile text, speed of nothing, imports."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console, RenderableType
from rich.text import Text

from ragtui.analysis.compare import compare
from ragtui.cli.app import app
from ragtui.cli.comparing import changes_table
from ragtui.cli.display import PlainDisplay, RichDisplay
from ragtui.cli.fitting import Flow
from ragtui.cli.listing import runs_table
from ragtui.cli.render import pairs, safe, table
from ragtui.events import CaseFinished, Notice, ServerCalls, StageProgress
from ragtui.inputs.text import printable
from ragtui.lab import open_lab
from ragtui.trace import CaseError, CaseTrace
from tests.analysis.factory import ranks_run
from tests.cli.conftest import Call
from tests.workshop import environment, make_workspace, ragtui

COMMAND_LINE = {
    "run", "runs", "show", "trace", "watch", "cancel", "resume", "verify", "prune", "export", "corpus check",
    "corpus status", "corpus ingest", "corpus reset", "spec save", "spec show", "spec diff", "spec validate",
}  # fmt: skip
PRINTS_RESULTS = {
    "run", "resume", "runs", "show", "trace", "verify", "prune", "corpus check", "corpus status", "corpus ingest",
    "spec show", "spec diff", "spec validate",
}  # fmt: skip


def commands(group: object, path: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, command in getattr(group, "commands", {}).items():
        full = f"{path} {name}".strip()
        inner = commands(command, full)
        # A group that does something by itself needs its example too.
        alone = not inner or getattr(command, "invoke_without_command", False)
        found |= inner | ({full: command} if alone else {})
    return found


COMMANDS = commands(typer.main.get_command(app))


def test_every_command_of_the_design_exists() -> None:
    assert set(COMMANDS) >= COMMAND_LINE


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_has_an_example(tmp_path: Path, call: Call, name: str) -> None:
    told = call(tmp_path, *name.split(), "--help")
    assert told.code == 0
    assert f"Example: ragtui {name}" in " ".join(told.out.split())
    if name in PRINTS_RESULTS:
        assert "--json" in told.out


def test_help_and_version(tmp_path: Path, call: Call) -> None:
    assert call(tmp_path, "--help").code == 0
    from ragtui import __version__

    assert call(tmp_path, "--version").out == f"ragtui {__version__}\n"
    told = call(tmp_path)
    assert told.code == 2
    assert "The app needs a terminal." in told.err


# -- imports ----------------------------------------------------------------------------------------------------------


def loaded_by(code: str, folder: Path) -> set[str]:
    """The top-level modules that a process has loaded after running the code."""
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"], cwd=folder,
        env=environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return {name.split(".")[0] for name in json.loads(told.stdout.splitlines()[-1])}


HEAVY = {
    "numpy",
    "duckdb",
    "tantivy",
    "usearch",
    "textual",
    "rich",
    "httpx",
    "typer",
    "tokenizers",
    "semantic_text_splitter",
}


def test_import_ragtui_loads_nothing_heavy(tmp_path: Path) -> None:
    assert not loaded_by("import ragtui", tmp_path) & HEAVY
    assert not loaded_by("from ragtui.__main__ import main; main(['--version'])", tmp_path) & (HEAVY | {"msgspec"})


def test_authoring_needs_no_database_and_no_network(workspace: Path) -> None:
    code = "import ragtui; ragtui.open('.').bind(ragtui.experiment('bm25').to_plan())"
    assert not loaded_by(code, workspace) & {"duckdb", "textual", "httpx"}
    code = "from ragtui.__main__ import main; main(['spec', 'validate', 'hybrid']); main(['corpus', 'check'])"
    assert not loaded_by(code, workspace) & {"duckdb", "textual", "httpx"}


def test_a_headless_run_never_loads_the_app(workspace: Path) -> None:
    code = "from ragtui.__main__ import main\n"
    code += "for words in (['run', 'hybrid'], ['show'], ['runs'], ['verify']): main(words)"
    loaded = loaded_by(code, workspace)
    assert "duckdb" in loaded
    assert not loaded & {"textual", "httpx", "wordllama", "scipy", "pytest"}


# -- streams and colours ----------------------------------------------------------------------------------------------


def test_a_pipe_gets_plain_text(recorded: Path) -> None:
    for arguments in (("show",), ("trace", "latest", "q-001")):
        told = ragtui(recorded, *arguments, TERM="xterm-256color", COLORTERM="truecolor")
        assert told.returncode == 0
        assert "\x1b" not in told.stdout
        assert told.stderr == ""


def in_terminal(folder: Path, *arguments: str, columns: int = 80, **changes: str) -> str:
    """What a terminal of that width gets, escape sequences included."""
    master, slave = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "ragtui", *arguments], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
        env=environment(TERM="xterm-256color", **changes),
    )  # fmt: skip
    os.close(slave)
    data = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.1)
        try:
            piece = os.read(master, 65536) if ready else b""
        except OSError:
            break
        data += piece
        if not piece and process.poll() is not None:
            break
    process.wait(10)
    os.close(master)
    return data.decode()


_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_a_terminal_gets_a_live_display_and_is_restored(workspace: Path) -> None:
    shown = in_terminal(workspace, "run", "own.toml", SECONDS="0.02")
    assert "\x1b[?25l" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "\x1b[?1049h" not in shown
    text = _STYLE.sub("", shown)
    assert "✓ completed" in text
    assert "/40  scored" in text


def test_no_color_means_no_colour(workspace: Path) -> None:
    shown = in_terminal(workspace, "run", "bm25", NO_COLOR="1")
    codes = {code for match in re.finditer(r"\x1b\[([0-9;]*)m", shown) for code in match.group(1).split(";")}
    colours = {str(code) for code in (*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108))}
    assert not codes & colours


def test_no_line_is_wider_than_the_terminal(recorded: Path) -> None:
    for arguments in (("show", "--verbose"), ("runs",), ("trace", "latest", "q-001"), ("show", "--separation")):
        for line in _STYLE.sub("", in_terminal(recorded, *arguments, columns=80)).splitlines():
            assert len(line) <= 80, line


def test_a_reader_that_goes_away_is_no_fault(recorded: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ragtui", "export", "latest", "--format", "json"], cwd=recorded, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.wait(30)
    assert "Traceback" not in errors
    assert "fault" not in errors


@pytest.mark.parametrize("arguments", [("runs", "--json"), ("show",), ("export", "latest"), ("run", "bm25", "--json")])
def test_a_full_disk_behind_stdout_is_told_in_a_line(
    recorded: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    folder = shutil.copytree(recorded, tmp_path / "ws")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ragtui", *arguments], cwd=folder, env=environment(), stdout=full,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 7
    assert done.stderr.endswith("ragtui: The output cannot be written: no space is left.\n  Free some space.\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_narrow_table_cuts_text_and_never_a_number(width: int) -> None:
    made = table("measure", "a long head", "p adjusted", "why", right=("a long head", "p adjusted"), flexible=("why",))
    made.add_row("nonEmptyRateOnRefusal" * 2, "0.123 [0.10, 0.20]", "0.7777", safe("because " * 9))
    stream = io.StringIO()
    Console(file=stream, width=width).print(made)
    shown = stream.getvalue()
    # An interval goes below its value before anything that tells rows apart is cut.
    assert all(figure in shown for figure in ("0.123", "[0.10, 0.20]", "0.7777"))
    assert ("0.123 [0.10, 0.20]" in shown) == (width > 60)
    assert max(map(len, shown.splitlines())) <= width
    row = next(line for line in shown.splitlines() if "0.7777" in line)
    assert row.startswith(" nonEmptyRate")
    assert "bec" in row


def drawn(shown: RenderableType, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(shown, crop=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_what_tells_rows_apart_wraps_and_a_column_that_can_be_spared_goes() -> None:
    figures = ("value", "change", "p")
    made = table("point", "run", *figures, right=figures, wrapping=("point",), optional=("run",))
    made.add_row("rank_constant=10, results=100", "k41h9mf15z96", "0.673", "-0.011 [-0.07, +0.05]", "1.000")
    assert "k41h9mf15z96" in "".join(drawn(made, 100))
    lines = drawn(made, 66)
    assert "run" not in lines[1]
    assert [line[:19].strip() for line in lines[3:5]] == ["rank_constant=10,", "results=100"]
    assert "-0.011 [-0.07, +0.05]" in lines[3]


def test_a_narrow_list_of_both_tiers_tells_how_right_answers_are() -> None:
    common: dict[str, Any] = {
        "status": "completed",
        "name": "hybrid",
        "started_at": "2026-01-02T03:04:05Z",
        "spec_id": "sha256:a",
    }
    common |= {"cases": 60, "finished": 60, "errors": 0}
    rows: list[dict[str, Any]] = [
        common | {"run_id": "d7ps7xec5c5g", "tier": "generation", "measures": {"correctness": 0.556, "nDCG@10": 0.673}},
        common | {"run_id": "767zeas3jqz5", "tier": "retrieval", "measures": {"nDCG@10": 0.684}},
    ]
    _, head, _, first, second, *_ = drawn(runs_table(rows, 80), 80)
    assert head.split() == ["run", "status", "name", "cases", "correctness", "nDCG@10"]
    assert first.split()[-3:] == ["60", "0.556", "0.673"]
    assert second.split()[-3:] == ["60", "–", "0.684"]


def test_values_stay_where_there_is_no_room_for_intervals() -> None:
    modes = ("oracle", "e2e", "noretrieval", "mock")
    made = table("measure", *modes, right=modes, wrapping=("measure",))
    made.add_row("refusalCorrectness", *["0.648 [0.51, 0.77]"] * 4)
    assert "\n".join(drawn(made, 80)).count("[0.51, 0.77]") == 4
    narrow = drawn(made, 60)
    assert "\n".join(narrow).count("0.648") == 4
    assert "Intervals need a wider terminal; --json has them." in narrow
    # The same table is whole again where there is room.
    assert "\n".join(drawn(made, 120)).count("0.648 [0.51, 0.77]") == 4


def test_only_gating_measures_have_an_adjusted_p_and_none_is_zero() -> None:
    found = compare(ranks_run([1] * 40), ranks_run([6] * 40, run_id="new"))
    stream = io.StringIO()
    Console(file=stream, width=120).print(changes_table(found.measures))
    rows = {line.strip("◆◇ ").split()[0]: line for line in stream.getvalue().splitlines() if line.strip()}
    assert "<.001" in rows["nDCG@10"]
    assert found.measures["Success@5"].p is not None
    assert rows["Success@5"].split()[-2] == "–"


def test_a_place_keeps_its_offsets() -> None:
    made = table("#", "bm25", right=("#",), flexible=("bm25",))
    made.add_row("1", safe("15.2311 inc-2030-vell-vent-lost-man#785-1477"))
    [row] = [line for line in drawn(made, 36) if "15.2311" in line]
    assert row.endswith("…#785-1477")


def test_a_hash_is_not_broken() -> None:
    value = "sha256:" + "a" * 64
    lines = drawn(pairs({"plan.retrieval.fusion.rank_constant": 60, "corpus": value}), 80)
    assert lines == ["plan.retrieval.fusion.rank_constant  60", "corpus", f"  {value}"]


def test_parts_of_a_line_are_never_broken() -> None:
    command = "look closer: ragtui trace k4skkwha43v2 'a-golden-of-some-length@e2e#1'"
    assert drawn(Flow(Text("run k4skkwha43v2"), Text(command)), 80) == ["run k4skkwha43v2", command]
    assert drawn(Flow(Text("run k4skkwha43v2"), Text(command)), 40) == ["run k4skkwha43v2", command]


def test_the_live_display_keeps_its_parts_apart() -> None:
    display = RichDisplay()
    display.close()
    progress = display._progress
    progress.total, progress.done, progress.scored, progress.missed = 600, 12, 12, 12
    progress.calls = ServerCalls(in_flight=8, retries=3)
    progress.values = {"correctness": [0.0]}
    lines = drawn(display._picture(), 50)
    assert lines[0] == "12/600  scored 12  missed 12  errored 0"
    assert lines[1] == "in flight 8, waiting 580  retries 3"
    assert set(lines[2]) <= set("━╸╺ ")
    assert lines[3:] == ["correctness 0.000"]


# -- hostile text -----------------------------------------------------------------------------------------------------

HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]x[/] :bomb: \u202egnp \u200b\r\x08end"


def harmless(text: str) -> bool:
    """Nothing in it that a terminal obeys."""
    return not any(char in text for char in ("\x1b", "\x07", "\x08", "\r", "\u202e", "\u200b"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile text everywhere that a run takes text from."""
    folder = make_workspace(
        tmp_path_factory.mktemp("hostile") / "ws",
        {},
        [
            {
                "id": f"g{HOSTILE}",
                "query": f"alpha {HOSTILE}",
                "relevantDocIds": [f"d{HOSTILE}"],
                "tags": [f"t{HOSTILE}"],
            },
            {"id": "missed", "query": f"beta {HOSTILE}", "relevantDocIds": [f"d{HOSTILE}"]},
        ],
    )
    lines = [{"id": f"d{HOSTILE}", "text": f"alpha {HOSTILE}"}, {"id": f"e{HOSTILE}", "text": f"# {HOSTILE}\n\nbeta"}]
    (folder / "corpus" / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "my_search.py").write_text(
        f"def retrieve(query, depth):\n    if 'beta' in query:\n        raise ValueError({HOSTILE!r})\n"
        f"    return [({f'd{HOSTILE}'!r}, 1.0)] * 2\n\nretrieve.identity = {HOSTILE!r}\n"
    )
    channel = json.dumps(f"c{HOSTILE}")
    (folder / "plan.json").write_text(
        json.dumps(
            {
                "preset": "bm25",
                "retrieval": {"channels": {json.loads(channel): {"kind": "python", "source": "my_search:retrieve"}}},
                "provenance": {"name": f"n{HOSTILE}", "note": HOSTILE},
            }
        )
    )
    return folder


def test_hostile_text_is_shown_and_never_obeyed(hostile: Path, call: Call) -> None:
    told = ragtui(hostile, "run", "plan.json", "--display", "plain")
    assert told.returncode == 7
    assert harmless(told.stdout + told.stderr), told
    assert "\\x1b[2J" in told.stdout
    assert "[bold red]x[/] :bomb:" in told.stdout
    run_id = open_lab(hostile).store.resolve("latest")
    for arguments in (
        ("show", "--verbose"), ("show", "--errors"), ("show", "--separation"), ("runs",), ("trace", "latest", "g"),
        ("trace", "latest", "missed"), ("verify",), ("corpus", "status"), ("corpus", "check"),
        ("spec", "show", "latest"),
        ("spec", "diff", "latest", "bm25"), ("prune", "--keep", "0"), ("watch", run_id), ("trace", "latest", "zz"),
        ("show", HOSTILE), ("run", HOSTILE), ("run", "--set", HOSTILE), ("run", "--set", f"chunking.{HOSTILE}=1"),
        ("run", "--suite", HOSTILE), ("run", "--tag", HOSTILE), (HOSTILE,),
    ):  # fmt: skip
        shown = call(hostile, *arguments)
        assert harmless(shown.out + shown.err), (arguments, shown)


def test_json_keeps_the_text_as_it_is(hostile: Path, call: Call) -> None:
    ragtui(hostile, "run", "plan.json", "--display", "none")
    record = call(hostile, "trace", "latest", "g", "--json").json
    assert record["case"] == f"g{HOSTILE}"
    assert harmless(call(hostile, "trace", "latest", "g", "--json").out)


def test_a_followed_run_is_harmless() -> None:
    lines: list[str] = []
    display = PlainDisplay(write=lines.append, clock=iter(range(0, 1000, 10)).__next__)
    trace = CaseTrace(case=HOSTILE, index=0, status="error", error=CaseError("k", HOSTILE))
    for event in (
        Notice(message=HOSTILE), StageProgress(stage=HOSTILE, done=1, total=2),
        CaseFinished(attempt=1, at="2026-01-01T00:00:00Z", trace=trace),
    ):  # fmt: skip
        display.show(event)
    # `say` and `watch` make what is written inert; here is that they have to.
    assert len(lines) == 3
    assert all(harmless(printable(line)) for line in lines)


def test_printable() -> None:
    assert printable("plain é 水 🏔\n\tkept") == "plain é 水 🏔\n\tkept"
    assert printable("\x1b[0m") == "\\x1b[0m"
    assert printable("a\x85b\u2028c\ud800\U000e0001") == "a\\x85b\\u2028c\\ud800\\U000e0001"
    assert printable("\uffff\U0010fffe") == "\\uffff\\U0010fffe"
    assert harmless(printable(HOSTILE))
