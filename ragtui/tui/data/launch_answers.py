"""The launch form's half for the generation tier: what may be chosen, the plan it means, and its command."""

from __future__ import annotations

import json

from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput
from ragtui.experiment.generating import with_generation
from ragtui.experiment.generation import MOCK, MODE_MEANINGS
from ragtui.experiment.plan import Plan
from ragtui.providers.select import SERVERS
from ragtui.settings import Workspace
from ragtui.tui.data.form import Form

RETRIEVAL, GENERATION = "retrieval", "generation"
TIERS = [(RETRIEVAL, "retrieval · rank documents"), (GENERATION, "generation · a model answers")]
ALL_MODES = "all"
MODE_CHOICES = [
    (ALL_MODES, "all · the retriever or the model?"),
    *((mode, f"{mode} · {meaning}") for mode, meaning in MODE_MEANINGS.items() if mode != MOCK),
    ("oracle,e2e", "oracle,e2e"),
    ("e2e,noretrieval", "e2e,noretrieval"),
]


def model_choices(workspace: Workspace) -> list[tuple[str, str]]:
    """(value, words) of the echo and of every profile that can answer."""
    found = [(MOCK, "mock · echoes the context, no server")]
    return found + [
        (name, f"{name} · {profile.kind}{f', {profile.model}' if profile.model else ''}")
        for name, profile in sorted(workspace.profiles.items())
        if profile.kind in SERVERS
    ]


def answering(plan: Plan, form: Form, workspace: Workspace, faults: list[tuple[str, str]]) -> Plan:
    """The plan as `ragtui generate` would have it for what the form says; what cannot be read becomes a fault."""
    repeats = None
    if form.repeats.strip():
        try:
            repeats = int(form.repeats)
        except ValueError:
            faults.append(("repeats", f"{form.repeats.strip()!r} is not a whole number."))
    mode = None if form.modes == ALL_MODES else form.modes
    try:
        return with_generation(plan, workspace, form.model, mode, form.modes == ALL_MODES, repeats, False)
    except InvalidInput as error:
        faults.append(("modes", f"{error.message} {error.hint}".strip()))
        return plan


def answering_arguments(form: Form) -> list[str]:
    """The options of `ragtui generate` for what the form says."""
    found = ["--model", form.model]
    found += ["--all-modes"] if form.modes == ALL_MODES else ["--mode", form.modes]
    return [*found, *(["--repeats", form.repeats.strip()] if form.repeats.strip() else [])]


def as_settings(plan: Plan) -> list[str]:
    """`--set` options that make a plan of the generation tier for commands that have no options for it."""
    parts = (("generation", plan.generation), ("metrics", plan.metrics))
    given = [(name, part) for name, part in parts if part is not None]
    return [word for name, part in given for word in ("--set", f"{name}={json.dumps(canonical(part))}")]


def calls_of(plan: Plan, goldens: int) -> tuple[int, str]:
    """How many cases the goldens become, and in words what a model is asked."""
    recipe = plan.generation
    if recipe is None:
        return goldens, ""
    asked = [mode for mode in recipe.modes if mode != MOCK]
    cases = goldens * (len(asked) * recipe.repeats + (MOCK in recipe.modes))
    times = f" × {recipe.repeats} repeats" if recipe.repeats > 1 else ""
    return cases, f"{goldens:,} goldens × {', '.join(recipe.modes)}{times}"
