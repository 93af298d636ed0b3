"""A plan of the generation tier from any plan: what `generate`, `matrix` and the app's form leave open is filled in."""

from __future__ import annotations

from typing import cast

import msgspec

from ragtui.errors import InvalidInput
from ragtui.experiment.generation import MOCK, MODES, Generation, Judge, Mode
from ragtui.experiment.plan import Plan, judged_by_answers
from ragtui.settings import Workspace


def with_generation(
    plan: Plan,
    workspace: Workspace,
    model: str | None,
    mode: str | None,
    all_modes: bool,
    repeats: int | None,
    no_rewrite: bool,
    judge: str | None = None,
) -> Plan:
    """The plan with its generation recipe as the options say; what they leave open stays as the plan has it."""
    recipe = plan.generation or Generation(model=model or _only_model(workspace, mode), repeats=0)
    if model is not None:
        recipe = msgspec.structs.replace(recipe, model=model)
    if judge is not None:
        recipe = msgspec.structs.replace(recipe, judge=Judge(model=judge))
    modes = _modes(mode, all_modes, recipe)
    if mode == MOCK and model is None:
        recipe = msgspec.structs.replace(recipe, model=MOCK)
    metrics = judged_by_answers(plan.metrics) if plan.generation is None else plan.metrics
    count = repeats if repeats is not None else recipe.repeats or (1 if recipe.model == MOCK else 3)
    rewrite = recipe.rewrite and not no_rewrite
    return msgspec.structs.replace(
        plan, metrics=metrics, generation=msgspec.structs.replace(recipe, modes=modes, repeats=count, rewrite=rewrite)
    )


def _only_model(workspace: Workspace, mode: str | None) -> str:
    """The model where none is named: the workspace's only one."""
    if mode == MOCK:
        return MOCK
    from ragtui.providers.select import SERVERS

    able = sorted(name for name, profile in workspace.profiles.items() if profile.kind in SERVERS)
    if len(able) == 1:
        return able[0]
    known = ", ".join([MOCK, *able])
    raise InvalidInput("No model is named.", f"Say --model NAME ({known}); mock needs no server.")


def _modes(text: str | None, all_modes: bool, recipe: Generation) -> tuple[Mode, ...]:
    """The modes; an echo beside a real model is the fourth of all."""
    if all_modes:
        return MODES if recipe.model != MOCK else tuple(mode for mode in MODES if mode != MOCK)
    if text is None:
        return recipe.modes
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for mode in named:
        if mode not in MODES:
            raise InvalidInput(f"There is no mode {mode!r}.", f"Modes: {', '.join(MODES)}.")
    return cast("tuple[Mode, ...]", named)
