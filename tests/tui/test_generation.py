"""The app over runs that ask a model: what Trace, Diff and Corpus make of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from ragtui.analysis.compare import compare
from ragtui.analysis.decomposition import MEANINGS
from ragtui.experiment.generation import Budget
from ragtui.providers.protocols import ChatRequest
from ragtui.tui.data import diff, trace
from ragtui.tui.data.answers import golden_answers
from ragtui.tui.data.corpus import retrieved_documents
from ragtui.tui.messages import ShowDiff, ShowRun
from ragtui.tui.screens.diff import DiffScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.widgets.answer_text import marked_answer, pattern_lines
from ragtui.tui.widgets.beside import BesideDialog
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.document import DocumentDialog
from tests.generation.station import generating, lab_with, ran, reads, station
from tests.store import samples
from tests.tui.trace_samples import HOSTILE, app, at_rest, lab, press, record, shown, until

SIZES = [(80, 24), (120, 40)]


def errs(request: ChatRequest) -> str:
    """Honest, but for two tanks: one answer holds what it must not, and foreign control characters."""
    said = reads(request)
    return f"Perhaps 9999 {HOSTILE}" if "anchor" in said else "Some." if "diesel" in said else said


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A workspace with a good run in all modes, twice each, and one of a worse model; their ids."""
    folder = station(tmp_path_factory.mktemp("generation") / "ws")
    plan = generating("oracle", "e2e", "noretrieval", "mock", repeats=2)
    good = ran(lab_with(folder, reads), plan).run_id
    return folder, good, ran(lab_with(folder, errs), plan, fresh=True).run_id


def sound(running: object, size: tuple[int, int]) -> str:
    """The screen's text: every line as wide as the screen, none with a control character."""
    lines = shown(running)  # type: ignore[arg-type]
    assert len(lines) == size[1]
    for line in lines:
        assert cell_len(line) == size[0]
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u202c\u200b" for char in line)
    return "\n".join(lines)


# -- the data ---------------------------------------------------------------------------------------------------------


def test_a_case_shows_only_the_stages_of_its_mode(runs: tuple[Path, str, str]) -> None:
    opened = lab(runs[0])
    view = trace.open_run(opened, runs[1], "working")
    stages = {}
    for mode in ("oracle", "e2e", "noretrieval", "mock"):
        case = trace.open_case(opened, view, f"anchor-litres@{mode}#1")
        stages[mode] = [stage.name for stage in case.stages]
        assert all(hit.ordinal in case.chunks for stage in case.stages for hit in stage.hits)
        assert case.searched == (mode in ("e2e", "mock"))
        assert not case.lost
    assert stages["e2e"] == stages["mock"] == ["bm25", "results", "context"]
    assert stages["oracle"] == stages["noretrieval"] == ["context"]
    oracle = trace.open_case(opened, view, "anchor-litres@oracle#1")
    assert {hit.doc for hit in oracle.stages[0].hits} == {"anchor-tank"}


def test_chunks_that_did_not_fit_are_a_list_of_their_own(tmp_path: Path) -> None:
    folder = station(tmp_path / "ws")
    narrow = generating("e2e", budget=Budget(context_window=300, answer_reserve=100))
    run = ran(lab_with(folder, reads), narrow)
    dropped = next(found.answered.dropped for found in run.traces if found.answered and found.answered.dropped)
    opened = lab(folder)
    case = trace.open_case(opened, trace.open_run(opened, run.run_id, "working"), "anchor-litres@e2e#1")
    assert [stage.name for stage in case.stages] == ["bm25", "results", "context", "dropped"]
    assert len(case.stages[-1].hits) == len(dropped)
    assert all(hit.name.count("#") == 1 for hit in case.stages[-1].hits)


def test_patterns_are_marked_where_they_match() -> None:
    case = msgspec.structs.replace(
        samples.golden(1), must_include=(r"24\s+litres", "dipped"), must_not_include=("9999", "litres of")
    )
    text = "It holds 24\nlitres of oil, not 9999."
    marked = marked_answer(case, text).plain
    assert marked == "It holds ⟦✓24\n⟧⟦✗litres of⟧ oil, not ⟦✗9999⟧."
    lines = pattern_lines(case, text).plain.splitlines()
    assert [line.split()[:2] for line in lines] == [["✓", "holds"], ["✗", "lacks"], ["✗", "must"], ["✗", "must"]]
    assert "(empty answer)" in marked_answer(case, " \n").plain


def test_a_golden_in_every_mode_says_what_that_means(runs: tuple[Path, str, str]) -> None:
    opened = lab(runs[0])
    found = golden_answers(opened, trace.open_run(opened, runs[1], "working"), "anchor-litres@e2e#2")
    assert found is not None
    assert [mode.mode for mode in found.modes] == ["oracle", "e2e", "noretrieval", "mock"]
    assert [len(mode.repeats) for mode in found.modes] == [2, 2, 2, 1]
    assert found.outcome == MEANINGS[True, True, False]
    assert found.unstable == ()
    worse = golden_answers(opened, trace.open_run(opened, runs[2], "working"), "diesel-litres@oracle#1")
    assert worse is not None
    assert worse.outcome == MEANINGS[False, False, False]


def test_the_diff_pairs_goldens_not_cases(runs: tuple[Path, str, str]) -> None:
    folder, good, worse = runs
    opened = lab(folder)
    pair = diff.choose_pair(trace.run_lines(opened), good, worse)
    view = diff.diff_view(opened, pair)
    assert view.comparison == compare(opened.recorded(good), opened.recorded(worse))
    assert view.primary == "correctness"
    found = diff.questions(view, "correctness")
    assert {item.case for item in found} == {"anchor-litres", "diesel-litres", "anchor-turn", "diesel-turn"}
    both = diff.pair_view(opened, diff.open_pair(opened, pair), "anchor-litres", view.names)
    assert both.base.answer is not None
    assert both.new.answer is not None
    assert (both.base.answer.passed, both.new.answer.passed) == (True, False)


def test_a_run_that_never_searched_says_nothing_of_documents(tmp_path: Path) -> None:
    folder = station(tmp_path / "ws")
    ran(lab_with(folder, reads), generating("noretrieval"))
    assert retrieved_documents(lab(folder)) is None
    second = ran(lab_with(folder, reads), generating("e2e")).run_id
    told = retrieved_documents(lab(folder))
    assert told is not None
    assert told[0] == second


# -- the screens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["start", "corpus", "launch", "live", "trace", "diff"])
@pytest.mark.parametrize("size", SIZES)
async def test_every_screen_opens(runs: tuple[Path, str, str], mode: str, size: tuple[int, int]) -> None:
    running = app(runs[0], mode)
    async with running.run_test(size=size) as pilot:
        await until(pilot, lambda: running.current_mode == mode)
        await at_rest(pilot)
        # An error would stand over it as a dialog.
        assert getattr(running.screen, "MODE", "") == mode
        sound(running, size)


@pytest.mark.parametrize("size", SIZES)
async def test_from_the_cases_to_answer_prompt_and_modes(runs: tuple[Path, str, str], size: tuple[int, int]) -> None:
    folder, _, worse = runs
    running = app(folder, "trace")
    async with running.run_test(size=size) as pilot:
        screen = running.screen
        assert isinstance(screen, TraceScreen)
        await until(pilot, lambda: len(screen.lines) == 2)
        await until(pilot, lambda: "gen unnamed" in sound(running, size))
        screen.post_message(ShowRun(worse))
        await until(pilot, lambda: screen.level == "cases" and screen.query_one(CasesPane).table.row_at(1) is not None)
        await at_rest(pilot)
        assert "noretrieval#1" in sound(running, size)
        await press(pilot, "down", "enter")
        pane = screen.query_one(CasePane)
        await until(pilot, lambda: pane.view is not None and pane.view.case.id == "anchor-litres@e2e#1")
        await at_rest(pilot)
        text = sound(running, size)
        assert "✗ failed  Perhaps ⟦✗9999⟧" in text
        assert "a Answer  o Modes" in text
        await press(pilot, "a")
        await until(pilot, lambda: isinstance(running.screen, DocumentDialog))
        await at_rest(pilot)
        text = sound(running, size)
        assert "✗ lacks" in text
        assert "Context: 5 injected, 0 dropped" in text
        await press(pilot, "end")
        await until(pilot, lambda: "Prompt as sent, 2 of 2: user" in "\n".join(shown(running)))
        sound(running, size)
        await press(pilot, "escape", "o")
        await until(pilot, lambda: isinstance(running.screen, BesideDialog))
        await at_rest(pilot)
        text = sound(running, size)
        assert MEANINGS[False, False, False][:40] in text
        for title in ("─ oracle ✗✗ ─", "─ e2e ✗✗ ─", "─ noretrieval ✗✗ ─"):
            assert title in text
        # Beside three modes a narrow screen has no room for the echo; its passes stand above.
        assert ("─ mock ✓ ─" in text) == (size[0] >= 120)
        assert "mock ✓" in text
        await press(pilot, "right", "enter")
        await until(pilot, lambda: pane.view is not None and pane.view.case.id == "anchor-litres@noretrieval#1")
        await at_rest(pilot)
        assert "nothing was searched for in this mode" in sound(running, size) or size[0] >= 120


@pytest.mark.parametrize("size", SIZES)
async def test_a_flipped_question_shows_both_answers(runs: tuple[Path, str, str], size: tuple[int, int]) -> None:
    folder, good, worse = runs
    running = app(folder, "diff")
    async with running.run_test(size=size) as pilot:
        screen = running.screen
        assert isinstance(screen, DiffScreen)
        screen.post_message(ShowDiff(good, worse))
        await until(pilot, lambda: screen.view is not None)
        await press(pilot, "enter", "enter")
        await until(pilot, lambda: screen.level == "pair")
        await at_rest(pilot)
        text = sound(running, size)
        assert "base ✓ passed  The anchor tank holds ⟦✓24 litres⟧ of oil." in text
        assert "new  ✗ failed  Perhaps ⟦✗9999⟧" in text
        await press(pilot, "a")
        await until(pilot, lambda: isinstance(running.screen, BesideDialog))
        await at_rest(pilot)
        text = sound(running, size)
        assert "✓ holds" in text
        assert "✗ lacks" in text
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(running.screen, TraceScreen) and running.screen.level == "case")
        opened = running.screen.query_one(CasePane).view
        assert opened is not None
        assert (opened.run_id, opened.case.id) == (worse, "anchor-litres@e2e#1")


async def test_a_retrieval_run_has_no_keys_for_answers(tmp_path: Path) -> None:
    folder = station(tmp_path / "ws")
    (run_id,) = await asyncio.to_thread(record, folder, "bm25")
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = running.screen
        assert isinstance(screen, TraceScreen)
        screen.post_message(ShowRun(run_id, "anchor-litres"))
        await until(pilot, lambda: screen.level == "case")
        assert not screen.check_action("answer", ())
        assert not screen.check_action("modes", ())
        assert "a Answer" not in "\n".join(shown(running))
