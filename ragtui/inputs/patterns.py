"""Regular expressions from golden files: compiled at load, matched under a time limit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import regex

from ragtui.errors import InvalidInput
from ragtui.inputs.text import fold_answer

MATCH_SECONDS = 0.5
LONGEST = 2000
LARGEST = 10_000
_SHOWN = 200
_COUNTS = re.compile(r"(\)?)\{(\d+)")
_VERBOSE = re.compile(r"\(\?[a-zA-Z0-9-]*x")
_IGNORED = re.compile(r"#.*|\s")


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """The compiled, case-insensitive pattern; InvalidInput if it does not compile, or is too large to."""
    shown = repr(pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}…")
    if len(pattern) > LONGEST or _unrolled(pattern) > LARGEST:
        raise InvalidInput(f"pattern {shown} is too large", "Write a shorter one, with smaller counts in braces.")
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise InvalidInput(f"pattern {shown} does not compile: {error}", "Mend the regular expression.") from error


def _unrolled(pattern: str) -> int:
    """At least how often the lower bounds in braces repeat a thing: the compiler writes each repetition out.

    Groups are taken as if each stood in the one before, so nested ones, which alone grow without end, are never missed.
    """
    verbose = _VERBOSE.search(pattern) is not None
    if verbose:
        pattern = _IGNORED.sub("", pattern)
    groups, things = 1, 0
    for group, count in _COUNTS.findall(pattern):
        if group or verbose:
            groups *= max(1, int(count))
        else:
            things += int(count)
    return groups * max(1, things)


def matches(pattern: str, text: str, seconds: float = MATCH_SECONDS) -> bool:
    """Whether the pattern occurs in the text as `fold_answer` makes it.

    Raises InvalidInput when matching takes longer than `seconds`: such a pattern would hang a run.
    """
    try:
        return compile_pattern(pattern).search(fold_answer(text), timeout=seconds) is not None
    except TimeoutError as error:
        message = f"pattern {pattern!r} took longer than {seconds:g} s on a text of {len(text)} characters"
        raise InvalidInput(message, "Remove nested repetition such as `(a+)+`.") from error
