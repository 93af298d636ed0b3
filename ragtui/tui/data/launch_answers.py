"""The launch form's half for runs that ask a model: what may be chosen, the plan it means, and its command."""

from __future__ import annotations

import json
import math

from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput, RagtuiError
from ragtui.experiment.generating import with_generation
from ragtui.experiment.generation import MOCK, MODE_MEANINGS
from ragtui.experiment.plan import Plan
from ragtui.providers.select import SERVERS, generator_named
from ragtui.settings import Workspace
from ragtui.tui.data.form import Form, base_plan

RETRIEVAL, GENERATION, MATRIX = "retrieval", "generation", "matrix"
TIERS = [
    (RETRIEVAL, "retrieval · rank documents"),
    (GENERATION, "generation · a model answers"),
    (MATRIX, "matrix · which model can what"),
]
ALL_MODES = "all"
MODE_CHOICES = [
    (ALL_MODES, "all · the retriever or the model?"),
    *((mode, f"{mode} · {meaning}") for mode, meaning in MODE_MEANINGS.items() if mode != MOCK),
    ("oracle,e2e", "oracle,e2e"),
    ("e2e,noretrieval", "e2e,noretrieval"),
]
FRESH_CHOICES = [("no", "no · replay what was paid for"), ("yes", "yes · ask everything anew")]
MATRIX_MODES = "oracle,e2e,noretrieval"
MATRIX_LIMIT = 25


def model_choices(workspace: Workspace) -> list[tuple[str, str]]:
    """(value, words) of the echo and of every profile that can answer."""
    return [(MOCK, "mock · echoes the context, no server"), *_servers(workspace)]


def judge_choices(workspace: Workspace) -> list[tuple[str, str]]:
    """(value, words) of nobody and of every profile that can judge."""
    return [("", "none · only counted measures"), *_servers(workspace)]


def _servers(workspace: Workspace) -> list[tuple[str, str]]:
    return [
        (name, f"{name} · {profile.kind}{f', {profile.model}' if profile.model else ''}")
        for name, profile in sorted(workspace.profiles.items())
        if profile.kind in SERVERS
    ]


def answering(plan: Plan, form: Form, workspace: Workspace, faults: list[tuple[str, str]]) -> Plan:
    """The plan as `generate` (or a row of `matrix`) would have it; what cannot be read becomes a fault."""
    repeats = _whole(form.repeats, "repeats", faults)
    every = form.modes == ALL_MODES and form.tier == GENERATION
    mode = (MATRIX_MODES if form.tier == MATRIX else None) if form.modes == ALL_MODES else form.modes
    model, judge = form.model, form.judge or None
    if form.tier == MATRIX:
        model, judge = next(iter(models_of(form)), MOCK), None
    try:
        return with_generation(plan, workspace, model, mode, every, repeats, False, judge)
    except InvalidInput as error:
        faults.append(("modes", f"{error.message} {error.hint}".strip()))
        return plan


def spending_faults(form: Form, workspace: Workspace) -> list[tuple[str, str]]:
    """What is wrong with the limits, and with the models and plans of a matrix: (field, sentence)."""
    faults: list[tuple[str, str]] = []
    calls = _whole(form.max_calls, "max_calls", faults)
    if calls is not None and calls < 0:
        faults.append(("max_calls", f"{calls} is below 0."))
    if form.max_cost.strip():
        faults += _cost_faults(form, workspace)
    return faults + (_row_faults(form, workspace) if form.tier == MATRIX else [])


def _cost_faults(form: Form, workspace: Workspace) -> list[tuple[str, str]]:
    text = form.max_cost.strip()
    try:
        cost = float(text)
    except ValueError:
        return [("max_cost", f"{text!r} is not a number.")]
    if not (math.isfinite(cost) and cost >= 0):
        return [("max_cost", f"{text} is not a cost.")]
    asked = models_of(form) if form.tier == MATRIX else [form.model, *([form.judge] if form.judge else [])]
    free = [
        name
        for name in asked
        if (profile := workspace.profiles.get(name, workspace.profiles.get(name.partition(":")[0]))) is not None
        and (profile.input_price is None or profile.output_price is None)
    ]
    return [
        ("max_cost", f"A limit needs prices: set input_price and output_price in [profiles.{name}].") for name in free
    ]


def _row_faults(form: Form, workspace: Workspace) -> list[tuple[str, str]]:
    faults = [] if models_of(form) else [("models", "No model is named; mock needs no server.")]
    for model in models_of(form):
        try:
            if model != MOCK:
                generator_named(model, workspace.profiles)
        except RagtuiError as error:
            faults.append(("models", f"{error.message} {error.hint}".strip()))
    for plan in plans_of(form):
        try:
            base_plan(plan)
        except RagtuiError as error:
            faults.append(("plans", f"{error.message} {error.hint}".strip()))
    return faults


def models_of(form: Form) -> list[str]:
    """The models of a matrix, each once."""
    return _named(form.models)


def plans_of(form: Form) -> list[str]:
    """The plans of a matrix: the one that is chosen, and those that are named besides."""
    return list(dict.fromkeys([form.plan, *_named(form.plans)]))


def answering_arguments(form: Form) -> list[str]:
    """The options of `generate` or `matrix` for what the form says, without those of spending."""
    if form.tier == MATRIX:
        found = ["--models", ",".join(models_of(form)), "--specs", ",".join(plans_of(form))]
        found += [] if form.modes == ALL_MODES else ["--mode", form.modes]
    else:
        found = ["--model", form.model]
        found += ["--all-modes"] if form.modes == ALL_MODES else ["--mode", form.modes]
    found += ["--repeats", form.repeats.strip()] if form.repeats.strip() else []
    return found + (["--judge", form.judge] if form.judge and form.tier == GENERATION else [])


def spending_arguments(form: Form) -> list[str]:
    """What may be spent, as options: they are no part of a specification."""
    found = ["--fresh"] if form.fresh == "yes" else []
    found += ["--max-calls", form.max_calls.strip()] if form.max_calls.strip() else []
    return found + (["--max-cost", form.max_cost.strip()] if form.max_cost.strip() else [])


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


def _whole(text: str, field: str, faults: list[tuple[str, str]]) -> int | None:
    if not text.strip():
        return None
    try:
        return int(text)
    except ValueError:
        faults.append((field, f"{text.strip()!r} is not a whole number."))
        return None


def _named(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
