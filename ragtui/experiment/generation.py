"""The generation recipe: which model answers, in which modes, from which prompt, within which budget."""

from __future__ import annotations

import difflib
import math
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from ragtui.artifacts.recipes import LATER, Recipe

Mode = Literal["oracle", "e2e", "noretrieval", "mock"]
MODES: tuple[Mode, ...] = ("oracle", "e2e", "noretrieval", "mock")
MOCK = "mock"
# The modes that ask the channels.
SEARCHING: tuple[Mode, ...] = ("e2e", "mock")
FIELDS = ("context", "question", "history")
DEFAULT_CHARACTERS_PER_TOKEN = 3.5

MODE_MEANINGS: dict[str, str] = {
    "oracle": "the golden's own documents",
    "e2e": "what retrieval found",
    "noretrieval": "no context at all",
    "mock": "what retrieval found, echoed without a model",
}


def headline_of(modes: Sequence[Mode]) -> Mode:
    """The mode whose measures stand for a run: `e2e` where it is among them, else the first in the usual order."""
    return "e2e" if "e2e" in modes else min(modes, key=MODES.index)


RULES = """Answer the question from the context below.
Answer in a few sentences, with the figures and names that the context gives.
If the context does not hold the answer, say that you do not know.
Speak to the reader directly; never mention the context, documents or passages.

Context:
{context}"""


class Prompt(Recipe, frozen=True, kw_only=True):
    """The template. `version` names its wording for a reader.

    `system` and `user` may use {context}, {question} and {history}; {{ and }} stand for braces. Without {history}
    earlier turns are sent as messages of their own between the two. `numbered` puts [1], [2], … before the parts of
    the context; `empty` stands for a context without any part.
    """

    version: str = "1"
    system: str = RULES
    user: str = "{question}"
    numbered: bool = False
    empty: str = "(none)"


class Budget(Recipe, frozen=True, kw_only=True):
    """How much a prompt may hold, in tokens. `answer_reserve` is kept free for the answer.

    `characters_per_token` is the estimate for this model; None takes the calibrated one when the plan is bound.
    """

    context_window: int = 8192
    answer_reserve: int = 1024
    characters_per_token: float | None = None


class Judge(Recipe, frozen=True, kw_only=True):
    """A model that judges answers, apart from all measures. `version` is that of its rules and its form."""

    model: str
    version: str = "1"


class Generation(Recipe, frozen=True, kw_only=True):
    """Who answers and how. `model` is `mock` (echoes the context, no server) or the name of a profile.

    `rewrite` lets the model turn a multi-turn question into one that stands alone, before retrieval.
    """

    model: str = MOCK
    modes: tuple[Mode, ...] = ("e2e",)
    repeats: int = 3
    prompt: Prompt = Prompt()
    budget: Budget = Budget()
    rewrite: bool = True
    temperature: float = 0.0
    seed: int = 0
    judge: Judge | None = None


LATER[(Generation, "judge")] = None


def generation_faults(generation: Generation) -> Iterator[str]:
    """Each fault as one sentence that begins with the path of the field."""
    if not generation.model.strip():
        yield "generation.model: names no model."
    if not generation.modes:
        yield f"generation.modes: names no mode (modes: {', '.join(MODES)})."
    if len(set(generation.modes)) < len(generation.modes):
        yield "generation.modes: names a mode twice."
    if not 1 <= generation.repeats <= 100:
        yield f"generation.repeats: {generation.repeats} is not between 1 and 100."
    if not (math.isfinite(generation.temperature) and 0 <= generation.temperature <= 2):
        yield f"generation.temperature: {generation.temperature} is not between 0 and 2."
    if generation.judge is not None and generation.judge.model.strip() in ("", MOCK):
        yield f"generation.judge.model: {generation.judge.model!r} cannot judge."
    yield from _budget_faults(generation.budget)
    yield from _prompt_faults(generation.prompt)


def _budget_faults(budget: Budget) -> Iterator[str]:
    if budget.answer_reserve < 1:
        yield f"generation.budget.answer_reserve: {budget.answer_reserve} leaves no room for an answer."
    if budget.context_window <= budget.answer_reserve:
        yield (
            f"generation.budget.context_window: {budget.context_window} tokens do not hold the answer reserve of "
            f"{budget.answer_reserve}."
        )
    ratio = budget.characters_per_token
    if ratio is not None and not (math.isfinite(ratio) and 0.1 <= ratio <= 20):
        yield f"generation.budget.characters_per_token: {ratio} is not between 0.1 and 20."


def _prompt_faults(prompt: Prompt) -> Iterator[str]:
    used: Counter[str] = Counter()
    for name, template in (("system", prompt.system), ("user", prompt.user)):
        path = f"generation.prompt.{name}"
        try:
            parts = list(string.Formatter().parse(template))
        except ValueError as error:
            yield f"{path}: {error}; write {{{{ and }}}} for braces."
            continue
        for _, field, form, conversion in parts:
            if field is None:
                continue
            used[field] += 1
            if field not in FIELDS:
                near = difflib.get_close_matches(field, FIELDS, n=1)
                guess = f" Did you mean {{{near[0]}}}?" if near else f" Known: {', '.join(f'{{{f}}}' for f in FIELDS)}."
                yield f"{path}: unknown field {{{field}}}.{guess}"
            elif form or conversion:
                yield f"{path}: {{{field}}} takes no format."
    for needed in ("question", "context"):
        if needed not in used:
            yield f"generation.prompt: neither system nor user has {{{needed}}}."
    # The budget counts turns and parts of the context once.
    for repeated in ("context", "history"):
        if used[repeated] > 1:
            yield f"generation.prompt: {{{repeated}}} stands {used[repeated]} times; write it once."
