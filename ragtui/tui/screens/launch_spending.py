"""The half of the launch screen that counts, before a model is asked, what a run would take."""

from __future__ import annotations

from textual.content import Content
from textual.worker import get_current_worker

from ragtui.tui.data.launch import Preview
from ragtui.tui.data.launch_estimate import Estimated, estimated
from ragtui.tui.screens import launch_text
from ragtui.tui.screens.base import RagtuiScreen


class Spending(RagtuiScreen):
    """Lets `--dry-run` count in a process; what is counted stays until the command changes."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: Preview | None = None
        self.estimate: Estimated | None = None
        self._estimating: tuple[str, ...] = ()

    def show_again(self) -> None:
        """Draw the preview with what is known now; a screen does it."""

    def ask_estimate(self, found: Preview) -> None:
        """Count for what is shown, unless that is done or under way, or would first build artifacts."""
        if found.asks and not found.faults and not found.builds:
            self._count(found.arguments)

    def _count(self, arguments: tuple[str, ...]) -> None:
        known = self.estimate.arguments if self.estimate is not None else ()
        if arguments in (self._estimating, known):
            return
        self._estimating, workspace = arguments, self.ragtui.workspace

        def make() -> Estimated | None:
            worker = get_current_worker()
            return estimated(workspace, arguments, lambda: worker.is_cancelled)

        self.fetch("estimate", make)

    def got_estimate(self, found: Estimated | None) -> None:
        """Keep what was counted; None where something else is asked for by now."""
        if found is not None:
            self.estimate, self._estimating = found, ()
            self.show_again()

    def spending(self, found: Preview) -> Content | None:
        """What is counted, for the summary."""
        return launch_text.spending(found, self.estimate, bool(self._estimating))

    def action_estimate(self) -> None:
        """Count now, building what the run would build."""
        if self.shown is not None and not self.shown.faults:
            self.estimate, self._estimating = None, ()
            self._count(self.shown.arguments)
            self.show_again()
