"""How the app comes up: the frame, then one screen with its data, then, while nobody waits, what the others need."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

from ragtui.tui.messages import Opened

if TYPE_CHECKING:
    from ragtui.tui.app import RagtuiApp

# A screen's module and its stylesheet have its mode's name.
SCREENS = {
    "start": "StartScreen",
    "corpus": "CorpusScreen",
    "launch": "LaunchScreen",
    "live": "LiveScreen",
    "trace": "TraceScreen",
    "diff": "DiffScreen",
}
_FOLDER = (Path(__file__).parent / "screens").resolve()
# Functions that read data load these when they are first called.
_BEHIND = ("ragtui.tui.data.case", "ragtui.analysis.compare", "ragtui.analysis.attribution")


_PATIENCE_SECONDS = 3.0


def collect_again() -> None:
    """Take up collecting garbage, if it was laid aside for the start; what is loaded already is looked at no more."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def screen_maker(mode: str) -> Callable[[], Screen[Any]]:
    """Makes a mode's screen, imported when it is first opened: an app that shows one screen loads one."""

    def make() -> Screen[Any]:
        module = importlib.import_module(f"ragtui.tui.screens.{mode}")
        return cast("Screen[Any]", getattr(module, SCREENS[mode])())

    return make


class Opening:
    """What is loaded when."""

    def __init__(self, app: RagtuiApp) -> None:
        self._app = app
        self._warmed = False

    def begin(self) -> None:
        """Load the first screen in a thread; `Opened` is posted to the app."""
        mode = self._first_mode()

        def work() -> None:
            importlib.import_module("ragtui.lab")
            importlib.import_module(f"ragtui.tui.screens.{mode}")
            self._app.post_message(Opened(mode))

        self._app.run_worker(work, name="open", thread=True)
        # A first screen that never gets any data needs the others all the more.
        self._app.set_timer(_PATIENCE_SECONDS, self.warm_up)

    def _first_mode(self) -> str:
        """The start screen for a newcomer, otherwise where the last session ended."""
        workspace = self._app.workspace
        if not workspace.corpus.is_dir() or not (workspace.store.exists() or workspace.reference):
            return "start"
        last = self._app.memory.get("mode", "trace")
        return last if last in SCREENS and last != "start" else "trace"

    def warm_up(self) -> None:
        """Once, as soon as the first screen has its data: load the other screens, so that opening one waits for no
        import and no stylesheet. A fault in one of them is told when it is opened.
        """
        if self._warmed:
            return
        self._warmed = True

        def work() -> None:
            for mode in SCREENS:
                with contextlib.suppress(Exception):
                    importlib.import_module(f"ragtui.tui.screens.{mode}")
                    self._app.call_from_thread(partial(self._read_styles, mode))
            for name in _BEHIND:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
            collect_again()

        self._app.run_worker(work, name="warm", thread=True)

    def _read_styles(self, mode: str) -> None:
        """A stylesheet that is here before its screen is parsed alone; Textual would parse all of them again then."""
        from textual.widgets import Button

        from ragtui.tui.widgets.fields import TextField

        path, styles = _FOLDER / f"{mode}.tcss", self._app.stylesheet
        if styles.has_source(str(path)):
            return
        styles.read(path)
        # What comes with a class of widgets is parsed with its first instance; that of fields and buttons is long.
        for widget in (TextField(""), Button()) if mode == "launch" else ():
            for place, css, tie_breaker, scope in widget._get_default_css():
                styles.add_source(css, place, is_default_css=True, tie_breaker=tie_breaker, scope=scope)
        styles.parse()
