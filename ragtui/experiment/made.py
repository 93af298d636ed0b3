"""Whose plan is it? A plan is a value without a name; while a plan file runs, this remembers what the builder knew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragtui.experiment.plan import Plan, Provenance

_MADE: ContextVar[list[tuple[Plan, Provenance]] | None] = ContextVar("made", default=None)


@contextmanager
def made_plans() -> Iterator[list[tuple[Plan, Provenance]]]:
    """Every plan that the builder gives in here, with its provenance."""
    found: list[tuple[Plan, Provenance]] = []
    token = _MADE.set(found)
    try:
        yield found
    finally:
        _MADE.reset(token)


def remember(plan: Plan, provenance: Provenance) -> None:
    """The builder gave this plan."""
    made = _MADE.get()
    if made is not None:
        made.append((plan, provenance))
