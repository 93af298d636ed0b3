"""What the first argument of `generate` means: a plan or a model."""

from __future__ import annotations

from pathlib import Path

from ragtui.cli.plans import PLAN_SUFFIXES
from ragtui.errors import InvalidInput
from ragtui.experiment.generation import MOCK
from ragtui.experiment.presets import PRESETS
from ragtui.settings import Workspace


def told_apart(what: str, model: str | None, workspace: Workspace) -> tuple[str, str | None]:
    """The plan and the model that the argument means: a model's name stands for the preset hybrid with it."""
    if what in PRESETS or Path(what).exists():
        return what, model
    if what != MOCK and what.partition(":")[0] not in workspace.profiles:
        if Path(what).suffix in PLAN_SUFFIXES:
            return what, model
        raise InvalidInput(
            f"{what!r} is no preset, no plan file and no model.",
            f"Presets: {', '.join(PRESETS)}; models: {', '.join([MOCK, *sorted(workspace.profiles)])}.",
        )
    if model is not None and model != what:
        raise InvalidInput(f"Two models are named: {what} and {model}.", "Name a plan and --model, or a model alone.")
    return "hybrid", what
