"""From the name in an embedding recipe to an embedder."""

from __future__ import annotations

from collections.abc import Mapping

from ragtui.errors import ProviderUnavailable
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.providers.protocols import Embedder
from ragtui.settings import Profile

BUILTIN = "builtin"


def embedder_named(
    model: str, profiles: Mapping[str, Profile], *, query_prefix: str = "", document_prefix: str = "",
    dimensions: int | None = None, normalize: bool = True,
) -> Embedder:  # fmt: skip
    """The embedder of this name: `builtin` or a profile. Raises ProviderUnavailable for any other name."""
    if model == BUILTIN:
        return BuiltinEmbedder(query_prefix, document_prefix, normalize)
    known = ", ".join([BUILTIN, *sorted(profiles)])
    raise ProviderUnavailable(f"There is no embedding model {model!r}.", f"Known: {known}.")
