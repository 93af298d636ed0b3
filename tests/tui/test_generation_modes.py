"""A run by mode, and what a judge said: as the command line tells it, by keys, inert, and fitting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from ragtui.analysis.decomposition import MEANINGS, REFUSAL_MEANINGS, decompose
from ragtui.analysis.judge import judge_section
from ragtui.analysis.modes import mode_summaries
from ragtui.analysis.usage import usage_by_mode
from ragtui.tui.app import RagtuiApp
from ragtui.tui.data import documents, trace
from ragtui.tui.data.by_mode import by_mode
from ragtui.tui.messages import ShowRun
from ragtui.tui.screens.by_mode import ByModeScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.answer_text import judged_parts, whole_answer
from ragtui.tui.widgets.by_mode_rows import estimate_text, outcome_key, sections
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.frame import StatusLine
from ragtui.tui.widgets.picker import Picker
from tests.tui.frames import (
    assert_actions_told,
    assert_declared,
    assert_explained,
    assert_inert,
    assert_nothing_clipped,
)
from tests.tui.generation_samples import HOSTILE_ID, JUDGED, PLAIN, UNJUDGED, hostile_station, record_all
from tests.tui.trace_samples import HOSTILE, app, at_rest, lab, press, shown, until

SIZES = [(80, 24), (120, 40), (200, 60), (60, 20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(hostile_station(tmp_path_factory.mktemp("modes") / "ws"))


async def opened(pilot: Pilot[Any], run_id: str = JUDGED) -> ByModeScreen:
    """By mode, from the cases of a run."""
    running = pilot.app
    screen = running.screen
    assert isinstance(screen, TraceScreen)
    screen.post_message(ShowRun(run_id))
    await until(pilot, lambda: screen.level == "cases")
    await press(pilot, "v")
    await until(pilot, lambda: isinstance(running.screen, ByModeScreen))
    over = running.screen
    assert isinstance(over, ByModeScreen)
    await until(pilot, lambda: over.found is not None)
    await at_rest(pilot)
    return over


# -- the data ---------------------------------------------------------------------------------------------------------


def test_by_mode_is_what_the_command_line_reports(folder: Path) -> None:
    opened_lab = lab(folder)
    run = opened_lab.recorded(JUDGED)
    found = by_mode(opened_lab, JUDGED, "working")
    assert found.decomposition == decompose(run)
    assert found.judged == judge_section(run)
    assert found.usage == usage_by_mode(run)
    assert found.summaries == mode_summaries(run)
    plain = by_mode(opened_lab, UNJUDGED, "working")
    assert (plain.decomposition, plain.judged) == (None, None)


@pytest.mark.parametrize("wide", [False, True])
def test_every_number_stands_in_its_cell(folder: Path, wide: bool) -> None:
    found = by_mode(lab(folder), JUDGED, "working")
    parts = {section.key: section for section in sections(found, wide)}
    assert list(parts) == ["measures", "differences", "outcomes", "judged", "usage"] or "unstable" in parts
    rows = {row.key: [cell.plain for cell in row.cells] for row in parts["measures"].rows}
    for place, (mode, summary) in enumerate(found.summaries.items(), 1):
        told = summary.overall["correctness"]
        assert rows["correctness"][place] == estimate_text(told, wide).plain, mode
        assert f"{told.value:.3f}" in rows["correctness"][place]
    assert found.decomposition is not None
    differences = {row.key: [cell.plain for cell in row.cells] for row in parts["differences"].rows}
    for place, pair in enumerate(found.decomposition.differences):
        cell = differences["all goldens"][1 + 2 * place]
        assert cell == f"{pair.overall.value:+.3f} [{pair.overall.low:+.2f}, {pair.overall.high:+.2f}]"
        for tag, told in pair.by_tag.items():
            assert differences[f"tag {tag}"][2 + 2 * place] == str(told.n)
    outcomes = {row.key: [cell.plain for cell in row.cells] for row in parts["outcomes"].rows}
    assert list(outcomes) == [outcome_key(*sides) for sides in MEANINGS]
    for row in found.decomposition.outcomes:
        assert outcomes[outcome_key(row.oracle, row.e2e, row.noretrieval)][3:] == [str(len(row.goldens)), row.meaning]
    assert sum(int(cells[3]) for cells in outcomes.values()) == 21
    judged = {row.key: [cell.plain for cell in row.cells] for row in parts["judged"].rows}
    assert list(judged) == ["faithfulness", "completeness", "relevance"]
    assert "groundedness in" in judged["faithfulness"][-1]


def test_intervals_are_short_where_it_is_narrow(folder: Path) -> None:
    found = by_mode(lab(folder), JUDGED, "working")
    for section in sections(found, False):
        for row in section.rows if section.key == "measures" else ():
            assert max(len(cell.plain) for cell in row.cells[1:]) <= 13


def test_a_verdict_is_told_with_its_claims_and_its_reply_as_it_came(folder: Path) -> None:
    opened_lab = lab(folder)
    view = trace.open_run(opened_lab, JUDGED, "working")
    case = trace.open_case(opened_lab, view, "anchor-litres@e2e#1")
    assert case.answer is not None
    assert case.answer.judge is not None
    (title, verdict), (_, raw) = judged_parts(case.answer.judge)
    assert title == "Judge, apart from all measures"
    assert "✓ supported: it holds 24 litres" in verdict.plain
    assert "✗ not supported: \\x1b[31mRED" in verdict.plain
    assert "faithfulness 0.500   completeness 0.750   relevance 1.000" in verdict.plain
    assert '"completeness": 4' in raw.plain
    copied = documents.answer_text(case)
    assert case.answer.judge.raw in copied
    assert "not supported: " in copied
    prose = trace.open_case(opened_lab, view, "kerosene-litres@e2e#1")
    assert prose.answer is not None
    assert prose.answer.judge is not None
    (_, verdict), (_, raw) = judged_parts(prose.answer.judge)
    assert verdict.plain.startswith("✗ no_verdict: ")
    assert "Looks fine to me." in raw.plain
    unjudged = trace.open_case(opened_lab, trace.open_run(opened_lab, UNJUDGED, "working"), "anchor-litres@e2e#1")
    assert "Judge" not in whole_answer(unjudged).plain


# -- the screen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_it_fits_is_told_and_stays_inert(folder: Path, size: tuple[int, int]) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert_nothing_clipped(running, size)
        assert_inert(running, size)
        assert_actions_told(running)
        assert_declared(screen)
        assert_explained(screen)
        seen = "\n".join(shown(running))
        assert "▸correctness" in seen
        head = screen.query_one("#over-head", Static).render()
        assert screen.found is not None
        assert screen.found.decomposition is not None
        for finding in screen.found.decomposition.findings:
            assert finding.partition(":")[0] in str(head)
        for _ in range(screen.listing.virtual_size.height):
            await pilot.press("down")
        await at_rest(pilot)
        assert_inert(running, size)
        assert "what it took" in "\n".join(shown(running))


async def test_an_outcome_leads_to_its_goldens_and_one_of_them_to_its_case(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert screen.found is not None
        assert screen.found.decomposition is not None
        filled = [row for row in screen.found.decomposition.outcomes if row.goldens]
        empty = next(row for row in screen.found.decomposition.outcomes if not row.goldens)
        known = f"{MEANINGS[True, True, True]}; for the 4 to be refused, {REFUSAL_MEANINGS[True, True, True]}"
        assert {row.meaning for row in filled} >= {known, MEANINGS[False, False, False]}
        screen.listing.go_to("outcomes")
        await press(pilot, "enter")
        assert isinstance(running.screen, Picker)
        assert "known anyway" in "\n".join(shown(running))
        await press(pilot, "escape")
        while (found := screen.listing.under_cursor()) is not None and found[1].key != outcome_key(
            empty.oracle, empty.e2e, empty.noretrieval
        ):
            await press(pilot, "down")
        await press(pilot, "enter")
        assert "No golden has this outcome" in screen.query_one(StatusLine).toast
        while (found := screen.listing.under_cursor()) is not None and found[1].key != "✗✗✗":
            await press(pilot, "down")
        failing = next(row.goldens for row in filled if row.meaning == MEANINGS[False, False, False])
        await press(pilot, "enter", "enter")
        await until(pilot, lambda: isinstance(running.screen, TraceScreen) and running.screen.level == "case")
        pane = running.screen.query_one(CasePane)
        await until(pilot, lambda: pane.view is not None and pane.view.case.id == f"{failing[0]}@e2e#1")


async def test_hostile_goldens_are_listed_and_opened(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen._choose("a meaning", (HOSTILE_ID, "anchor-litres"))
        await until(pilot, lambda: isinstance(running.screen, Picker))
        await at_rest(pilot)
        assert "\\x1b[31mRED" in "\n".join(shown(running))
        assert_inert(running, (80, 24))
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(running.screen, TraceScreen) and running.screen.level == "case")
        pane = running.screen.query_one(CasePane)
        await until(pilot, lambda: pane.view is not None and pane.view.case.id == f"{HOSTILE_ID}@e2e#1")
        await press(pilot, "a")
        await until(pilot, lambda: isinstance(running.screen, DocumentDialog))
        for _ in range(6):
            await press(pilot, "pagedown")
            assert_inert(running, (80, 24))


async def test_the_answer_shows_the_judge_in_a_section_of_its_own(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = running.screen
        assert isinstance(screen, TraceScreen)
        screen.post_message(ShowRun(JUDGED, "anchor-litres@e2e#1"))
        await until(pilot, lambda: screen.level == "case" and screen.query_one(CasePane).view is not None)
        await press(pilot, "a")
        await until(pilot, lambda: isinstance(running.screen, DocumentDialog))
        seen = []
        for _ in range(8):
            await at_rest(pilot)
            seen += shown(running)
            assert_inert(running, (80, 24))
            await press(pilot, "pagedown")
        text = "\n".join(seen)
        assert "Judge, apart from all measures" in text
        assert "✗ not supported" in text
        assert "Judge's reply as it came" in text


async def test_copy_help_and_a_run_without_modes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(RagtuiApp, "copy", lambda self, text: copied.append(text))
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, UNJUDGED)
        assert "--all-modes" in "\n".join(shown(running))
        await press(pilot, "y")
        assert copied[0].startswith("measure  e2e\ncorrectness  ")
        await press(pilot, "question_mark")
        assert any("Help · By mode" in line for line in shown(running))
        await press(pilot, "escape", "escape")
        trace_screen = running.screen
        assert isinstance(trace_screen, TraceScreen)
        assert screen not in running.screen_stack
        await press(pilot, "escape")
        assert trace_screen.level == "runs"
        # Newest first: judged, e2e alone, then the one that ranks documents.
        assert [line.row.run_id for line in trace_screen.lines] == [JUDGED, UNJUDGED, PLAIN]
        assert trace_screen.check_action("by_mode", ())
        await press(pilot, "down", "down")
        assert not trace_screen.check_action("by_mode", ())
        await press(pilot, "v")
        assert running.screen is trace_screen
        assert HOSTILE not in "\n".join(shown(running))


async def test_a_run_that_is_gone_is_told(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        running.push_screen(ByModeScreen("nosuchrun000", "working"))
        await until(pilot, lambda: "nosuchrun000" in "\n".join(shown(running)) and "✗" in "\n".join(shown(running)))
