"""The ladder of live displays for a headless run: rich, plain lines, none. All of it goes to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ragtui.analysis.progress import Progress, retry_line, stage_line
from ragtui.cli.output import say
from ragtui.events import Notice, RunEvent, RunStarted, ServerCalls, StageProgress
from ragtui.inputs.text import plural, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

_PLAIN_SECONDS = 2.0
_RICH_SECONDS = 0.15


class LiveDisplay(Protocol):
    """Something that shows a run while it goes on."""

    def show(self, event: RunEvent) -> None:
        """Take one event."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def live_display(kind: Literal["rich", "plain", "none"]) -> LiveDisplay:
    """The display for this rung."""
    if kind == "rich":
        return RichDisplay()
    return PlainDisplay() if kind == "plain" else NoDisplay()


class NoDisplay:
    """Shows nothing."""

    def show(self, event: RunEvent) -> None:
        """Ignore."""

    def close(self) -> None:
        """Nothing to restore."""


class PlainDisplay:
    """A line at the start, at most one every two seconds, one for each error, one at the end."""

    def __init__(self, write: Callable[[str], None] = say, clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._progress = Progress()
        self._last = clock()

    def show(self, event: RunEvent) -> None:
        """Take one event."""
        errors, retries = self._progress.errors, self._progress.calls.retries
        self._progress.add(event)
        if isinstance(event, RunStarted):
            self._write(f"run {event.run_id}  {plural(len(event.pending), 'case')}")
        elif isinstance(event, Notice):
            self._write(event.message)
        elif isinstance(event, StageProgress):
            if self._due():
                self._write(stage_line(event))
        elif isinstance(event, ServerCalls) and event.retries > retries and (not retries or self._due()):
            # The first one at once: a server that asks for patience should not look like one that is slow.
            self._write(retry_line(event))
        elif self._progress.errors > errors and self._progress.last_error:
            self._write(f"error  {self._progress.last_error}")
        elif self._due():
            self._write(self._progress.line())

    def _due(self) -> bool:
        now = self._clock()
        if now - self._last < _PLAIN_SECONDS:
            return False
        self._last = now
        return True

    def close(self) -> None:
        """The last line."""
        if self._progress.total:
            self._write(self._progress.line())


class RichDisplay:
    """A bar, the line and the running measures, redrawn in place a few times a second."""

    def __init__(self) -> None:
        from rich.live import Live

        from ragtui.cli.output import console

        self._progress = Progress()
        self._last = 0.0
        self._live = Live(console=console(stderr=True), auto_refresh=False, transient=True)
        self._live.start()

    def show(self, event: RunEvent) -> None:
        """Take one event."""
        self._progress.add(event)
        now = time.monotonic()
        if isinstance(event, Notice):
            self._live.console.print(printable(event.message))
        if now - self._last >= _RICH_SECONDS:
            self._last = now
            self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        from ragtui.cli.fitting import Flow

        done, total = self._progress.position()
        line = Flow(*(Text(printable(part)) for part in self._progress.line().split("  ")), gap="  ")
        # A bar does not end its line.
        parts: list[Any] = [line, ProgressBar(total=max(total, 1), completed=done, width=60), Text()]
        estimates = self._progress.estimates()
        if estimates:
            shown = "   ".join(f"{name} {value:.3f}" for name, value in estimates.items() if "Rate" not in name)
            parts.append(Text(shown, style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def close(self) -> None:
        """Remove the live part."""
        self._live.stop()
        sys.stderr.flush()
