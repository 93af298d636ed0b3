"""What every screen has in common: its frame, its help, and one way to ask for data.

A screen gives `MODE`, `TITLE`, `HELP` (a paragraph), `BINDINGS` (each with `id`, `description` and a sentence as
`tooltip`), `compose_body()` and handlers. Panes that can be focused say what they are with `help_text = "…"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import ScreenResume
from textual.screen import Screen
from textual.worker import get_current_worker

from ragtui.errors import RagtuiError
from ragtui.inputs.text import printable
from ragtui.tui.messages import Failed, Loaded, Told
from ragtui.tui.widgets.frame import KeyBar, Severity, StatusLine, TopBar

if TYPE_CHECKING:
    from ragtui.tui.app import RagtuiApp


class RagtuiScreen(Screen[None]):
    """A mode of the app.

    `fetch("topic", function)` runs a pure function in a thread and answers with `Loaded(topic, value)` or
    `Failed(topic, error)`; `on_loaded` and `failed` keep what they get. A newer request for a topic makes an older
    answer void.
    """

    MODE: ClassVar[str] = ""
    TITLE_WORDS: ClassVar[str] = ""
    HELP: ClassVar[str] = ""
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    RagtuiScreen { layout: vertical; background: $background; color: $foreground; }
    RagtuiScreen > #body { height: 1fr; width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        # A screen that is made now is styled by the theme of now. Textual takes it for older than the theme and would
        # style the whole app twice again before it shows the screen.
        self._css_update_count = self.app._css_update_count
        self._painted = False
        self._waiting: list[Callable[[], None]] = []

    @property
    def ragtui(self) -> RagtuiApp:
        """The app, with its type."""
        return cast("RagtuiApp", self.app)

    def compose(self) -> ComposeResult:
        """The frame around `compose_body()`."""
        yield TopBar()
        with Container(id="body"):
            yield from self.compose_body()
        yield StatusLine()
        yield KeyBar()

    def compose_body(self) -> ComposeResult:
        """What the screen shows between the modes and the line of state."""
        yield from ()

    def fetch(self, topic: str, make: Callable[[], Any]) -> None:
        """Run `make` in a thread; `Loaded` or `Failed` is posted to this screen.

        A screen that is just being opened is painted first: a thread that computes would keep its frame waiting.
        """

        def work() -> None:
            worker = get_current_worker()
            try:
                answer: Loaded | Failed = Loaded(topic, make())
            except RagtuiError as error:
                answer = Failed(topic, error)
            if not worker.is_cancelled:
                self.post_message(answer)

        def begin() -> None:
            self.run_worker(work, name=topic, group=topic, exclusive=True, thread=True)

        if self._painted:
            begin()
        else:
            self._waiting.append(begin)

    def _begin_waiting(self) -> None:
        self._painted = True
        for begin in self._waiting:
            begin()
        self._waiting.clear()

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Its styles are right: what changes them while it is hidden, a theme, styles it anew before this."""
        event.refresh_styles = False
        if not self._painted:
            self.call_after_refresh(self._begin_waiting)

    def tell(self, topic: str, text: str) -> None:
        """From a worker: a sentence about the work under way."""
        self.post_message(Told(topic, text))

    def toast(self, text: str, severity: Severity = "information", seconds: float = 6.0) -> None:
        """Show one message on the line of state; a newer one replaces it."""
        if not self.query(StatusLine):
            # The screen was opened this instant and is not composed yet.
            self.call_after_refresh(self.toast, text, severity, seconds)
            return
        self.query_one(StatusLine).show(text, severity, seconds)

    def state_line(self, text: str) -> None:
        """What the line of state shows while there is no message; foreign text is made inert."""
        self.query_one(StatusLine).state = printable(text.replace("\n", " ").replace("\t", " "))

    def on_loaded(self, message: Loaded) -> None:
        """Screens keep and show what has come; once the first has done so, the others are made ready."""
        self.call_after_refresh(self.ragtui.opening.warm_up)

    def on_failed(self, message: Failed) -> None:
        """A worker failed. Textual calls the handlers of every base class, so screens override `failed` instead."""
        self.failed(message)

    def failed(self, message: Failed) -> None:
        """Unless a screen knows better: the error as a dialog that can be copied."""
        self.ragtui.show_error(message.error)

    def refresh_data(self) -> None:
        """Read again what the screen shows; called by `ctrl+l` and when the store has changed."""

    def on_store_changed(self) -> None:
        """Runs were added, removed or promoted; screens override `store_changed`."""
        self.store_changed()

    def store_changed(self) -> None:
        """Unless a screen knows better: everything is read again."""
        self.refresh_data()


class OpeningScreen(RagtuiScreen):
    """The bare frame, for the moment in which the first screen is loaded."""

    MODE = "opening"
    TITLE_WORDS = "Opening"
    HELP = "The first screen is being loaded."

    def on_mount(self) -> None:
        """Say so."""
        self.state_line("Opening the workspace…")
