"""A generator that answers as a function says: for tests of everything that follows a model's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ragtui.providers.protocols import ChatRequest, GeneratorIdentity, Reply


class ScriptedGenerator:
    """Answers with `script(request)`: a text, a whole reply, or whatever it raises. `requests` are those it got."""

    def __init__(
        self, script: Callable[[ChatRequest], str | Reply], *, model: str = "scripted", digest: str = "sha256:scripted",
        concurrency: int = 4, prices: tuple[float, float] | None = None, seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self._script, self._seconds = script, seconds
        self.identity = GeneratorIdentity(model=model, digest=digest)
        self.concurrency, self.prices = concurrency, prices
        self.requests: list[ChatRequest] = []
        self.prepared = 0
        self.most_at_once = 0
        self._under_way = 0

    async def prepare(self, request: ChatRequest) -> list[str]:
        """Nothing to load."""
        self.prepared += 1
        return []

    async def answer(self, request: ChatRequest) -> Reply:
        """What the script says, after `seconds`."""
        self.requests.append(request)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            await asyncio.sleep(self._seconds)
            said = self._script(request)
        finally:
            self._under_way -= 1
        if isinstance(said, Reply):
            return said
        characters = sum(len(message.content) for message in request.messages)
        tokens = (characters // 4, len(said) // 4)
        return Reply(text=said, prompt_tokens=tokens[0], completion_tokens=tokens[1], total_ms=self._seconds * 1000)

    async def aclose(self) -> None:
        """Nothing to close."""
