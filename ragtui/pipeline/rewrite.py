"""A multi-turn question made to stand alone, so that a search for it can find something."""

from __future__ import annotations

from collections.abc import Sequence

from ragtui.experiment.generation import Budget, Prompt
from ragtui.inputs.goldens import Turn
from ragtui.inputs.text import fold_space
from ragtui.pipeline.budget import fit
from ragtui.pipeline.prompt import compose
from ragtui.providers.protocols import Message

# Bound to the version of a prompt's template: the same for every model.
REWRITE_RULES = """Rewrite the last question of a conversation as one question that can be understood without it.
Put in the names, places and numbers that the conversation gives and the question needs.
Keep the language of the question. Answer with the rewritten question alone."""
REWRITE_TOKENS = 256
_TEMPLATE = Prompt(
    version="rewrite-1",
    system=REWRITE_RULES,
    user="Conversation:\n{history}\n\nLast question: {question}\n\nRewritten question:{context}",
    empty="",
)
_QUOTES = "\"'“”‘’«»"


def rewrite_messages(budget: Budget, question: str, turns: Sequence[Turn]) -> tuple[Message, ...]:
    """The prompt that asks for the rewrite; turns that do not fit are left out, oldest first."""
    fitted = fit(_TEMPLATE, budget, question, turns, ())
    return compose(_TEMPLATE, question, turns[len(turns) - fitted.turns :], ())


def rewritten(answer: str) -> str:
    """The question in a model's answer: on one line, without the label and quotes that models like to add."""
    text = fold_space(answer)
    head, colon, rest = text.partition(":")
    if colon and rest.strip() and head.strip().lower() in ("rewritten question", "question", "standalone question"):
        text = rest.strip()
    return text.strip(_QUOTES).strip() or text
