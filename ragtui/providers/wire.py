"""What is said to embedding servers and how their answers are read: Ollama's way and OpenAI's."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.providers.address import openai_path
from ragtui.providers.faults import listed, server_fault
from ragtui.providers.http import ProviderClient

# No request or answer is longer by far.
MOST_TOKENS = 100_000_000


class Answer(msgspec.Struct, frozen=True):
    """A vector for each text in its order; `tokens` and `cost` as far as the server tells, else 0."""

    vectors: list[list[float]]
    tokens: int = 0
    cost: float = 0.0


def plausible(tokens: int | None) -> int | None:
    """A count as a server tells it; None where it cannot be one."""
    return tokens if tokens is not None and 0 <= tokens <= MOST_TOKENS else None


class Wire(Protocol):
    """One way of asking for embeddings. `algorithm` becomes part of the embedder's identity."""

    algorithm: str

    async def revision(self, client: ProviderClient) -> str:
        """The digest of the model's weights; empty where the server gives none."""
        ...

    async def models(self, client: ProviderClient) -> list[str] | None:
        """The names of the models that the server has; None where it does not tell."""
        ...

    async def embed(self, client: ProviderClient, texts: list[str], dimensions: int | None) -> Answer:
        """Ask for the vectors of the texts, `dimensions` long where given."""
        ...


class _OllamaModel(msgspec.Struct):
    name: str
    digest: str = ""


class _OllamaModels(msgspec.Struct):
    models: list[_OllamaModel]


class _OllamaAnswer(msgspec.Struct):
    embeddings: list[list[float]]
    prompt_eval_count: int = 0


class OllamaWire:
    """`/api/embed`, and `/api/tags` for the digest. A text that is too long is refused, never cut in silence."""

    algorithm = "ollama-embed-v1"

    async def revision(self, client: ProviderClient) -> str:
        """The digest of the model; ProviderUnavailable where Ollama does not have it."""
        wanted = client.profile.model
        found: _OllamaModels = await client.get("/api/tags", _OllamaModels)
        for model in found.models:
            if model.name in (wanted, f"{wanted}:latest"):
                return f"sha256:{model.digest.removeprefix('sha256:')}" if model.digest else ""
        names = listed(model.name for model in found.models)
        fault = server_fault(client.profile, client.name, f"does not have the model {wanted!r}", "model")
        raise ProviderUnavailable(fault.message, f"Fetch it: ollama pull {wanted}. It has: {names}.")

    async def models(self, client: ProviderClient) -> list[str] | None:
        """The names that `ollama list` shows, and each without `:latest`."""
        found: _OllamaModels = await client.get("/api/tags", _OllamaModels)
        names = {model.name for model in found.models}
        return sorted(names | {name.removesuffix(":latest") for name in names})

    async def embed(self, client: ProviderClient, texts: list[str], dimensions: int | None) -> Answer:
        """One call of `/api/embed`."""
        body: dict[str, Any] = {"model": client.profile.model, "input": texts, "truncate": False}
        if dimensions is not None:
            body["dimensions"] = dimensions
        answer: _OllamaAnswer = await client.post("/api/embed", body, _OllamaAnswer)
        return Answer(answer.embeddings, plausible(answer.prompt_eval_count) or 0)


class _OpenAiVector(msgspec.Struct):
    index: int
    embedding: list[float]


class _OpenAiUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None


class _OpenAiAnswer(msgspec.Struct):
    data: list[_OpenAiVector]
    usage: _OpenAiUsage | None = None


class _OpenAiModel(msgspec.Struct):
    id: str


class _OpenAiModels(msgspec.Struct):
    data: list[_OpenAiModel]


class OpenAiWire:
    """`/v1/embeddings` as OpenAI, llama.cpp, vLLM, Text Embeddings Inference and others serve it."""

    algorithm = "openai-embeddings-v1"

    async def revision(self, client: ProviderClient) -> str:
        """No such server tells a digest."""
        return ""

    async def models(self, client: ProviderClient) -> list[str] | None:
        """What `/v1/models` lists; None where there is no such list."""
        try:
            found: _OpenAiModels = await client.get(openai_path(client.profile, "/models"), _OpenAiModels)
        except ProviderUnavailable:
            return None
        return sorted(model.id for model in found.data)

    async def embed(self, client: ProviderClient, texts: list[str], dimensions: int | None) -> Answer:
        """One call of `/v1/embeddings`; its rows may come in any order."""
        body: dict[str, Any] = {"model": client.profile.model, "input": texts, "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        path = openai_path(client.profile, "/embeddings")
        answer: _OpenAiAnswer = await client.post(path, body, _OpenAiAnswer)
        rows = sorted(answer.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(len(rows))):
            raise server_fault(client.profile, client.name, "numbers its vectors wrongly", "kind")
        usage = answer.usage or _OpenAiUsage()
        tokens = plausible(usage.prompt_tokens) or plausible(usage.total_tokens) or 0
        return Answer([row.embedding for row in rows], tokens, max(0.0, usage.cost or 0.0))
