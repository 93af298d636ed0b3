"""Pictures of every screen at 80×24 and 120×40, over a workspace and a clock that never change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from ragtui import events
from ragtui.store.journal import JournalWriter
from tests.store import samples
from tests.tui.test_live import error
from tests.tui.trace_samples import app, at_rest, invented, press, shown, until
from tests.workshop import make_workspace

SIZES = [(80, 24), (120, 40)]
MODES = ("start", "corpus", "launch", "live", "trace", "diff")
RUN, OTHER, LIVE = "k3f9a2b7c1d4", "p8q2r7s1t5v3", "w4x9y2z6a8b1"


class _Clock(datetime):
    """It is always half a minute after the samples begin."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Clock:
        return cls(2026, 1, 1, 0, 0, 30, tzinfo=tz)


@pytest.fixture(autouse=True)
def _same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "datetime", _Clock)
    for name in ("NO_COLOR", "COLORFGBG", "RAGTUI_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    folder = make_workspace(tmp_path / "ws")
    invented(folder, OTHER, 40)
    invented(folder, RUN, 40, errors=2)
    with JournalWriter.open(folder / ".ragtui" / "journal", LIVE) as journal:
        journal.write([samples.started(LIVE, 40), *(samples.finished(index) for index in range(15))])
        journal.write([error(index) for index in range(15, 21)])
        yield folder


async def _ready(pilot: Pilot[Any]) -> None:
    """Everything that was asked for has come, and nothing moves any more."""
    running: Any = pilot.app
    await until(pilot, lambda: running.live == (LIVE,))
    if running.current_mode == "live":
        await until(pilot, lambda: running.screen.views and running.screen.views[LIVE].done == 21)
    await at_rest(pilot)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("mode", MODES)
def test_screen(workspace: Path, mode: str, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app(workspace, mode), terminal_size=size, run_before=_ready)


@pytest.mark.parametrize("mode", MODES)
async def test_text_alone_says_everything(workspace: Path, mode: str, snapshot: SnapshotAssertion) -> None:
    """What is left without colour, weight and position of a picture: a text to be read and reviewed."""
    running = app(workspace, mode)
    async with running.run_test(size=(80, 24)) as pilot:
        await _ready(pilot)
        assert "\n".join(line.rstrip() for line in shown(running)) == snapshot


def test_help(workspace: Path, snap_compare: Callable[..., bool]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await _ready(pilot)
        await press(pilot, "question_mark")

    assert snap_compare(app(workspace, "live"), run_before=before)


def test_jump_mode(workspace: Path, snap_compare: Callable[..., bool]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await _ready(pilot)
        await press(pilot, "g")

    assert snap_compare(app(workspace, "corpus"), run_before=before)
