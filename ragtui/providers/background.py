"""One event loop in a thread of its own, for callers that are not asynchronous.

It outlives each call, so connections stay open from one batch of texts to the next.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def in_background(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on the background loop; whatever interrupts the caller cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _background())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _background() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="ragtui-http", daemon=True).start()
        return _loop
