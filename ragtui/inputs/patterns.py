"""Regular expressions from golden files: compiled at load, matched under a time limit."""

from __future__ import annotations

import contextlib
import hashlib
import re
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragtui.errors import InvalidInput
from ragtui.inputs.text import fold_answer

MATCH_SECONDS = 0.5
LONGEST = 2000
LARGEST = 10_000
_SHOWN = 200
_FILES_REMEMBERED = 50
_COUNTS = re.compile(r"(\)?)\{(\d+)")
_VERBOSE = re.compile(r"\(\?[a-zA-Z0-9-]*x")
_IGNORED = re.compile(r"#.*|\s")


class CheckedFiles:
    """Which texts of golden files had all their patterns compiled before, remembered in a small file.

    Compiling hundreds of patterns takes longer than a run over their questions, and a retrieval run needs none of them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __contains__(self, text: str) -> bool:
        return self._digest(text) in self._digests()

    def add(self, text: str) -> None:
        """Remember a text; where nothing can be written it is compiled again next time."""
        kept = [*self._digests(), self._digest(text)][-_FILES_REMEMBERED:]
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("\n".join(kept) + "\n")

    def _digests(self) -> list[str]:
        try:
            return self._path.read_text("ascii").split()
        except (OSError, UnicodeDecodeError):
            return []

    def _digest(self, text: str) -> str:
        # What compiles depends on the library and on the limits here.
        rules = f"{version('regex')} {LONGEST} {LARGEST}\n"
        return hashlib.sha256((rules + text).encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """The compiled, case-insensitive pattern; InvalidInput if it does not compile, or is too large to."""
    import regex

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
