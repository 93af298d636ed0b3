"""Streams that are closed, full, narrow or a terminal; and paths that the system refuses."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.workshop import environment, make_workspace, ragtui, sample_goldens, write_suite

RAGTUI = f"{sys.executable} -m ragtui"
HOSTILE_ID = "q\x1b]0;owned\x07\x1b[31m\x9bred"


def shell(folder: Path, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The line in a shell, RAGTUI standing for the program."""
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("RAGTUI", RAGTUI)], cwd=folder, env=environment() | variables, text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ragtui", *arguments], cwd=folder, env=environment() | {"NO_COLOR": "1"}, stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):  # fmt: skip
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    return written.decode()


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("RAGTUI show latest >&-", 0, ""),
        ("RAGTUI --version >&-", 0, ""),
        ("RAGTUI show latest 2>&-", 0, ""),
        ("RAGTUI --version >/dev/full", 7, "ragtui: The output cannot be written: No space left on device.\n"),
        ("RAGTUI corpus reset <&-", 2, "Say --yes to do it."),
    ],
)
def test_closed_and_full_streams(recorded: Path, tmp_path: Path, line: str, code: int, said: str) -> None:
    told = shell(shutil.copytree(recorded, tmp_path / "ws"), line)
    assert told.returncode == code
    assert said in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}, {"COLUMNS": "abc"}],
)
def test_an_odd_environment_changes_no_outcome(recorded: Path, variables: dict[str, str]) -> None:
    told = shell(recorded, "RAGTUI show latest", **variables)
    assert (told.returncode, told.stderr) == (0, "")
    assert "nDCG@10" in told.stdout


_INTERRUPTED_IMPORT = """
import sys
wanted = sys.argv[1]
class Interrupt:
    def find_spec(self, name, *_):
        if name == wanted:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from ragtui.__main__ import entry
sys.argv[1:] = ["show", "latest"]
entry()
"""


@pytest.mark.parametrize("module", ["ragtui.cli.process", "typer", "ragtui.cli.inspect", "duckdb"])
def test_ctrl_c_while_it_starts_is_a_line(recorded: Path, module: str) -> None:
    command = [sys.executable, "-c", _INTERRUPTED_IMPORT, module]
    told = subprocess.run(command, cwd=recorded, env=environment(), text=True, capture_output=True, timeout=60)
    assert told.returncode == 130
    assert told.stderr.startswith("ragtui: Interrupted.")
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-w", "x" * 5000, "runs"),
        ("run", "x" * 5000),
        ("compare", "x" * 5000 + ".json", "latest"),
        ("score", "x" * 5000, "x"),
        ("import", "csv", "x" * 5000),
        ("init", "x" * 5000),
        ("-w", "~nobody-of-this-name/x", "runs"),
        ("--store", "~nobody-of-this-name/x", "runs"),
    ],
)
def test_a_path_that_the_system_refuses_is_one_sentence(recorded: Path, arguments: tuple[str, ...]) -> None:
    told = ragtui(recorded, *arguments)
    assert told.returncode in (2, 7)
    assert "fault" not in told.stderr
    assert len(told.stderr) < 1500


def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    told = shell(tmp_path, "mkdir gone; cd gone; rmdir ../gone; RAGTUI runs")
    assert told.returncode == 2
    assert "The current folder does not exist any more." in told.stderr


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose golden's id would drive a terminal, with a run."""
    folder = make_workspace(
        tmp_path_factory.mktemp("hostile") / "ws", goldens=[sample_goldens(1)[0] | {"id": HOSTILE_ID}]
    )
    write_suite(folder, "s\x1b[31mRED", [sample_goldens(1)[0] | {"id": "other"}])
    assert ragtui(folder, "run", "bm25").returncode == 0
    return folder


@pytest.mark.parametrize("form", ["json", "csv", "junit"])
def test_an_export_shows_inert_on_a_terminal_and_stays_exact_in_a_pipe(hostile: Path, form: str) -> None:
    shown = on_a_terminal(hostile, "export", "latest", "--format", form)
    assert "red" in shown
    assert not {"\x1b", "\x9b", "\x07"} & set(shown)
    piped = ragtui(hostile, "export", "latest", "--format", form).stdout
    assert form != "csv" or HOSTILE_ID in piped


def test_names_of_files_show_inert_on_a_terminal(hostile: Path) -> None:
    shown = on_a_terminal(hostile, "corpus", "check")
    assert "RED" in shown
    assert "\x1b" not in shown


def test_the_id_of_a_foreign_run_shows_inert(recorded: Path, tmp_path: Path, call: Call) -> None:
    told = call(recorded, "export", "latest", "--format", "json")
    run_id = told.json["run_id"]
    foreign = tmp_path / "foreign.json"
    foreign.write_text(told.out.replace(run_id, "r\\u001b[31m\\u009b"))
    shown = call(recorded, "compare", str(foreign), "latest").out
    assert "r\\x1b[31m\\x9b" in shown
    assert not {"\x1b", "\x9b"} & set(shown)
