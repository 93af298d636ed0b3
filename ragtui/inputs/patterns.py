"""Regular expressions from golden files: compiled at load, matched under a time limit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import regex

from ragtui.errors import InvalidInput
from ragtui.inputs.text import fold_answer

MATCH_SECONDS = 0.5


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """The compiled, case-insensitive pattern; InvalidInput if it does not compile."""
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput(f"pattern {pattern!r} does not compile: {error}", "Mend the regular expression.") from error


def matches(pattern: str, text: str, seconds: float = MATCH_SECONDS) -> bool:
    """Whether the pattern occurs in the text as `fold_answer` makes it.

    Raises InvalidInput when matching takes longer than `seconds`: such a pattern would hang a run.
    """
    try:
        return compile_pattern(pattern).search(fold_answer(text), timeout=seconds) is not None
    except TimeoutError as error:
        message = f"pattern {pattern!r} took longer than {seconds:g} s on a text of {len(text)} characters"
        raise InvalidInput(message, "Remove nested repetition such as `(a+)+`.") from error
