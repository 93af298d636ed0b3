"""Measures of answers that need no judge: patterns, refusals, leaks, numbers, and what the budget left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial

import msgspec

from ragtui.errors import InvalidInput
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.patterns import matches
from ragtui.inputs.text import fold_answer
from ragtui.metrics.answer_patterns import CONTRASTS, DECLINES, HEDGES, LEAKS, NO_LEAK, REDIRECTS, THINK_TAGS
from ragtui.metrics.kinds import Kind
from ragtui.metrics.numbers import all_readings, numbers_in

LEAST_NUMBER = 10
_START_SENTENCES = 2


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """An answer and what it was given. `context` are the injected texts, `asked` question and turns as sent."""

    text: str
    context: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    turns: int = 0
    turns_sent: int = 0
    chunks: int = 0
    chunks_dropped: int = 0
    estimated_tokens: int = 0
    prompt_tokens: int | None = None


class Inapplicable(Exception):
    """The measure is not about this case; the message says why."""


Scores = tuple[dict[str, float | None], dict[str, str]]


def score_answer(case: EvaluationCase, answered: Answered) -> Scores:
    """Each measure's value in [0, 1], None where it is not about the case, and those reasons by name."""
    scores: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for name, measure in MEASURES.items():
        try:
            scores[name] = float(measure(case, answered))
        except (Inapplicable, InvalidInput) as why:
            scores[name], reasons[name] = None, str(why)
        except (ArithmeticError, ValueError, RecursionError, MemoryError, TimeoutError) as fault:
            # Answers are anybody's text: one that a measure cannot take must not end the run.
            scores[name], reasons[name] = None, f"the answer could not be measured: {type(fault).__name__}"
    return scores, reasons


def passed(case: EvaluationCase, scores: Mapping[str, float | None]) -> bool | None:
    """Whether the case is answered as it should be; None where the golden says nothing about the answer."""
    told = [scores.get("correctness")] + ([scores.get("refusalCorrectness")] if case.expect_refusal else [])
    known = [value for value in told if value is not None]
    return all(value == 1 for value in known) if known else None


def matched(patterns: Iterable[str], text: str) -> list[str]:
    """The patterns that occur in the text."""
    return [pattern for pattern in patterns if matches(pattern, text)]


def declines(text: str) -> bool:
    """Whether the answer refuses: it begins by declining, and nothing after that answers all the same."""
    folded = fold_answer(text)
    start = len(" ".join(_sentences(folded)[:_START_SENTENCES]))
    for pattern in DECLINES:
        found = _first(pattern, folded)
        if found is not None and found[0] < start:
            return not _answers_after(folded[found[1] :])
    return False


def hedges(text: str) -> bool:
    """Whether the answer declines, or anywhere says that it may not be right."""
    folded = fold_answer(text)
    return any(_first(pattern, folded) is not None for pattern in (*DECLINES, *HEDGES))


def leaks(text: str) -> bool:
    """Whether the answer talks about what it was given instead of the subject."""
    folded = fold_answer(text)
    if any(_first(pattern, folded) is not None for pattern in NO_LEAK):
        return False
    return any(_first(pattern, folded) is not None for pattern in LEAKS)


def thinks_aloud(text: str) -> bool:
    """Whether marks of reasoning are left in the answer."""
    return any(_first(pattern, text) is not None for pattern in THINK_TAGS)


def ungrounded(text: str, given: Iterable[str]) -> tuple[list[Decimal], int]:
    """The numbers above 10 that nothing given holds, and how many such numbers the text has at all."""
    claimed = [number for number in numbers_in(text) if number > LEAST_NUMBER]
    known: set[Decimal] = set()
    for piece in given:
        known |= all_readings(piece)
    return [number for number in claimed if number not in known], len(claimed)


def _must_include(case: EvaluationCase, answered: Answered) -> bool:
    if not case.must_include:
        raise Inapplicable("the golden requires no pattern")
    return all(matches(pattern, answered.text) for pattern in case.must_include)


def _must_not_include(case: EvaluationCase, answered: Answered) -> bool:
    if not case.must_not_include:
        raise Inapplicable("the golden forbids no pattern")
    return not any(matches(pattern, answered.text) for pattern in case.must_not_include)


def _correct(case: EvaluationCase, answered: Answered) -> bool:
    parts = []
    for part in (_must_include, _must_not_include):
        try:
            parts.append(part(case, answered))
        except Inapplicable:
            continue
    if not parts:
        raise Inapplicable("the golden has no pattern")
    return all(parts)


def _refusal(case: EvaluationCase, answered: Answered) -> bool:
    return declines(answered.text) if case.expect_refusal else not hedges(answered.text)


def _grounded(_: EvaluationCase, answered: Answered) -> float:
    if not answered.context:
        raise Inapplicable("no context was injected")
    missing, count = ungrounded(answered.text, (*answered.context, *answered.asked))
    if not count:
        raise Inapplicable(f"the answer has no number above {LEAST_NUMBER}")
    return 1 - len(missing) / count


def _elided(_: EvaluationCase, answered: Answered) -> bool:
    if not answered.turns:
        raise Inapplicable("the golden has no earlier turn")
    return answered.turns_sent < answered.turns


def _dropped(_: EvaluationCase, answered: Answered) -> bool:
    if not answered.chunks + answered.chunks_dropped:
        raise Inapplicable("there was no context to inject")
    return answered.chunks_dropped > 0


def _token_error(_: EvaluationCase, answered: Answered) -> float:
    if not answered.prompt_tokens:
        raise Inapplicable("the server counted no tokens")
    return min(1.0, abs(answered.estimated_tokens - answered.prompt_tokens) / answered.prompt_tokens)


def _text_measure(test: Callable[[str], bool], _: EvaluationCase, answered: Answered) -> bool:
    return test(answered.text)


MEASURES: dict[Kind, Callable[[EvaluationCase, Answered], float]] = {
    "correctness": _correct,
    "mustIncludeRate": _must_include,
    "mustNotIncludeRate": _must_not_include,
    "refusalCorrectness": _refusal,
    "groundedness": _grounded,
    "leakageRate": partial(_text_measure, leaks),
    "thinkTagLeakRate": partial(_text_measure, thinks_aloud),
    "historyElidedRate": _elided,
    "chunksDroppedRate": _dropped,
    "promptTokenError": _token_error,
}


def _answers_after(rest: str) -> bool:
    """Whether what follows a refusal turns into an answer."""
    for pattern in CONTRASTS:
        found = _first(pattern, rest)
        if found is not None:
            clause = rest[found[1] :]
            return not any(_first(redirect, clause) is not None for redirect in REDIRECTS)
    return False


def _sentences(text: str) -> list[str]:
    return text.replace("! ", ". ").replace("? ", ". ").split(". ")


def _first(pattern: str, text: str) -> tuple[int, int] | None:
    from ragtui.inputs.patterns import compile_pattern

    found = compile_pattern(pattern).search(text)
    return (found.start(), found.end()) if found else None
