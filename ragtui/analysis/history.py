"""Two ways of losing a conversation, told apart: what fitted was left out, or the newest turn was."""

from __future__ import annotations

from typing import Literal

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.generation import Generation
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.pipeline.budget import MESSAGE_TOKENS, characters_per_token
from ragtui.trace import AnswerTrace

# An estimate errs on the careful side; only what clearly fitted counts as lost.
CLEARLY = 0.75
Kind = Literal["trimmed_though_it_fitted", "newest_turn_lost"]

ADVICE: dict[Kind, str] = {
    "trimmed_though_it_fitted": "turns were left out that the window holds: the estimate of tokens is too high",
    "newest_turn_lost": "the newest turn is not in the prompt: the model cannot know what was just said",
}


class HistoryFault(msgspec.Struct, frozen=True, kw_only=True):
    """A multi-turn case whose prompt lost what it should not have. `sent` of `turns` earlier turns are in the prompt.

    `full_tokens` is what the whole conversation would have taken, by the server's own count of this prompt where it
    gave one, and `room` what the window leaves beside the answer reserve.
    """

    case: str
    kind: Kind
    turns: int
    sent: int
    full_tokens: int
    room: int
    passed: bool | None


def history_faults(run: RecordedRun) -> list[HistoryFault]:
    """Every fault, in the order of the run."""
    recipe = run.specification.plan.generation
    if recipe is None:
        return []
    found = []
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        answer = trace.answered if trace is not None else None
        if answer is not None and answer.messages and case.turns:
            fault = _fault(case, answer, recipe)
            if fault is not None:
                found.append(fault)
    return found


def _fault(case: EvaluationCase, answer: AnswerTrace, recipe: Generation) -> HistoryFault | None:
    prompt = "\n".join(message.content for message in answer.messages)
    present = [turn.content in prompt for turn in case.turns]
    if all(present):
        return None
    budget = recipe.budget
    room = budget.context_window - budget.answer_reserve
    missing = sum(len(turn.content) for turn, there in zip(case.turns, present, strict=True) if not there)
    full = _tokens(
        answer, len(prompt) + missing, len(answer.messages) + present.count(False), characters_per_token(budget)
    )
    kind: Kind
    if not present[-1]:
        kind = "newest_turn_lost"
    elif full <= CLEARLY * room:
        kind = "trimmed_though_it_fitted"
    else:
        return None
    return HistoryFault(
        case=case.id,
        kind=kind,
        turns=len(present),
        sent=sum(present),
        full_tokens=full,
        room=room,
        passed=answer.passed,
    )


def _tokens(answer: AnswerTrace, characters: int, messages: int, ratio: float) -> int:
    """What so many characters take: as the server counted this very prompt, else as the budget estimates."""
    own = sum(len(message.content) for message in answer.messages)
    counted = (answer.usage.prompt_tokens or 0) - MESSAGE_TOKENS * len(answer.messages)
    if counted > 0:
        ratio = own / counted
    return round(characters / ratio) + MESSAGE_TOKENS * messages
