"""A specification: a plan bound to content ids, canonical and fingerprinted."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.bm25 import bm25_id
from ragtui.artifacts.chunking import chunk_set_id
from ragtui.artifacts.recipes import LATER, canonical
from ragtui.artifacts.vectors import embedding_set_id
from ragtui.errors import InvalidInput, ProviderUnavailable
from ragtui.experiment.cases import answers_evaluation_id
from ragtui.experiment.generation import MOCK
from ragtui.experiment.plan import Plan, Provenance, uses
from ragtui.experiment.validate import check_plan
from ragtui.ids import canonical_json, content_id
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationSet
from ragtui.providers.protocols import EmbedderIdentity, GeneratorIdentity

MOCK_IDENTITY = GeneratorIdentity(model=MOCK, digest="echo-1")


class Specification(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is intended: recipes and content ids, nothing of endpoints, keys, hosts or paths.

    `bm25_id`, `embedding_set_id` and `embedder` are None where no channel needs them; `sources` holds the declared
    identity of each callable or remote retriever, by its name. `generator` is the model of the generation tier,
    `judge` the one that judges its answers, if any.
    """

    schema: int = 1
    plan: Plan
    corpus_id: str
    chunk_set_id: str
    bm25_id: str | None
    embedding_set_id: str | None
    embedder: EmbedderIdentity | None
    sources: dict[str, Any]
    evaluation_id: str
    generator: GeneratorIdentity | None = None
    judge: GeneratorIdentity | None = None

    @cached_property
    def spec_id(self) -> str:
        """The fingerprint: equal for equal intent, on every machine."""
        return content_id(canonical(self))


LATER[(Specification, "generator")] = None
LATER[(Specification, "judge")] = None


class SavedSpecification(msgspec.Struct, frozen=True, kw_only=True):
    """The file that `spec save` writes."""

    spec_id: str
    specification: Specification
    provenance: Provenance = Provenance()


def bind(
    plan: Plan,
    corpus: CorpusSnapshot,
    evaluation: EvaluationSet,
    embedder: EmbedderIdentity | None = None,
    sources: dict[str, Any] | None = None,
    generator: GeneratorIdentity | None = None,
    judge: GeneratorIdentity | None = None,
) -> Specification:
    """Bind a plan to frozen inputs; builds nothing. In the generation tier the evaluation id covers answers too.

    Raises InvalidPlan for a faulty plan, ProviderUnavailable where a vector channel has no embedder, and InvalidInput
    where a callable that a channel names has no declared identity.
    """
    check_plan(plan)
    plan = msgspec.structs.replace(plan, lexical=resolve(plan.lexical, corpus))
    chunks = chunk_set_id(corpus.corpus_id, plan.chunking)
    vector = uses(plan, "vector")
    if vector and embedder is None:
        raise ProviderUnavailable(
            "The plan has a vector channel, but no embedder was given.",
            "Pass query_embedder=…; stored vectors do not grant the power to embed a question.",
        )
    if plan.generation is not None and generator is None:
        raise ProviderUnavailable(
            f"The plan generates with {plan.generation.model!r}, but no model was given.", "Pass generator=…."
        )
    if plan.generation is not None and plan.generation.judge is not None and judge is None:
        raise ProviderUnavailable(
            f"The plan lets {plan.generation.judge.model!r} judge, but no such model was given.", "Pass judge=…."
        )
    return Specification(
        plan=plan,
        corpus_id=corpus.corpus_id,
        chunk_set_id=chunks,
        bm25_id=bm25_id(chunks, plan.lexical) if uses(plan, "bm25") else None,
        embedding_set_id=embedding_set_id(chunks, embedder) if vector and embedder else None,
        embedder=embedder if vector else None,
        sources=_sources(plan, sources or {}),
        evaluation_id=evaluation.evaluation_id if plan.generation is None else answers_evaluation_id(evaluation.cases),
        generator=generator if plan.generation is not None else None,
        judge=judge if plan.generation is not None and plan.generation.judge is not None else None,
    )


def _sources(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    named = [channel.source for channel in plan.retrieval.channels.values() if channel.source]
    missing = [name for name in named if declared.get(name) is None]
    if missing:
        called = missing[0].rpartition(":")[2]
        raise InvalidInput(
            f"No identity is declared for {', '.join(repr(name) for name in missing)}.",
            f'Give the callable an `identity` that changes when its results may: {called}.identity = "v1".',
        )
    return {name: declared[name] for name in sorted(set(named))}


def encode(specification: Specification, provenance: Provenance) -> bytes:
    """The specification's file: canonical JSON with its fingerprint."""
    return canonical_json(
        {
            "spec_id": specification.spec_id,
            "specification": canonical(specification),
            "provenance": canonical(provenance),
        }
    )


def decode(data: bytes, source: str = "specification") -> SavedSpecification:
    """Read a saved specification; InvalidInput if it is none or its fingerprint does not match its content."""
    try:
        saved = msgspec.json.decode(data, type=SavedSpecification)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"{source} is not a saved specification: {error}.", "Write one with `ragtui spec save`."
        ) from error
    if saved.specification.spec_id != saved.spec_id:
        raise InvalidInput(
            f"{source}: the fingerprint {saved.spec_id[:19]} is not that of the content "
            f"({saved.specification.spec_id[:19]}).",
            "The file was edited; edit the plan and save it anew.",
        )
    return saved


def differences(old: Any, new: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Each leaf that differs between two canonical forms as (path, old, new), ordered by path; None where absent."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted(old.keys() | new.keys()):
            found += differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
        return found
    return [] if old == new else [(path, old, new)]
