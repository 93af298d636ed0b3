"""A real `ragtui run` killed, interrupted, cancelled and followed while it goes on."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.summary import summary
from ragtui.analysis.verify import verify_run
from ragtui.ids import canonical_json
from ragtui.lab import open_lab
from ragtui.reports.records import comparable_trace
from ragtui.store.journal import journal_path, journals
from tests.workshop import (
    environment,
    journal_of,
    make_workspace,
    own_lab,
    ragtui,
    reported_cases,
    resume,
    start,
    wait_for_lines,
)

SLOW = {"SECONDS": "0.02"}
# Slow enough for another process to start meanwhile.
SLOWER = {"SECONDS": "0.3"}
CASES = 40
# Start, progress of three preparations and the first chunks come before the cases; the end after them.
LINES = CASES + 10
KILLS = sorted(random.Random(20).sample(range(1, LINES + 1), 20))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace with warm artifacts for all runs of this file."""
    return make_workspace(tmp_path_factory.mktemp("kill") / "ws")


@pytest.fixture(scope="module")
def undisturbed(workspace: Path) -> RecordedRun:
    done = ragtui(workspace, "run", "own.toml", "--display", "none")
    assert done.returncode == 0, done.stderr
    return open_lab(workspace).recorded("latest")


@pytest.fixture
def running(workspace: Path, undisturbed: RecordedRun) -> Iterator[subprocess.Popen[str]]:
    process = start(workspace, "run", "own.toml", "--display", "plain", **SLOW)
    yield process
    ended(process)


@pytest.fixture
def enduring(workspace: Path, undisturbed: RecordedRun) -> Iterator[subprocess.Popen[str]]:
    process = start(workspace, "run", "own.toml", "--display", "plain", SECONDS="1.5")
    yield process
    ended(process)


@pytest.fixture
def lasting(workspace: Path, undisturbed: RecordedRun) -> Iterator[subprocess.Popen[str]]:
    process = start(workspace, "run", "own.toml", "--display", "plain", **SLOWER)
    yield process
    ended(process)


def ended(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


def comparable(run: RecordedRun) -> list[bytes]:
    return [canonical_json(comparable_trace(run, trace)) for trace in run.traces]


def assert_resumes(workspace: Path, run_id: str, undisturbed: RecordedRun) -> None:
    """The run completes in a further attempt, and every trace and number is that of the undisturbed run."""
    run = resume(own_lab(workspace), run_id, undisturbed.specification.plan)
    assert run.status == "completed"
    assert len(run.environments) == 2
    assert comparable(run) == comparable(undisturbed)
    assert summary(run) == summary(undisturbed)
    assert verify_run(run).ok


class Killed(NamedTuple):
    """A run that was killed: its workspace, its id, and the cases that a reader of its journal had seen."""

    workspace: Path
    run_id: str
    reported: set[str]


def kill_at(workspace: Path, line: int) -> Killed:
    """Kill a run with signal 9 when its journal has that many lines."""
    process = start(workspace, "run", "own.toml", "--display", "none", SECONDS="0.01")
    path = journal_of(workspace, process)
    events = wait_for_lines(path, line, process)
    process.kill()
    process.communicate()
    return Killed(workspace, path.stem, reported_cases(events))


@pytest.fixture(scope="module")
def killed(workspace: Path, undisturbed: RecordedRun, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Killed]:
    """A killed run for each line, in a copy of the workspace, a few at a time."""
    copies = [shutil.copytree(workspace, tmp_path_factory.mktemp("killed") / "ws") for _ in KILLS]
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(KILLS, pool.map(kill_at, copies, KILLS), strict=True))


@pytest.mark.parametrize("line", KILLS)
def test_killed_when_a_line_appears(undisturbed: RecordedRun, killed: dict[int, Killed], line: int) -> None:
    workspace, run_id, reported = killed[line]
    journal = journal_path(workspace / ".ragtui" / "journal", run_id)
    lab = own_lab(workspace)
    recovered = lab.recover()
    run = lab.recorded(run_id)
    assert reported <= set(run.trace_of)
    assert not journal.exists()
    if run.status == "interrupted":
        assert recovered == [run_id]
        run = resume(lab, run_id, run.specification.plan)
        assert len(run.environments) == 2
    assert run.status == "completed"
    assert comparable(run) == comparable(undisturbed)
    assert summary(run) == summary(undisturbed)
    assert verify_run(run).ok


def test_most_kills_came_before_the_end(killed: dict[int, Killed]) -> None:
    interrupted = [one for one in killed.values() if open_lab(one.workspace).store.run(one.run_id).attempts == 2]
    assert len(interrupted) >= len(KILLS) // 2


_DIES = """
import os, signal, sys
from ragtui.store import journal, load
from ragtui.__main__ import entry
def die(path, kept_as=None):
    os.kill(os.getpid(), signal.SIGKILL)
journal.discard = die
sys.argv[1:] = ["run", "own.toml", "--display", "none"]
entry()
"""


def test_killed_between_commit_and_removal(workspace: Path, undisturbed: RecordedRun) -> None:
    before = {row.run_id for row in open_lab(workspace).store.runs()}
    died = subprocess.run([sys.executable, "-c", _DIES], cwd=workspace, env=environment(), timeout=60)
    assert died.returncode == -signal.SIGKILL
    [path] = journals(workspace / ".ragtui" / "journal")
    lab = open_lab(workspace)
    # The run is whole in the store before the journal is gone, and looking again adds nothing.
    assert lab.store.run(path.stem).status == "completed"
    listed = ragtui(workspace, "runs")
    assert listed.returncode == 0
    assert not path.exists()
    assert {row.run_id for row in lab.store.runs()} - before == {path.stem}
    assert comparable(lab.recorded(path.stem)) == comparable(undisturbed)


def test_a_viewer_follows_to_the_end(workspace: Path, undisturbed: RecordedRun, lasting: subprocess.Popen[str]) -> None:
    path = journal_of(workspace, lasting)
    wait_for_lines(path, 1, lasting)
    watcher = start(workspace, "watch", path.stem[:6])
    shown, _ = watcher.communicate(timeout=30)
    assert lasting.wait(30) == 0
    assert watcher.returncode == 0
    lines = shown.splitlines()
    assert lines[0] == f"run {path.stem}  {CASES} cases"
    assert lines[-1].startswith(f"{CASES}/{CASES}  scored 36")


def test_a_viewer_outlives_a_killed_run(workspace: Path, enduring: subprocess.Popen[str]) -> None:
    path = journal_of(workspace, enduring)
    watcher = start(workspace, "watch", path.stem)
    wait_for_lines(path, 16, enduring)
    enduring.kill()
    enduring.communicate()
    watcher.communicate(timeout=30)
    assert watcher.returncode == 0
    lab = open_lab(workspace)
    lab.recover()
    assert lab.store.run(path.stem).status == "interrupted"


def test_a_stopped_viewer_does_not_hold_the_run(workspace: Path, lasting: subprocess.Popen[str]) -> None:
    path = journal_of(workspace, lasting)
    watcher = start(workspace, "watch", path.stem)
    wait_for_lines(path, 6, lasting)
    watcher.send_signal(signal.SIGSTOP)
    try:
        assert lasting.wait(30) == 0
        assert open_lab(workspace).store.run(path.stem).status == "completed"
    finally:
        watcher.send_signal(signal.SIGCONT)
        watcher.communicate(timeout=30)


def test_two_runs_at_once(workspace: Path, undisturbed: RecordedRun) -> None:
    processes = [start(workspace, "run", "own.toml", "--json", **SLOW) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    lab = open_lab(workspace)
    newest = [row.run_id for row in lab.store.runs(limit=2)]
    for run_id in newest:
        assert comparable(lab.recorded(run_id)) == comparable(undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_once(
    workspace: Path, undisturbed: RecordedRun, running: subprocess.Popen[str], number: signal.Signals
) -> None:
    path = journal_of(workspace, running)
    wait_for_lines(path, 12, running)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Finishing what is in flight; press ctrl-c again to leave at once." in err
    assert f"ragtui resume {path.stem}" in err
    assert "interrupted" in out
    assert "nDCG@10" in out
    run = open_lab(workspace).recorded(path.stem)
    assert run.status == "interrupted"
    assert 0 < len(run.traces) < CASES
    resumed = ragtui(workspace, "resume", path.stem[:8], "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["attempts"] == 2
    assert comparable(open_lab(workspace).recorded(path.stem)) == comparable(undisturbed)


def test_interrupted_twice_leaves_at_once(workspace: Path, undisturbed: RecordedRun) -> None:
    process = start(workspace, "run", "own.toml", "--display", "plain", SECONDS="20")
    path = journal_of(workspace, process)
    wait_for_lines(path, 4, process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert "Left at once" in err
    assert f"ragtui resume {path.stem}" in err
    assert "Traceback" not in err
    lab = open_lab(workspace)
    assert lab.recover() == [path.stem]
    assert_resumes(workspace, path.stem, undisturbed)


def test_interrupted_with_json_prints_one_object(workspace: Path, undisturbed: RecordedRun) -> None:
    process = start(workspace, "run", "own.toml", "--json", **SLOW)
    path = journal_of(workspace, process)
    wait_for_lines(path, 12, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    record = json.loads(out)
    assert record["run_id"] == path.stem
    assert record["status"] == "interrupted"
    assert record["measures"]["nDCG@10"]["n"] > 0
    assert record["error"]["exit_code"] == 130
    assert f"ragtui resume {path.stem}" in record["error"]["hint"]


def test_cancelled_from_outside(workspace: Path, undisturbed: RecordedRun, enduring: subprocess.Popen[str]) -> None:
    path = journal_of(workspace, enduring)
    wait_for_lines(path, 10, enduring)
    asked = ragtui(workspace, "cancel", path.stem[:8])
    assert (asked.returncode, asked.stdout) == (0, f"Asked run {path.stem} to stop.\n")
    _, err = enduring.communicate(timeout=30)
    assert enduring.returncode == 130
    assert "was cancelled after" in err
    run = open_lab(workspace).recorded(path.stem)
    assert run.status == "cancelled"
    listed = json.loads(ragtui(workspace, "runs", "--json").stdout)["runs"][0]
    assert (listed["finished"], listed["cases"]) == (len(run.traces), CASES)
    assert f"{len(run.traces)}/{CASES}" in ragtui(workspace, "runs", COLUMNS="120").stdout
    nothing = ragtui(workspace, "cancel", "latest")
    assert nothing.returncode == 2
    assert "No run is live." in nothing.stderr
    assert_resumes(workspace, path.stem, undisturbed)
    again = ragtui(workspace, "cancel", path.stem)
    assert again.returncode == 2
    assert f"No live run is called '{path.stem}'." in again.stderr


def test_a_live_run_is_listed_and_cannot_be_resumed(workspace: Path, enduring: subprocess.Popen[str]) -> None:
    path = journal_of(workspace, enduring)
    wait_for_lines(path, 8, enduring)
    listed = ragtui(workspace, "runs", "--json")
    assert f'"run_id": "{path.stem}"' in listed.stdout
    resumed = ragtui(workspace, "resume", path.stem)
    assert resumed.returncode == 7
    assert f"Run {path.stem} is still running." in resumed.stderr
