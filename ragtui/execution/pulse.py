"""How an attempt's calls of servers stand: what is under way, how often it was asked again and why."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

from ragtui.events import ServerCalls
from ragtui.providers.retries import Retry, hear_retries
from ragtui.trace import CaseTrace

# A retry is seen well within a second, and a journal is not a log.
PULSE_SECONDS = 0.25


class Pulse:
    """Counts retries, from any thread, and gives an event at most four times a second when something changed."""

    def __init__(self) -> None:
        self.under_way: Callable[[], int] = lambda: 0
        self._lock = threading.Lock()
        self._retries = 0
        self._last: Retry | None = None
        self._told = ServerCalls()
        self._told_at = 0.0

    def retried(self, retry: Retry) -> None:
        """Count one."""
        with self._lock:
            self._retries += 1
            self._last = retry

    def events(self, *, at_once: bool = False) -> list[ServerCalls]:
        """How it stands now; nothing where that was told or, unless `at_once`, something was told a moment ago."""
        now = time.monotonic()
        if now - self._told_at < PULSE_SECONDS and not at_once:
            return []
        with self._lock:
            last = self._last
            event = ServerCalls(
                in_flight=self.under_way(),
                retries=self._retries,
                provider="" if last is None else last.provider,
                reason="" if last is None else last.reason,
                wait_s=0.0 if last is None else round(last.wait_s, 3),
            )
        if event == self._told:
            return []
        self._told, self._told_at = event, now
        return [event]


class Waits:
    """The retries of one group of cases, in its task: told to the pulse, their waits kept as the cases' time."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._seconds = 0.0
        hear_retries(self._heard)

    def _heard(self, retry: Retry) -> None:
        self._seconds += retry.wait_s
        self._pulse.retried(retry)

    def told(self, traces: list[CaseTrace]) -> list[CaseTrace]:
        """The traces, with `retry_wait` among their timings where there was any."""
        if not self._seconds or not traces:
            return traces
        spent = {"retry_wait": round(self._seconds * 1000 / len(traces), 3)}
        return [msgspec.structs.replace(trace, timings=trace.timings | spent) for trace in traces]
