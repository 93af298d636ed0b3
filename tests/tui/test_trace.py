"""The trace screen, driven by keys: messages first, then the picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.frame import StatusLine
from ragtui.tui.widgets.lazy_table import KEPT_PAGES, PAGE, LazyTable
from ragtui.tui.widgets.picker import Picker
from ragtui.tui.widgets.stage_grid import StageGrid
from tests.tui.trace_samples import app, at_rest, hostile_workspace, invented, press, record, record_pair, shown, until
from tests.workshop import make_workspace

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("trace") / "ws")
    record_pair(folder)
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = hostile_workspace(tmp_path_factory.mktemp("hostile") / "ws")
    record(folder, "bm25")
    return folder


def screen_of(running: object) -> TraceScreen:
    found = running.screen  # type: ignore[attr-defined]
    assert isinstance(found, TraceScreen)
    return found


def cases(screen: TraceScreen) -> LazyTable:
    return screen.query_one(CasesPane).table


async def test_from_the_runs_to_a_case_and_back(workspace: Path) -> None:
    running = app(workspace, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 2)
        await press(pilot, "enter")
        await until(pilot, lambda: screen.level == "cases" and cases(screen).row_at(0) is not None)
        assert cases(screen).count == 40
        await press(pilot, "enter")
        await until(pilot, lambda: screen.query_one(CasePane).view is not None)
        pane = screen.query_one(CasePane)
        assert pane.view is not None
        assert pane.view.case.id == "q-000"
        await press(pilot, "right_square_bracket")
        await until(pilot, lambda: pane.view is not None and pane.view.case.id == "q-001")
        await press(pilot, "escape")
        assert screen.query_one(CasesPane).display
        assert cases(screen).cursor == 1
        await press(pilot, "escape")
        assert screen.level == "runs"


async def test_filters_narrow_and_are_remembered(workspace: Path) -> None:
    running = app(workspace, "trace")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 2)
        await press(pilot, "enter")
        await until(pilot, lambda: cases(screen).count == 40)
        await press(pilot, "slash", *"anchor")
        await until(pilot, lambda: cases(screen).count == 4)
        await press(pilot, "enter", "t")
        await until(pilot, lambda: isinstance(running.screen, Picker))
        await press(pilot, *"even", "enter")
        await until(pilot, lambda: screen.query_wanted.tag == "even" and cases(screen).count == 4)
        await press(pilot, "w", *"nothing", "enter")
        await until(pilot, lambda: screen.query_wanted.kind == "nothing")
        await press(pilot, "s", *"RR", "enter")
        await until(pilot, lambda: screen.query_wanted.sort == "RR")
        assert not screen.query_wanted.descending
        await press(pilot, "s", *"RR", "enter")
        await until(pilot, lambda: screen.query_wanted.descending)
        assert running.memory.get("trace.query", {})["tag"] == "even"
        await press(pilot, "c")
        await until(pilot, lambda: cases(screen).count == 40)
        assert screen.query_one("#case-filter", Input).value == ""


async def test_one_document_is_followed_through_the_stages(workspace: Path) -> None:
    running = app(workspace, "trace")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 2)
        await press(pilot, "down", "enter")
        await until(pilot, lambda: cases(screen).row_at(0) is not None)
        await press(pilot, "enter")
        grid = screen.query_one(StageGrid)
        await until(pilot, lambda: bool(grid.stages) and grid.has_focus)
        await press(pilot, "n")
        assert grid.hit is not None
        assert grid.hit.relevant
        await press(pilot, "f", "left")
        assert grid.followed == "anchor-notes"
        assert grid.stage is not None
        assert grid.hit is not None
        assert grid.rank == grid.stage.rank_of("anchor-notes")
        await at_rest(pilot)
        assert any("following » anchor-notes: bm25" in line for line in shown(running))
        await press(pilot, "f")
        assert grid.followed is None


async def test_manifest_copy_export(workspace: Path) -> None:
    running = app(workspace, "trace")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 2)
        await press(pilot, "down", "y")
        assert running.clipboard == screen.lines[1].row.run_id
        await press(pilot, "enter")
        await until(pilot, lambda: cases(screen).row_at(0) is not None)
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(running.screen, DocumentDialog))
        await press(pilot, "y", "escape")
        assert screen.lines[1].row.spec_id in running.clipboard
        await press(pilot, "enter")
        await until(pilot, lambda: screen.query_one(StageGrid).hit is not None)
        await press(pilot, "y")
        assert running.clipboard.splitlines()[0].startswith("anchor-notes#")
        await press(pilot, "e")
        await until(pilot, lambda: "Written to" in screen.query_one(StatusLine).toast)
        assert (workspace / ".ragtui" / "exports" / f"{screen.lines[1].row.run_id}-q-000.json").is_file()


async def test_an_empty_workspace_and_a_damaged_store_are_told_in_words(tmp_path: Path) -> None:
    make_workspace(tmp_path / "ws")
    running = app(tmp_path / "ws", "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("No run is recorded yet" in line for line in shown(running)))
        assert "ragtui run hybrid" in " ".join(" ".join(shown(running)).split())
    (tmp_path / "ws" / "runs.duckdb").write_bytes(b"not a database" * 100)
    running = app(tmp_path / "ws", "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("✗" in line for line in shown(running)))
        assert any("ctrl+l" in line for line in shown(running))


async def test_failed_cases_say_why(tmp_path: Path) -> None:
    invented(tmp_path, "r1", 20, errors=2)
    running = app(tmp_path, "trace")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 1)
        await press(pilot, "enter")
        await until(pilot, lambda: any("It broke." in line for line in shown(running)))
        await press(pilot, "enter")
        await until(pilot, lambda: any("provider_unavailable: It broke." in line for line in shown(running)))


async def test_only_shown_rows_are_held(tmp_path: Path) -> None:
    invented(tmp_path, "r1", 6_000)
    running = app(tmp_path, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 1)
        await press(pilot, "enter")
        table = cases(screen)
        await until(pilot, lambda: table.count == 6_000 and table.row_at(0) is not None)
        for place in range(500, 6_000, 700):
            table.go(place)
            await until(pilot, lambda place=place: table.row_at(place) is not None)  # type: ignore[misc]
        assert table.kept <= PAGE * KEPT_PAGES
        await press(pilot, "end")
        await until(pilot, lambda: table.row_at(5_999) is not None)
        row = table.row_at(5_999)
        assert row is not None
        assert row.key == "q 5999/é"
        assert any("question 5999" in line for line in shown(running))


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_text_is_inert_and_breaks_no_line(hostile: Path, size: tuple[int, int]) -> None:
    running = app(hostile, "trace")
    async with running.run_test(size=size) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 1)
        await press(pilot, "enter")
        await until(pilot, lambda: cases(screen).row_at(0) is not None)
        harmless(shown(running), size)
        for _ in range(4):
            await press(pilot, "enter")
            await until(pilot, lambda: screen.level == "case" and screen.query_one(CasePane).view is not None)
            await at_rest(pilot)
            harmless(shown(running), size)
            assert running.is_running
            await press(pilot, "escape", "down")
        await press(pilot, "t")
        await until(pilot, lambda: isinstance(running.screen, Picker))
        harmless(shown(running), size)


def harmless(lines: list[str], size: tuple[int, int]) -> None:
    """No control or format character, and every line exactly as wide as the screen."""
    assert len(lines) == size[1]
    for line in lines:
        assert cell_len(line) == size[0]
        assert not any(
            ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u202c\u200b\u200d" for char in line
        )


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_is_clipped_at_any_size(workspace: Path, size: tuple[int, int]) -> None:
    running = app(workspace, "trace")
    async with running.run_test(size=size) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: len(screen.lines) == 2)
        await press(pilot, "enter")
        await until(pilot, lambda: cases(screen).row_at(0) is not None)
        await press(pilot, "enter")
        await until(pilot, lambda: screen.query_one(CasePane).view is not None)
        await at_rest(pilot)
        for widget in screen.focus_chain:
            if widget.region.area:
                assert screen.region.contains_region(widget.region)
                assert widget.region.height >= (1 if isinstance(widget, Input) else 3), widget
        assert screen.query_one("#trace-cases").display == (size[0] >= 160)
