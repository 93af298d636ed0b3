"""A plan: recipes only, without any corpus, endpoint or path.

Every struct is frozen, strict about unknown fields, and has a canonical form (`artifacts.recipes.canonical`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ragtui.artifacts.recipes import LATER, Chunking, Embedding, Lexical, Recipe
from ragtui.experiment.generation import Generation
from ragtui.inputs.evaluation import Selection

ChannelKind = Literal["bm25", "vector", "python", "http"]
Representation = Literal["raw", "summary", "questions"]


class Channel(Recipe, frozen=True, kw_only=True):
    """One source of candidates: how deep it is read and the least score that counts.

    `source` names the callable of a `python` channel or the profile of an `http` one.
    """

    kind: ChannelKind
    depth: int = 100
    min_score: float | None = None
    representation: Representation = "raw"
    source: str | None = None


class Fusion(Recipe, frozen=True, kw_only=True):
    """Weighted reciprocal rank fusion: a chunk scores the sum of weight / (rank_constant + rank) over channels.

    A channel that `weights` does not name weighs 1.
    """

    method: Literal["rrf"] = "rrf"
    rank_constant: float = 60.0
    weights: dict[str, float] = {}


class Floor(Recipe, frozen=True, kw_only=True):
    """Drops hits whose named score (`fused`, or a channel's name) is below `minimum`, or that lack it."""

    score: str
    minimum: float


class Retrieval(Recipe, frozen=True, kw_only=True):
    """The stages after the channels: fuse, floor, collapse, and how many results are kept."""

    channels: dict[str, Channel]
    fusion: Fusion = Fusion()
    floor: Floor | None = None
    collapse: Literal["none", "document"] = "none"
    results: int = 100


class Context(Recipe, frozen=True, kw_only=True):
    """What is handed to the prompt: the first `top_n` results."""

    top_n: int = 5


class Metrics(Recipe, frozen=True, kw_only=True):
    """Which measures are reported, from which grade on a document is relevant, and which of them decide.

    `relevance` is a grade from 1 to 3; `primary` and `guards` are the gating measures of a comparison. A plan file or
    the builder gives a plan with a generation recipe that names no gates those of answers (ANSWER_PRIMARY, …).
    """

    measures: tuple[str, ...] = (
        "R@1", "R@3", "R@5", "R@10", "Success@5", "P@5", "RR", "AP", "nDCG@10",
    )  # fmt: skip
    relevance: int = 1
    primary: str = "nDCG@10"
    guards: tuple[str, ...] = ("R@5", "RR")


class Plan(Recipe, frozen=True, kw_only=True):
    """All recipes of an experiment and the selection of goldens. `schema` is the version of this form.

    `generation` is None in the retrieval tier.
    """

    schema: int = 1
    retrieval: Retrieval
    chunking: Chunking = Chunking()
    lexical: Lexical = Lexical()
    embedding: Embedding = Embedding()
    context: Context = Context()
    metrics: Metrics = Metrics()
    evaluation: Selection = Selection()
    generation: Generation | None = None


LATER[(Plan, "generation")] = None

# What decides in the generation tier where a plan names nothing: whether the answers are right, refuse what they
# should and only that, make up no number, and do not talk about what they were given.
ANSWER_PRIMARY = "correctness"
ANSWER_GUARDS = ("refusalCorrectness", "groundedness", "leakageRate")


class Provenance(Recipe, frozen=True, kw_only=True):
    """Where a plan comes from. Stored beside the specification; changes nothing."""

    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    fragments: tuple[str, ...] = ()


def judged_by_answers(metrics: Metrics) -> Metrics:
    """The metrics with the gates of the generation tier, unless they name gates other than retrieval's defaults."""
    if (metrics.primary, metrics.guards) != (Metrics().primary, Metrics().guards):
        return metrics
    return msgspec.structs.replace(metrics, primary=ANSWER_PRIMARY, guards=ANSWER_GUARDS)


def tier_of(plan: Plan) -> Literal["retrieval", "generation"]:
    """The tier that the plan is of."""
    return "retrieval" if plan.generation is None else "generation"


def judges(plan: Plan) -> bool:
    """Whether a model judges the answers."""
    return plan.generation is not None and plan.generation.judge is not None


def uses(plan: Plan, kind: ChannelKind) -> bool:
    """Whether any channel of the plan is of this kind."""
    return any(channel.kind == kind for channel in plan.retrieval.channels.values())
