"""From the name in an embedding recipe to an embedder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ragtui.errors import ProviderUnavailable
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.providers.protocols import Embedder, Generator
from ragtui.settings import Profile

BUILTIN = "builtin"
SERVERS = ("ollama", "openai")
LOCAL = ("model2vec", "sentence-transformers")


def embedder_named(
    model: str, profiles: Mapping[str, Profile], *, query_prefix: str = "", document_prefix: str = "",
    dimensions: int | None = None, normalize: bool = True, cache: Path | None = None,
) -> Embedder:  # fmt: skip
    """The embedder of this name: `builtin`, a profile, or the one profile that has this model.

    `cache` is the folder for vectors that a server was asked for. Asks nobody yet. Raises ProviderUnavailable for any
    other name.
    """
    if model == BUILTIN:
        return BuiltinEmbedder(query_prefix, document_prefix, normalize)
    name = profile_named(model, profiles)
    profile = profiles[name]
    if profile.kind in SERVERS:
        from ragtui.providers.embeddings import ServerEmbedder

        if cache is None:
            raise ProviderUnavailable(f"Profile {name!r} needs a folder for its cache.", "Give the argument `cache`.")
        return ServerEmbedder(
            profile, name, cache, query_prefix=query_prefix, document_prefix=document_prefix, dimensions=dimensions,
            normalize=normalize,
        )  # fmt: skip
    from ragtui.providers.local import LocalEmbedder

    return LocalEmbedder(
        profile, name, query_prefix=query_prefix, document_prefix=document_prefix, dimensions=dimensions,
        normalize=normalize,
    )  # fmt: skip


def generator_named(model: str, profiles: Mapping[str, Profile]) -> Generator:
    """The generator that `model` means: a profile, `profile:model`, or the one profile that has this model.

    Asks nobody yet. Raises ProviderUnavailable for any other name.
    """
    from ragtui.providers.chat import ChatGenerator

    able = {name: profile for name, profile in profiles.items() if profile.kind in SERVERS}
    if model in able:
        return ChatGenerator(able[model], model)
    name, colon, on_server = model.partition(":")
    if colon and name in able and on_server:
        return ChatGenerator(able[name], name, model=on_server)
    same = sorted(name for name, profile in able.items() if profile.model == model)
    if len(same) == 1:
        return ChatGenerator(able[same[0]], same[0])
    if same:
        raise ProviderUnavailable(f"The profiles {', '.join(same)} all have the model {model!r}.", "Name one of them.")
    known = ", ".join(["mock", *sorted(able)])
    raise ProviderUnavailable(
        f"There is no model {model!r}.", f"Known: {known}. Add [profiles.NAME] with kind, url and model to ragtui.toml."
    )


def profile_named(model: str, profiles: Mapping[str, Profile]) -> str:
    """The name of the embedding profile that `model` means: its own name, or its model's where only one has it."""
    able = {name: profile for name, profile in profiles.items() if profile.kind in (*SERVERS, *LOCAL)}
    if model in able:
        return model
    same = sorted(name for name, profile in able.items() if profile.model == model)
    if len(same) == 1:
        return same[0]
    known = ", ".join([BUILTIN, *sorted(able)])
    if same:
        raise ProviderUnavailable(f"The profiles {', '.join(same)} all have the model {model!r}.", "Name one of them.")
    raise ProviderUnavailable(
        f"There is no embedding model {model!r}.", f"Known: {known}. `ragtui help profiles` tells how to add one."
    )
