"""The builder's steps for the generation recipe: who answers, in which modes, from which prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import msgspec

from ragtui.experiment.generation import Budget, Judge, Mode


class RecipeBuilder:
    """Wraps one frozen recipe; `_with` gives a builder around a changed copy."""

    def __init__(self, recipe: Any) -> None:
        self._recipe = recipe

    def _with(self, **changes: Any) -> Self:
        return type(self)(msgspec.structs.replace(self._recipe, **changes))


class PromptBuilder(RecipeBuilder):
    """Steps of `.prompt(lambda p: …)`. Templates may use {context}, {question} and {history}."""

    def version(self, name: str) -> Self:
        """What a reader calls this wording."""
        return self._with(version=name)

    def system(self, template: str) -> Self:
        """The rules, usually with {context}."""
        return self._with(system=template)

    def user(self, template: str) -> Self:
        """What the user says, usually {question}."""
        return self._with(user=template)

    def numbered(self, on: bool = True) -> Self:
        """Whether [1], [2], … stand before the parts of the context."""
        return self._with(numbered=on)

    def empty(self, text: str) -> Self:
        """What stands for a context without any part."""
        return self._with(empty=text)


class GenerationBuilder(RecipeBuilder):
    """Steps of `.generation(lambda g: …)`: the fields of a plan file's `[generation]`."""

    def model(self, name: str) -> Self:
        """`mock`, which needs no server, or the name of a profile."""
        return self._with(model=name)

    def modes(self, *names: Mode) -> Self:
        """`oracle`, `e2e`, `noretrieval`, `mock`."""
        return self._with(modes=names)

    def repeats(self, count: int) -> Self:
        """How often each case is asked."""
        return self._with(repeats=count)

    def prompt(self, build: Callable[[PromptBuilder], PromptBuilder]) -> Self:
        """The template."""
        return self._with(prompt=build(PromptBuilder(self._recipe.prompt))._recipe)

    def budget(
        self,
        context_window: int = Budget().context_window,
        answer_reserve: int = Budget().answer_reserve,
        characters_per_token: float | None = None,
    ) -> Self:
        """How many tokens prompt and answer may hold together, and how many are kept for the answer.

        Without `characters_per_token` the estimate calibrated for the model counts.
        """
        ratio = None if characters_per_token is None else float(characters_per_token)
        return self._with(
            budget=Budget(context_window=context_window, answer_reserve=answer_reserve, characters_per_token=ratio)
        )

    def rewrite(self, on: bool = True) -> Self:
        """Whether the model makes a multi-turn question stand alone before the search."""
        return self._with(rewrite=on)

    def temperature(self, value: float) -> Self:
        """0 for the likeliest answer."""
        return self._with(temperature=float(value))

    def seed(self, value: int) -> Self:
        """What a server that draws draws from."""
        return self._with(seed=value)

    def judge(self, model: str, version: str = Judge(model="").version) -> Self:
        """A model that judges the answers, apart from all measures."""
        return self._with(judge=Judge(model=model, version=version))
