"""kill -9 at any instant of a load, and what recovery makes of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragtui.store import Store
from ragtui.store.journal import journal_path
from tests.store import samples

ROOT = Path(__file__).parents[2]
CASES = 400
_LOAD = """
import os, sys
from pathlib import Path
import ragtui.store.batch as batch
from ragtui.store import Store, journal, load
batch.CASES_A_BATCH = 40
folder, place = Path(sys.argv[1]), sys.argv[2]
def die(*rest, **named): os.kill(os.getpid(), 9)
if place == "unlink":
    journal.discard = die
elif place == "cancel":
    journal.clear_cancel = die
elif place.isdigit():
    real, left = load.insert_traces, [int(place)]
    def insert(*rest):
        real(*rest)
        left[0] -= 1
        if not left[0]: die()
    load.insert_traces = insert
print("ready", flush=True)
Store(folder / "runs.duckdb").load_journal(folder / "r.jsonl")
print("done", flush=True)
"""


@pytest.fixture
def journaled(tmp_path: Path) -> Path:
    """A folder with a store of one run and a journal of another."""
    Store(tmp_path / "runs.duckdb").load_journal(samples.write_journal(tmp_path, "a", samples.whole_run("a", 3)))
    samples.write_journal(tmp_path, "r", samples.whole_run("r", CASES))
    return tmp_path


def check(folder: Path) -> None:
    """Exactly what was journaled is in the store, once, and the journal is gone."""
    store = Store(folder / "runs.duckdb")
    before = store.runs()
    if journal_path(folder, "r").exists():
        assert store.recover(folder) == ["r"]
    assert not journal_path(folder, "r").exists()
    counts = {row.run_id: (row.status, row.scored) for row in store.runs()}
    assert counts == {"a": ("completed", 3), "r": ("completed", CASES)}
    assert list(store.traces("r")) == [samples.trace(index) for index in range(CASES)]
    assert len(store.chunks("r", range(100))) == 50
    with store._gate.read() as connection:
        assert connection.execute("SELECT count(*) FROM traces").fetchone() == (CASES + 3,)
        assert connection.execute("SELECT count(*) FROM cases").fetchone() == (CASES + 3,)
    # A half-loaded run never looked complete.
    assert all(row.scored == row.cases for row in before if row.status == "completed")


@pytest.mark.parametrize("place", ["1", "2", "6", "10", "unlink", "cancel"])
def test_killed_at_a_named_instant(journaled: Path, place: str) -> None:
    done = subprocess.run([sys.executable, "-c", _LOAD, str(journaled), place], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    check(journaled)


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_a_random_instant(journaled: Path, seed: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _LOAD, str(journaled), "-"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0.0, 0.7))
        process.send_signal(signal.SIGKILL)
    check(journaled)


def test_killed_while_recovering_what_was_killed(journaled: Path) -> None:
    for place in ("3", "unlink"):
        subprocess.run([sys.executable, "-c", _LOAD, str(journaled), place], cwd=ROOT, check=False)
    check(journaled)


def test_killed_while_shrinking(journaled: Path) -> None:
    store = Store(journaled / "runs.duckdb")
    store.recover(journaled)
    code = """
import os, sys
from pathlib import Path
from ragtui.store import Store
os.replace = lambda *paths: os.kill(os.getpid(), 9)
Store(Path(sys.argv[1])).delete_runs(["a"])
"""
    subprocess.run([sys.executable, "-c", code, str(store.path)], cwd=ROOT, check=False)
    check(journaled)
    left = [path for path in journaled.iterdir() if path.name.endswith(".new")]
    assert len(left) == 1
    os.utime(left[0], (0, 0))
    assert store.delete_runs(["a"]) >= 0
    assert [path.name for path in journaled.iterdir()] == ["runs.duckdb"]
