"""Which measures decide."""

from __future__ import annotations

from ragtui.experiment.plan import Plan
from ragtui.metrics.measure import Measure, parse_measure, with_relevance

REFUSAL_GUARD = "nonEmptyRateOnRefusal"


def gating_measures(plan: Plan) -> tuple[Measure, ...]:
    """The measures that decide, the primary first, at the plan's relevance; the refusals' rate is always the last."""
    declared = (parse_measure(name) for name in (plan.metrics.primary, *plan.metrics.guards, REFUSAL_GUARD))
    at_relevance = (
        with_relevance(measure, plan.metrics.relevance) if measure.rel == 1 else measure for measure in declared
    )
    return tuple(dict.fromkeys(at_relevance))
