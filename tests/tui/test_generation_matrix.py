"""The matrix in the app: rows as planned, cells that fill while runs go on, and what keys do with the table."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from ragtui.analysis.matrix import COLUMNS, Matrix, matrix_row, read_matrix
from ragtui.ids import new_run_id
from ragtui.lab.matrices import latest_matrix, matrices_folder, promoted_matrix
from ragtui.providers.protocols import ChatRequest
from ragtui.settings import open_workspace
from ragtui.store.matrix_journal import MatrixPlanned, MatrixWriter, matrix_progress
from ragtui.tui.data.matrix import MatrixReader, MatrixView, RowNow, RowTally, State
from ragtui.tui.messages import Loaded
from ragtui.tui.screens.launch import LaunchScreen
from ragtui.tui.screens.live import LiveScreen
from ragtui.tui.screens.matrix import MatrixScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.fields import Choice
from ragtui.tui.widgets.frame import StatusLine
from ragtui.tui.widgets.matrix_rows import sections, state_words, told
from tests.generation.chat_server import openai
from tests.generation.station import generating, lab_with, reads, station
from tests.providers.scripted_server import ScriptedServer
from tests.tui.frames import (
    assert_actions_told,
    assert_declared,
    assert_explained,
    assert_inert,
    assert_nothing_clipped,
)
from tests.tui.trace_samples import HOSTILE, app, at_rest, lab, press, shown, until
from tests.workshop import ragtui, start

SIZES = [(80, 24), (120, 40), (200, 60), (60, 20)]
PROFILES = (
    '[profiles.local]\nkind = "openai"\nurl = "{url}"\nmodel = "toy"\nconcurrency = 2\n'
    '[profiles.gone]\nkind = "openai"\nurl = "http://127.0.0.1:9"\nretries = 0\ntimeout = 2\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def unhurried(request: ChatRequest) -> str:
    """The honest model, slowly enough to be watched."""
    time.sleep(0.03)
    return reads(request)


def patient(request: ChatRequest) -> str:
    """The honest model, so slowly that a run is stopped long before its end."""
    time.sleep(0.5)
    return reads(request)


async def on_matrix(pilot: Pilot[Any]) -> MatrixScreen:
    """The matrix, opened from Live, with what there is read."""
    running = pilot.app
    await at_rest(pilot)
    assert isinstance(running.screen, LiveScreen)
    await press(pilot, "m")
    screen = running.screen
    assert isinstance(screen, MatrixScreen)
    await until(pilot, lambda: screen._loaded)
    await at_rest(pilot)
    return screen


def view_of(screen: MatrixScreen) -> MatrixView:
    assert screen.view is not None
    return screen.view


def hostile_view(seen: MatrixView) -> MatrixView:
    """The table with every foreign word in it hostile."""
    states: tuple[State, ...] = ("running", "failed", "waiting")
    rows = tuple(
        RowNow(
            model=f"{HOSTILE} {place}", plan=f"{HOSTILE} plan", run_id=row.run_id, state=state, done=3, total=9,
            errors=1, cells=row.cells, error=HOSTILE if state == "failed" else "",
        )
        for place, (row, state) in enumerate(zip(seen.rows * 3, states, strict=False))
    )  # fmt: skip
    return MatrixView(
        rows=rows, modes=seen.modes, limit=5, made_at=seen.made_at, live=True, source="now", table=seen.table
    )


# -- the data ---------------------------------------------------------------------------------------------------------


def test_a_tally_ends_at_the_row_of_the_recorded_run(folder: Path) -> None:
    opened, run_id = lab_with(folder, reads), new_run_id()
    plan = generating("oracle", "e2e", "noretrieval", repeats=2)
    tally = RowTally(RowNow(model="scripted", plan="bm25", run_id=run_id, state="running"))
    counts: list[int] = []

    async def follow() -> None:
        async for event in opened.events(opened.bind(plan), run_id=run_id):
            tally.add(event)
            if (now := tally.view()) is not None:
                counts.append(now.done)
                assert now.state == ("running" if type(event).__name__ != "RunFinished" else "done")

    assert tally.view() is None
    asyncio.run(follow())
    final = tally.view()
    assert final is not None
    wanted = matrix_row(lab(folder).recorded(run_id), "scripted", "bm25")
    assert (final.cells, final.total, final.errors) == (wanted.cells, wanted.cases, 0)
    assert counts == sorted(counts)
    assert counts[-1] == 120
    assert list(final.cells["e2e"]) == list(COLUMNS)


def test_the_command_tells_its_rows_and_the_table_is_the_commands(folder: Path) -> None:
    with ScriptedServer(openai()) as server:
        (folder / "ragtui.toml").write_text(PROFILES.format(url=server.url))
        done = ragtui(folder, "matrix", "--models", "mock,gone,local", "--specs", "bm25", "--limit", "5", "--json")
    assert done.returncode == 4
    printed = json.loads(done.stdout)
    workspace = open_workspace(folder)
    progress = matrix_progress(matrices_folder(workspace))
    assert progress is not None
    assert not progress.live
    assert [row[:2] for row in progress.planned.rows] == [("mock", "bm25"), ("gone", "bm25"), ("local", "bm25")]
    assert [row[2] for row in progress.planned.rows][::2] == [row["run_id"] for row in printed["rows"]][::2]
    assert list(progress.errors) == [progress.planned.rows[1][2]]
    view = MatrixReader(lab(folder)).view()
    assert view is not None
    assert (view.source, view.live, view.limit, view.modes) == ("latest", False, 5, ("oracle", "e2e", "noretrieval"))
    assert [row.state for row in view.rows] == ["done", "failed", "done"]
    assert "cannot be reached" in view.rows[1].error
    table = read_matrix(latest_matrix(workspace))
    assert [row.cells for row in view.rows] == [row.cells for row in table.rows]
    # Without the table's file the same rows come from the runs.
    latest_matrix(workspace).unlink()
    again = MatrixReader(lab(folder)).view()
    assert again is not None
    assert again.source == "now"
    assert [(row.state, row.cells) for row in again.rows] == [(row.state, row.cells) for row in view.rows]


def test_rows_wait_run_and_stop_with_their_process(tmp_path: Path) -> None:
    folder = tmp_path / "matrix"
    planned = MatrixPlanned(
        rows=(("a", "bm25", "r1"), ("b", "bm25", "r2")), modes=("e2e",), limit=5, made_at="2026-01-01T00:00:00Z"
    )
    assert matrix_progress(folder) is None
    writer = MatrixWriter.begin(folder, planned)
    with closing(writer):
        writer.failed("r1", "It is not there.")
        progress = matrix_progress(folder)
        assert progress is not None
        assert (progress.live, progress.errors) == (True, {"r1": "It is not there."})
        # A newer one that is over does not stand before one that goes on.
        newer = MatrixPlanned(rows=(), modes=(), limit=1, made_at="2026-01-01T00:00:01Z")
        MatrixWriter.begin(folder, newer).close()
        assert matrix_progress(folder) == progress
    progress = matrix_progress(folder)
    assert progress is not None
    assert (progress.live, progress.planned) == (False, newer)
    (folder / "2026-01-02T000000Z-1.jsonl").write_bytes(b"{nonsense}\n")
    assert matrix_progress(folder) == progress
    for second in range(10, 20):
        moment = MatrixPlanned(rows=(), modes=(), limit=1, made_at=f"2026-01-01T00:00:{second}Z")
        MatrixWriter.begin(folder, moment).close()
    assert len(list(folder.iterdir())) <= 6


def test_every_cell_has_value_n_and_interval(folder: Path) -> None:
    ragtui(folder, "matrix", "--models", "mock", "--specs", "bm25,hybrid", "--limit", "8")
    view = MatrixReader(lab(folder)).view()
    assert view is not None
    for wide in (False, True):
        made = sections(view, wide)
        assert [section.key for section in made] == ["oracle", "e2e", "noretrieval"]
        for section in made:
            for row, now in zip(section.rows, view.rows, strict=True):
                assert row.cells[0].plain == "mock"
                assert row.below[0].plain.startswith("✓ 24 ")
                for place, name in enumerate(COLUMNS, 1):
                    cell = now.cells[section.key][name]
                    if cell.value is None:
                        assert (row.cells[place].plain, row.below[place].plain) == ("–", "")
                    else:
                        assert row.cells[place].plain.split() == [f"{cell.value:.3f}", f"n{cell.n}"]
                        assert len(row.below[place].plain) in ((12,) if wide else (7,))
    assert "refusalCorrectness 1.000 [" in told(view.rows[0], "oracle")


# -- the screen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_empty_done_and_hostile_tables_fit_and_are_told(folder: Path, size: tuple[int, int]) -> None:
    running = app(folder, "live")
    async with running.run_test(size=size) as pilot:
        screen = await on_matrix(pilot)
        assert "There is no matrix yet." in "\n".join(shown(running))
        assert "ragtui matrix --models mock,local" in "\n".join(shown(running))
        assert_nothing_clipped(running, size)
        assert_actions_told(running)
        assert_declared(screen)
        assert_explained(screen)
        await asyncio.to_thread(ragtui, folder, "matrix", "--models", "mock", "--specs", "bm25,hybrid", "--limit", "6")
        await until(pilot, lambda: screen.view is not None and screen.view.source == "latest")
        await at_rest(pilot)
        assert_nothing_clipped(running, size)
        assert_actions_told(running)
        assert "✓ done" in shown(running)[0]
        assert "2 of 2 rows" in shown(running)[0]
        assert size[0] < 80 or "UTC   newest" in shown(running)[0]
        assert any("1.000" in line for line in shown(running))
        screen.post_message(Loaded("matrix", hostile_view(view_of(screen))))
        await until(pilot, lambda: "x1b[31mRED" in "\n".join(shown(running)))
        for _ in range(8):
            await press(pilot, "down")
            assert_inert(running, size)
        assert_nothing_clipped(running, size)


@pytest.mark.parametrize("size", SIZES[:2])
async def test_cells_fill_while_the_runs_go_on(folder: Path, size: tuple[int, int]) -> None:
    with ScriptedServer(openai(unhurried)) as server:
        (folder / "ragtui.toml").write_text(PROFILES.format(url=server.url))
        running = app(folder, "live")
        async with running.run_test(size=size) as pilot:
            screen = await on_matrix(pilot)
            command = ("matrix", "--models", "mock,gone,local", "--specs", "bm25", "--limit", "8", "--repeats", "2")
            process = await asyncio.to_thread(start, folder, *command, "--display", "plain")
            try:
                await until(pilot, lambda: [row.state for row in screen.rows()][2:] == ["running"])
                await until(pilot, lambda: 4 < screen.rows()[2].done < screen.rows()[2].total)
                first = screen.rows()[2]
                assert first.total == 8 * 3 * 2
                await until(pilot, lambda: f"▶ {screen.rows()[2].done}/48" in "\n".join(shown(running)))
                text = "\n".join(shown(running))
                assert "▶ running" in text
                assert "✗ gone with bm25: The server of profile 'gone' cannot be reached" in text
                assert [state_words(row)[:2] for row in screen.rows()] == ["✓ ", "✗ ", "▶ "]
                some = first.cells["oracle"]["correctness"]
                assert 0 < some.n <= 8
                # A live run that belongs to a matrix is on Live like any other.
                behind = running.screen_stack[-2]
                assert isinstance(behind, LiveScreen)
                await until(pilot, lambda: first.run_id in behind.views)
                await asyncio.to_thread(process.communicate, timeout=90)
            finally:
                process.kill()
                process.wait()
            await until(pilot, lambda: screen.view is not None and screen.view.source == "latest")
            await at_rest(pilot)
            final = screen.rows()[2]
            assert (final.state, final.done) == ("done", 48)
            assert final.cells == matrix_row(lab(folder).recorded(final.run_id), "local", "bm25").cells
            assert_nothing_clipped(running, size)


async def test_a_matrix_started_on_launch_is_a_process_and_can_be_stopped(folder: Path) -> None:
    with ScriptedServer(openai(patient)) as server:
        (folder / "ragtui.toml").write_text(PROFILES.format(url=server.url))
        running = app(folder, "live")
        async with running.run_test(size=(80, 24)) as pilot:
            await on_matrix(pilot)
            await press(pilot, "n")
            await until(pilot, lambda: isinstance(running.screen, LaunchScreen))
            launch = running.screen
            assert isinstance(launch, LaunchScreen)
            await until(pilot, lambda: bool(launch.query("#models")))
            await at_rest(pilot)
            assert launch.query_one("#tier", Choice).value == "matrix"
            launch.query_one("#plan", Choice).value = "bm25"
            launch.query_one("#models", Input).value = "local,mock"
            await until(
                pilot, lambda: launch.shown is not None and not launch.shown.faults and launch.shown.rows == 2
                and launch.shown.form == launch.form(),
            )  # fmt: skip
            await at_rest(pilot)
            assert not launch.check_action("save", ())
            assert launch.shown is not None
            assert launch.shown.arguments[:3] == ("matrix", "--models", "local,mock")
            assert_nothing_clipped(running, (80, 24))
            await press(pilot, "ctrl+r")
            await until(pilot, lambda: isinstance(running.screen, MatrixScreen))
            screen = running.screen
            assert isinstance(screen, MatrixScreen)
            assert running.current_mode == "live"
            await until(pilot, lambda: bool(screen.view and screen.view.running) and screen.rows()[0].done > 2)
            await press(pilot, "enter")
            assert "when it has ended" in screen.query_one(StatusLine).toast
            await press(pilot, "x", "n")
            assert view_of(screen).live
            await press(pilot, "x", "y")
            await until(pilot, lambda: screen.view is not None and not screen.view.live)
            await until(pilot, lambda: [row.state for row in screen.rows()] == ["stopped", "stopped"])
            await at_rest(pilot)
            assert "‖ stopped" in shown(running)[0]
            row = screen.rows()[0]
            assert 0 < row.done < row.total
            assert row.cells
            await press(pilot, "enter")
            await until(pilot, lambda: isinstance(running.screen, TraceScreen) and running.screen.level == "cases")


async def test_promote_keeps_the_table_and_refuses_one_with_errors(folder: Path) -> None:
    ragtui(folder, "matrix", "--models", "mock", "--specs", "bm25", "--limit", "6")
    workspace = open_workspace(folder)
    running = app(folder, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await on_matrix(pilot)
        await press(pilot, "p")
        await until(pilot, promoted_matrix(workspace).exists)
        await until(pilot, lambda: "baselines/matrix.json" in screen.query_one(StatusLine).toast)
        assert promoted_matrix(workspace).read_bytes() == latest_matrix(workspace).read_bytes()
        assert "at its ceiling" in ragtui(folder, "matrix", "lookup", "mock", "--correctness", "1.0").stdout
        table: Matrix = read_matrix(latest_matrix(workspace))
        faulty = json.loads(latest_matrix(workspace).read_bytes())
        faulty["rows"][0]["errors"] = 2
        latest_matrix(workspace).write_text(json.dumps(faulty))
        await press(pilot, "ctrl+l")
        await until(pilot, lambda: screen.view is not None and screen.rows()[0].errors == 2)
        await press(pilot, "p")
        await until(pilot, lambda: "was not promoted" in "\n".join(shown(running)))
        await press(pilot, "escape")
        assert read_matrix(promoted_matrix(workspace)) == table


async def test_a_promoted_table_alone_is_shown_and_a_damaged_one_is_told(folder: Path) -> None:
    ragtui(folder, "matrix", "--models", "mock", "--specs", "bm25", "--limit", "6", "--promote")
    workspace = open_workspace(folder)
    latest_matrix(workspace).unlink()
    for path in matrices_folder(workspace).iterdir():
        path.unlink()
    running = app(folder, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await on_matrix(pilot)
        assert "UTC   promoted" in shown(running)[0]
        assert not screen.check_action("promote", ())
        promoted_matrix(workspace).write_bytes(b"{nonsense")
        await press(pilot, "ctrl+l")
        await until(pilot, lambda: "is not a matrix" in "\n".join(shown(running)))
        assert running.is_running
