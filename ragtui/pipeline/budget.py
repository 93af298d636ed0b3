"""What fits into the context window: earlier turns are left out oldest first, parts of the context lowest first.

Where not all fits, earlier turns may take half of the room, and the newest one as much as it needs: losing what was
just said is worse than losing a part of the context.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from ragtui.errors import InvalidInput
from ragtui.experiment.generation import DEFAULT_CHARACTERS_PER_TOKEN, Budget, Prompt
from ragtui.inputs.goldens import Turn
from ragtui.pipeline.prompt import compose, history_in_text
from ragtui.providers.protocols import Message

MESSAGE_TOKENS = 4
_PART_CHARACTERS = 8
_LABEL_CHARACTERS = 12


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the newest turns and of the best parts fit; `missing` are tokens that the fixed part lacks."""

    turns: int
    parts: int
    missing: int = 0


def characters_per_token(budget: Budget) -> float:
    """The estimate that the budget goes by."""
    return budget.characters_per_token or DEFAULT_CHARACTERS_PER_TOKEN


def estimated_tokens(messages: Sequence[Message], ratio: float) -> int:
    """The estimate for a prompt: characters over `ratio`, and a few tokens a message."""
    return sum(_tokens(len(message.content), ratio) for message in messages)


def fit(template: Prompt, budget: Budget, question: str, turns: Sequence[Turn], parts: Sequence[str]) -> Fitted:
    """What of the turns (oldest first) and the parts (best first) fits beside rules, question and answer reserve."""
    ratio = characters_per_token(budget)
    fixed = fixed_tokens(template, budget, question)
    room = budget.context_window - budget.answer_reserve - fixed
    if room < 0:
        return Fitted(turns=0, parts=0, missing=-room)
    label = _LABEL_CHARACTERS if history_in_text(template) else 0
    turn_costs = [_tokens(len(turn.content) + label, ratio) for turn in reversed(turns)]
    part_costs = [_tokens(len(part) + _PART_CHARACTERS, ratio) - MESSAGE_TOKENS for part in parts]
    history = sum(turn_costs)
    newest = turn_costs[0] if turn_costs else 0
    for_history = min(history, max(room // 2, newest))
    kept_parts, used = _leading(part_costs, room - min(for_history, room))
    kept_turns, _ = _leading(turn_costs, room - used)
    return Fitted(turns=kept_turns, parts=kept_parts)


def fixed_tokens(template: Prompt, budget: Budget, question: str) -> int:
    """Tokens of the rules and the question, without any turn or part."""
    return estimated_tokens(compose(template, question, (), ()), characters_per_token(budget))


def check_window(template: Prompt, budget: Budget, questions: Mapping[str, str]) -> None:
    """Raise InvalidInput where rules and question alone exceed what the window leaves; `questions` by golden."""
    room = budget.context_window - budget.answer_reserve
    needed = {golden: fixed_tokens(template, budget, question) for golden, question in questions.items()}
    over = [golden for golden, tokens in needed.items() if tokens > room]
    if over:
        worst = max(over, key=lambda golden: needed[golden])
        raise InvalidInput(
            f"The context window of {budget.context_window} tokens leaves {room} beside the answer reserve, but rules "
            f"and question take {needed[worst]} in {worst!r} ({len(over)} of {len(needed)} goldens do not fit).",
            f"Raise generation.budget.context_window to {needed[worst] + budget.answer_reserve}, or shorten the rules.",
        )


def _leading(costs: Sequence[int], room: int) -> tuple[int, int]:
    """How many of the first costs fit, and their sum."""
    used = 0
    for count, cost in enumerate(costs):
        if used + cost > room:
            return count, used
        used += cost
    return len(costs), used


def _tokens(characters: int, ratio: float) -> int:
    return math.ceil(characters / ratio) + MESSAGE_TOKENS
