"""The shell: modes, help, palette, jump mode, themes, memory, dialogs, and that nothing covers the keys."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.command import CommandPalette
from textual.widgets import Input

from ragtui.errors import RagtuiError
from ragtui.settings import open_workspace
from ragtui.tui.app import RagtuiApp
from ragtui.tui.clipboard import copy_text
from ragtui.tui.dialogs import ErrorDialog
from ragtui.tui.help import HelpDialog
from ragtui.tui.jump import LETTERS, JumpOverlay, targets
from ragtui.tui.memory import Memory
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.themes import DARK, LIGHT, SIXTEEN, ascii_text, fitting_theme, needs_ascii
from tests.tui.frames import assert_actions_told, assert_declared, assert_explained, assert_nothing_clipped
from tests.tui.trace_samples import app, at_rest, hostile_workspace, press, record, shown, until
from tests.workshop import ROOT, make_workspace

MODES = ("start", "corpus", "launch", "live", "trace", "diff")
SIZES = [(80, 24), (120, 40), (200, 60), (60, 20)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("shell") / "ws")
    record(folder, "bm25")
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = hostile_workspace(tmp_path_factory.mktemp("hostile") / "ws")
    record(folder, "bm25")
    return folder


async def test_digits_open_the_modes(workspace: Path) -> None:
    running = app(workspace, "start")
    async with running.run_test(size=(80, 24)) as pilot:
        for key, mode in zip("12345", MODES[1:], strict=True):
            # A field keeps digits for itself until it is left.
            await press(pilot, "escape", key)
            await until(pilot, partial(lambda wanted: running.current_mode == wanted, mode))
            assert f"[{key} {running.screen.TITLE_WORDS}]" in shown(running)[0]  # type: ignore[attr-defined]
        await press(pilot, "0")
        await until(pilot, lambda: running.current_mode == "start")


async def test_digits_are_text_in_a_field(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        running.screen.query_one("#limit", Input).focus()
        await press(pilot, "5")
        assert running.current_mode == "launch"
        assert running.screen.query_one("#limit", Input).value == "5"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", MODES)
async def test_nothing_is_clipped_or_covered(workspace: Path, mode: str, size: tuple[int, int]) -> None:
    running = app(workspace, mode)
    async with running.run_test(size=size) as pilot:
        await at_rest(pilot)
        assert_nothing_clipped(running, size)


@pytest.mark.parametrize("mode", MODES)
async def test_every_action_is_in_help_and_palette(workspace: Path, mode: str) -> None:
    running = app(workspace, mode)
    async with running.run_test(size=(120, 40)) as pilot:
        await at_rest(pilot)
        assert_actions_told(running)


@pytest.mark.parametrize("mode", MODES)
async def test_declared_bindings_say_what_they_do(workspace: Path, mode: str) -> None:
    running = app(workspace, mode)
    async with running.run_test(size=(80, 24)):
        for holder in (running, running.screen):
            assert_declared(holder)


async def test_every_focusable_thing_explains_itself(workspace: Path) -> None:
    for mode in MODES:
        running = app(workspace, mode)
        async with running.run_test(size=(120, 40)) as pilot:
            await at_rest(pilot)
            assert isinstance(running.screen, RagtuiScreen)
            assert_explained(running.screen)


async def test_help_shows_the_screen_the_pane_and_the_keys(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await press(pilot, "question_mark")
        assert isinstance(running.screen, HelpDialog)
        text = "\n".join(shown(running))
        assert "Help · Corpus" in text
        assert "Each document: its chunks" in text
        assert "Delete every artifact" in text
        await press(pilot, "escape")
        assert isinstance(running.screen, RagtuiScreen)


async def test_the_palette_finds_an_action_of_the_screen(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await press(pilot, "ctrl+p")
        assert isinstance(running.screen, CommandPalette)
        await press(pilot, *"order", "enter")
        await until(pilot, lambda: isinstance(running.screen, RagtuiScreen))
        await until(pilot, lambda: running.memory.get("corpus.order", "") == "goldens")


async def test_jump_mode_goes_to_any_pane(workspace: Path) -> None:
    running = app(workspace, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        await press(pilot, "1", "g")
        await until(pilot, lambda: isinstance(running.screen, JumpOverlay))
        behind = running.screen_stack[-2]
        found = targets(behind)
        assert len(found) >= 3
        last = found[-1][0]
        await press(pilot, LETTERS[len(found) - 1])
        await until(pilot, lambda: running.screen is behind)
        assert running.focused is last


async def test_ctrl_o_jumps_out_of_a_field(workspace: Path) -> None:
    running = app(workspace, "launch")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        running.screen.query_one("#name", Input).focus()
        await press(pilot, "ctrl+o")
        assert isinstance(running.screen, JumpOverlay)
        await press(pilot, "escape")
        assert isinstance(running.screen, RagtuiScreen)


async def test_one_message_at_a_time_and_never_over_the_keys(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        running.notify("first [bold]one[/bold]")
        running.notify("second\x1b[31m \u202e", severity="error")
        await at_rest(pilot)
        lines = shown(running)
        assert lines[-2].strip() == "✗ second\\x1b[31m \\u202e"
        assert "commands" in lines[-1]
        assert not any("first" in line for line in lines)


async def test_an_error_can_be_copied_and_is_not_repeated(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        running.show_error(RagtuiError("It [red]broke[/red].", "Mend it."))
        await until(pilot, lambda: isinstance(running.screen, ErrorDialog))
        running.show_error(RagtuiError("It [red]broke[/red].", "Mend it."))
        running.show_error(RagtuiError("Another.", ""))
        await at_rest(pilot)
        text = "\n".join(shown(running))
        assert text.count("It [red]broke[/red].") == 1
        assert "Another." in text
        await press(pilot, "y")
        assert "It [red]broke[/red].\nMend it." in running.clipboard
        await press(pilot, "escape")
        assert isinstance(running.screen, RagtuiScreen)


async def test_copying_tells_the_truth(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = app(workspace, "corpus")
    monkeypatch.setenv("PATH", "")
    async with running.run_test():
        assert "does not say" in copy_text(running, "short")
        assert copy_text(running, "x" * 80_000).startswith("Not copied")
        assert running.clipboard == "short"


async def test_ctrl_c_copies_a_selection_and_otherwise_leaves(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: running.return_value is not None)
    assert running.return_value == 0


async def test_themes_turn_and_are_remembered(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(80, 24)) as pilot:
        seen = {running.theme}
        for _ in range(2):
            await press(pilot, "ctrl+t")
            seen.add(running.theme)
        assert seen == {DARK, LIGHT, SIXTEEN}
        last = running.theme
        running.leave()
    assert Memory(workspace / ".ragtui").get("theme", "") == last


def test_a_terminal_gets_the_theme_it_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLORTERM", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "linux")
    assert fitting_theme() == SIXTEEN
    monkeypatch.setenv("TERM", "xterm-256color")
    assert fitting_theme() == DARK
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert fitting_theme() == LIGHT


@pytest.mark.parametrize("mode", MODES)
async def test_ascii_where_there_is_no_unicode(workspace: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTUI_ASCII", "1")
    assert needs_ascii()
    running = app(workspace, mode)
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        for line in _filtered(running):
            assert line.isascii(), line
            assert cell_len(line) == 80


def _filtered(running: RagtuiApp) -> list[str]:
    """The lines as the terminal gets them: behind the filters."""
    compositor = running.screen._compositor
    found = []
    for strip in compositor.render_strips():
        segments = list(strip)
        for line_filter in running.get_line_filters():
            segments = line_filter.apply(segments, running.screen.background_colors[1])
        found.append("".join(segment.text for segment in segments))
    return found


@pytest.mark.parametrize("text", ["漢字 ok", "● ✗ … –", "naïve é", "╭─╮│", "a\u0301b"])
def test_ascii_text_keeps_its_width(text: str) -> None:
    assert ascii_text(text).isascii()
    assert cell_len(ascii_text(text)) == cell_len(text)


@pytest.mark.parametrize("mode", MODES)
async def test_hostile_text_is_inert_everywhere(hostile: Path, mode: str) -> None:
    running = app(hostile, mode)
    async with running.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        for line in shown(running):
            assert cell_len(line) == 80
            assert not set(line) & set("\x1b\x00\x07\u202e\u202c\u200b"), line


def test_memory_survives_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_bytes(b"{nonsense")
    memory = Memory(tmp_path)
    memory.set("theme", "x")
    memory.save()
    assert Memory(tmp_path).get("theme", "") == "x"
    assert Memory(tmp_path).get("theme", 3) == 3
    Memory(tmp_path / "missing").save()
    assert not (tmp_path / "missing").exists()


async def test_a_store_that_cannot_be_read_gives_a_state_not_a_crash(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    (folder / "runs.duckdb").write_bytes(b"this is no database" * 100)
    for mode in MODES:
        running = app(folder, mode)
        async with running.run_test(size=(80, 24)) as pilot:
            await at_rest(pilot)
            assert running.is_running


async def test_a_corpus_deleted_meanwhile_is_told(tmp_path: Path) -> None:
    import shutil

    folder = make_workspace(tmp_path / "ws")
    running = app(folder, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "12 by name" in "\n".join(shown(running)))
        shutil.rmtree(folder / "corpus")
        await press(pilot, "c")
        await until(pilot, lambda: "is not a folder" in "\n".join(shown(running)))
        await press(pilot, "2")
        await until(pilot, lambda: "fault" in "\n".join(shown(running)))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed under /proc only")
async def test_no_store_is_held_open_while_idle(workspace: Path) -> None:
    for mode in MODES:
        running = app(workspace, mode)
        async with running.run_test(size=(80, 24)) as pilot:
            await at_rest(pilot)
            await until(pilot, lambda: not any("runs.duckdb" in path for path in _open_files()))


def _open_files() -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(descriptor))
    return found


def test_the_frame_is_painted_before_anything_heavy_is_loaded() -> None:
    code = (
        "import sys, ragtui.tui.app\n"
        "print([name for name in ('numpy', 'duckdb', 'tantivy', 'usearch', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


async def test_the_first_screen_follows_the_frame(workspace: Path) -> None:
    running = RagtuiApp(open_workspace(workspace))
    async with running.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: running.current_mode != "opening")
        assert running.current_mode in MODES
        await until(pilot, lambda: running.focused is not None)
