"""The start screen: what a newcomer presses, in an empty folder and in a full one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from textual.widgets import Input

from ragtui.lab import Lab
from ragtui.settings import open_workspace
from ragtui.store.store import Store
from ragtui.tui.app import RagtuiApp
from ragtui.tui.data.program import program
from ragtui.tui.data.start import beginning, candidates
from ragtui.tui.dialogs import ErrorDialog
from ragtui.tui.screens.start import StartScreen
from tests.tui.trace_samples import app, press, record, shown, until
from tests.workshop import make_workspace


def test_folders_of_documents_are_found_the_fullest_first(tmp_path: Path) -> None:
    for name, count in (("few", 1), ("many", 3), ("none", 0), (".hidden", 9)):
        (tmp_path / name).mkdir()
        for place in range(count):
            (tmp_path / name / f"{place}.md").write_text("text")
    assert candidates(tmp_path) == ((str(tmp_path / "many"), 3), (str(tmp_path / "few"), 1))


def test_how_far_a_folder_is(tmp_path: Path) -> None:
    empty = beginning(Lab(open_workspace(tmp_path)))
    assert (empty.corpus, empty.goldens, empty.runs) == (False, False, 0)
    folder = make_workspace(tmp_path / "ws")
    record(folder, "bm25")
    full = beginning(Lab(open_workspace(folder)))
    assert (full.corpus, full.goldens, full.runs, full.fault) == (True, True, 1, "")
    (folder / "runs.duckdb").write_bytes(b"nonsense" * 1000)
    assert "runs.duckdb" in beginning(Lab(open_workspace(folder))).fault


async def test_an_empty_folder_opens_here_and_says_what_to_press(tmp_path: Path) -> None:
    running = RagtuiApp(open_workspace(tmp_path))
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "is no workspace yet" in "\n".join(shown(running)))
        assert running.current_mode == "start"
        text = "\n".join(shown(running))
        assert "n  " in text
        assert "bundled example" in text
        for key in "12345":
            await press(pilot, "escape", key)
            assert running.is_running


async def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    running = app(tmp_path, "start")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = running.screen
        assert isinstance(screen, StartScreen)
        await until(pilot, lambda: screen.found is not None)
        await press(pilot, "n")
        field = screen.query_one("#path", Input)
        assert running.focused is field
        field.value = str(tmp_path / "nowhere")
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(running.screen, ErrorDialog))
        assert "Give the folder that holds the documents." in "\n".join(shown(running))


@pytest.mark.parametrize("key", ["n", "e"])
async def test_a_workspace_is_made_and_opened(tmp_path: Path, key: str) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("one", "two"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\nA text about {name}.\n")
    running = app(tmp_path, "start")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = running.screen
        assert isinstance(screen, StartScreen)
        await until(pilot, lambda: screen.found is not None)
        await press(pilot, key)
        if key == "n":
            assert screen.query_one("#path", Input).value == str(tmp_path / "docs")
            await press(pilot, "enter")
        await until(pilot, lambda: running.current_mode == "corpus")
        await until(pilot, lambda: "Documents · " in "\n".join(shown(running)))
        assert running.workspace.corpus.is_dir()


async def test_the_first_run_starts_with_one_key(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    running = app(folder, "start")
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "no run yet" in "\n".join(shown(running)))
        await press(pilot, "enter")
        store = Store(folder / "runs.duckdb")
        await until(pilot, lambda: (folder / "runs.duckdb").exists() and bool(store.runs()))
        assert store.runs()[0].name == "hybrid"


def test_the_apps_processes_take_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """A folder may hold a `ragtui` of its own, or a module of the standard library's name."""
    (tmp_path / "ragtui").mkdir()
    for name in ("ragtui/__init__.py", "secrets.py", "regex.py"):
        (tmp_path / name).write_text("print('OWNED')")
    command = [*program(open_workspace(tmp_path)), "runs", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == {"runs": []}
    assert "OWNED" not in done.stdout + done.stderr
