"""Where an answer meets its golden: which patterns it matches, where, and which it lacks."""

from __future__ import annotations

from typing import Literal

import msgspec

from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.patterns import MATCH_SECONDS, compile_pattern
from ragtui.inputs.text import BOLD, fold_answer


class Mark(msgspec.Struct, frozen=True, order=True):
    """Characters `start` to `end` of the answer that a pattern matches."""

    start: int
    end: int
    kind: Literal["required", "forbidden"]
    pattern: str


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """All marks in the order of the text, and the required patterns that nothing matches."""

    marks: tuple[Mark, ...]
    missing: tuple[str, ...]


def marks_of(case: EvaluationCase, text: str) -> Marks:
    """Match as the measures do, and point into the text as it is."""
    folded, origin = _folded(text)
    marks: list[Mark] = []
    missing: list[str] = []
    both: tuple[tuple[Literal["required", "forbidden"], tuple[str, ...]], ...] = (
        ("required", case.must_include), ("forbidden", case.must_not_include),
    )  # fmt: skip
    for kind, patterns in both:
        for pattern in patterns:
            try:
                found = list(compile_pattern(pattern).finditer(folded, timeout=MATCH_SECONDS))
            except TimeoutError:
                found = []
            marks += [
                Mark(origin[m.start()], origin[m.end() - 1] + 1, kind, pattern) for m in found if m.end() > m.start()
            ]
            if kind == "required" and not found:
                missing.append(pattern)
    return Marks(marks=tuple(sorted(marks)), missing=tuple(missing))


def _folded(text: str) -> tuple[str, list[int]]:
    """`fold_answer` of the text, and for each of its characters where it stands in the text."""
    characters: list[str] = []
    origin: list[int] = []
    place = 0
    while place < len(text):
        if text.startswith(BOLD, place):
            place += len(BOLD)
            continue
        if not text[place].isspace():
            characters.append(text[place])
            origin.append(place)
        elif characters and characters[-1] != " ":
            characters.append(" ")
            origin.append(place)
        place += 1
    if characters and characters[-1] == " ":
        characters.pop()
        origin.pop()
    return fold_answer("".join(characters)), origin
