"""The diff screen: what it is told, and what the keys do."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from ragtui.analysis.compare import compare
from ragtui.cli import comparing
from ragtui.errors import InvalidInput
from ragtui.tui.data import diff as data
from ragtui.tui.data import trace
from ragtui.tui.messages import ShowDiff
from ragtui.tui.screens.diff import DiffScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets import diff_rows
from ragtui.tui.widgets.frame import StatusLine
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.pair_pane import PairPane
from ragtui.tui.widgets.picker import Picker
from ragtui.tui.widgets.promote import PromoteDialog
from ragtui.tui.widgets.section_list import SectionList
from tests.tui.trace_samples import app, at_rest, hostile_workspace, lab, press, record, record_pair, shown, until
from tests.workshop import make_workspace

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    folder = make_workspace(tmp_path_factory.mktemp("diff") / "ws")
    return folder, *record_pair(folder)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = hostile_workspace(tmp_path_factory.mktemp("hostile") / "ws")
    record_pair(folder, 1000.0)
    return folder


def screen_of(running: object) -> DiffScreen:
    found = running.screen  # type: ignore[attr-defined]
    assert isinstance(found, DiffScreen)
    return found


def judged(screen: DiffScreen) -> str:
    return screen.pair.new.row.run_id if screen.pair is not None and screen.view is not None else ""


def test_the_numbers_are_those_of_a_comparison_of_whole_runs(pair: tuple[Path, str, str]) -> None:
    folder, old, new = pair
    opened = lab(folder)
    view = data.diff_view(opened, data.choose_pair(trace.run_lines(opened), old, new))
    whole = compare(opened.recorded(old), opened.recorded(new))
    assert view.comparison == whole
    assert view.primary == "nDCG@10"
    assert whole.specification_diff


def test_questions_are_those_that_changed_the_greatest_loss_first(pair: tuple[Path, str, str]) -> None:
    folder, old, new = pair
    opened = lab(folder)
    view = data.diff_view(opened, data.choose_pair(trace.run_lines(opened), old, new))
    change = view.comparison.measures["RR"]
    found = data.questions(view, "RR")
    assert len(found) == change.wins + change.losses
    assert [item.gain for item in found] == sorted(item.gain for item in found)
    assert {tag for item in data.questions(view, "RR", "odd") for tag in item.tags} == {"odd"}
    (_, before), (_, after) = opened.store.scores(old), opened.store.scores(new)
    for item in found:
        assert (item.base, item.new) == (before[item.case]["RR"], after[item.case]["RR"])


def test_a_rate_that_goes_up_is_a_loss(pair: tuple[Path, str, str]) -> None:
    folder, old, new = pair
    opened = lab(folder)
    view = data.diff_view(opened, data.choose_pair(trace.run_lines(opened), old, new))
    found = data.questions(view, "emptyRateOnAnswerable")
    assert found
    assert all(item.gain < 0 < item.new for item in found)


def test_hits_say_where_they_came_from_and_what_has_gone(pair: tuple[Path, str, str]) -> None:
    folder, old, new = pair
    opened = lab(folder)
    chosen = data.choose_pair(trace.run_lines(opened), old, new)
    kept = next(item.case for item in _unchanged(data.diff_view(opened, chosen)))
    found = data.pair_view(opened, data.open_pair(opened, chosen), kept)
    base, present = found.stages
    names = [hit.name for hit in base.hits]
    for hit in present.hits:
        moved = names.index(hit.name) + 1 - hit.rank
        assert hit.note.split() == ["="] if moved == 0 else hit.note[0] == ("▲" if moved > 0 else "▼")
    gone = {hit.name for hit in base.hits if hit.note == "gone"}
    assert gone == set(names) - {hit.name for hit in present.hits}
    assert gone


def _unchanged(view: data.DiffView) -> list[data.Question]:
    column = view.measures.index("nDCG@10")
    return [
        data.Question(case=case, query="", tags=(), base=old, new=new, gain=0.0)
        for case, old, new in zip(view.cases, view.base[:, column], view.new[:, column], strict=True)
        if old == new == 1.0
    ]


def test_the_base_is_the_baseline_else_the_run_before(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    opened = lab(folder)
    with pytest.raises(InvalidInput, match="No complete run"):
        data.choose_pair(trace.run_lines(opened), None, None)
    (first,) = record(folder, "bm25")
    with pytest.raises(InvalidInput, match="nothing to be compared with"):
        data.choose_pair(trace.run_lines(opened), None, None)
    second, third = record(folder, "bm25", "bm25")
    chosen = data.choose_pair(trace.run_lines(opened), None, None)
    assert (chosen.base.row.run_id, chosen.new.row.run_id) == (second, third)
    data.promote(opened, first, "main", "first")
    chosen = data.choose_pair(trace.run_lines(opened), None, None)
    assert (chosen.base.row.run_id, chosen.why) == (first, "baseline main")
    with pytest.raises(InvalidInput, match="no run"):
        data.choose_pair(trace.run_lines(opened), "gone", None)
    with pytest.raises(InvalidInput, match="needs a name"):
        data.promote(opened, first, " ", "")


async def test_from_a_regressed_measure_to_both_rankings_in_two_keys(pair: tuple[Path, str, str]) -> None:
    folder, old, new = pair
    running = app(folder, "diff")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: screen.view is not None)
        await at_rest(pilot)
        under = screen.query_one("#diff-left", SectionList).under_cursor()
        assert under is not None
        assert under[1].key == "nDCG@10"
        assert any("✗ FAIL" in line for line in shown(running))
        await press(pilot, "enter")
        table = screen.query_one("#diff-questions", LazyTable)
        await until(pilot, lambda: table.row_at(0) is not None)
        await press(pilot, "enter")
        await until(pilot, lambda: screen.level == "pair")
        view = screen.query_one(PairPane).view
        assert view is not None
        assert (view.base.run_id, view.new.run_id) == (old, new)
        assert view.new.case.id == screen.list[0]
        await at_rest(pilot)
        assert any("lost: below a channel's minimum score" in line for line in shown(running))
        await press(pilot, "right_square_bracket")
        await until(pilot, lambda: screen.query_one(PairPane).view is not view)
        await press(pilot, "o")
        await until(pilot, lambda: isinstance(running.screen, TraceScreen) and running.screen.level == "case")


async def test_the_specification_stands_before_any_number(pair: tuple[Path, str, str]) -> None:
    running = app(pair[0], "diff")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: screen.view is not None)
        await at_rest(pilot)
        left = screen.query_one("#diff-left", SectionList)
        assert [section.key for section in left.sections] == ["specification", "measures", "tags", "flips"]
        await press(pilot, "home")
        await at_rest(pilot)
        lines = shown(running)
        place = next(number for number, line in enumerate(lines) if "Specification: 2 differences" in line)
        assert place < next(number for number, line in enumerate(lines) if "Measures" in line)
        assert any("retrieval.channels.bm25.min_score" in line for line in lines)


async def test_tags_follow_the_measure_and_flips_open(pair: tuple[Path, str, str]) -> None:
    running = app(pair[0], "diff")
    async with running.run_test(size=(200, 60)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: screen.view is not None)
        await at_rest(pilot)
        await press(pilot, "down")
        await until(pilot, lambda: screen.measure == "R@5")
        assert any("Tags by R@5" in line for line in shown(running))
        await press(pilot, "tab")
        right = screen.query_one("#diff-right", SectionList)
        await until(pilot, lambda: right.has_focus)
        right.go_to("flips")
        await press(pilot, "enter")
        await until(pilot, lambda: screen.level == "pair")
        await press(pilot, "escape")
        assert screen.query_one("#diff-summary").display


async def test_promote_choose_and_swap(tmp_path: Path, pair: tuple[Path, str, str]) -> None:
    import shutil

    folder = tmp_path / "ws"
    shutil.copytree(pair[0], folder)
    _, old, new = pair
    running = app(folder, "diff")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: screen.view is not None)
        await at_rest(pilot)
        await press(pilot, "x")
        await until(pilot, lambda: judged(screen) == old)
        await press(pilot, "p")
        await until(pilot, lambda: isinstance(running.screen, PromoteDialog))
        assert running.screen.query_one("#promote-name", Input).value == "main"
        await press(pilot, *"better", "enter")
        await until(pilot, lambda: bool(lab(folder).store.baselines()))
        (baseline,) = lab(folder).store.baselines()
        assert (baseline.run_id, baseline.name, baseline.why) == (old, "main", "better")
        await until(pilot, lambda: "is now the baseline" in screen.query_one(StatusLine).toast)
        await press(pilot, "n")
        await until(pilot, lambda: isinstance(running.screen, Picker))
        await press(pilot, *new, "enter")
        await until(pilot, lambda: judged(screen) == new)
        assert screen.pair is not None
        assert screen.pair.why == "baseline main"


async def test_a_refusal_is_told_in_the_place_of_numbers(tmp_path: Path, pair: tuple[Path, str, str]) -> None:
    import asyncio
    import shutil

    folder = tmp_path / "ws"
    shutil.copytree(pair[0], folder)
    path = folder / "corpus" / "anchor-notes.md"
    path.write_text(path.read_text().replace("each morning", "each evening"))
    (other,) = await asyncio.to_thread(record, folder, "bm25")
    running = app(folder, "diff")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = screen_of(running)
        screen.post_message(ShowDiff(pair[1], other))
        await until(pilot, lambda: any("anchor-notes" in line for line in shown(running)))
        assert any("✗" in line for line in shown(running))
        assert screen.view is None
        await press(pilot, "b")
        await until(pilot, lambda: isinstance(running.screen, Picker))


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_text_is_inert_and_nothing_is_clipped(hostile: Path, size: tuple[int, int]) -> None:
    running = app(hostile, "diff")
    async with running.run_test(size=size) as pilot:
        screen = screen_of(running)
        await until(pilot, lambda: screen.view is not None)
        await at_rest(pilot)
        await at_rest(pilot)
        sound(running, screen, size)
        await press(pilot, "enter")
        table = screen.query_one("#diff-questions", LazyTable)
        await until(pilot, lambda: table.row_at(0) is not None)
        await at_rest(pilot)
        sound(running, screen, size)
        await press(pilot, "enter")
        await until(pilot, lambda: screen.level == "pair")
        await at_rest(pilot)
        sound(running, screen, size)


def sound(running: object, screen: DiffScreen, size: tuple[int, int]) -> None:
    """Every line as wide as the screen and without control characters; no pane clipped or under three rows."""
    lines = shown(running)  # type: ignore[arg-type]
    assert len(lines) == size[1]
    for line in lines:
        assert cell_len(line) == size[0]
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u202c\u200b" for char in line)
    for widget in screen.focus_chain:
        if widget.region.area:
            assert screen.region.contains_region(widget.region)
            assert widget.region.height >= 3, widget


def test_the_glyphs_are_those_of_the_command_line() -> None:
    assert diff_rows.VERDICT_GLYPHS == comparing._GLYPHS
    assert {word: told[0] for word, told in diff_rows._WORDS.items()} == comparing._WORDS
    assert "◆ primary measure, ◇ guard, ★ baseline" in DiffScreen.HELP
