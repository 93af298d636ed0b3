"""What every import format is read into: documents, questions, and judgments by split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from ragtui.inputs.formats.files import Problems
from ragtui.inputs.goldens import Turn

MAIN_SUITE = "core"


class SourceDocument(msgspec.Struct, frozen=True):
    """A document as it was read; `file` and `line` say where."""

    id: str
    text: str
    title: str = ""
    file: str = ""
    line: int = 0


class SourceQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question as it was read. Patterns are regular expressions that compile.

    `numbered` says that the source has no ids, so that this one is only a number.
    """

    id: str
    query: str
    turns: tuple[Turn, ...] = ()
    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    expect_refusal: bool = False
    tags: tuple[str, ...] = ()
    numbered: bool = False
    file: str = ""
    line: int = 0


class SourceJudgment(msgspec.Struct, frozen=True):
    """A judgment as it was read; the grade is the format's own. `quote` is the words of a judged span."""

    query: str
    doc: str
    grade: int
    quote: str | None = None
    file: str = ""
    line: int = 0


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A collection to import. Each callable reads anew and reports bad lines to the problems it is given.

    `documents` None means that judgments are about documents which the target already has. `keep_unjudged` keeps
    questions without a judgment. `remarks` are sentences for the user.
    """

    documents: Callable[[Problems], Iterable[SourceDocument]] | None
    questions: Callable[[Problems], Iterable[SourceQuestion]]
    judgments: Mapping[str, Callable[[Problems], Iterable[SourceJudgment]]]
    keep_unjudged: bool = False
    remarks: tuple[str, ...] = ()


def suite_names(splits: Iterable[str]) -> dict[str, str]:
    """Split → suite: one of them (the only one, or `test`, `dev`, …) becomes `core`, the others keep their names."""
    names = list(splits)
    preferred = [name for name in ("core", "test", "dev", "validation", "valid", "eval", "train") if name in names]
    main = (preferred or names or [MAIN_SUITE])[0]
    return {name: MAIN_SUITE if name == main else name for name in names}
