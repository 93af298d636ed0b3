"""The generator that asks a server, its answer streamed so that the time to the first token is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.providers.address import placeless
from ragtui.providers.background import in_background
from ragtui.providers.chat_wire import WARM_UP, ChatWire, Model, OllamaChat, OpenAiChat, unknown_model
from ragtui.providers.faults import RequestRefused, listed
from ragtui.providers.http import ProviderClient
from ragtui.providers.protocols import ChatRequest, GeneratorIdentity, Message, Reply, UnusableReply
from ragtui.settings import Profile

_WIRES: dict[str, Callable[[], ChatWire]] = {"ollama": OllamaChat, "openai": OpenAiChat}


class ChatGenerator:
    """Answers with the server of a profile. `model` overrides the profile's."""

    def __init__(self, profile: Profile, name: str, *, model: str = "", client: ProviderClient | None = None) -> None:
        self._client = client or ProviderClient(profile, name)
        self._wire = _WIRES[profile.kind]()
        self._wanted = model or profile.model
        self.concurrency = profile.concurrency
        both = (profile.input_price, profile.output_price)
        self.prices = (both[0], both[1]) if both[0] is not None and both[1] is not None else None

    @cached_property
    def identity(self) -> GeneratorIdentity:
        """Asks the server which models it has. Raises ProviderUnavailable with their list where this one is missing."""
        declared = self._client.profile.revision
        digest = self._model.digest or (f"declared:{declared}" if declared else "")
        return GeneratorIdentity(model=placeless(self._model.name), digest=digest)

    @cached_property
    def _model(self) -> Model:
        return self._chosen(in_background(self._wire.models(self._client)))

    def models(self) -> list[str]:
        """The models that the server has."""
        return [model.name for model in in_background(self._wire.models(self._client))]

    async def prepare(self, request: ChatRequest) -> list[str]:
        """Load the model with the parameters of a request; what it answers is thrown away."""
        warm_up = msgspec.structs.replace(request, messages=(Message("user", WARM_UP),), max_tokens=1, schema=None)
        return await self._wire.prepare(self._client, self._model.name, warm_up)

    async def answer(self, request: ChatRequest) -> Reply:
        """The whole reply, assembled from the stream."""
        body = self._wire.body(self._model.name, request)
        heard = _Heard(self._client.without_key)
        try:
            async for line in self._client.stream_lines(self._wire.path(self._client), body):
                piece = self._wire.piece(line)
                if piece is None:
                    continue
                heard.text += piece.text
                heard.thinking += piece.thinking
                if heard.first_ms is None and (piece.text or piece.thinking):
                    heard.first_ms = heard.elapsed_ms()
                heard.finish = piece.finish or heard.finish
                heard.prompt_tokens = piece.prompt_tokens if piece.prompt_tokens is not None else heard.prompt_tokens
                if piece.completion_tokens is not None:
                    heard.completion_tokens = piece.completion_tokens
                if piece.last:
                    # Reading on to the end of the response keeps the connection for the next request.
                    heard.total_ms = heard.elapsed_ms()
        except RequestRefused as error:
            raise UnusableReply("refused", error.message, error.hint, heard.reply()) from error
        except UnusableReply as error:
            raise UnusableReply(error.kind, error.message, error.hint, heard.reply()) from error
        except ProviderUnavailable:
            if heard.total_ms is None:
                raise
        if not heard.finish:
            raise UnusableReply("malformed_reply", "the answer ended without saying why", reply=heard.reply())
        return heard.reply()

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._client.aclose()

    def _chosen(self, found: list[Model]) -> Model:
        """The wanted model, Ollama's `:latest` understood; without a wish the only one there is."""
        if not self._wanted and len(found) == 1:
            return found[0]
        for model in found:
            if self._wanted and model.name in (self._wanted, f"{self._wanted}:latest"):
                return model
        if not self._wanted and found:
            raise ProviderUnavailable(
                f"Profile {self._client.name!r} names no model, and its server has {len(found)}.",
                f"Set model in [profiles.{self._client.name}]: {listed(model.name for model in found)}.",
            )
        raise unknown_model(self._client, self._wanted, found)


class _Heard:
    """A reply in the making."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self.text = self.thinking = self.finish = ""
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.first_ms: float | None = None
        self.total_ms: float | None = None
        self._started = time.perf_counter()

    def elapsed_ms(self) -> float:
        """Milliseconds since the request."""
        return (time.perf_counter() - self._started) * 1000

    def reply(self) -> Reply:
        """What was heard so far."""
        return Reply(
            text=self._clean(self.text),
            thinking=self._clean(self.thinking),
            finish=self.finish,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            first_token_ms=self.first_ms,
            total_ms=self.elapsed_ms() if self.total_ms is None else self.total_ms,
        )
