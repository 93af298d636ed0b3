"""The typed, fluent way to write a plan. Every step returns a new value; nothing is shared or changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import msgspec

from ragtui.artifacts.recipes import Embedding
from ragtui.errors import InvalidInput
from ragtui.experiment.answer_builder import GenerationBuilder, RecipeBuilder
from ragtui.experiment.generation import Generation
from ragtui.experiment.made import remember
from ragtui.experiment.plan import (
    Channel,
    ChannelKind,
    Context,
    Floor,
    Fusion,
    Metrics,
    Plan,
    Provenance,
    Representation,
    Retrieval,
    judged_by_answers,
)
from ragtui.experiment.presets import PRESETS
from ragtui.experiment.validate import check_plan
from ragtui.inputs.evaluation import Selection
from ragtui.inputs.goldens import GRADES, Grade

replace = msgspec.structs.replace


class ChunkingBuilder(RecipeBuilder):
    """Steps of `.chunking(lambda c: …)`."""

    def markdown(self, size: int = 800, overlap: int = 0, headings: bool = True) -> Self:
        """Markdown-aware chunks of at most `size` characters."""
        return self._with(strategy="markdown", size=size, overlap=overlap, headings=headings)

    def document(self) -> Self:
        """One chunk for each document."""
        return self._with(strategy="document")


class LexicalBuilder(RecipeBuilder):
    """Steps of `.lexical(lambda x: …)`."""

    def language(self, name: str) -> Self:
        """The stemmer's and stop words' language."""
        return self._with(language=name)

    def stemming(self, on: bool = True) -> Self:
        """Whether words are cut to their stem."""
        return self._with(stemming=on)

    def stop_words(self, on: bool = True) -> Self:
        """Whether the language's stop words are left out."""
        return self._with(stop_words=on)

    def bigrams(self, mode: Literal["auto", "on", "off"] = "on") -> Self:
        """Pairs of characters for scripts without spaces."""
        return self._with(bigrams=mode)


class ChannelBuilder:
    """Steps of `.channel(name, lambda c: …)`; the kind comes first."""

    def __init__(self, recipe: Channel | None = None) -> None:
        self._recipe = recipe

    def _kind(self, kind: ChannelKind, source: str | None = None) -> ChannelBuilder:
        base = self._recipe or Channel(kind=kind)
        return ChannelBuilder(replace(base, kind=kind, source=source))

    def bm25(self) -> ChannelBuilder:
        """Keywords, ranked by BM25."""
        return self._kind("bm25")

    def vector(self) -> ChannelBuilder:
        """Embeddings, ranked by cosine similarity."""
        return self._kind("vector")

    def python(self, source: str) -> ChannelBuilder:
        """A callable registered under this name: your production retriever."""
        return self._kind("python", source)

    def http(self, profile: str) -> ChannelBuilder:
        """A retriever behind the profile of this name."""
        return self._kind("http", profile)

    def top_k(self, depth: int) -> ChannelBuilder:
        """How many hits are read."""
        return self._changed(depth=depth)

    def min_score(self, minimum: float) -> ChannelBuilder:
        """The least score that counts."""
        return self._changed(min_score=minimum)

    def representation(self, name: Representation) -> ChannelBuilder:
        """What of a chunk is searched."""
        return self._changed(representation=name)

    def _changed(self, **changes: Any) -> ChannelBuilder:
        return ChannelBuilder(replace(self.recipe, **changes))

    @property
    def recipe(self) -> Channel:
        """The channel; InvalidInput while it has no kind."""
        if self._recipe is None:
            raise InvalidInput("A channel has no kind.", "Start with .bm25(), .vector(), .python(…) or .http(…).")
        return self._recipe


class FusionBuilder(RecipeBuilder):
    """Steps of `.fuse(lambda f: …)`."""

    def rrf(self) -> Self:
        """Reciprocal rank fusion."""
        return self._with(method="rrf")

    def rank_constant(self, constant: float) -> Self:
        """The k of 1 / (k + rank)."""
        return self._with(rank_constant=float(constant))

    def weight(self, channel: str, weight: float) -> Self:
        """How much the channel counts; others weigh 1."""
        return self._with(weights={**self._recipe.weights, channel: float(weight)})


class RetrievalBuilder(RecipeBuilder):
    """Steps of `.retrieval(lambda r: …)`. The first `channel` replaces the preset's channels and weights."""

    def __init__(self, recipe: Retrieval, fresh: bool = True) -> None:
        super().__init__(recipe)
        self._fresh = fresh

    def _with(self, **changes: Any) -> Self:
        return type(self)(replace(self._recipe, **changes), self._fresh)

    def channel(self, name: str, build: Callable[[ChannelBuilder], ChannelBuilder]) -> Self:
        """Add a channel under a name of your choice."""
        channels = {} if self._fresh else dict(self._recipe.channels)
        if name in channels:
            raise InvalidInput(f"The channel {name!r} is defined twice.", "Give each channel its own name.")
        fusion = Fusion() if self._fresh else self._recipe.fusion
        channels[name] = build(ChannelBuilder()).recipe
        return type(self)(replace(self._recipe, channels=channels, fusion=fusion), fresh=False)

    def fuse(self, build: Callable[[FusionBuilder], FusionBuilder]) -> Self:
        """How channels become one list."""
        return self._with(fusion=build(FusionBuilder(self._recipe.fusion))._recipe)

    def floor(self, score: str, minimum: float) -> Self:
        """Drop hits whose named score is below the minimum."""
        return self._with(floor=Floor(score=score, minimum=minimum))

    def collapse(self, by: Literal["none", "document"]) -> Self:
        """Keep the best hit of each document, or all."""
        return self._with(collapse=by)

    def results(self, count: int) -> Self:
        """How many hits are kept at the end."""
        return self._with(results=count)


class MetricsBuilder(RecipeBuilder):
    """Steps of `.metrics(lambda m: …)`. The first measure replaces the preset's list."""

    def __init__(self, recipe: Metrics, fresh: bool = True, gated: bool = False) -> None:
        super().__init__(recipe)
        self._fresh, self.gated = fresh, gated

    def _with(self, **changes: Any) -> Self:
        return type(self)(replace(self._recipe, **changes), self._fresh, self.gated)

    def measure(self, *names: str) -> Self:
        """Add measures by name, e.g. `nDCG@10(gain=exp)`."""
        listed = () if self._fresh else self._recipe.measures
        return type(self)(replace(self._recipe, measures=(*listed, *names)), fresh=False, gated=self.gated)

    def relevance_at(self, grade: Grade) -> Self:
        """From which grade on a document counts as relevant."""
        if grade not in GRADES:
            raise InvalidInput(f"{grade!r} is no grade.", f"Grades: {', '.join(GRADES)}.")
        return self._with(relevance=GRADES[grade])

    def recall_at(self, *cutoffs: int) -> Self:
        """R@k."""
        return self.measure(*(f"R@{cutoff}" for cutoff in cutoffs))

    def precision_at(self, *cutoffs: int) -> Self:
        """P@k, over chunks."""
        return self.measure(*(f"P@{cutoff}" for cutoff in cutoffs))

    def success_at(self, *cutoffs: int) -> Self:
        """Success@k, the hit rate."""
        return self.measure(*(f"Success@{cutoff}" for cutoff in cutoffs))

    def ndcg_at(self, *cutoffs: int) -> Self:
        """nDCG@k with linear gain."""
        return self.measure(*(f"nDCG@{cutoff}" for cutoff in cutoffs))

    def mrr(self) -> Self:
        """The reciprocal rank of the first relevant document."""
        return self.measure("RR")

    def map(self) -> Self:
        """Average precision."""
        return self.measure("AP")

    def gate(self, primary: str, *guards: str) -> Self:
        """The measures that decide a comparison; without this step, nDCG@10, or in the generation tier correctness."""
        return type(self)(replace(self._recipe, primary=primary, guards=guards), self._fresh, gated=True)


class Experiment:
    """A plan under construction; `to_plan()` validates it and gives the value.

    `gated`: its gates were chosen, so that a generation recipe does not change them.
    """

    def __init__(
        self, plan: Plan | None = None, provenance: Provenance | None = None, gated: bool | None = None
    ) -> None:
        self._plan = plan or PRESETS["hybrid"]
        self._provenance = provenance or Provenance()
        self._gated = self._plan.generation is not None if gated is None else gated

    def _with(self, **changes: Any) -> Experiment:
        return Experiment(replace(self._plan, **changes), self._provenance, self._gated)

    def chunking(self, build: Callable[[ChunkingBuilder], ChunkingBuilder]) -> Experiment:
        """How documents become chunks."""
        return self._with(chunking=build(ChunkingBuilder(self._plan.chunking))._recipe)

    def lexical(self, build: Callable[[LexicalBuilder], LexicalBuilder]) -> Experiment:
        """The BM25 analyzer."""
        return self._with(lexical=build(LexicalBuilder(self._plan.lexical))._recipe)

    def embedding(self, model: str = "builtin", *, query_prefix: str = "", document_prefix: str = "",
                  dimensions: int | None = None, normalize: bool = True) -> Experiment:  # fmt: skip
        """Which embedding the vector channels read."""
        return self._with(
            embedding=Embedding(
                model=model, query_prefix=query_prefix, document_prefix=document_prefix,
                dimensions=dimensions, normalize=normalize,
            )
        )  # fmt: skip

    def retrieval(self, build: Callable[[RetrievalBuilder], RetrievalBuilder]) -> Experiment:
        """Channels, fusion, floor, collapse and the number of results."""
        return self._with(retrieval=build(RetrievalBuilder(self._plan.retrieval))._recipe)

    def context(self, top_n: int) -> Experiment:
        """How many results reach the prompt."""
        return self._with(context=Context(top_n=top_n))

    def metrics(self, build: Callable[[MetricsBuilder], MetricsBuilder]) -> Experiment:
        """Measures, the relevance threshold and the gating measures."""
        made = build(MetricsBuilder(self._plan.metrics, gated=self._gated))
        return Experiment(replace(self._plan, metrics=made._recipe), self._provenance, made.gated)

    def generation(self, build: Callable[[GenerationBuilder], GenerationBuilder]) -> Experiment:
        """Who answers, in which modes, from which prompt; this makes it a plan of the generation tier."""
        return self._with(generation=build(GenerationBuilder(self._plan.generation or Generation()))._recipe)

    def evaluate(self, *suites: str, tags: Sequence[str] = (), limit: int | None = None, seed: int = 0) -> Experiment:
        """Which goldens are asked."""
        return self._with(evaluation=Selection(suites=suites or ("core",), tags=tuple(tags), limit=limit, seed=seed))

    def provenance(self, *, name: str | None = None, note: str = "", tags: Sequence[str] = (), author: str = "",
                   fragments: Sequence[str] = ()) -> Experiment:  # fmt: skip
        """Where the plan comes from; changes nothing in what is run."""
        kept = self._provenance.name if name is None else name
        provenance = Provenance(name=kept, note=note, tags=tuple(tags), author=author, fragments=tuple(fragments))
        return Experiment(self._plan, provenance, self._gated)

    def to_plan(self) -> Plan:
        """The finished plan; InvalidPlan lists every fault. With a generation recipe and no gates answers decide."""
        plan = self._plan
        if plan.generation is not None and not self._gated:
            plan = replace(plan, metrics=judged_by_answers(plan.metrics))
        remember(plan, self._provenance)
        return check_plan(plan)

    def to_provenance(self) -> Provenance:
        """What is stored beside the specification."""
        return self._provenance


def experiment(name: str = "hybrid") -> Experiment:
    """Start from the preset of this name, or, if there is none, from `hybrid` under a name of your own."""
    return Experiment(PRESETS.get(name), Provenance(name=name))
