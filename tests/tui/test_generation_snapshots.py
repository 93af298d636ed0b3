"""Pictures of what the app shows of runs that ask a model, without colour, over ids and a clock that never change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from ragtui import events
from ragtui.events import CaseFinished, ChunksSeen, RunEvent, RunStarted, ServerCalls
from ragtui.experiment.plan import Plan
from ragtui.lab.matrices import matrices_folder
from ragtui.settings import open_workspace
from ragtui.store.journal import JournalWriter
from ragtui.store.matrix_journal import MatrixPlanned, MatrixWriter
from ragtui.tui.messages import ShowRun
from ragtui.tui.screens.by_mode import ByModeScreen
from ragtui.tui.screens.launch import LaunchScreen
from ragtui.tui.screens.live import LiveScreen
from ragtui.tui.screens.matrix import MatrixScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.fields import Choice
from tests.generation.chat_server import openai
from tests.generation.station import generating, station
from tests.providers.scripted_server import ScriptedServer
from tests.tui.generation_samples import JUDGED, record_all, scripted_lab
from tests.tui.test_generation_launch import PROFILE
from tests.tui.trace_samples import app, at_rest, press, until

SIZES = [(80, 24), (120, 40)]
LIVE, WAITING, GONE = "z1y2x3w4v5u6", "b7c8d9e1f2g3", "h4j5k6m7n8p9"
AT = "2026-01-01T00:00:{:02}Z"


class _Clock(datetime):
    """It is always half a minute after the samples begin."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Clock:
        return cls(2026, 1, 1, 0, 0, 30, tzinfo=tz)


@pytest.fixture(autouse=True)
def _same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "datetime", _Clock)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("RAGTUI_ASCII", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(station(tmp_path_factory.mktemp("pictures") / "ws"), words="")


def begun(folder: Path, plan: Plan, run_id: str, cases: int) -> list[RunEvent]:
    """The beginning of a run, with so many cases finished at times that never change."""
    opened = scripted_lab(folder, "")
    found: list[RunEvent] = []

    async def drain() -> None:
        found.extend([event async for event in opened.events(opened.bind(plan), run_id=run_id)])

    asyncio.run(drain())
    start = found[0]
    assert isinstance(start, RunStarted)
    finished = [event for event in found if isinstance(event, CaseFinished) and event.trace.index < cases]
    told: list[RunEvent] = [msgspec.structs.replace(start, started_at=AT.format(0))]
    told += [event for event in found if isinstance(event, ChunksSeen)]
    for place, event in enumerate(sorted(finished, key=lambda event: event.trace.index)):
        timings = {"bm25": 0.4, "generate": 120.0 + place % 7, "case": 125.0 + place % 7}
        trace = msgspec.structs.replace(event.trace, timings=timings)
        told.append(msgspec.structs.replace(event, at=AT.format(1 + place // 2), trace=trace))
    return told


# -- by mode, and the judge -------------------------------------------------------------------------------------------


async def _by_mode(pilot: Pilot[Any]) -> ByModeScreen:
    running = pilot.app
    assert isinstance(running.screen, TraceScreen)
    running.screen.post_message(ShowRun(JUDGED))
    await until(pilot, lambda: getattr(running.screen, "level", "") == "cases")
    await press(pilot, "v")
    await until(pilot, lambda: isinstance(running.screen, ByModeScreen) and running.screen.found is not None)
    await at_rest(pilot)
    screen = running.screen
    assert isinstance(screen, ByModeScreen)
    return screen


async def _differences(pilot: Pilot[Any]) -> None:
    screen = await _by_mode(pilot)
    screen.listing.go_to("outcomes")
    await press(pilot, "down", "down", "down", "down", "down", "down")


async def _judged_answer(pilot: Pilot[Any]) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, TraceScreen)
    screen.post_message(ShowRun(JUDGED, "anchor-litres@e2e#1"))
    pane = screen.query_one(CasePane)
    await until(pilot, lambda: screen.level == "case" and pane.view is not None)
    await at_rest(pilot)
    assert pane.view is not None
    # What a case took is another number each time, and stands beside the dialog where there is room.
    pane.show(msgspec.structs.replace(pane.view, timings=(("bm25", 0.4), ("generate", 2.0))), pane.first)
    await press(pilot, "a")
    await until(pilot, lambda: isinstance(pilot.app.screen, DocumentDialog))
    await at_rest(pilot)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize(
    "steps", [_by_mode, _differences, _judged_answer], ids=["measures", "outcomes", "judged-answer"]
)
def test_by_mode(folder: Path, steps: Any, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app(folder, "trace"), terminal_size=size, run_before=steps)


# -- the matrix and live ----------------------------------------------------------------------------------------------


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[Path]:
    """A matrix with a row in every state: done, running, failed, waiting."""
    made = station(tmp_path / "ws")
    plan = generating("oracle", "e2e", "noretrieval", repeats=2)
    half = begun(station(tmp_path / "elsewhere"), plan, LIVE, 31)
    record_all(made, words="")
    planned = MatrixPlanned(
        rows=(
            ("small", "bm25", JUDGED), ("none", "bm25", GONE), ("middle", "bm25", LIVE), ("large", "hybrid", WAITING),
        ),
        modes=("oracle", "e2e", "noretrieval"), limit=20, made_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    with (
        MatrixWriter.begin(matrices_folder(open_workspace(made)), planned) as writer,
        JournalWriter.open(made / ".ragtui" / "journal", LIVE) as journal,
    ):
        writer.failed(GONE, "The server of profile 'none' cannot be reached: nothing listens there.")
        journal.write(half)
        reason = "answers with HTTP 429 (slow down)"
        journal.write([ServerCalls(in_flight=4, retries=3, provider="middle", reason=reason, wait_s=2.0)])
        yield made


async def _live(pilot: Pilot[Any]) -> LiveScreen:
    screen = pilot.app.screen
    assert isinstance(screen, LiveScreen)
    await until(pilot, lambda: LIVE in screen.views and screen.views[LIVE].calls.retries == 3)
    await at_rest(pilot)
    return screen


async def _matrix(pilot: Pilot[Any]) -> None:
    await _live(pilot)
    await press(pilot, "m")
    screen = pilot.app.screen
    assert isinstance(screen, MatrixScreen)
    await until(pilot, lambda: [row.state for row in screen.rows()] == ["done", "failed", "running", "waiting"])
    await until(pilot, lambda: screen.rows()[2].done == 31)
    await at_rest(pilot)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("steps", [_live, _matrix], ids=["live", "matrix"])
def test_under_way(under_way: Path, steps: Any, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app(under_way, "live"), terminal_size=size, run_before=steps)


def test_no_matrix_yet(tmp_path: Path, snap_compare: Callable[..., bool]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await at_rest(pilot)
        await press(pilot, "m")
        screen = pilot.app.screen
        assert isinstance(screen, MatrixScreen)
        await until(pilot, lambda: screen._loaded)
        await at_rest(pilot)

    assert snap_compare(app(station(tmp_path / "ws"), "live"), terminal_size=(80, 24), run_before=before)


# -- launch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("tier", ["generation", "matrix"])
def test_before_spending(tmp_path: Path, tier: str, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    made = station(tmp_path / "ws")

    async def before(pilot: Pilot[Any]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, LaunchScreen)
        await until(pilot, lambda: screen.shown is not None)
        screen.query_one("#tier", Choice).focus()
        await press(pilot, *["right"] * (1 if tier == "generation" else 2))
        for name, value in (("model", "local"), ("judge", "local")):
            screen.query_one(f"#{name}", Choice).value = value
        screen.query_one("#models", Input).value = "local,mock"
        screen.query_one("#limit", Input).value = "8"
        screen.query_one("#max_calls", Input).value = "50"
        await until(pilot, lambda: screen.shown is not None and screen.shown.form == screen.form())
        await press(pilot, "ctrl+g")
        await until(pilot, lambda: screen.estimate is not None)
        await at_rest(pilot)

    with ScriptedServer(openai()) as server:
        (made / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        running = app(made, "launch")
        running.memory.set("launch.plan", "bm25")
        assert snap_compare(running, terminal_size=size, run_before=before)
        assert not server.posts()
