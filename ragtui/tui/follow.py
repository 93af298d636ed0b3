"""Following a journal in a thread: events in, a snapshot out at most ten times a second."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from ragtui.events import RunEvent
from ragtui.store.journal import follow

REPAINT_SECONDS = 0.1
# A snapshot of a long run takes a while to make; making it may take at most this part of the time.
_SHARE = 0.2


View = TypeVar("View")
Seen = TypeVar("Seen", covariant=True)


class Tally(Protocol[Seen]):
    """Takes every event of one journal in order and gives a snapshot when asked."""

    def add(self, event: RunEvent) -> None:
        """Take one event."""

    def end(self) -> None:
        """Nothing more comes."""

    def view(self) -> Seen | None:
        """The snapshot; None while there is nothing to show."""


def follow_run(path: Path, tell: Callable[[View], None], cancelled: Callable[[], bool], tally: Tally[View]) -> None:
    """Follow the journal until the run is over or `cancelled()`; `tell` gets the tally's views, the last one always.

    Raises StoreUnavailable where the journal cannot be read, DamagedJournal with file and line.
    """
    asyncio.run(_follow(path, tell, cancelled, tally))


async def _follow(path: Path, tell: Callable[[View], None], cancelled: Callable[[], bool], tally: Tally[View]) -> None:
    dirty = asyncio.Event()

    async def read() -> None:
        async with contextlib.aclosing(follow(path, REPAINT_SECONDS)) as batches:  # type: ignore[type-var]
            async for events in batches:
                for event in events:
                    tally.add(event)
                dirty.set()

    reader = asyncio.ensure_future(read())
    pause = REPAINT_SECONDS
    try:
        while not reader.done() and not cancelled():
            await asyncio.wait({reader}, timeout=pause)
            if dirty.is_set() and not reader.done():
                dirty.clear()
                started = time.perf_counter()
                _tell(tally, tell)
                pause = max(REPAINT_SECONDS, (time.perf_counter() - started) / _SHARE)
        if not cancelled():
            reader.result()
            tally.end()
            _tell(tally, tell)
    finally:
        reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reader


def _tell(tally: Tally[View], tell: Callable[[View], None]) -> None:
    view = tally.view()
    if view is not None:
        tell(view)
