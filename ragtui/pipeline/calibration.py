"""How many characters a model's token has, learnt from the counts that its server reports.

The first run with a model goes by a default. At its end the ratio is written down for the model, once, so that later
plans are bound to the same number; a plan that gives a number keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

import msgspec

from ragtui.experiment.generation import DEFAULT_CHARACTERS_PER_TOKEN
from ragtui.experiment.plan import Plan
from ragtui.ids import content_id, short
from ragtui.pipeline.budget import MESSAGE_TOKENS
from ragtui.providers.protocols import GeneratorIdentity
from ragtui.trace import AnswerTrace

_FOLDER = "tokens"
LEAST_ANSWERS = 5


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Characters a token of one model, and from how many prompts that is known."""

    model: str
    characters_per_token: float
    prompts: int


def calibrated(plan: Plan, state: Path, identity: GeneratorIdentity | None) -> Plan:
    """The plan with the number of characters a token that its budget goes by."""
    recipe = plan.generation
    if recipe is None or identity is None or recipe.budget.characters_per_token is not None:
        return plan
    known = read(state, identity)
    ratio = known.characters_per_token if known is not None else DEFAULT_CHARACTERS_PER_TOKEN
    budget = msgspec.structs.replace(recipe.budget, characters_per_token=ratio)
    return msgspec.structs.replace(plan, generation=msgspec.structs.replace(recipe, budget=budget))


def measured(answers: Iterable[AnswerTrace]) -> Calibration | None:
    """The median ratio over prompts whose tokens the server counted; None from too few of them."""
    ratios = []
    for answer in answers:
        counted = (answer.usage.prompt_tokens or 0) - MESSAGE_TOKENS * len(answer.messages)
        characters = sum(len(message.content) for message in answer.messages)
        if counted > 0 and characters:
            ratios.append(characters / counted)
    if len(ratios) < LEAST_ANSWERS:
        return None
    return Calibration(
        model="", characters_per_token=round(min(20.0, max(0.1, median(ratios))), 2), prompts=len(ratios)
    )


def read(state: Path, identity: GeneratorIdentity) -> Calibration | None:
    """What is known of the model; None where nothing is, or the file is damaged."""
    try:
        return msgspec.json.decode(_path(state, identity).read_bytes(), type=Calibration)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def keep(state: Path, identity: GeneratorIdentity, calibration: Calibration) -> bool:
    """Write it down unless the model is known already; whether it was written."""
    path = _path(state, identity)
    if read(state, identity) is not None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(calibration, model=identity.model)) + b"\n")
    except OSError:
        return False
    return True


def _path(state: Path, identity: GeneratorIdentity) -> Path:
    return state / _FOLDER / f"{short(content_id(msgspec.to_builtins(identity)), 16)}.json"
