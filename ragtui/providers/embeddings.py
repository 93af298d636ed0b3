"""The embedder that asks a server: batches, a cache that survives kills, and every answer checked.

Where the server tells no digest, the vector of a probe text stands for one: it is stored when first seen, and a server
whose vector for it has another direction (cosine below 0.999) is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from ragtui.errors import ProviderUnavailable
from ragtui.ids import content_id
from ragtui.inputs.text import fold_space, plural, printable
from ragtui.providers.address import placeless
from ragtui.providers.background import in_background
from ragtui.providers.cache import VectorCache
from ragtui.providers.faults import RequestRefused, server_fault
from ragtui.providers.http import ProviderClient
from ragtui.providers.protocols import EmbedderIdentity, Role, Vectors
from ragtui.providers.vectors import answer_fault, cosine, unit
from ragtui.providers.wire import OllamaWire, OpenAiWire, Wire
from ragtui.settings import Profile

PROBE_TEXT = "The quick brown fox jumps over the lazy dog. Der schnelle braune Fuchs. 敏捷的棕色狐狸。"
SAME_COSINE = 0.999
_WIRES: dict[str, Callable[[], Wire]] = {"ollama": OllamaWire, "openai": OpenAiWire}


class Account(msgspec.Struct):
    """What was asked for and what it took; tokens as far as the server tells, cost as it tells or by the price."""

    texts: int = 0
    from_cache: int = 0
    requests: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __str__(self) -> str:
        parts = [plural(self.texts, "text"), f"{self.from_cache:,} from the cache", plural(self.requests, "request")]
        parts += [plural(self.tokens, "token")] if self.tokens else []
        parts += [f"cost {self.cost:.4f}"] if self.cost else []
        return ", ".join(parts)


class ServerEmbedder:
    """Embeds with the server of a profile. `group` is how many texts `embed` handles best at once."""

    def __init__(
        self, profile: Profile, name: str, cache_folder: Path, *, query_prefix: str = "", document_prefix: str = "",
        dimensions: int | None = None, normalize: bool = True, client: ProviderClient | None = None,
    ) -> None:  # fmt: skip
        if not profile.model:
            raise ProviderUnavailable(f"Profile {name!r} names no model.", f"Set model in [profiles.{name}].")
        self._client = client or ProviderClient(profile, name)
        self._wire = _WIRES[profile.kind]()
        self._cache = VectorCache(cache_folder)
        self._prefixes: dict[Role, str] = {"query": query_prefix, "document": document_prefix}
        self._wanted, self._normalize = dimensions, normalize
        self.account = Account()
        # Two rounds of requests, so that few places wait for the last answer of a group.
        self.group = 2 * profile.batch * profile.concurrency

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Asks the server: for the digest, or for the probe text's vector."""
        digest, dimensions = in_background(self._introduce())
        return EmbedderIdentity(
            model=placeless(self._client.profile.model),
            digest=digest,
            dimensions=dimensions,
            algorithm=self._wire.algorithm,
            query_prefix=self._prefixes["query"],
            document_prefix=self._prefixes["document"],
            normalize=self._normalize,
        )

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of shape (len(texts), dimensions), from the cache or the server; a blank text gives zeros.

        Raises ProviderUnavailable where any answer is not what was asked for; what was answered well is kept.
        """
        identity = self.identity
        space = self._space(identity.digest, identity.dimensions)
        prefix = self._prefixes[role]
        # A lone surrogate has no UTF-8 form and would fail the whole batch.
        sent = [(prefix + text).encode("utf-8", "replace").decode() if text.strip() else "" for text in texts]
        wanted = [text for text in dict.fromkeys(sent) if text]
        known = self._cache.get(space, role, wanted, identity.dimensions)
        missing = [text for text in wanted if text not in known]
        self.account.texts += len(texts)
        self.account.from_cache += len(wanted) - len(missing)
        if missing:
            known |= in_background(self._ask_all(missing, role, space, identity.dimensions))
        vectors = np.zeros((len(texts), identity.dimensions), np.float32)
        for row, text in enumerate(sent):
            if text:
                vectors[row] = known[text]
        return unit(vectors) if self._normalize else vectors

    def models(self) -> list[str] | None:
        """The models that the server has; None where it does not tell."""
        return in_background(self._wire.models(self._client))

    async def _introduce(self) -> tuple[str, int]:
        """The digest and the number of dimensions, after making sure that the model is still the one it was."""
        declared = self._client.profile.revision
        digest = await self._wire.revision(self._client) or (f"declared:{declared}" if declared else "")
        space = self._space(digest, self._wanted)
        known = self._cache.probe(space)
        if known is not None and digest.startswith("sha256:"):
            return digest, len(known[0])
        [vector] = await self._ask([PROBE_TEXT], self._wanted)
        if known is None:
            self._cache.keep_probe(space, vector, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
            return digest, len(vector)
        self._compare(known[0], known[1], vector)
        return digest, len(vector)

    def _compare(self, known: Vectors, at: str, vector: Vectors) -> None:
        same_shape = known.shape == vector.shape
        agreement = cosine(known, vector) if same_shape else 0.0
        if agreement >= SAME_COSINE:
            return
        profile, name = self._client.profile, self._client.name
        difference = f"cosine {agreement:.4f}" if same_shape else f"{len(vector)} dimensions instead of {len(known)}"
        raise ProviderUnavailable(
            f"The server of profile {name!r} serves another model as {profile.model!r} than on {at}: "
            f"its vector for the probe text differs ({difference}).",
            f'Serve the former model, or set revision = "…" in [profiles.{name}] to begin a new embedding.',
        )

    def _space(self, digest: str, dimensions: int | None) -> str:
        """What makes raw vectors interchangeable. Prefixes are part of the texts that are sent."""
        return content_id(
            {
                "algorithm": self._wire.algorithm,
                "model": placeless(self._client.profile.model),
                "digest": digest,
                "dimensions": dimensions,
            }
        )

    async def _ask_all(self, texts: list[str], role: Role, space: str, dimensions: int) -> dict[str, Vectors]:
        """Every text's vector. After a failure nothing new is asked, but what is under way is kept."""
        profile = self._client.profile
        waiting = deque(batches(texts, profile.batch, profile.batch_characters))
        found: dict[str, Vectors] = {}
        failures: list[Exception] = []

        async def work() -> None:
            while waiting and not failures:
                batch = waiting.popleft()
                try:
                    await self._ask_and_keep(batch, role, space, dimensions, found)
                except Exception as error:
                    failures.append(error)

        await asyncio.gather(*(work() for _ in range(min(profile.concurrency, len(waiting)))))
        if failures:
            raise failures[0]
        return found

    async def _ask_and_keep(
        self, batch: list[str], role: Role, space: str, dimensions: int, found: dict[str, Vectors]
    ) -> None:
        try:
            vectors = await self._ask(batch, self._wanted, dimensions)
        except RequestRefused as error:
            if len(batch) == 1:
                raise self._too_much(batch[0], error) from None
            # One text may be at fault, or all together too large: halves tell, at most a dozen requests.
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                await self._ask_and_keep(half, role, space, dimensions, found)
            return
        self._cache.put(space, role, batch, vectors)
        found.update(zip(batch, vectors, strict=True))

    def _too_much(self, text: str, error: RequestRefused) -> ProviderUnavailable:
        begins = printable(fold_space(text))[:40]
        said = f": {error.detail}" if error.detail else ""
        fault = server_fault(
            self._client.profile, self._client.name,
            f"refuses a text of {len(text):,} characters that begins {begins!r}{said}", "batch",
        )  # fmt: skip
        hint = "Make chunks smaller (chunking.size), or serve the model with a longer context."
        return ProviderUnavailable(fault.message, hint)

    async def _ask(self, texts: list[str], wanted: int | None, dimensions: int | None = None) -> Vectors:
        """The server's vectors for one request, checked; `dimensions` is what each must have, if that is known."""
        answer = await self._wire.embed(self._client, texts, wanted)
        self.account.requests += 1
        self.account.tokens += answer.tokens
        price = self._client.profile.input_price
        self.account.cost += answer.cost or (answer.tokens * price / 1e6 if price is not None else 0.0)
        fault = answer_fault(answer.vectors, len(texts), dimensions or wanted)
        if fault:
            # A number of dimensions that the plan asks for is the plan's to correct.
            wish = wanted is not None and "dimensions instead" in fault
            raise server_fault(self._client.profile, self._client.name, fault, "dimensions" if wish else "request")
        return np.asarray(answer.vectors, np.float32)


def batches(texts: Sequence[str], count: int, characters: int) -> Iterator[list[str]]:
    """The texts in order, in lists of at most `count` and at most `characters` together; a longer text stands alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == count or size + len(text) > characters):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
