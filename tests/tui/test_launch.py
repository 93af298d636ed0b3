"""The launch screen: a form that means exactly what the command line would run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Input

from ragtui.errors import EXIT_OK
from ragtui.lab import Lab
from ragtui.settings import open_workspace
from ragtui.store.store import Store
from ragtui.tui.data.form import Form, base_plan, fields_of, plan_choices, settings_of
from ragtui.tui.data.launch import preview
from ragtui.tui.screens.launch import LaunchScreen
from ragtui.tui.screens.launch_form import widget_id
from ragtui.tui.widgets.fields import Choice
from tests.tui.trace_samples import app, at_rest, press, record, shown, until
from tests.workshop import make_workspace, ragtui


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("launch") / "ws")
    record(folder, "bm25")
    return folder


def lab(folder: Path) -> Lab:
    return Lab(open_workspace(folder))


async def settled(pilot: Pilot[Any]) -> LaunchScreen:
    """The screen once it shows what is written."""
    screen = pilot.app.screen
    assert isinstance(screen, LaunchScreen)
    await until(pilot, lambda: screen.shown is not None and screen.shown.form == screen.form())
    await at_rest(pilot)
    return screen


def field(screen: LaunchScreen, path: str) -> Input:
    return screen.query_one(f"#{widget_id(path)}", Input)


DEPTH = "retrieval.channels.bm25.depth"
FORMS = [
    Form(plan="hybrid"),
    Form(plan="bm25", tags="even", limit="7"),
    Form(plan="hybrid", fields={"retrieval.channels.vector": "off"}),
    Form(plan="hybrid-weighted", fields={"retrieval.channels.semantic": "off"}),
    Form(plan="hybrid", fields={"retrieval.fusion.weights.vector": "2.5", "retrieval.channels.bm25.depth": "20"}),
    Form(plan="hybrid", fields={"retrieval.floor.score": "fused", "retrieval.floor.minimum": "0.01"}),
    Form(plan="hybrid", fields={"metrics.measures": "R@5, R@10(level=span,rel=2)", "retrieval.collapse": "document"}),
    Form(plan="bm25", extra="lexical.stop_words=true; chunking.size=300"),
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_form_and_its_command_mean_the_same_specification(workspace: Path, form: Form) -> None:
    found = preview(lab(workspace), form)
    assert found.faults == ()
    command = list(found.arguments)
    assert command[0] == "run"
    saved = ragtui(workspace, "spec", "save", *command[1:])
    assert saved.returncode == EXIT_OK, saved.stderr
    assert json.loads(saved.stdout)["spec_id"] == found.spec_id


@pytest.mark.parametrize(
    ("form", "path", "words"),
    [
        (Form(plan="hybrid", fields={DEPTH: "many"}), DEPTH, "int"),
        (Form(plan="hybrid", fields={DEPTH: "0"}), DEPTH, "below 1"),
        (Form(plan="hybrid", limit="ten"), "limit", "whole number"),
        (Form(plan="hybrid", limit="0"), "limit", "no case"),
        (Form(plan="hybrid", suites="cor"), "suites", "does not exist"),
        (Form(plan="hybrid", tags="nosuch"), "tags", "Tags in use"),
        (Form(plan="hybrid", fields={"metrics.measures": "ndgc@10"}), "metrics.measures", "nDCG@10"),
        (Form(plan="hybrid", fields={"retrieval.floor.score": "fused"}), "retrieval.floor.minimum", "floor"),
        (Form(plan="hybrid", extra="chunking.sice=3"), "extra", "chunking.size"),
        (Form(plan="gone.toml"), "plan", "cannot be read"),
    ],
)
def test_faults_name_their_field(workspace: Path, form: Form, path: str, words: str) -> None:
    found = preview(lab(workspace), form)
    assert [(place, words in text) for place, text in found.faults] == [(path, True)], found.faults
    assert found.spec_id == ""


def test_all_faults_at_once(workspace: Path) -> None:
    fields = {"retrieval.results": "0", "chunking.size": "1", "metrics.measures": "R@1"}
    found = preview(lab(workspace), Form(plan="hybrid", limit="x", fields=fields))
    assert {path for path, _ in found.faults} >= {"limit", "retrieval.results", "chunking.size"}


def test_the_preview_knows_history_baseline_and_work(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    first, second = record(folder, "bm25", "bm25")
    opened = lab(folder)
    found = preview(opened, Form(plan="bm25"))
    assert found.runs == 2
    assert found.last is not None
    assert found.last.run_id == second
    assert found.seconds == pytest.approx(found.last.elapsed_s)
    assert found.cases == 40
    assert found.builds == ()
    assert found.baseline == ""
    opened.store.promote(first, "main", "the first")
    changed = preview(opened, Form(plan="bm25", fields={"retrieval.channels.bm25.depth": "50"}))
    assert changed.baseline == first
    assert changed.runs == 0
    assert changed.changes == (("plan.retrieval.channels.bm25.depth", "100", "50"),)
    assert changed.seconds is not None
    assert first in preview(opened, Form(plan="bm25")).baseline
    wholly = preview(opened, Form(plan="hybrid"))
    assert wholly.builds == ("vectors",)
    assert wholly.seconds is None


def test_a_store_that_cannot_be_read_stops_no_preview(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    (folder / "runs.duckdb").write_bytes(b"no database" * 100)
    found = preview(lab(folder), Form(plan="bm25"))
    assert found.faults == ()
    assert found.spec_id
    assert "runs.duckdb" in found.store_fault


def test_a_callable_is_bound_outside_the_app(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.chdir(workspace)
    # A test before this one may have imported the module of that name itself.
    monkeypatch.delitem(sys.modules, "my_search", raising=False)
    found = preview(lab(workspace), Form(plan=str(workspace / "own.toml")))
    assert found.faults == ()
    assert found.spec_id.startswith("sha256:")
    assert "my_search" not in sys.modules


def test_plans_of_the_workspace_are_offered_and_settings_are_not(workspace: Path) -> None:
    (workspace / "ragtui.toml").write_text('corpus = "corpus"\n')
    names = [name for name, _ in plan_choices(open_workspace(workspace))]
    assert str(workspace / "own.toml") in names
    assert not any("ragtui.toml" in name or "my_search" in name for name in names)


def test_unchanged_fields_set_nothing() -> None:
    for name in ("bm25", "vector", "hybrid", "hybrid-weighted"):
        plan, _ = base_plan(name)
        assert len({widget_id(item.path) for item in fields_of(plan)}) == len(fields_of(plan))
        assert settings_of(plan, {}) == []


async def test_typing_validates_and_marks_the_field(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        depth = field(screen, "retrieval.channels.bm25.depth")
        depth.focus()
        await press(pilot, "end", "x")
        await settled(pilot)
        assert depth.has_class("-wrong")
        assert screen.query_one("#start", Button).disabled
        assert "fault to mend" in "\n".join(shown(running))
        assert not screen.check_action("start", ())
        await press(pilot, "backspace")
        await settled(pilot)
        assert not depth.has_class("-wrong")
        assert not screen.query_one("#start", Button).disabled


async def test_another_plan_brings_its_own_fields(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        screen.query_one("#plan", Choice).focus()
        await press(pilot, "right")
        await until(pilot, lambda: bool(screen.query(f"#{widget_id('retrieval.channels.semantic.depth')}")))
        await settled(pilot)
        assert field(screen, "retrieval.channels.semantic.depth").value == "50"
        assert screen.form().fields == {}


async def test_up_and_down_walk_through_the_form(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down")
        assert running.focused is not None
        assert running.focused.id == "suites"
        await press(pilot, "up")
        assert running.focused.id == "name"
        await pilot.press(*["down"] * 40)
        assert running.focused is not None


async def test_start_runs_what_is_shown_as_a_process_of_its_own(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    running = app(folder, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        screen.query_one("#limit", Input).value = "12"
        screen.query_one("#name", Input).value = "from [red]the[/red] app"
        await settled(pilot)
        assert screen.shown is not None
        wanted = screen.shown.spec_id
        await press(pilot, "ctrl+r")
        assert running.current_mode == "live"
        store = Store(folder / "runs.duckdb")
        await until(pilot, lambda: bool((folder / "runs.duckdb").exists() and store.runs()))
        row = store.runs()[0]
        assert (row.spec_id, row.cases, row.name) == (wanted, 12, "from [red]the[/red] app")
        await until(pilot, lambda: not list((folder / ".ragtui" / "started").iterdir()))
        await until(pilot, lambda: row.run_id in "\n".join(shown(running)))
        assert running.memory.get("launch.limit", "") == "12"


@pytest.mark.parametrize("before", ["", "0"], ids=["sound", "faulty"])
async def test_what_was_typed_just_before_is_started(
    tmp_path: Path, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that arrive in one go: ctrl+r does not overtake the digits, and waits until they are checked."""
    running = app(make_workspace(tmp_path / "ws"), "launch")
    begun: list[list[str]] = []
    monkeypatch.setattr(running, "start_process", begun.append)
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        limit = screen.query_one("#limit", Input)
        limit.value = before
        limit.cursor_position = len(before)
        limit.focus()
        await settled(pilot)
        assert bool(screen.shown is not None and screen.shown.faults) == bool(before)
        for key in ("1", "2", "ctrl+r"):
            running.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: bool(begun))
        assert begun[0][-2] == "--limit"
        assert int(begun[0][-1]) == 12
        await at_rest(pilot)
        assert len(begun) == 1


async def test_a_field_has_an_edge_in_sixteen_colours(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no ground of its own to tell an empty field from nothing: every cell of it is underlined."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    running = app(workspace, "launch")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        field = screen.query_one("#limit", Input).content_region
        line = screen._compositor.render_strips()[field.y].crop(field.x, field.right)
        assert all(segment.style is not None and segment.style.underline for segment in line)


async def test_a_run_that_cannot_begin_is_told(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    running = app(folder, "live")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: running.current_mode == "live")
        running.start_process(["run", "nosuchpreset"])
        await until(pilot, lambda: "There is no preset 'nosuchpreset'" in "\n".join(shown(running)))


async def test_the_specification_can_be_saved_and_is_a_plan(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    running = app(folder, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: bool(list(folder.glob("plans/*.spec.json"))))
        [path] = folder.glob("plans/*.spec.json")
        assert screen.shown is not None
        assert json.loads(path.read_bytes())["spec_id"] == screen.shown.spec_id
        found = preview(lab(folder), Form(plan=str(path)))
        assert found.spec_id == screen.shown.spec_id


async def test_the_command_is_copied(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        screen.query_one("#tags", Input).value = "even"
        await settled(pilot)
        await press(pilot, "escape", "y")
        await until(pilot, lambda: "ragtui" in running.clipboard)
        words = shlex.split(running.clipboard)
        assert words == ["ragtui", "-w", str(workspace), "run", "hybrid", "--tag", "even"]


async def test_reset_clears_what_the_run_is_over_too(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        for name, text in (("name", "n"), ("suites", "core"), ("tags", "even"), ("limit", "3"), ("extra", "a=b")):
            screen.query_one(f"#{name}", Input).value = text
        field(screen, DEPTH).value = "7"
        await settled(pilot)
        await press(pilot, "ctrl+n")
        await until(pilot, lambda: screen.form() == Form(plan=screen.form().plan))
        await settled(pilot)
        assert screen.shown is not None
        assert screen.shown.arguments == ("run", screen.form().plan)


def test_suites_and_tags_are_faults_beside_others(workspace: Path) -> None:
    found = preview(lab(workspace), Form(plan="hybrid", limit="ten", suites="cor"))
    assert [path for path, _ in found.faults] == ["limit", "suites"]
    found = preview(lab(workspace), Form(plan="hybrid", tags="nosuch", fields={DEPTH: "0"}))
    assert [path for path, _ in found.faults] == [DEPTH, "tags"]
