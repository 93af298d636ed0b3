"""How long to wait before asking a server again."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
LONGEST_RETRY_AFTER = 120.0
CONNECT_RETRIES = 2
_FINAL_5XX = frozenset({501, 505, 511})


def is_temporary(status: int) -> bool:
    """Whether the same request may succeed later: too many requests, a time-out, or a fault of the server."""
    return status in (408, 425, 429) or (500 <= status < 600 and status not in _FINAL_5XX)


def back_off(attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Seconds to wait after the given attempt (from 0): twice as long each time, half of it drawn by lot.

    The draw keeps callers that failed together from coming back together.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt, 16))
    return longest * (0.5 + 0.5 * draw())


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for, at most LONGEST_RETRY_AFTER; None where it says nothing usable.

    The header is a number of seconds or an HTTP date (RFC 9110, 10.2.3); a date in the past asks for 0.
    """
    if value is None:
        return None
    try:
        seconds = float(value.strip())
    except ValueError:
        try:
            moment = parsedate_to_datetime(value.strip())
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        # A date without a zone is UTC, as HTTP dates are.
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return None if math.isnan(seconds) else min(LONGEST_RETRY_AFTER, max(0.0, seconds))
