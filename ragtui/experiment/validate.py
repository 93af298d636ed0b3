"""Everything that is wrong with a plan, found at once and without a database or an index."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator

from ragtui.errors import InvalidInput
from ragtui.experiment.generation import generation_faults
from ragtui.experiment.plan import Plan, Retrieval
from ragtui.metrics.measure import Measure, measure_at, parse_measure

LANGUAGES = (
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip
RATES = ("emptyRateOnAnswerable", "nonEmptyRateOnRefusal")
# Languages with a stemmer but without a list of stop words.
WITHOUT_STOP_WORDS = frozenset({"arabic", "greek", "romanian", "tamil", "turkish"})
ANSWER_MEASURES: tuple[str, ...] = (
    "correctness", "mustIncludeRate", "mustNotIncludeRate", "refusalCorrectness", "groundedness", "leakageRate",
    "thinkTagLeakRate", "historyElidedRate", "chunksDroppedRate", "promptTokenError",
)  # fmt: skip
# Fused scores are rounded to 1e-12: with no greater weight doubles are finer than that, and shares of neighbouring
# ranks that are further apart than the second stay apart. Nobody reads a list to a deeper rank.
MOST_WEIGHT = 1000.0
_FINEST_SHARE = 2e-12
_DEEPEST_RANK = 10_000
# Names of stages and timings in a trace, which a channel must not take.
STAGES = ("fused", "rerank", "floor", "collapse", "results", "context", "embed", "stages")


class InvalidPlan(InvalidInput):
    """A plan with faults; the message lists all of them."""

    kind = "invalid_plan"

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        lines = "\n".join(f"  {fault}" for fault in faults)
        count = len(faults)
        super().__init__(
            f"The plan has {count} fault{'' if count == 1 else 's'}:\n{lines}", "Correct the fields named."
        )

    def as_dict(self) -> dict[str, object]:
        """The error with all its faults."""
        return super().as_dict() | {"faults": self.faults}


def check_plan(plan: Plan) -> Plan:
    """The plan itself, or InvalidPlan with every fault."""
    faults = list(plan_faults(plan))
    if faults:
        raise InvalidPlan(faults)
    return plan


def plan_faults(plan: Plan) -> Iterator[str]:
    """Each fault as one sentence that begins with the path of the field."""
    if plan.schema != 1:
        yield f"schema: {plan.schema} is not known to this version, which reads schema 1."
    yield from _recipes(plan)
    yield from _retrieval(plan)
    yield from _measures(plan)
    if plan.generation is not None:
        yield from generation_faults(plan.generation)


def measures_of(plan: Plan) -> tuple[Measure, ...]:
    """The plan's measures at its relevance threshold, in order, none twice; the two rates are always among them."""
    named = (*plan.metrics.measures, *RATES)
    return tuple(dict.fromkeys(measure_at(name, plan.metrics.relevance) for name in named))


def measure_names(plan: Plan) -> tuple[str, ...]:
    """The names of everything that a run of the plan reports: in the generation tier the answers' measures first."""
    answers = ANSWER_MEASURES if plan.generation is not None else ()
    return (*answers, *map(str, measures_of(plan)))


def _recipes(plan: Plan) -> Iterator[str]:
    chunking = plan.chunking
    if chunking.size < 20:
        yield f"chunking.size: {chunking.size} is below 20 characters."
    if not 0 <= chunking.overlap < max(chunking.size, 1):
        yield f"chunking.overlap: {chunking.overlap} is not between 0 and the chunk size ({chunking.size})."
    if plan.lexical.language not in LANGUAGES:
        near = difflib.get_close_matches(plan.lexical.language, LANGUAGES, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(LANGUAGES)}."
        yield f"lexical.language: {plan.lexical.language!r} has no stemmer.{guess}"
    elif plan.lexical.stop_words and plan.lexical.language in WITHOUT_STOP_WORDS:
        yield f"lexical.stop_words: there is no list of stop words for {plan.lexical.language!r}; leave them in."
    if plan.embedding.dimensions is not None and plan.embedding.dimensions < 1:
        yield f"embedding.dimensions: {plan.embedding.dimensions} is below 1."
    if plan.context.top_n < 0:
        yield f"context.top_n: {plan.context.top_n} is below 0."
    if not plan.evaluation.suites:
        yield "evaluation.suites: names no suite."
    if plan.evaluation.limit is not None and plan.evaluation.limit < 1:
        yield f"evaluation.limit: {plan.evaluation.limit} leaves no case."


def _retrieval(plan: Plan) -> Iterator[str]:
    retrieval = plan.retrieval
    if not retrieval.channels:
        yield "retrieval.channels: there is no channel."
    for name, channel in retrieval.channels.items():
        path = f"retrieval.channels.{name}"
        if name in STAGES:
            yield f"{path}: {name!r} is the name of a stage; choose another name."
        if channel.depth < 1:
            yield f"{path}.depth: {channel.depth} is below 1."
        if channel.min_score is not None and not math.isfinite(channel.min_score):
            yield f"{path}.min_score: {channel.min_score} is not a finite number."
        if channel.kind in ("python", "http") and not channel.source:
            yield f"{path}.source: a {channel.kind} channel needs the name of its source."
        if channel.kind in ("bm25", "vector") and channel.source:
            yield f"{path}.source: a {channel.kind} channel has no source."
    known = ", ".join(retrieval.channels) or "none"
    for name, weight in retrieval.fusion.weights.items():
        if name not in retrieval.channels:
            yield f"retrieval.fusion.weights.{name}: there is no channel {name!r} (channels: {known})."
        if not 0 <= weight <= MOST_WEIGHT:
            yield f"retrieval.fusion.weights.{name}: {weight} is not a number from 0 to {MOST_WEIGHT:g}."
    if retrieval.channels and not any(retrieval.fusion.weights.get(name, 1.0) > 0 for name in retrieval.channels):
        yield "retrieval.fusion.weights: no channel has a weight above 0."
    if not (math.isfinite(retrieval.fusion.rank_constant) and retrieval.fusion.rank_constant >= 0):
        yield f"retrieval.fusion.rank_constant: {retrieval.fusion.rank_constant} is not a number from 0 up."
    yield from _ties(retrieval)
    if retrieval.results < 1:
        yield f"retrieval.results: {retrieval.results} is below 1."
    floor = retrieval.floor
    if floor is not None and floor.score != "fused" and floor.score not in retrieval.channels:
        yield f"retrieval.floor.score: {floor.score!r} is no score here (scores: fused, {known})."
    if floor is not None and not math.isfinite(floor.minimum):
        yield f"retrieval.floor.minimum: {floor.minimum} is not a finite number."


def _ties(retrieval: Retrieval) -> Iterator[str]:
    """Channels whose neighbouring ranks fusion would take for a tie, so that their order would be lost."""
    constant = retrieval.fusion.rank_constant
    for name, channel in retrieval.channels.items():
        weight = retrieval.fusion.weights.get(name, 1.0)
        last = constant + min(max(channel.depth, 1), _DEEPEST_RANK)
        if 0 < weight <= MOST_WEIGHT and 0 <= constant < math.inf and weight < _FINEST_SHARE * last * last:
            yield (
                f"retrieval.fusion: ranks of channel {name!r} cannot be told apart with weight {weight:g} and rank "
                f"constant {constant:g}; raise the weight or lower the constant."
            )


def _measures(plan: Plan) -> Iterator[str]:
    metrics = plan.metrics
    if metrics.relevance not in (1, 2, 3):
        yield f"metrics.relevance: {metrics.relevance} is not a grade from 1 to 3."
        return
    if not metrics.measures:
        yield "metrics.measures: names no measure."
    reachable = plan.retrieval.results
    for place, name in [("measures", name) for name in metrics.measures] + [
        ("primary", metrics.primary),
        *(("guards", guard) for guard in metrics.guards),
    ]:
        try:
            measure = parse_measure(name)
        except InvalidInput as error:
            yield f"metrics.{place}: {error.message} {error.hint}".rstrip()
            continue
        if measure.of_answers and (place == "measures" or plan.generation is None):
            yield f"metrics.{place}: {name} looks at answers; the generation tier reports it by itself."
        # A number that is at fault itself is told once.
        if measure.cutoff is not None and measure.cutoff > reachable >= 1:
            yield f"metrics.{place}: {name} looks at {measure.cutoff} results, but retrieval.results is {reachable}."
