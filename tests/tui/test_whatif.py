"""What if: knobs move the numbers to exactly what a run of that plan gives, and nothing is told beyond the record."""

from __future__ import annotations

import asyncio
import itertools
import shlex
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from ragtui.analysis.compare import compare
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit, read_plan
from ragtui.experiment.plan import Floor, Fusion, Plan
from ragtui.experiment.presets import preset
from ragtui.lab import Lab, open_lab
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.settings import open_workspace
from ragtui.tui.app import RagtuiApp
from ragtui.tui.data import knobs
from ragtui.tui.data import whatif as data
from ragtui.tui.data.knobs import Knob
from ragtui.tui.data.whatif import Answer, WhatIf
from ragtui.tui.screens.diff import DiffScreen
from ragtui.tui.screens.trace import TraceScreen
from ragtui.tui.screens.whatif import WhatIfScreen
from ragtui.tui.widgets.cases_pane import CasesPane
from ragtui.tui.widgets.frame import KeyBar, StatusLine
from ragtui.tui.widgets.knob_list import KnobList
from ragtui.tui.widgets.plan_name import NameDialog
from tests.tui.trace_samples import app, at_rest, press, shown, until
from tests.workshop import TOPICS, make_workspace, sample_goldens

SIZES = [(80, 24), (120, 40), (200, 60)]


def hard_goldens() -> list[dict[str, Any]]:
    """Questions that the two channels answer differently: the document is named in another one's text too."""
    harder = [
        {
            "id": f"h-{place:02}-{step}",
            "query": f"which crew keeps a record beside the {topic} before noon, and what waits {words}",
            "relevantDocIds": [f"{TOPICS[(place + step) % len(TOPICS)]}-notes"],
        }
        for place, topic in enumerate(TOPICS)
        for step, words in ((1, "there"), (2, "broken"), (5, f"for the {TOPICS[(place + 4) % len(TOPICS)]}"))
    ]
    return [*sample_goldens(20), *harder]


def running_lab(folder: Path) -> Lab:
    return open_lab(folder, execution="allow_runs", query_embedder=BuiltinEmbedder())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_workspace(tmp_path_factory.mktemp("whatif") / "ws", goldens=hard_goldens())
    opened = running_lab(made)
    opened.run(opened.bind(preset("bm25")))
    opened.run(opened.bind(preset("hybrid-weighted")))
    return made


@pytest.fixture
def elsewhere(folder: Path, tmp_path: Path) -> Path:
    """The same inputs, for runs of the plans that were tried."""
    return shutil.copytree(folder, tmp_path / "elsewhere")


@pytest.fixture
def found(folder: Path) -> WhatIf:
    return data.open_whatif(open_lab(folder), newest(folder), "working")


def newest(folder: Path) -> str:
    return open_lab(folder).store.runs()[0].run_id


def knob_of(found: WhatIf, plan: Plan, key: str) -> Knob:
    return next(knob for knob in knobs.knobs_of(found.plan, plan, found.ranges) if knob.key == key)


def assert_as_run(folder: Path, found: WhatIf, answer: Answer) -> None:
    """The answer is what a run of its plan gives, to the last bit."""
    opened = running_lab(folder)
    relevance = msgspec.structs.replace(found.plan.metrics, relevance=answer.plan.metrics.relevance)
    base = opened.run(opened.bind(msgspec.structs.replace(found.plan, metrics=relevance)))
    fresh = opened.run(opened.bind(answer.plan))
    wanted = compare(base, fresh)
    assert set(answer.changes) == set(fresh.measures)
    for name, change in answer.changes.items():
        told = wanted.measures[name]
        assert (change.base, change.new, change.delta) == (told.base, told.new, told.delta), name
        assert (change.wins, change.ties, change.losses) == (told.wins, told.ties, told.losses), name
        assert change.p is None
    assert answer.flip_measure == wanted.flip_measure
    assert answer.flips == wanted.flips


def trace_of(running: RagtuiApp) -> TraceScreen:
    assert isinstance(running.screen, TraceScreen)
    return running.screen


async def opened_on(pilot: Pilot[int]) -> WhatIfScreen:
    """The what-if of the newest run, opened from the list of runs, with its first answer."""
    trace = pilot.app.screen
    assert isinstance(trace, TraceScreen)
    await until(pilot, lambda: bool(trace.lines))
    await press(pilot, "r")
    await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
    screen = pilot.app.screen
    assert isinstance(screen, WhatIfScreen)
    await until(pilot, lambda: screen.answer is not None)
    return screen


async def answered(pilot: Pilot[int], screen: WhatIfScreen) -> Answer:
    await at_rest(pilot)
    await until(pilot, lambda: screen.answer is not None and screen.answer.plan == screen.plan)
    assert screen.answer is not None
    await at_rest(pilot)
    return screen.answer


async def to_knob(pilot: Pilot[int], screen: WhatIfScreen, key: str) -> None:
    await press(pilot, "home")
    for _ in screen.knobs:
        if screen.query_one(KnobList).key == key:
            return
        await press(pilot, "down")
    raise AssertionError(f"no knob {key}")


# -- knobs ------------------------------------------------------------------------------------------------------------


def test_every_knob_moves_to_what_a_run_gives(elsewhere: Path, found: WhatIf) -> None:
    scores = found.ranges.scores
    assert set(scores) == {"lexical", "semantic"}
    middle = (scores["lexical"].low + scores["lexical"].high) / 2
    changes: list[dict[str, knobs.Value]] = [
        {},
        {"weight:lexical": 3.5, "weight:semantic": 0.0, "rank_constant:": 1.0},
        {"depth:lexical": 1, "depth:semantic": 1, "collapse:": "none", "results:": 40},
        {"min_score:lexical": middle, "weight:semantic": 0.5, "relevance:": 3},
        {"min_score:lexical": middle, "min_score:semantic": scores["semantic"].high},
        {"floor_score:": "semantic", "floor_minimum:": scores["semantic"].high * 0.8},
        {"floor_score:": "fused", "floor_minimum:": 0.048, "relevance:": 1},
    ]
    moved, flipped = 0, set()
    for wanted in changes:
        plan = found.plan
        for key, value in wanted.items():
            plan = knobs.write(found.plan, plan, knob_of(found, plan, key), value)
        answer = found.answer(plan)
        assert not answer.reasons
        assert_as_run(elsewhere, found, answer)
        flipped |= {flip.direction for flip in answer.flips}
        assert edit(found.plan, data.settings_of(found.plan, plan)) == plan
        moved += any(change.losses for change in answer.changes.values())
        for key in wanted:
            plan = knobs.reset(found.plan, plan, knob_of(found, plan, key))
        assert plan == found.plan
    assert moved >= 5
    assert flipped == {"lost", "found"}


def test_the_record_itself_changes_nothing(found: WhatIf) -> None:
    answer = found.answer(found.plan)
    assert answer.flips == ()
    assert all(change.delta in (0.0, None) for change in answer.changes.values())
    assert data.settings_of(found.plan, found.plan) == []
    assert data.command_line(found, found.plan) == ""


def test_steps_stay_on_the_grid_and_inside_the_range(found: WhatIf) -> None:
    for knob in knobs.knobs_of(found.plan, found.plan, found.ranges):
        start = knobs.read(found.plan, knob)
        if knob.fixed:
            continue
        for by, large in itertools.product((1, -1), (False, True)):
            value, steps = start, 0
            while (following := knobs.moved(knob, value, by, large=large)) != value:
                value, steps = following, steps + 1
                assert steps < 3000, knob
                place = knobs.place_of(knob, value)
                assert value is None or (place is not None and 0 <= place <= 1)
                if value is not None and not knob.choices:
                    assert knob.low <= float(value) <= knob.high
                assert not knob.whole or isinstance(value, int)
                # Every value that keys reach is a plan.
                assert not found.answer(knobs.write(found.plan, found.plan, knob, value)).reasons or (
                    knob.kind == "weight" and value == 0
                )
            assert steps or start in (knob.low, knob.high, None) or knob.choices, knob
    weight = knob_of(found, found.plan, "weight:lexical")
    assert knobs.moved(weight, 1.0, 1) == 1.1
    assert knobs.moved(weight, 1.04, 1) == 1.1
    assert knobs.moved(weight, 1.04, -1) == 1.0
    assert knobs.moved(weight, 9.0, 1) == 9.0
    assert knobs.moved(weight, 9.0, -1) == 8.9
    with pytest.raises(InvalidInput, match="not a number"):
        knobs.typed(weight, "1.2.3")
    with pytest.raises(InvalidInput, match="whole number"):
        knobs.typed(knob_of(found, found.plan, "depth:lexical"), "1.5")


def test_reasons_stand_in_the_place_of_numbers(found: WhatIf) -> None:
    # The corpus has fewer chunks than the depth, so nothing is beyond it until the lists are cut.
    plan = knobs.write(found.plan, found.plan, knob_of(found, found.plan, "depth:semantic"), 5)
    shallow = msgspec.structs.replace(found.run.specification, plan=plan)
    traces = tuple(
        msgspec.structs.replace(
            trace,
            channels={
                **trace.channels,
                "semantic": msgspec.structs.replace(
                    trace.channels["semantic"],
                    chunks=trace.channels["semantic"].chunks[:5],
                    scores=trace.channels["semantic"].scores[:5],
                ),
            },
        )
        for trace in found.run.traces
    )
    cut = WhatIf(msgspec.structs.replace(found.run, specification=shallow, traces=traces))
    deeper = cut.answer(found.plan)
    assert deeper.changes == {}
    assert deeper.flips == ()
    assert any("retrieval.channels.semantic.depth: 50 is deeper than the 5 recorded" in why for why in deeper.reasons)
    weightless = msgspec.structs.replace(
        found.plan,
        retrieval=msgspec.structs.replace(
            found.plan.retrieval, fusion=Fusion(weights={"lexical": 0.0, "semantic": 0.0}), results=3
        ),
    )
    assert len(found.answer(weightless).reasons) >= 2
    assert cut.answer(plan).changes


def test_settings_of_names_with_dots_and_of_floors(found: WhatIf) -> None:
    retrieval = found.plan.retrieval
    channels = {"a.b": retrieval.channels["lexical"], "c": retrieval.channels["semantic"]}
    old = msgspec.structs.replace(
        found.plan, retrieval=msgspec.structs.replace(retrieval, channels=channels, fusion=Fusion())
    )
    deep = msgspec.structs.replace(channels["a.b"], depth=3, min_score=0.25)
    new = msgspec.structs.replace(
        old,
        retrieval=msgspec.structs.replace(
            old.retrieval,
            channels={**channels, "a.b": deep},
            fusion=Fusion(weights={"a.b": 2.5}),
            floor=Floor(score="a.b", minimum=-0.5),
        ),
    )
    assert edit(old, data.settings_of(old, new)) == new
    assert edit(new, data.settings_of(new, msgspec.structs.replace(
        new, retrieval=msgspec.structs.replace(new.retrieval, floor=None)
    ))).retrieval.floor is None  # fmt: skip


def test_a_plan_is_saved_once_under_a_name(tmp_path: Path, found: WhatIf) -> None:
    workspace = open_workspace(tmp_path)
    plan = knobs.write(found.plan, found.plan, knob_of(found, found.plan, "rank_constant:"), 7.0)
    assert "plans/more vector.json" in data.save_plan(workspace, found, plan, " more vector.json ")
    path = tmp_path / "plans" / "more vector.json"
    again, provenance = read_plan(path)
    assert again == plan
    assert provenance.name == "more vector"
    assert found.run.run_id in provenance.note
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="already"):
        data.save_plan(workspace, found, found.plan, "more vector")
    assert path.read_bytes() == before
    for name in ("", "  ", "../up", "a/b", ".hidden", "x" * 90, "nul\x00"):
        with pytest.raises(InvalidInput, match="name"):
            data.save_plan(workspace, found, plan, name)
    assert sorted(tmp_path.rglob("*.json")) == [path]


def test_generation_is_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidInput, match="takes the model"):
        data.refuse_generation("generation")


# -- the screen -------------------------------------------------------------------------------------------------------


async def test_keys_move_measures_to_what_a_run_gives(folder: Path, elsewhere: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await opened_on(pilot)
        assert screen.found is not None
        await to_knob(pilot, screen, "weight:lexical")
        await press(pilot, "right", "right", "shift+right")
        await to_knob(pilot, screen, "depth:semantic")
        await press(pilot, "shift+left")
        await to_knob(pilot, screen, "min_score:lexical")
        await press(pilot, "right", "shift+right", "right")
        await to_knob(pilot, screen, "rank_constant:")
        await press(pilot, "1", "7", ".", "5", "enter")
        await to_knob(pilot, screen, "floor_score:")
        await press(pilot, "right", "down", "shift+right")
        await to_knob(pilot, screen, "collapse:")
        await press(pilot, "left")
        answer = await answered(pilot, screen)
        retrieval = answer.plan.retrieval
        assert retrieval.fusion.weights["lexical"] == 2.0
        assert retrieval.channels["semantic"].depth == 25
        assert retrieval.channels["lexical"].min_score is not None
        assert retrieval.fusion.rank_constant == 17.5
        assert retrieval.floor is not None
        assert retrieval.floor.score == "fused"
        assert retrieval.floor.minimum > 0
        assert retrieval.collapse == "none"
        await asyncio.to_thread(assert_as_run, elsewhere, screen.found, answer)
        assert any(change.losses for change in answer.changes.values())
        lines = shown(running)
        change = answer.changes["nDCG@10"]
        row = next(line for line in lines if "◆nDCG@10" in line)
        assert change.new is not None
        assert f"{change.new:.3f}" in row
        assert f"{change.wins}/{change.ties}/{change.losses}" in row
        assert any("Not tested statistically" in line for line in lines)
        assert any("● 6 changes" in line for line in lines)


async def test_one_knob_and_all_go_back(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened_on(pilot)
        recorded = screen.plan
        assert recorded is not None
        await press(pilot, "right", "right")
        await to_knob(pilot, screen, "rank_constant:")
        await press(pilot, "enter", "0", "enter")
        answer = await answered(pilot, screen)
        assert answer.plan.retrieval.fusion.rank_constant == 0.0
        assert answer.plan.retrieval.fusion.weights["lexical"] == 1.2
        await press(pilot, "backspace")
        answer = await answered(pilot, screen)
        assert answer.plan.retrieval.fusion.rank_constant == recorded.retrieval.fusion.rank_constant
        assert answer.plan != recorded
        await press(pilot, "0")
        answer = await answered(pilot, screen)
        assert answer.plan == recorded
        assert answer.flips == ()
        assert any("as recorded" in line for line in shown(running))


async def test_typing_is_corrected_left_and_refused(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened_on(pilot)
        recorded = screen.plan
        await press(pilot, "5", "6", "backspace")
        assert any("5▏" in line for line in shown(running))
        await press(pilot, "escape")
        assert running.screen is screen
        assert screen.plan == recorded
        await press(pilot, "1", ".", "2", ".", "3", "enter")
        await at_rest(pilot)
        assert screen.plan == recorded
        assert "not a number" in screen.query_one(StatusLine).toast
        await to_knob(pilot, screen, "collapse:")
        await press(pilot, "3")
        await at_rest(pilot)
        assert "none, document" in screen.query_one(StatusLine).toast
        assert screen.query_one(KnobList).typing is None
        await to_knob(pilot, screen, "floor_minimum:")
        await press(pilot, "right")
        await at_rest(pilot)
        assert "floor first" in screen.query_one(StatusLine).toast
        assert screen.plan == recorded
        # What was typed is set when another row is gone to.
        await to_knob(pilot, screen, "rank_constant:")
        await press(pilot, "9", "up")
        answer = await answered(pilot, screen)
        assert answer.plan.retrieval.fusion.rank_constant == 9.0


async def test_beyond_and_impossible_say_why_and_numbers_come_back(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened_on(pilot)
        await to_knob(pilot, screen, "results:")
        await press(pilot, "2", "enter")
        answer = await answered(pilot, screen)
        assert answer.reasons
        lines = shown(running)
        assert any("✗ No numbers" in line for line in lines)
        assert any("retrieval.results is 2" in line for line in lines)
        assert not any("◆nDCG@10" in line for line in lines)
        await press(pilot, "backspace")
        assert not (await answered(pilot, screen)).reasons
        assert any("◆nDCG@10" in line for line in shown(running))


async def test_a_held_key_is_never_behind_and_ends_at_the_last_value(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened_on(pilot)
        assert screen.found is not None
        asked: list[Plan] = []
        under_way = 0
        real = screen.found.answer

        def counted(plan: Plan) -> Answer:
            nonlocal under_way
            under_way += 1
            assert under_way == 1
            asked.append(plan)
            answer = real(plan)
            under_way -= 1
            return answer

        screen.found.answer = counted  # type: ignore[method-assign]
        knob_list = screen.query_one(KnobList)
        for _ in range(200):
            knob_list.action_turn(1)
        answer = await answered(pilot, screen)
        assert answer.plan.retrieval.fusion.weights["lexical"] == 4.0
        assert len(asked) < 30


async def test_copy_and_save(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "ws"
    shutil.copytree(folder, own)
    copied: list[str] = []
    monkeypatch.setattr(RagtuiApp, "copy", lambda self, text: copied.append(text))
    running = app(own, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await opened_on(pilot)
        assert screen.found is not None
        await press(pilot, "y")
        await at_rest(pilot)
        assert copied == []
        assert "Nothing is changed" in screen.query_one(StatusLine).toast
        await press(pilot, "right", "y")
        await at_rest(pilot)
        words = shlex.split(copied[0])
        assert words[:3] == ["ragtui", "replay", screen.found.run.run_id]
        settings = [word for word in words[3:] if word != "--set"]
        assert edit(screen.found.plan, settings) == screen.plan
        await press(pilot, "s")
        await until(pilot, lambda: isinstance(running.screen, NameDialog))
        running.screen.query_one(Input).value = "tried"
        await press(pilot, "enter")
        path = own / "plans" / "tried.json"
        await until(pilot, path.exists)
        await until(pilot, lambda: "ragtui run plans/tried.json" in screen.query_one(StatusLine).toast)
        assert read_plan(path)[0] == screen.plan
        await press(pilot, "escape")
        assert isinstance(running.screen, TraceScreen)


async def test_it_opens_inside_a_run_and_from_a_diff(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        trace = trace_of(running)
        await until(pilot, lambda: bool(trace.lines))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: trace.level == "cases" and trace.query_one(CasesPane).table.row_at(0) is not None)
        assert trace.view is not None
        wanted = trace.view.record.run_id
        for level in ("cases", "case"):
            if level == "case":
                await press(pilot, "enter")
                await until(pilot, lambda: trace.level == "case")
            await press(pilot, "r")
            await until(pilot, lambda: isinstance(running.screen, WhatIfScreen))
            screen = running.screen
            assert isinstance(screen, WhatIfScreen)
            await until(pilot, lambda screen=screen: screen.answer is not None)  # type: ignore[misc]
            assert screen.found is not None
            assert screen.found.run.run_id == wanted
            await press(pilot, "escape")
            assert running.screen is trace
        await press(pilot, "5")
        diff = running.screen
        assert isinstance(diff, DiffScreen)
        runs = [line.row.run_id for line in trace.lines]
        diff.wanted = (runs[1], runs[0])
        await until(pilot, lambda: diff.pair is not None)
        assert diff.pair is not None
        await press(pilot, "r")
        await until(pilot, lambda: isinstance(running.screen, WhatIfScreen))
        over = running.screen
        assert isinstance(over, WhatIfScreen)
        await until(pilot, lambda: over.answer is not None)
        assert over.found is not None
        assert over.found.run.run_id == diff.pair.new.row.run_id


async def test_a_generation_run_is_refused_on_the_line_of_state(folder: Path) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=(80, 24)) as pilot:
        trace = trace_of(running)
        await until(pilot, lambda: bool(trace.lines))
        line = trace.lines[0]
        asking = msgspec.structs.replace(line, row=msgspec.structs.replace(line.row, tier="generation"))
        trace.lines = (asking, *trace.lines[1:])
        await press(pilot, "r")
        await at_rest(pilot)
        assert running.screen is trace
        assert "takes the model" in trace.query_one(StatusLine).toast


@pytest.mark.parametrize("size", SIZES)
async def test_it_fits_and_is_reached_by_keys(folder: Path, size: tuple[int, int]) -> None:
    running = app(folder, "trace")
    async with running.run_test(size=size) as pilot:
        screen = await opened_on(pilot)
        await press(pilot, "right")
        await answered(pilot, screen)
        lines = shown(running)
        assert all(cell_len(line) <= size[0] for line in lines)
        for knob in screen.knobs:
            assert any(knob.label in line for line in lines), knob.label
        assert any("●lexical weight" in line for line in lines)
        assert any("Flips by" in line for line in lines)
        bar = screen.query_one(KeyBar).render().plain
        for words in ("Turn", "Reset", "All back", "Save", "Copy", "help"):
            assert words in bar
        await press(pilot, "tab")
        assert screen.focused is not None
        assert screen.focused.id == "whatif-measures"
        await press(pilot, "down")
        await at_rest(pilot)
        assert "recorded" in screen.query_one(StatusLine).state
        await press(pilot, "question_mark")
        await at_rest(pilot)
        assert any("Help · What if" in line for line in shown(running))
