"""The live screen: it follows journals, whoever writes them, and says what is wrong at once."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ragtui.events import CaseFinished, RunFinished, ServerCalls
from ragtui.ids import new_run_id
from ragtui.metrics.aggregate import mean_estimate
from ragtui.store.journal import JournalWriter, cancel_requested
from ragtui.store.store import Store
from ragtui.trace import CaseError, CaseTrace
from ragtui.tui.data.live import LiveTally, LiveView
from ragtui.tui.follow import follow_run
from ragtui.tui.screens import live_text
from ragtui.tui.screens.live import LiveScreen
from ragtui.tui.widgets.rows import RowList
from tests.store import samples
from tests.tui.trace_samples import HOSTILE, app, at_rest, press, shown, until
from tests.workshop import make_workspace, start


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ws")


@pytest.fixture
def journal(workspace: Path) -> Iterator[JournalWriter]:
    run_id = new_run_id()
    with JournalWriter.open(workspace / ".ragtui" / "journal", run_id) as writer:
        writer.write([samples.started(run_id, 40)])
        yield writer


def screen_of(running: Any) -> LiveScreen:
    assert isinstance(running.screen, LiveScreen)
    return running.screen


def error(index: int, kind: str = "provider_unavailable", message: str = "It broke.") -> CaseFinished:
    trace = CaseTrace(
        case=samples.golden(index).id, index=index, status="error", error=CaseError(kind, message),
        scores=dict.fromkeys(samples.MEASURES), unscored=dict.fromkeys(samples.MEASURES, "error"),
    )  # fmt: skip
    return CaseFinished(attempt=1, at="2026-01-01T00:00:30Z", trace=trace)


async def followed(pilot: Pilot[Any], done: int) -> LiveScreen:
    screen = screen_of(pilot.app)
    await until(pilot, lambda: screen.shown in screen.views and screen.views[screen.shown].done == done)
    await at_rest(pilot)
    return screen


async def test_a_run_of_another_process_is_followed_to_its_end(workspace: Path) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Nothing is running here." in "\n".join(shown(running)))
        with start(workspace, "run", "own.toml", "--display", "none", SECONDS="0.5") as process:
            await until(pilot, lambda: bool(screen_of(running).views))
            screen = screen_of(running)
            await until(pilot, lambda: screen.views[screen.shown].over)
            await asyncio.to_thread(process.wait)
        view = screen.views[screen.shown]
        assert (view.status, view.done, view.total) == ("completed", 40, 40)
        recorded = Store(workspace / "runs.duckdb").run(view.run_id)
        assert {item.name: item.estimate.value for item in view.measures} == pytest.approx(recorded.measures)
        await until(pilot, lambda: "40/40" in shown(running)[2])
        await until(pilot, lambda: running.live == ())


async def test_errors_reach_the_line_within_a_second(workspace: Path, journal: JournalWriter) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        await followed(pilot, 0)
        began = time.monotonic()
        journal.write([error(0)])
        await until(pilot, lambda: "✗ 1 errored" in shown(running)[2])
        assert time.monotonic() - began < 1
        await at_rest(pilot)
        assert any("provider_unavailable: It broke." in line for line in shown(running))


async def test_five_errors_alike_raise_a_banner_that_stays_until_things_go_well(
    workspace: Path, journal: JournalWriter
) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        journal.write([error(index) for index in range(4)] + [error(4, "timeout")])
        screen = await followed(pilot, 5)
        assert not screen.query_one("#banner").display
        journal.write([error(index, "timeout") for index in range(5, 9)])
        await followed(pilot, 9)
        text = "\n".join(shown(running))
        assert "5 errors alike in a row (timeout)" in text
        assert "x cancels" in text
        journal.write([samples.finished(index) for index in range(9, 12)])
        await followed(pilot, 12)
        assert screen.query_one("#banner").display
        journal.write([samples.finished(index) for index in range(12, 15)])
        await followed(pilot, 15)
        assert not screen.query_one("#banner").display


async def test_cancel_asks_first_and_then_asks_the_run(workspace: Path, journal: JournalWriter) -> None:
    folder, run_id = workspace / ".ragtui" / "journal", journal.path.stem
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        await followed(pilot, 0)
        await press(pilot, "x", "n")
        assert not cancel_requested(folder, run_id)
        await press(pilot, "x", "y")
        await until(pilot, lambda: cancel_requested(folder, run_id))
        await at_rest(pilot)
        assert "finishes what is in flight" in shown(running)[-2]
        journal.write([samples.finished(0), samples.ended(status="cancelled")])
        screen = await followed(pilot, 1)
        await until(pilot, lambda: screen.views[run_id].status == "cancelled")
        await at_rest(pilot)
        assert f"ragtui resume {run_id}" in shown(running)[-2]


async def test_detach_and_attach(workspace: Path, journal: JournalWriter) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await followed(pilot, 0)
        await press(pilot, "d")
        await until(pilot, lambda: not screen.views)
        journal.write([samples.finished(0)])
        await pilot.pause(0.5)
        assert not screen.views
        await press(pilot, "a")
        await followed(pilot, 1)


async def test_a_run_whose_process_dies_is_told(workspace: Path) -> None:
    run_id = new_run_id()
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        with JournalWriter.open(workspace / ".ragtui" / "journal", run_id) as writer:
            writer.write([samples.started(run_id, 10), samples.finished(0)])
            await followed(pilot, 1)
        screen = screen_of(running)
        await until(pilot, lambda: screen.views[run_id].status == "interrupted")
        await at_rest(pilot)
        text = "\n".join(shown(running))
        assert "‖ interrupted" in text
        assert f"ragtui resume {run_id}" in text


async def test_several_runs_are_told_apart(workspace: Path, journal: JournalWriter) -> None:
    second = new_run_id()
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await followed(pilot, 0)
        with JournalWriter.open(workspace / ".ragtui" / "journal", second) as writer:
            writer.write([samples.started(second, 10), samples.finished(0)])
            await until(pilot, lambda: len(screen.views) == 2)
            await until(pilot, lambda: "▶ 2 live" in shown(running)[0])
            first = screen.shown
            await press(pilot, "n")
            assert screen.shown != first
            assert screen.shown[:6] in shown(running)[1]


async def test_a_thousand_cases_repaint_at_most_ten_times_a_second(workspace: Path) -> None:
    run_id = new_run_id()
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        screen = screen_of(running)
        with JournalWriter.open(workspace / ".ragtui" / "journal", run_id) as writer:
            writer.write([samples.started(run_id, 1000)])
            await until(pilot, lambda: run_id in screen.views)
            painted, began = screen.repaints, time.monotonic()
            for first in range(0, 1000, 10):
                writer.write([samples.finished(index) for index in range(first, first + 10)])
                await asyncio.sleep(0.01)
            writer.write([RunFinished(attempt=1, status="completed", at="2026-01-01T01:00:00Z", elapsed_s=2.0)])
            await until(pilot, lambda: screen.views[run_id].over)
            seconds = time.monotonic() - began
        # The first and the last repaint are not part of the rate.
        assert screen.repaints - painted <= 10 * seconds + 2
        assert screen.views[run_id].done == 1000
        expected = [samples.trace(index).scores["nDCG@10"] or 0.0 for index in range(1000)]
        shown_value = next(item for item in screen.views[run_id].measures if item.name == "nDCG@10")
        assert shown_value.estimate == mean_estimate(expected)


async def test_hostile_errors_are_inert(workspace: Path, journal: JournalWriter) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        journal.write([error(index, "[red]kind[/red]", HOSTILE) for index in range(6)])
        await followed(pilot, 6)
        text = "\n".join(shown(running))
        assert "[red]kind[/red]" in text
        assert not set(text) & set("\x1b\x00\x07\u202e\u200b")


def test_following_gives_every_viewer_the_final_value(workspace: Path) -> None:
    path = samples.write_journal(workspace / ".ragtui" / "journal", "abc", samples.whole_run("abc", 200))
    seen: list[LiveView] = []
    follow_run(path, seen.append, lambda: False, LiveTally())
    assert seen[-1].done == 200
    assert seen[-1].status == "completed"


def test_following_ends_when_cancelled(workspace: Path, journal: JournalWriter) -> None:
    began = time.monotonic()
    follow_run(journal.path, lambda view: None, lambda: time.monotonic() - began > 0.3, LiveTally())
    assert time.monotonic() - began < 2


def test_a_tally_agrees_with_the_estimates_by_tag() -> None:
    tally = LiveTally()
    for event in samples.whole_run("abc", 30):
        tally.add(event)
    view = tally.view()
    assert view is not None
    for tag in view.tags:
        members = [index for index in range(30) if tag.tag in samples.golden(index).tags]
        values = [samples.trace(index).scores["nDCG@10"] or 0.0 for index in members]
        assert tag.estimate == mean_estimate(values)
        assert tag.done == tag.total == len(values)


def test_trails_stay_short_and_end_near_the_mean() -> None:
    tally = LiveTally()
    for event in samples.whole_run("abc", 500):
        tally.add(event)
    view = tally.view()
    assert view is not None
    for item in view.measures:
        assert 20 <= len(item.trail) <= 48
        assert item.trail[-1] == pytest.approx(item.estimate.value, abs=0.05)


@pytest.mark.parametrize("width", [58, 78, 118, 198])
def test_the_line_of_counts_fits(width: int) -> None:
    tally = LiveTally()
    for event in samples.whole_run("abc", 30)[:20]:
        tally.add(event)
    view = tally.view()
    assert view is not None
    assert live_text.counts(view, width).cell_length <= width


async def test_the_feed_keeps_its_place_when_the_cursor_was_moved(workspace: Path, journal: JournalWriter) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        journal.write([error(index) for index in range(20)])
        screen = await followed(pilot, 20)
        feed = screen.query_one("#feed", RowList)
        assert feed.cursor == 19
        feed.focus()
        await press(pilot, "home", "down")
        journal.write([error(index) for index in range(20, 25)])
        await followed(pilot, 25)
        assert feed.cursor == 1
        await press(pilot, "end")
        journal.write([error(25)])
        await followed(pilot, 26)
        assert feed.cursor == 25


def test_a_resumed_run_is_told_with_what_was_done_before() -> None:
    tally = LiveTally()
    tally.add(samples.started("abc", 40, attempt=2, pending=tuple(range(30, 40))))
    tally.add(ServerCalls(in_flight=4))
    for index in range(30, 35):
        tally.add(samples.finished(index, attempt=2))
    under_way = tally.view()
    assert under_way is not None
    assert "35/40  30 before  5 scored" in live_text.counts(under_way, 118).plain
    assert "4 in flight" in live_text.head(under_way, 118).plain
    tally.end()
    died = tally.view()
    assert died is not None
    assert "after 35 of 40" in live_text.end_words(died)
    assert "in flight" not in live_text.head(died, 118).plain
    for index in range(35, 40):
        tally.add(samples.finished(index, attempt=2))
    tally.add(samples.ended(attempt=2))
    over = tally.view()
    assert over is not None
    assert live_text.end_words(over).startswith("Completed: 40 cases, 10 of them now, in ")


async def test_a_damaged_journal_that_is_set_aside_is_told(workspace: Path) -> None:
    path = samples.write_journal(workspace / ".ragtui" / "journal", "abc", samples.whole_run("abc", 20)[:10])
    with path.open("ab") as file:
        file.write(b"no event\n")
    os.utime(path, (time.time() - 60,) * 2)
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "run abc is damaged at line 11" in shown(running)[-2])
        assert "set aside as abc.jsonl.damaged" in shown(running)[-2]
    assert path.with_name("abc.jsonl.damaged").is_file()


async def test_a_run_that_is_being_started_is_not_nothing(workspace: Path) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Nothing is running here." in "\n".join(shown(running)))
        running.start_process(["run", "bm25"])
        await until(pilot, lambda: "A run is being started." in "\n".join(shown(running)))
        assert "Nothing is running here." not in "\n".join(shown(running))
        await until(pilot, lambda: "✓ completed" in "\n".join(shown(running)))
