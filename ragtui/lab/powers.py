"""What a plan needs the power to ask: embedder, retrievers, models, made from the workspace's profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragtui.errors import ProviderUnavailable
from ragtui.experiment.generation import MOCK
from ragtui.experiment.plan import Plan, uses
from ragtui.providers.protocols import Embedder, EmbedderIdentity, Generator
from ragtui.settings import Workspace


def plan_embedder(plan: Plan, workspace: Workspace) -> Embedder | None:
    """The embedder that the plan names, made from the workspace's profiles; None without a vector channel."""
    from ragtui.providers.select import embedder_named

    if not uses(plan, "vector"):
        return None
    recipe = plan.embedding
    return embedder_named(
        recipe.model,
        workspace.profiles,
        query_prefix=recipe.query_prefix,
        document_prefix=recipe.document_prefix,
        dimensions=recipe.dimensions,
        normalize=recipe.normalize,
        cache=workspace.embeddings,
    )


def named_code(plan: Plan) -> list[str]:
    """The sources of the plan's python channels: code that is executed when it is loaded."""
    channels = plan.retrieval.channels.values()
    return [channel.source for channel in channels if channel.kind == "python" and channel.source]


def plan_retrievers(plan: Plan, workspace: Workspace, load: bool = True) -> dict[str, Callable[..., Any]]:
    """The retrievers that the plan's python and http channels name, by their source.

    Without `load` no code is executed: what stands for a callable has a checked name, and cannot search.
    """
    from ragtui.providers.retrieval import http_retriever, imported_retriever, unloaded_retriever

    found: dict[str, Callable[..., Any]] = {}
    for channel in plan.retrieval.channels.values():
        if channel.kind == "python" and channel.source:
            found[channel.source] = (imported_retriever if load else unloaded_retriever)(channel.source)
        elif channel.kind == "http" and channel.source:
            found[channel.source] = http_retriever(channel.source, workspace.profiles)
    return found


def plan_generator(plan: Plan, workspace: Workspace) -> Generator | None:
    """The model that the plan names, made from the workspace's profiles; None in the retrieval tier and for `mock`."""
    from ragtui.providers.select import generator_named

    if plan.generation is None or plan.generation.model == MOCK:
        return None
    return generator_named(plan.generation.model, workspace.profiles)


def plan_judge(plan: Plan, workspace: Workspace) -> Generator | None:
    """The model that judges answers, made from the workspace's profiles; None where the plan has no judge."""
    from ragtui.providers.select import generator_named

    if plan.generation is None or plan.generation.judge is None:
        return None
    return generator_named(plan.generation.judge.model, workspace.profiles)


def refuse_other_embedder(plan: Plan, identity: EmbedderIdentity) -> None:
    """Raise ProviderUnavailable where the embedder cannot be the one that the plan's recipe means."""
    from ragtui.providers.builtin import MODEL

    recipe = plan.embedding
    faults = []
    if recipe.model == "builtin" and identity.model != MODEL:
        faults.append(f"the plan wants the built-in embedder, the one given is {identity}")
    if recipe.dimensions not in (None, identity.dimensions):
        faults.append(f"the plan wants {recipe.dimensions} dimensions, the embedder has {identity.dimensions}")
    for field in ("query_prefix", "document_prefix", "normalize"):
        wanted, given = getattr(recipe, field), getattr(identity, field)
        if wanted != given:
            faults.append(f"the plan wants {field} {wanted!r}, the embedder has {given!r}")
    if faults:
        raise ProviderUnavailable(
            "The embedder is not the plan's: " + "; ".join(faults) + ".", "Give another or edit the plan."
        )
