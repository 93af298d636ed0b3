"""How screens come up: painted before anything is read for them, and styled without parsing every stylesheet again."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from ragtui.tui.data import corpus
from ragtui.tui.opening import SCREENS, collect_again
from ragtui.tui.widgets.pane import Pane
from tests.tui.trace_samples import app, at_rest, press, record, shown, until
from tests.workshop import make_workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("opening") / "ws")
    record(folder, "bm25", "bm25")
    return folder


async def test_a_screen_is_painted_before_its_data_is_read(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = app(workspace, "trace")
    pictures: list[str] = []
    read = corpus.inputs

    def inputs(lab: Any) -> Any:
        pictures.append("\n".join(shown(running)))
        return read(lab)

    monkeypatch.setattr(corpus, "inputs", inputs)
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        await press(pilot, "1")
        assert "Documents" in pictures[0]
        assert "Artifacts" in pictures[0]
        assert "by name" not in pictures[0]
        assert "by name" in "\n".join(shown(running))


async def test_opening_a_screen_parses_no_stylesheet_anew(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = app(workspace, "trace")
    again: list[str] = []
    reparse = Stylesheet.reparse

    def counted(styles: Stylesheet) -> None:
        again.append(running.current_mode)
        reparse(styles)

    async with running.run_test(size=(80, 24)) as pilot:
        folder = Path(corpus.__file__).resolve().parents[1] / "screens"
        ready = [running.stylesheet.has_source(str(folder / f"{mode}.tcss")) for mode in SCREENS]
        assert not all(ready)
        for mode in SCREENS:
            await until(pilot, partial(running.stylesheet.has_source, str(folder / f"{mode}.tcss")))
        await at_rest(pilot)
        monkeypatch.setattr(Stylesheet, "reparse", counted)
        for mode in SCREENS:
            running.action_go(mode)
            await at_rest(pilot)
            assert all(running.stylesheet.has_source(str(path)) for path in running.screen.css_path)
        assert again == []
        # A theme is another matter: everything is styled by it, the screens that are hidden too.
        await press(pilot, "ctrl+t")
        assert again
        before = running.screen.styles.background
        running.action_go("corpus")
        await at_rest(pilot)
        assert running.screen.styles.background == before


async def test_a_pane_lights_up_with_the_focus_in_it(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        documents, artifacts = (running.screen.query_one(f"#{name}-pane", Pane) for name in ("documents", "artifacts"))
        lit, dark = documents.styles.border_top, artifacts.styles.border_top
        assert lit != dark
        running.screen.query_one("#artifacts").focus()
        await at_rest(pilot)
        assert (documents.styles.border_top, artifacts.styles.border_top) == (dark, lit)


def test_garbage_is_collected_again_only_where_it_was_laid_aside() -> None:
    frozen = gc.get_freeze_count()
    collect_again()
    assert gc.get_freeze_count() == frozen
    gc.disable()
    try:
        collect_again()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.enable()
        gc.unfreeze()
