"""Launching and following runs that ask a model: the form means what the command line would run."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from textual.widgets import Input

from ragtui.errors import EXIT_OK
from ragtui.experiment.cases import parse_case
from ragtui.providers.protocols import ChatRequest
from ragtui.settings import open_workspace
from ragtui.store.store import Store
from ragtui.tui.data.form import Form
from ragtui.tui.data.launch import preview
from ragtui.tui.data.launch_estimate import estimated
from ragtui.tui.data.live import LiveTally, LiveView
from ragtui.tui.screens import launch_text, live_text
from ragtui.tui.screens.live import LiveScreen
from ragtui.tui.widgets.fields import Choice
from tests.generation.chat_server import openai
from tests.generation.station import generating, lab_with, levels, reads, station
from tests.providers.scripted_server import ScriptedServer
from tests.tui.test_launch import settled
from tests.tui.trace_samples import app, at_rest, lab, press, shown, until
from tests.workshop import ragtui, start

SIZES = [(80, 24), (120, 40)]
PROFILE = '[profiles.local]\nkind = "openai"\nurl = "{url}"\nconcurrency = 2\ninput_price = 1.0\noutput_price = 2.0\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def unhurried(request: ChatRequest) -> str:
    """The honest model, slowly enough to be watched; of one tank it is wrong."""
    time.sleep(0.05)
    return "Perhaps 9999." if "filter" in request.messages[-1].content else reads(request)


def fitting(running: Any, size: tuple[int, int]) -> str:
    lines = shown(running)
    assert [cell_len(line) for line in lines] == [size[0]] * size[1]
    return "\n".join(lines)


# -- the form ---------------------------------------------------------------------------------------------------------

FORMS = [
    Form(plan="bm25", tier="generation"),
    Form(plan="bm25", tier="generation", modes="e2e", repeats="2", limit="6", name="a name"),
    Form(plan="hybrid", tier="generation", modes="oracle,e2e", extra="generation.temperature=0.5; context.top_n=2"),
    Form(plan="bm25", tier="generation", fields={"retrieval.results": "20", "metrics.primary": "groundedness"}),
    Form(plan="bm25", tier="generation", fresh="yes", max_calls="900", max_cost="2.5", limit="4"),
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_the_form_and_its_command_make_the_same_run(folder: Path, form: Form) -> None:
    found = preview(lab(folder), form)
    assert found.faults == ()
    assert found.arguments[0] == "generate"
    done = ragtui(folder, *found.arguments, "--json")
    assert done.returncode == EXIT_OK, done.stderr
    assert json.loads(done.stdout)["spec_id"] == found.spec_id
    assert Store(folder / "runs.duckdb").runs()[0].cases == found.cases
    saved = ragtui(folder, "spec", "save", *found.binding)
    assert json.loads(saved.stdout)["spec_id"] == found.spec_id


def test_a_model_on_a_server_is_bound_by_its_identity(folder: Path) -> None:
    with ScriptedServer(openai()) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        found = preview(lab(folder), Form(plan="bm25", tier="generation", model="local", repeats="2"))
        assert found.faults == ()
        assert "asks local" in found.work
        # Twenty goldens, three modes twice, and the echo once.
        assert found.cases == 20 * 7
        done = ragtui(folder, *found.arguments, "--json")
    assert json.loads(done.stdout)["spec_id"] == found.spec_id


@pytest.mark.parametrize(
    ("form", "path", "words"),
    [
        (Form(plan="bm25", tier="generation", repeats="many"), "repeats", "whole number"),
        (Form(plan="bm25", tier="generation", repeats="0"), "repeats", "not between"),
        (Form(plan="bm25", tier="generation", modes="dream"), "modes", "no mode"),
        (Form(plan="bm25", tier="generation", max_calls="-1"), "max_calls", "below 0"),
        (Form(plan="bm25", tier="generation", max_calls="1.5"), "max_calls", "whole number"),
        (Form(plan="bm25", tier="generation", max_cost="much"), "max_cost", "not a number"),
        (Form(plan="bm25", tier="generation", max_cost="nan"), "max_cost", "not a cost"),
        (Form(plan="bm25", tier="generation", judge="mock"), "judge", "cannot judge"),
        (Form(plan="bm25", tier="matrix"), "models", "No model is named"),
        (Form(plan="bm25", tier="matrix", models="mock,nobody"), "models", "no model 'nobody'"),
        (Form(plan="bm25", tier="matrix", models="mock", plans="bm52"), "plans", "no preset"),
        (Form(plan="bm25", tier="matrix", models="mock", repeats="0"), "repeats", "not between"),
    ],
)
def test_faults_are_told_at_their_field(folder: Path, form: Form, path: str, words: str) -> None:
    found = preview(lab(folder), form)
    assert [place for place, _ in found.faults] == [path]
    assert words in found.faults[0][1]


def test_a_server_that_is_not_there_is_a_fault_of_the_plan(folder: Path) -> None:
    (folder / "ragtui.toml").write_text(PROFILE.format(url="http://127.0.0.1:9") + "retries = 0\ntimeout = 2\n")
    found = preview(lab(folder), Form(plan="bm25", tier="generation", model="local"))
    assert len(found.faults) == 1
    assert "cannot be reached" in found.faults[0][1]


def test_a_limit_of_cost_needs_the_prices_of_model_and_judge(folder: Path) -> None:
    free = '[profiles.free]\nkind = "openai"\nurl = "http://127.0.0.1:9"\n'
    (folder / "ragtui.toml").write_text(PROFILE.format(url="http://127.0.0.1:9") + free)
    for form in (
        Form(plan="bm25", tier="generation", model="free", max_cost="1"),
        Form(plan="bm25", tier="generation", model="local", judge="free", max_cost="1"),
        Form(plan="bm25", tier="matrix", models="local,free", max_cost="1"),
    ):
        found = [(path, words) for path, words in preview(lab(folder), form).faults if path == "max_cost"]
        assert found == [("max_cost", "A limit needs prices: set input_price and output_price in [profiles.free].")], (
            form
        )


def test_a_judged_run_is_bound_as_the_command_binds_it(folder: Path) -> None:
    with ScriptedServer(openai()) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        form = Form(plan="bm25", tier="generation", model="local", modes="e2e", repeats="1", judge="local", fresh="yes")
        found = preview(lab(folder), form)
        assert found.faults == ()
        assert found.arguments[-3:] == ("--judge", "local", "--fresh")
        assert not server.posts()
        done = ragtui(folder, *found.arguments, "--json")
    assert json.loads(done.stdout)["spec_id"] == found.spec_id


MATRICES = [
    (Form(plan="bm25", tier="matrix", models="mock"), 20 * 3),
    (Form(plan="bm25", tier="matrix", models="mock", plans="hybrid", modes="e2e", repeats="2", limit="3"), 3 * 2 * 2),
    (Form(plan="bm25", tier="matrix", models="mock", modes="oracle,e2e", extra="context.top_n=2", limit="3"), 3 * 2),
]


@pytest.mark.parametrize(("form", "cases"), MATRICES, ids=range(len(MATRICES)))
def test_a_matrix_is_what_its_command_runs(folder: Path, form: Form, cases: int) -> None:
    found = preview(lab(folder), form)
    assert found.faults == ()
    assert found.arguments[0] == "matrix"
    assert (found.spec_id, found.binding) == ("", ())
    assert found.cases == cases
    done = ragtui(folder, *found.arguments, "--json")
    assert done.returncode == EXIT_OK, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == found.rows
    assert sum(row.cases for row in Store(folder / "runs.duckdb").runs()) == cases


# -- before spending --------------------------------------------------------------------------------------------------


def test_the_estimate_is_that_of_dry_run_and_asks_nobody(folder: Path) -> None:
    with ScriptedServer(openai()) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        form = Form(plan="bm25", tier="generation", model="local", repeats="2", judge="local", limit="6")
        found = preview(lab(folder), form)
        counted = estimated(open_workspace(folder), found.arguments, lambda: False)
        assert counted is not None
        assert counted.fault == ""
        told = json.loads(ragtui(folder, *found.arguments, "--dry-run", "--json").stdout)["estimate"]
        assert msgspec.to_builtins(counted.rows) == tuple(told)
        assert [row.mode for row in counted.rows] == ["oracle", "e2e", "noretrieval", "mock", "judge"]
        judge = counted.rows[-1]
        assert (judge.calls, judge.cases) == (6 * 3 * 2, 6 * 3 * 2)
        assert judge.prompt_tokens > 0
        assert judge.cost is not None
        assert not server.posts(), "neither model nor judge"
        spent = launch_text.spending(found, counted, False)
        assert spent is not None
        for row in counted.rows:
            assert f"{row.mode:11} {row.calls:>5,}" in spent.plain
        assert f"{sum(row.cost or 0 for row in counted.rows):.4f}" in spent.plain
        assert max(cell_len(each) for each in spent.plain.splitlines()) <= 31
        begun = time.monotonic()
        assert estimated(open_workspace(folder), found.arguments, lambda: True) is None
        assert time.monotonic() - begun < 5
        assert "cannot be read" in (estimated(open_workspace(folder), ["generate", "x.toml"], bool) or counted).fault


@pytest.mark.parametrize("size", SIZES)
async def test_calls_and_cost_are_shown_before_anything_is_asked(folder: Path, size: tuple[int, int]) -> None:
    with ScriptedServer(openai()) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        running = app(folder, "launch")
        async with running.run_test(size=size) as pilot:
            screen = await settled(pilot)
            screen.query_one("#tier", Choice).focus()
            await press(pilot, "right")
            screen.query_one("#model", Choice).value = "local"
            screen.query_one("#limit", Input).value = "4"
            await settled(pilot)
            # Artifacts are not there yet: counting would build them, so it waits to be asked.
            assert screen.shown is not None
            assert screen.shown.builds
            assert screen.estimate is None
            assert "ctrl+g counts" in fitting(running, size)
            await press(pilot, "ctrl+g")
            await until(pilot, lambda: screen.estimate is not None)
            await at_rest(pilot)
            text = fitting(running, size)
            assert "asks        calls tokens cost ≤" in text
            assert "in all" in text
            screen.query_one("#max_calls", Input).focus()
            await press(pilot, "5", "x")
            await until(pilot, lambda: screen.shown is not None and bool(screen.shown.faults))
            await at_rest(pilot)
            assert screen.query_one("#max_calls").has_class("-wrong")
            assert "'5x' is not a whole number" in fitting(running, size)
            assert not screen.check_action("start", ())
            await press(pilot, "backspace")
            await settled(pilot)
            await until(pilot, lambda: screen.shown is not None and not screen.shown.faults)
            # The artifacts were built for the first estimate, so this one comes by itself.
            await until(pilot, lambda: screen.estimate is not None and "5" in screen.estimate.arguments)
            await at_rest(pilot)
            summary = launch_text.spending(screen.shown, screen.estimate, False)
            assert summary is not None
            assert "stops after 5 calls" in summary.plain
            assert not server.posts()
            await press(pilot, "ctrl+r")
            await until(pilot, lambda: running.current_mode == "live")
            store = Store(folder / "runs.duckdb")
            await until(pilot, lambda: bool((folder / "runs.duckdb").exists() and store.runs()))
            await until(pilot, lambda: not list((folder / ".ragtui" / "started").iterdir()))
        assert len(server.posts()) == 5
        assert store.runs()[0].status == "interrupted"


@pytest.mark.parametrize("size", SIZES)
async def test_the_tier_brings_its_fields_and_starts_a_process(folder: Path, size: tuple[int, int]) -> None:
    running = app(folder, "launch")
    async with running.run_test(size=size) as pilot:
        screen = await settled(pilot)
        assert not screen.query_one("#answers").display
        tier = screen.query_one("#tier", Choice)
        tier.focus()
        await press(pilot, "right")
        assert screen.query_one("#answers").display
        screen.query_one("#limit", Input).value = "8"
        await settled(pilot)
        await at_rest(pilot)
        text = fitting(running, size)
        assert "generation" in text
        assert "mock" in text
        assert screen.shown is not None
        assert "--all-modes" in screen.shown.arguments
        wanted = screen.shown.spec_id
        await press(pilot, "ctrl+r")
        assert running.current_mode == "live"
        store = Store(folder / "runs.duckdb")
        await until(pilot, lambda: bool((folder / "runs.duckdb").exists() and store.runs()))
        row = store.runs()[0]
        assert (row.spec_id, row.tier, row.cases) == (wanted, "generation", 24)
        assert running.memory.get("launch.tier", "") == "generation"
        await until(pilot, lambda: not list((folder / ".ragtui" / "started").iterdir()))


# -- following --------------------------------------------------------------------------------------------------------


def followed(folder: Path, fresh: bool = False) -> tuple[LiveView, str]:
    """A run of all modes as the live screen would have followed it, and its id."""
    from ragtui.ids import new_run_id
    from ragtui.lab import Spending

    opened, tally, run_id = lab_with(folder, unhurried), LiveTally(), new_run_id()
    plan = generating("oracle", "e2e", "noretrieval", "mock", repeats=2)

    async def follow() -> None:
        async for event in opened.events(opened.bind(plan), run_id=run_id, spending=Spending(fresh=fresh)):
            tally.add(event)

    asyncio.run(follow())
    view = tally.view()
    assert view is not None
    return view, run_id


def test_what_live_shows_is_of_one_mode_as_in_reports(folder: Path) -> None:
    view, run_id = followed(folder)
    run = lab(folder).recorded(run_id)
    assert view.mode == "e2e"
    assert {item.name: item.estimate.value for item in view.measures}["correctness"] == levels(run)["correctness"]
    for tag in view.tags:
        assert tag.done == tag.total == sum(tag.tag in case.tags for case in run.cases if "@e2e#" in case.id)
    assert view.feed
    assert {parse_case(item.case).mode for item in view.feed} == {"e2e"}


def test_fresh_and_replayed_answers_are_counted_apart(folder: Path) -> None:
    first, _ = followed(folder)
    again, _ = followed(folder)
    asked = 20 * 3 * 2
    assert (first.fresh, first.replayed) == (asked, 0)
    assert (again.fresh, again.replayed) == (0, asked)
    assert f"0 fresh, {asked} replayed" in live_text.answers(again).plain
    assert "cost" not in live_text.answers(first).plain


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_on_a_server_is_followed_with_pace_and_cost(folder: Path, size: tuple[int, int]) -> None:
    with ScriptedServer(openai(unhurried)) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url))
        running = app(folder, "live")
        async with running.run_test(size=size) as pilot:
            screen = running.screen
            assert isinstance(screen, LiveScreen)
            command = ("generate", "bm25", "--model", "local", "--all-modes", "--repeats", "2")
            process = await asyncio.to_thread(start, folder, *command)
            try:
                await until(pilot, lambda: screen.shown in screen.views and screen.views[screen.shown].fresh > 10)
                await until(pilot, lambda: "tokens/s" in fitting(running, size))
                text = fitting(running, size)
                assert "fresh, 0 replayed" in text
                assert "numbers of e2e" in text
                assert "cost 0.0" in text
                _, told = await asyncio.to_thread(process.communicate, timeout=60)
                assert process.returncode == EXIT_OK, told
                await until(pilot, lambda: screen.views[screen.shown].over)
            finally:
                process.kill()
                process.wait()
        view = screen.views[screen.shown]
        traces = list(Store(folder / "runs.duckdb").traces(view.run_id))
        answers = [found.answered for found in traces if found.answered is not None]
        spent = sum(answer.usage.cost or 0 for answer in answers)
        spent += sum(answer.rewrite.usage.cost or 0 for answer in answers if answer.rewrite is not None)
        assert view.cost == pytest.approx(spent)
