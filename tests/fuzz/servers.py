"""Everything that reads what a server said, as functions of bytes. Only a RagtuiError may leave them."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import httpx

from ragtui.errors import RagtuiError
from ragtui.inputs.text import printable
from ragtui.pipeline.judging import read_verdict
from ragtui.providers.chat import ChatGenerator
from ragtui.providers.chat_wire import OllamaChat, OpenAiChat
from ragtui.providers.embeddings import ServerEmbedder
from ragtui.providers.faults import refusal_detail
from ragtui.providers.http import ProviderClient
from ragtui.providers.patience import retry_after
from ragtui.providers.protocols import ChatRequest, Message
from ragtui.providers.retrieval import HttpRetriever
from ragtui.providers.wire import OllamaWire, OpenAiWire
from ragtui.settings import Profile


def refusal(data: bytes, folder: Path) -> None:
    """What a server says of its refusal: inert, short, without the key."""
    said = refusal_detail(data, "sk-canary")
    assert "sk-canary" not in said
    assert said == printable(said)
    assert len(said) < 300


def wait_header(data: bytes, folder: Path) -> None:
    """`Retry-After`."""
    seconds = retry_after(data.decode("latin-1"))
    assert seconds is None or 0 <= seconds <= 120


def _client(kind: Any, data: bytes) -> ProviderClient:
    """A client whose server gives one body as the answer to everything."""
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=httpx.ByteStream(data)))
    profile = Profile(kind=kind, model="toy", url="http://127.0.0.1:9", retries=0, revision="1")
    return ProviderClient(profile, "toy", transport=transport)


def _embeds(kind: Any, data: bytes, folder: Path) -> None:
    """Whatever a server answers, vectors are what was asked for or a message."""
    client = _client(kind, data)
    embedder = ServerEmbedder(client.profile, "toy", folder / "cache", client=client)
    vectors = embedder.embed(["one"], "query")
    assert vectors.shape == (1, embedder.identity.dimensions)
    assert abs(float((vectors**2).sum()) - 1) < 1e-5


def openai_answer(data: bytes, folder: Path) -> None:
    """An answer of `/v1/embeddings`."""
    _embeds("openai", data, folder)


def ollama_answer(data: bytes, folder: Path) -> None:
    """One answer that has to do for both `/api/tags` and `/api/embed`."""
    _embeds("ollama", data, folder)


def model_list(data: bytes, folder: Path) -> None:
    """The models of a server, in both dialects, for embeddings and for chats."""

    async def read() -> None:
        for kind, wires in (("ollama", (OllamaWire(), OllamaChat())), ("openai", (OpenAiWire(), OpenAiChat()))):
            client = _client(kind, data)
            for wire in wires:
                with contextlib.suppress(RagtuiError):
                    await wire.models(client)
            await client.aclose()

    asyncio.run(read())


def retriever_answer(data: bytes, folder: Path) -> None:
    """The hits of somebody's own retriever."""

    async def read() -> None:
        client = _client("retriever", data)
        retriever = HttpRetriever(client.profile, "toy", client=client)
        for hit in await retriever("tea?", 10):
            assert isinstance(hit.doc, str)
        await client.aclose()

    asyncio.run(read())


def chat_lines(data: bytes, folder: Path) -> None:
    """The lines of a streamed reply, in both dialects."""
    for line in data.decode("utf-8", "replace").split("\n"):
        for wire in (OpenAiChat(), OllamaChat()):
            with contextlib.suppress(RagtuiError):
                wire.piece(line)


def chat_reply(data: bytes, folder: Path) -> None:
    """A whole streamed reply, after a line of `====` and a list of models; `openai` where it begins so."""
    models, _, streamed = data.partition(b"\n====\n")
    kind: Any = "openai" if streamed.startswith(b"data") else "ollama"
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, stream=httpx.ByteStream(streamed if "chat" in request.url.path else models))
    )
    profile = Profile(kind=kind, model="toy", url="http://127.0.0.1:9", retries=0)

    async def read() -> None:
        generator = ChatGenerator(profile, "toy", client=ProviderClient(profile, "toy", transport=transport))
        await asyncio.to_thread(lambda: generator.identity)
        request = ChatRequest(messages=(Message("user", "tea?"),), max_tokens=8, context_window=64)
        reply = await generator.answer(request)
        assert reply.finish
        await generator.aclose()

    asyncio.run(read())


def verdict(data: bytes, folder: Path) -> None:
    """A judge's reply."""
    read_verdict(data.decode("utf-8", "replace"))


def stream(data: bytes, folder: Path) -> None:
    """A streamed answer."""

    async def read() -> None:
        client = _client("openai", data)
        async for line in client.stream_lines("/chat", {}):
            assert "\n" not in line
        await client.aclose()

    asyncio.run(read())
