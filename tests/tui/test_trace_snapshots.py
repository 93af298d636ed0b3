"""Pictures of the trace and diff screens over invented runs, without colour, so that they stay readable without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ragtui.tui.screens.diff import DiffScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.cases_pane import CasesPane
from tests.tui.trace_samples import app, at_rest, invented, press, until

SIZES = [(80, 24), (120, 40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pictures") / "ws"
    made.mkdir()
    invented(made, "base00000000", 60, errors=1, depth=12)
    invented(made, "new000000000", 60, errors=2, seed=3, depth=12)
    return made


@pytest.fixture(autouse=True)
def _colourless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("RAGTUI_ASCII", raising=False)


async def _open_cases(pilot: Pilot[Any]) -> TraceScreen:
    screen = pilot.app.screen
    assert isinstance(screen, TraceScreen)
    await until(pilot, lambda: len(screen.lines) == 2)
    await press(pilot, "enter")
    table = screen.query_one(CasesPane).table
    await until(pilot, lambda: table.row_at(0) is not None)
    await at_rest(pilot)
    return screen


async def _open_case(pilot: Pilot[Any]) -> None:
    screen = await _open_cases(pilot)
    await press(pilot, "down", "down", "down", "enter")
    await until(pilot, lambda: screen.query_one(CasePane).view is not None)
    await press(pilot, "f")
    await at_rest(pilot)


async def _compare(pilot: Pilot[Any]) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, DiffScreen)
    await until(pilot, lambda: screen.view is not None)
    await at_rest(pilot)


async def _compare_case(pilot: Pilot[Any]) -> None:
    await _compare(pilot)
    await press(pilot, "enter", "enter")
    screen = pilot.app.screen
    assert isinstance(screen, DiffScreen)
    await until(pilot, lambda: screen.level == "pair")
    await at_rest(pilot)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("mode", "steps"),
    [("trace", _open_cases), ("trace", _open_case), ("diff", _compare), ("diff", _compare_case)],
    ids=["cases", "case", "diff", "pair"],
)
def test_picture(snap_compare: Any, folder: Path, mode: str, steps: Any, size: tuple[int, int]) -> None:
    assert snap_compare(app(folder, mode), terminal_size=size, run_before=steps)
