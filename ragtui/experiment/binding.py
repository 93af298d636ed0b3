"""Binding a plan to artifacts that are already at hand, with their lineage checked."""

from __future__ import annotations

from typing import Any

import msgspec

from ragtui.artifacts.bm25 import Bm25Index
from ragtui.artifacts.chunking import ChunkSet
from ragtui.artifacts.vectors import EmbeddingSet
from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Plan
from ragtui.experiment.specification import Specification, bind
from ragtui.ids import short
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationSet


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """Artifacts collected step by step; `to_specification()` checks that they belong together."""

    plan: Plan
    the_corpus: CorpusSnapshot | None = None
    the_chunks: ChunkSet | None = None
    the_bm25: Bm25Index | None = None
    the_embeddings: EmbeddingSet | None = None
    the_evaluation: EvaluationSet | None = None
    sources: dict[str, Any] = {}

    def corpus(self, snapshot: CorpusSnapshot) -> Binding:
        """The frozen documents."""
        return msgspec.structs.replace(self, the_corpus=snapshot)

    def chunks(self, chunk_set: ChunkSet) -> Binding:
        """The chunks of those documents."""
        return msgspec.structs.replace(self, the_chunks=chunk_set)

    def bm25(self, index: Bm25Index) -> Binding:
        """The keyword index of those chunks."""
        return msgspec.structs.replace(self, the_bm25=index)

    def embeddings(self, embedding_set: EmbeddingSet) -> Binding:
        """The vectors of those chunks."""
        return msgspec.structs.replace(self, the_embeddings=embedding_set)

    def evaluation(self, evaluation_set: EvaluationSet) -> Binding:
        """The frozen goldens."""
        return msgspec.structs.replace(self, the_evaluation=evaluation_set)

    def to_specification(self) -> Specification:
        """The specification; InvalidInput lists everything that is missing or of another lineage."""
        missing = [
            name for name, part in (("corpus", self.the_corpus), ("evaluation", self.the_evaluation)) if not part
        ]
        if self.the_corpus is None or self.the_evaluation is None:
            raise InvalidInput(
                f"Nothing is bound as {' and '.join(missing)}.", "Call ." + "(…).".join(missing) + "(…)."
            )
        identity = self.the_embeddings.identity if self.the_embeddings else None
        specification = bind(self.plan, self.the_corpus, self.the_evaluation, identity, self.sources)
        faults = [
            f"{name}: {short(given)} was given, but the plan over this corpus makes {short(wanted or 'none')}"
            for name, given, wanted in (
                ("chunks", self.the_chunks.id if self.the_chunks else None, specification.chunk_set_id),
                ("bm25", self.the_bm25.id if self.the_bm25 else None, specification.bm25_id),
                ("embeddings", self.the_embeddings.id if self.the_embeddings else None, specification.embedding_set_id),
            )
            if given is not None and given != wanted
        ]
        if faults:
            raise InvalidInput(
                "Artifacts of different lineage:\n  " + "\n  ".join(faults), "Rebuild them from this corpus."
            )
        return specification
