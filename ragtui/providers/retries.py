"""Retries, told to whoever executes: a server asks for patience, and that should not look like silence.

hear_retries(listener)         # in a task: for all that it asks, in threads too
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import msgspec


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a profile, `provider`, is sent again, the `attempt`-th time, after `wait_s` seconds.

    `reason` is what the server did, e.g. `answers with HTTP 429`.
    """

    provider: str
    attempt: int
    reason: str
    wait_s: float


_LISTENER: ContextVar[Callable[[Retry], None] | None] = ContextVar("retry listener", default=None)


def hear_retries(listener: Callable[[Retry], None]) -> None:
    """Tell `listener` of every retry in the present task, and in what it starts. It may be called from any thread."""
    _LISTENER.set(listener)


def tell_retry(retry: Retry) -> None:
    """Tell whoever listens, before the wait."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(retry)
