"""Which measures decide, and the correction for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ragtui.analysis.contrast import MeasureChange, Role
from ragtui.analysis.modes import UNSTABLE
from ragtui.analysis.statistics import holm
from ragtui.experiment.plan import Plan
from ragtui.metrics.measure import Measure, measure_at

REFUSAL_GUARD = "nonEmptyRateOnRefusal"


def gating_measures(plan: Plan) -> tuple[Measure, ...]:
    """The measures that decide, the primary first, at the plan's relevance.

    How often refusals get results is always among them; in the generation tier so is how often answers are unstable.
    """
    always = (REFUSAL_GUARD,) if plan.generation is None else (REFUSAL_GUARD, UNSTABLE)
    declared = (plan.metrics.primary, *plan.metrics.guards, *always)
    return tuple(dict.fromkeys(measure_at(name, plan.metrics.relevance) for name in declared))


def roles_of(gating: Sequence[Measure], table: Mapping[str, MeasureChange]) -> dict[str, Role]:
    """The gating measures that are about any case; the primary stays in any case, for it must decide."""
    roles: dict[str, Role] = {}
    for place, measure in enumerate(gating):
        name = str(measure)
        if name in table and (place == 0 or table[name].total):
            roles[name] = "primary" if place == 0 else "guard"
    return roles


def with_roles(table: Mapping[str, MeasureChange], roles: Mapping[str, Role]) -> dict[str, MeasureChange]:
    """The table with each measure's role, and Holm's adjusted p over the gating ones."""
    tested = [name for name in roles if table[name].p is not None]
    adjusted = dict(zip(tested, holm([table[name].p or 0.0 for name in tested]), strict=True))
    return {
        name: msgspec.structs.replace(change, role=roles.get(name, ""), p_adjusted=adjusted.get(name))
        for name, change in table.items()
    }
