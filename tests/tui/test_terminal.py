"""The whole program in a real pseudo-terminal, and the terminal after every way of leaving it."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from ragtui.store.journal import journals
from ragtui.store.store import Store
from tests.workshop import make_workspace, start

if sys.platform == "win32":
    pytest.skip("a pseudo-terminal is needed", allow_module_level=True)

from tests.tui.terminal import Terminal
from tests.tui.trace_samples import record


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ws")


def test_from_the_first_run_to_a_baseline_and_out(workspace: Path) -> None:
    with Terminal(workspace, size=(120, 40)) as terminal:
        terminal.wait_for("no run yet")
        assert 1049 in terminal.modes
        terminal.press("r")
        terminal.wait_for("✓ completed")
        terminal.wait_for("40/40")
        terminal.wait_for(lambda shown: len(Store(workspace / "runs.duckdb").runs()) == 1)
        # The journal goes last; a run that is still being recorded has no trace to open.
        terminal.wait_for(lambda shown: not journals(workspace / ".ragtui" / "journal"))
        [first] = Store(workspace / "runs.duckdb").runs()
        terminal.press("t")
        terminal.wait_for(lambda shown: "[4 Trace]" in shown.screen() and "q-000" in shown.screen())
        terminal.press("\r")
        terminal.wait_for("anchor-notes")
        terminal.press("2")
        # The key y copies wherever no text is written: it is told as long as the plan has the focus.
        terminal.wait_for(lambda shown: "[2 Launch]" in shown.screen() and "Copy command" in shown.screen())
        terminal.press("\x1b[B")
        terminal.wait_for(lambda shown: "Copy command" not in shown.screen())
        terminal.press("second")
        terminal.wait_for("--name second")
        terminal.press("\x12")
        terminal.wait_for(lambda shown: len(Store(workspace / "runs.duckdb").runs()) == 2)
        terminal.press("5")
        terminal.wait_for(lambda shown: "[5 Diff]" in shown.screen() and "win/tie/loss" in shown.screen())
        terminal.press("p")
        terminal.wait_for("Promote to baseline")
        terminal.press("it is the first\r")
        terminal.wait_for(lambda shown: bool(Store(workspace / "runs.duckdb").baselines()))
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.restored()
    assert Store(workspace / "runs.duckdb").runs()[-1].run_id == first.run_id


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        ("q", 0),
        ("\x03", 0),
        (signal.SIGTERM, 130),
        (signal.SIGHUP, 130),
        (signal.SIGINT, 130),
        (signal.SIGKILL, -9),
    ],
    ids=["q", "ctrl-c", "SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"],
)
def test_the_terminal_is_restored(workspace: Path, leave: str | signal.Signals, code: int) -> None:
    with Terminal(workspace) as terminal:
        terminal.wait_for("This workspace:")
        assert not terminal.restored()
        if isinstance(leave, str):
            terminal.press(leave)
        else:
            terminal.signal(leave)
        assert terminal.wait_end() == code
        assert terminal.restored(), terminal.modes


def test_a_fault_in_a_screen_restores_the_terminal_and_names_the_file(workspace: Path) -> None:
    broken = workspace / "sitecustomize.py"
    broken.write_text(
        "import importlib.abc, sys\n"
        "class Find(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'ragtui.tui.screens.live':\n"
        "            raise ZeroDivisionError('broken on purpose')\n"
        "sys.meta_path.insert(0, Find())\n"
    )
    from tests.workshop import ROOT

    with Terminal(workspace, PYTHONPATH=f"{workspace}{os.pathsep}{ROOT}") as terminal:
        terminal.wait_for("This workspace:")
        terminal.press("3")
        assert terminal.wait_end() == 70
        assert terminal.restored()
        assert b"ragtui has a fault: ZeroDivisionError: broken on purpose" in terminal.text
        assert b"Traceback" not in terminal.text
        log = workspace / ".ragtui" / "app-fault.log"
        assert "broken on purpose" in log.read_text()


def test_a_resize_there_and_back(workspace: Path) -> None:
    record(workspace, "bm25")
    with Terminal(workspace) as terminal:
        terminal.wait_for(lambda shown: "✓ completed" in shown.screen() and "commands" in shown.screen())
        for size in ((60, 20), (80, 24)):
            terminal.resize(*size)
            terminal.wait_for(lambda shown: "commands" in shown.screen().splitlines()[-1])
            for key, title in zip("12345", ("Corpus", "Launch", "Live", "Trace", "Diff"), strict=True):
                terminal.press(key)
                terminal.wait_for(f"[{key} {title}]")
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.restored()


def test_closing_the_app_does_not_touch_a_run(workspace: Path) -> None:
    with Terminal(workspace, size=(120, 40), SECONDS="0.5") as terminal:
        terminal.wait_for("no run yet")
        terminal.press("2")
        terminal.wait_for("never run")
        for plan in ("hybrid-weighted", "own.toml"):
            terminal.press("\x1b[C")
            terminal.wait_for(f"◂ {plan} ·")
        terminal.wait_for("40 × own")
        terminal.press("\x12")
        terminal.wait_for("▶ running")
        terminal.signal(signal.SIGKILL)
        assert terminal.wait_end() == -9
    deadline = time.monotonic() + 30
    store = Store(workspace / "runs.duckdb")
    while not ((workspace / "runs.duckdb").exists() and store.runs()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [(row.status, row.scored, row.errors) for row in store.runs()] == [("completed", 36, 0)]


def test_what_goes_on_is_named_on_the_way_out(workspace: Path) -> None:
    journal = workspace / ".ragtui" / "journal"
    with (
        start(workspace, "run", "own.toml", "--display", "none", SECONDS="0.5"),
        Terminal(workspace, size=(120, 40)) as terminal,
    ):
        terminal.wait_for("1 live")
        [run_id] = [path.stem for path in journals(journal)]
        terminal.press("q")
        assert terminal.wait_end() == 0
        terminal.wait_for(lambda shown: f"ragtui watch {run_id}".encode() in shown.text)


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "linux", "COLORTERM": ""}, {"RAGTUI_ASCII": "1"}])
def test_it_opens_without_colours_and_without_unicode(workspace: Path, changes: dict[str, str]) -> None:
    with Terminal(workspace, size=(80, 24), **changes) as terminal:
        terminal.wait_for("This workspace:")
        terminal.press("1")
        terminal.wait_for("Documents")
        if "RAGTUI_ASCII" in changes:
            assert terminal.screen().isascii()
        if "NO_COLOR" in changes:
            # Monochrome is grey: red, green and blue are always equal.
            found = re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", terminal.text)
            assert all(len(set(colour)) == 1 for colour in found)
        terminal.press("q")
        assert terminal.wait_end() == 0


def test_without_colours_a_terminal_of_sixteen_keeps_its_own(workspace: Path) -> None:
    with Terminal(workspace, size=(80, 24), NO_COLOR="1", TERM="screen", COLORTERM="") as terminal:
        terminal.wait_for("This workspace:")
        terminal.press("q")
        assert terminal.wait_end() == 0
    styles = re.findall(rb"\x1b\[([0-9;]*)m", terminal.text)
    coloured = {code for style in styles for code in style.split(b";")[:1] + re.findall(rb"[349]\d|10\d", style)}
    assert coloured & {b"39", b"49"}
    assert not any(code[:-1] in (b"3", b"4", b"9", b"10") and code not in (b"39", b"49") for code in coloured)


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_leaving_while_it_opens(workspace: Path, seconds: float) -> None:
    record(workspace, "bm25")
    with Terminal(workspace) as terminal:
        terminal.wait_for(lambda shown: 1049 in shown.modes)
        time.sleep(seconds)
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.restored()
        assert b"ragtui has a fault" not in terminal.text


def test_a_terminal_that_can_place_no_text_is_told_what_to_do_instead(workspace: Path) -> None:
    with Terminal(workspace, TERM="dumb") as terminal:
        assert terminal.wait_end() == 2
        assert "TERM=dumb" in terminal.screen()
        assert "ragtui --help" in terminal.screen()
        assert 1049 not in terminal.modes


def test_a_resize_counts_where_a_size_is_exported(workspace: Path) -> None:
    with Terminal(workspace, LINES="24", COLUMNS="80") as terminal:
        terminal.wait_for("commands")
        terminal.resize(120, 40)
        terminal.wait_for(
            lambda shown: any(
                line.rindex("commands") > 100 for line in shown.screen().splitlines() if "commands" in line
            )
        )
        terminal.press("q")
        assert terminal.wait_end() == 0
