"""Keeping an eye on the workspace: what is live, whether a store has changed, what this app has started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragtui.errors import EXIT_GATE_FAILED, EXIT_INCONCLUSIVE, EXIT_OK, Interrupted, RagtuiError, RunFailed
from ragtui.tui.messages import LiveChanged, Looked, RunEnded, StoreChanged
from ragtui.tui.widgets.frame import TopBar

if TYPE_CHECKING:
    from textual.timer import Timer

    from ragtui.tui.app import RagtuiApp
    from ragtui.tui.data.workspace import WorkspaceState
    from ragtui.tui.process import StartedRun

LOOK_SECONDS = 1.0
_EAGER_SECONDS = 0.15
# Gates, failed cases and interruptions: the live screen shows them.
_TOLD_BY_JOURNAL = (EXIT_OK, EXIT_GATE_FAILED, EXIT_INCONCLUSIVE, RunFailed.exit_code, Interrupted.exit_code)


class Watch:
    """Looks once a second, in a thread, and tells the screens what has changed."""

    def __init__(self, app: RagtuiApp) -> None:
        self._app = app
        self.live: tuple[str, ...] = ()
        self._started: list[StartedRun] = []
        self._signature: tuple[Any, ...] | None = None
        self._eager: Timer | None = None

    def begin(self) -> None:
        """Look now and from now on."""
        self._app.set_interval(LOOK_SECONDS, self.look)
        self._app.call_later(self.look)

    @property
    def starting(self) -> bool:
        """Whether a process that was started here has not ended and no run is live yet."""
        return bool(self._started) and not self.live

    def forget(self) -> None:
        """The workspace is another one; what is seen next is no change."""
        self._signature = None

    def look(self) -> None:
        """Ask in a thread; `Looked` is posted to the app."""
        from ragtui.tui.data.workspace import workspace_state

        app = self._app
        lab = app.lab
        app.run_worker(
            lambda: app.post_message(Looked(workspace_state(lab))),
            name="look",
            group="look",
            exclusive=True,
            thread=True,
        )
        for started in list(self._started):
            code = started.ended()
            if code is not None:
                self._started.remove(started)
                app.post_message(RunEnded(code, started.run_id(), started.log_text()))
                started.tidy()
        if self._eager is not None and not self._started:
            self._eager.pause()

    def seen(self, state: WorkspaceState) -> None:
        """Keep what was seen and tell what is new in it."""
        app = self._app
        if not app.is_running or not app.screen_stack:
            # The app is being closed; what was seen last matters to nobody.
            return
        changed = self._signature is not None and state.signature != self._signature
        self._signature = state.signature
        if state.live != self.live:
            self.live = state.live
            app.tell_screens(lambda: LiveChanged(state.live))
        for bar in app.screen.query(TopBar):
            bar.live = len(state.live)
        for run_id in state.recovered:
            app.say(f"Run {run_id} had died and was recovered. Continue it: ragtui resume {run_id}", "warning")
        for words in state.set_aside:
            app.say(words, "warning", 12)
        if changed or state.recovered:
            app.tell_screens(StoreChanged)

    def start(self, arguments: Sequence[str]) -> None:
        """Start `ragtui …` as a process of its own and show the live screen."""
        from ragtui.tui.process import start

        app = self._app
        try:
            self._started.append(start(app.workspace, arguments))
        except RagtuiError as error:
            app.show_error(error)
            return
        # A short run is over within a second, so its journal is looked for more often until it ends.
        if self._eager is None:
            self._eager = app.set_interval(_EAGER_SECONDS, self.look)
        self._eager.resume()
        app.action_go("live")
        app.tell_screens(lambda: LiveChanged(self.live))
        app.say("Starting a run in a process of its own…")

    def ended(self, message: RunEnded) -> None:
        """A run that was started here has ended; one that never began has to be told."""
        app = self._app
        app.tell_screens(lambda: RunEnded(message.code, message.run_id, message.log))
        if message.code not in _TOLD_BY_JOURNAL or (message.code == RunFailed.exit_code and not message.run_id):
            app.show_error(RagtuiError(f"The run ended with exit code {message.code}.", message.log))
