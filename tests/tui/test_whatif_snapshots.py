"""Pictures of the what-if screen, without colour: as recorded, with knobs turned, and beyond what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ragtui.experiment.presets import preset
from tests.tui.generation_samples import recorded
from tests.tui.test_whatif import answered, hard_goldens, opened_on, running_lab, to_knob
from tests.tui.trace_samples import app, at_rest, press
from tests.workshop import make_workspace

SIZES = [(80, 24), (120, 40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_workspace(tmp_path_factory.mktemp("whatif") / "ws", goldens=hard_goldens())
    recorded(running_lab(made), preset("hybrid-weighted"), "k3f9a2b7c1d4")
    return made


@pytest.fixture(autouse=True)
def _colourless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("RAGTUI_ASCII", raising=False)


async def _as_recorded(pilot: Pilot[Any]) -> None:
    await opened_on(pilot)
    await at_rest(pilot)


async def _turned(pilot: Pilot[Any]) -> None:
    screen = await opened_on(pilot)
    await to_knob(pilot, screen, "weight:semantic")
    await press(pilot, "shift+left", "left")
    await to_knob(pilot, screen, "depth:lexical")
    await press(pilot, "1", "enter")
    answer = await answered(pilot, screen)
    assert answer.flips
    await at_rest(pilot)


async def _beyond(pilot: Pilot[Any]) -> None:
    screen = await opened_on(pilot)
    await to_knob(pilot, screen, "results:")
    await press(pilot, "2", "enter")
    answer = await answered(pilot, screen)
    assert answer.reasons
    await at_rest(pilot)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("steps", [_as_recorded, _turned, _beyond], ids=["as-recorded", "turned", "beyond"])
def test_picture(snap_compare: Any, folder: Path, steps: Any, size: tuple[int, int]) -> None:
    assert snap_compare(app(folder, "trace"), terminal_size=size, run_before=steps)
