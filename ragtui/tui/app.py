"""The shell: modes, what happens everywhere, and how the app is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.filter import Monochrome, NoColor
from textual.message import Message
from textual.screen import Screen

from ragtui.errors import EXIT_INTERNAL, EXIT_OK, Interrupted, RagtuiError
from ragtui.settings import Workspace, open_workspace
from ragtui.tui.keys import APP_KEYS
from ragtui.tui.memory import Memory
from ragtui.tui.messages import Looked, Opened, RunEnded, ShowDiff, ShowRun, ShowTier, StoreChanged
from ragtui.tui.opening import SCREENS, Opening, screen_maker
from ragtui.tui.screens.base import OpeningScreen, RagtuiScreen
from ragtui.tui.themes import DARK, LIGHT, SIXTEEN, THEMES, AsciiFilter, fitting_theme, needs_ascii
from ragtui.tui.watch import Watch
from ragtui.tui.widgets.frame import Severity, TopBar

if TYPE_CHECKING:
    from textual.filter import LineFilter

    from ragtui.lab import Lab
    from ragtui.tui.data.trace import RunLine


class RagtuiApp(App[int]):
    """The app over one workspace. Owns nothing of a run: closing it touches none."""

    TITLE = "ragtui"
    MODES = {
        "opening": OpeningScreen,
        **{mode: screen_maker(mode) for mode in SCREENS},
    }
    CSS_PATH: ClassVar[Any] = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[Any]] = APP_KEYS

    def __init__(self, workspace: Workspace, *, mode: str | None = None) -> None:
        super().__init__()
        self.workspace = workspace
        self._lab: Lab | None = None
        self.memory = Memory(workspace.state)
        self.watch_over = Watch(self)
        self.opening = Opening(self)
        self._first_mode = mode
        self._ascii = AsciiFilter(enabled=needs_ascii())
        self._without_colour = NoColor()
        # What happens is told on the line of state, and keys by `?`: no screen needs a rack for notices and tooltips.
        self._disable_notifications = self._disable_tooltips = True
        self.runs: tuple[RunLine, ...] = ()

    # -- life ---------------------------------------------------------------------------------------------------------

    def get_line_filters(self) -> list[LineFilter]:
        """Textual's filters, and ours where the terminal has no Unicode."""
        filters = list(super().get_line_filters())
        if self.native_ansi_color:
            # NO_COLOR's grey of a terminal's own foreground and background is black on black.
            filters = [self._without_colour if isinstance(each, Monochrome) else each for each in filters]
        return [*filters, *([self._ascii] if self._ascii.enabled else [])]

    def on_mount(self) -> None:
        """Show the first screen and begin to look for live runs."""
        if not self.is_headless:
            self.catch_signals()
        for theme in THEMES:
            self.register_theme(theme)
        remembered = self.memory.get("theme", "")
        fitting = fitting_theme()
        self.theme = remembered if remembered in (DARK, LIGHT, SIXTEEN) and fitting != SIXTEEN else fitting
        if self._first_mode is not None:
            self.switch_mode(self._first_mode)
            self.watch_over.begin()
        else:
            # The frame is painted first; what reads data is loaded behind it.
            self.switch_mode("opening")
            self.call_after_refresh(self.opening.begin)

    @property
    def lab(self) -> Lab:
        """The laboratory over the workspace, made when first asked for: it loads much."""
        return self._lab if self._lab is not None else self.renew_lab()

    def renew_lab(self) -> Lab:
        """A laboratory that reads the corpus anew; it becomes the app's."""
        from ragtui.lab import Lab

        self._lab = Lab(self.workspace)
        return self._lab

    def on_opened(self, message: Opened) -> None:
        """The first screen is loaded; it is shown unless another was asked for meanwhile."""
        if not self.screen_stack:
            return
        if self.current_mode == "opening":
            self.action_go(message.mode)
        self.watch_over.begin()

    def reopen(self, words: str) -> None:
        """Open the workspace again after its settings or folders were made, on the corpus screen."""
        self.workspace = open_workspace(self.workspace.root)
        self.renew_lab()
        self.watch_over.forget()
        self.action_go("corpus")
        self.tell_screens(StoreChanged)
        self.say(words)

    def catch_signals(self) -> None:
        """Leave in order when asked to by a signal; the terminal is restored on the way out."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            if (number := getattr(signal, name, None)) is not None:
                with contextlib.suppress(NotImplementedError, RuntimeError):
                    loop.add_signal_handler(number, partial(self.leave, Interrupted.exit_code))

    def leave(self, code: int = EXIT_OK) -> None:
        """Remember, and exit."""
        if self.current_mode != "opening":
            self.memory.set("mode", self.current_mode)
        self.memory.save()
        self.exit(code)

    def _handle_exception(self, error: Exception) -> None:
        """Faults of widgets that are torn down while the app is being left are nobody's concern."""
        if not self._exit:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """A fault of ours: the terminal is restored, the trace goes to a file, one line tells where."""
        fault = self._exception
        self.fault = "" if fault is None else f"ragtui has a fault: {type(fault).__name__}: {fault}"
        if fault is not None:
            with contextlib.suppress(OSError):
                log = self.workspace.state / "app-fault.log"
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_text("".join(traceback.format_exception(fault)), "utf-8")
                self.fault += f"\n  Details are in {log}; no run was touched."
        self._close_messages_no_wait()

    # -- what is live -------------------------------------------------------------------------------------------------

    @property
    def live(self) -> tuple[str, ...]:
        """The ids of the runs that are going on now, newest first."""
        return self.watch_over.live

    def on_looked(self, message: Looked) -> None:
        """The workspace was looked at."""
        self.watch_over.seen(message.state)

    def on_run_ended(self, message: RunEnded) -> None:
        """A process that was started here has ended."""
        self.watch_over.ended(message)

    def start_process(self, arguments: Sequence[str]) -> None:
        """Start `ragtui …` as a process of its own and watch it on the live screen."""
        self.watch_over.start(arguments)

    def tell_screens(self, make: Callable[[], Message]) -> None:
        """Post a message of its own to every open screen."""
        for stack in self._screen_stacks.values():
            for screen in stack:
                if isinstance(screen, RagtuiScreen):
                    screen.post_message(make())

    def store_changed(self) -> None:
        """Called by a screen that changed the store itself, e.g. by a promotion."""
        self.tell_screens(StoreChanged)

    # -- going places -------------------------------------------------------------------------------------------------

    def action_go(self, mode: str) -> None:
        """Open a mode."""
        self.switch_mode(mode)
        for bar in self.screen.query(TopBar):
            bar.live = len(self.watch_over.live)
            bar.refresh()

    def open_trace(self, run_id: str, case_id: str | None = None) -> None:
        """Show a run, or one of its cases, on the trace screen."""
        self.action_go("trace")
        self.screen.post_message(ShowRun(run_id, case_id))

    def open_diff(self, base: str | None, new: str) -> None:
        """Compare two runs on the diff screen; `base` None means the baseline."""
        self.action_go("diff")
        self.screen.post_message(ShowDiff(base, new))

    def launch_tier(self, tier: str) -> None:
        """Go to the launch screen for a run of a tier."""
        self.action_go("launch")
        self.screen.post_message(ShowTier(tier))

    def show_error(self, error: RagtuiError) -> None:
        """An error as a dialog whose text can be copied; one at a time."""
        from ragtui.tui.dialogs import ErrorDialog

        if isinstance(self.screen, ErrorDialog):
            self.screen.add(error)
        else:
            self.push_screen(ErrorDialog(error))

    def say(self, text: str, severity: Severity = "information", seconds: float = 6.0) -> None:
        """One message on the current screen's line of state."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, RagtuiScreen):
                screen.toast(text, severity, seconds)
                return

    def notify(self, message: str, **options: Any) -> None:
        """Textual's own notices go the same way as ours: never over results or keys."""
        self.say(str(message), options.get("severity", "information"))

    # -- actions ------------------------------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leave the app."""
        self.leave()

    def action_copy_or_quit(self) -> None:
        """Copy the selection if there is one, otherwise leave."""
        selected = self.screen.get_selected_text()
        if selected:
            self.copy(selected)
            self.screen.clear_selection()
        else:
            self.leave()

    def copy(self, text: str) -> None:
        """Copy a text and say truthfully how far that got."""
        from ragtui.tui.clipboard import copy_text

        self.say(copy_text(self, text))

    def action_reload(self) -> None:
        """Read again what the screen shows."""
        if isinstance(self.screen, RagtuiScreen):
            self.screen.refresh_data()

    def action_help(self) -> None:
        """Explain the focused pane and its keys."""
        from ragtui.tui.help import HelpDialog

        self.push_screen(HelpDialog(self.screen))

    def action_jump(self) -> None:
        """Letters on panes and controls."""
        from ragtui.tui.jump import JumpOverlay, targets

        screen = self.screen
        found = targets(screen)
        if found:
            self.push_screen(JumpOverlay(found), lambda target: target.focus() if target is not None else None)

    def action_next_theme(self) -> None:
        """Dark, light, 16 colours."""
        order = (DARK, LIGHT, SIXTEEN)
        self.theme = order[(order.index(self.theme) + 1) % 3] if self.theme in order else DARK
        self.memory.set("theme", self.theme)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action that is possible now, by its words."""
        from ragtui.tui.commands import possible

        yield from possible(self, screen)


def run_app(workspace: Workspace) -> int:
    """Open the app on this terminal; the process's exit code."""
    import sys

    from ragtui.tui.guard import guarded_terminal

    # Where these are exported they would be believed instead of the terminal, and a resize would be ignored.
    for name in ("LINES", "COLUMNS"):
        os.environ.pop(name, None)
    app = RagtuiApp(workspace)
    with guarded_terminal():
        code = app.run()
    for run_id in app.live:
        sys.stderr.write(f"Run {run_id} goes on. Watch it: ragtui watch {run_id}\n")
    if app._exception is not None:
        sys.stderr.write(getattr(app, "fault", "") + "\n")
        return EXIT_INTERNAL
    return code if isinstance(code, int) else EXIT_OK
