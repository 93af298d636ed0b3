"""Retrievers of one's own: a callable found on the import path, or a service behind an HTTP endpoint."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ragtui.errors import InvalidInput, ProviderUnavailable
from ragtui.providers.protocols import RetrieverHit
from ragtui.settings import Profile

if TYPE_CHECKING:
    from ragtui.providers.http import ProviderClient

KIND = "retriever"


class _Hit(msgspec.Struct, frozen=True):
    doc: str
    score: float
    start: int | None = None
    end: int | None = None


class _Answer(msgspec.Struct, frozen=True):
    hits: list[_Hit]


class HttpRetriever:
    """Asks `POST <url>` with `{"query", "depth"}` and reads `{"hits": [{"doc", "score", "start"?, "end"?}]}`.

    The profile's `revision` is the retriever's declared identity: change it whenever its results may change.
    """

    def __init__(self, profile: Profile, name: str, *, client: ProviderClient | None = None) -> None:
        from ragtui.providers.http import ProviderClient

        if not profile.revision:
            raise InvalidInput(
                f"Profile {name!r} declares no revision, so its runs could not be told apart.",
                f"Set revision in [profiles.{name}] to the version of the service.",
            )
        self.identity = {"retriever": name, "revision": profile.revision}
        self._client = client or ProviderClient(profile, name)

    async def __call__(self, query: str, depth: int) -> list[RetrieverHit]:
        """At most `depth` hits; ProviderUnavailable as `ProviderClient` says."""
        answer: _Answer = await self._client.post("", {"query": query, "depth": depth}, _Answer)
        return [RetrieverHit(hit.doc, hit.score, hit.start, hit.end) for hit in answer.hits]


def http_retriever(name: str, profiles: Mapping[str, Profile]) -> HttpRetriever:
    """The retriever behind the profile of this name; InvalidInput if there is none of that kind."""
    if name not in profiles or profiles[name].kind != KIND:
        known = ", ".join(sorted(key for key, profile in profiles.items() if profile.kind == KIND)) or "none"
        raise InvalidInput(
            f"There is no retriever profile {name!r} (known: {known}).",
            f'Add [profiles.{name}] with kind = "{KIND}", url and revision to ragtui.toml.',
        )
    return HttpRetriever(profiles[name], name)


def unloaded_retriever(source: str) -> Callable[..., Any]:
    """What stands for the callable that `module:attribute` names where nothing is executed: its form is checked."""
    _parts(source)

    def retrieve(query: str, depth: int) -> list[RetrieverHit]:
        raise ProviderUnavailable(f"The retriever {source!r} was not loaded.", "Load it to search with it.")

    retrieve.identity = {"unloaded": source}  # type: ignore[attr-defined]
    return retrieve


def _parts(source: str) -> tuple[str, str]:
    module_name, _, attribute = source.partition(":")
    if not (attribute.isidentifier() and all(part.isidentifier() for part in module_name.split("."))):
        raise InvalidInput(f"The retriever {source!r} is not of the form module:attribute.", "E.g. my_search:retrieve.")
    return module_name, attribute


@contextmanager
def _importing_here() -> Iterator[None]:
    """The current folder first on the import path, afterwards last: what is loaded later is never taken from it."""
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        sys.path.append(here)


def imported_retriever(source: str) -> Callable[..., Any]:
    """The callable that `module:attribute` names, with the current folder on the import path.

    A callable without an `identity` attribute is refused later, when a plan is bound to it.
    """
    module_name, attribute = _parts(source)
    try:
        # What a module prints is no result of ours.
        with redirect_stdout(sys.stderr), _importing_here():
            found = getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:
        raise ProviderUnavailable(
            f"The retriever {source!r} cannot be loaded: {type(error).__name__}: {error}.",
            "Mend `source` or the module.",
        ) from error
    if not callable(found):
        raise InvalidInput(f"The retriever {source!r} is not callable.", "Name a function or an object with __call__.")
    return cast("Callable[..., Any]", found)
