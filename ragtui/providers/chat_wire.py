"""What is said to chat servers and how their streams are read: Ollama's way and OpenAI's."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.ids import content_id
from ragtui.inputs.text import printable
from ragtui.providers.address import is_loopback, openai_path
from ragtui.providers.faults import listed, server_fault
from ragtui.providers.http import ProviderClient
from ragtui.providers.protocols import ChatRequest, UnusableReply
from ragtui.providers.wire import plausible
from ragtui.settings import Profile

WARM_UP = "Answer with one word: ready?"


class Model(msgspec.Struct, frozen=True):
    """A model that a server has; the digest is empty where it tells none."""

    name: str
    digest: str = ""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What one line of a stream adds. `finish` is set by the line that ends the answer, counts by any line."""

    text: str = ""
    thinking: str = ""
    finish: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    last: bool = False


class ChatWire(Protocol):
    """One way of asking for answers."""

    async def models(self, client: ProviderClient) -> list[Model]:
        """The models that the server has."""
        ...

    async def prepare(self, client: ProviderClient, model: str, request: ChatRequest) -> list[str]:
        """Make the model ready for requests like this one; gives sentences for the user."""
        ...

    def path(self, client: ProviderClient) -> str:
        """Where chats are posted."""
        ...

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """The request as JSON."""
        ...

    def piece(self, line: str) -> Piece | None:
        """What a line of the stream adds; None for a line without content. Raises UnusableReply."""
        ...


class _OllamaModel(msgspec.Struct):
    name: str
    digest: str = ""


class _OllamaModels(msgspec.Struct):
    models: list[_OllamaModel]


class _OllamaShown(msgspec.Struct):
    model_info: dict[str, Any] = {}


class _OllamaMessage(msgspec.Struct):
    content: str = ""
    thinking: str = ""


class _OllamaLine(msgspec.Struct):
    message: _OllamaMessage = msgspec.field(default_factory=_OllamaMessage)
    done: bool = False
    done_reason: str = ""
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str = ""


class OllamaChat:
    """`/api/chat` as lines of JSON. Other resident models are evicted, one answer is thrown away to load this one.

    Only `warm_up = false` in the profile spares that answer: the first case then waits for the model to load.
    """

    async def models(self, client: ProviderClient) -> list[Model]:
        """What `ollama list` shows."""
        found: _OllamaModels = await client.get("/api/tags", _OllamaModels)
        return [
            Model(model.name, f"sha256:{model.digest.removeprefix('sha256:')}" if model.digest else "")
            for model in found.models
        ]

    async def prepare(self, client: ProviderClient, model: str, request: ChatRequest) -> list[str]:
        """Raises ProviderUnavailable where the model's own context is shorter than the plan's window."""
        shown: _OllamaShown = await client.post("/api/show", {"model": model}, _OllamaShown)
        longest = next((v for k, v in shown.model_info.items() if k.endswith(".context_length")), None)
        if isinstance(longest, int) and longest < request.context_window:
            raise ProviderUnavailable(
                f"{model} has a context of {longest} tokens, the plan's window is {request.context_window}.",
                f"--set generation.budget.context_window={longest}",
            )
        resident: _OllamaModels = await client.get("/api/ps", _OllamaModels)
        notices = []
        for other in resident.models:
            if other.name not in (model, f"{model}:latest"):
                await client.post("/api/generate", {"model": other.name, "keep_alive": 0})
                notices.append(f"Evicted the model {printable(other.name)} from the server.")
        if client.profile.warm_up is not False:
            # The same window as the run's requests: another one would make the server load the model again.
            async for _ in client.stream_lines(self.path(client), self.body(model, request)):
                pass
        return notices

    def path(self, client: ProviderClient) -> str:
        """Fixed."""
        return "/api/chat"

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """Messages and options; a schema where the answer must follow one."""
        body: dict[str, Any] = {
            "model": model,
            "messages": msgspec.to_builtins(request.messages),
            "stream": True,
            "options": {
                "temperature": request.temperature,
                "seed": request.seed,
                "num_ctx": request.context_window,
                "num_predict": request.max_tokens,
            },
        }
        return body if request.schema is None else body | {"format": request.schema}

    def piece(self, line: str) -> Piece | None:
        """One line of JSON."""
        if not line.strip():
            return None
        said = _decoded(line, _OllamaLine)
        if said.error:
            raise UnusableReply("refused", f"the server stopped the answer: {printable(said.error)[:200]}")
        return Piece(
            text=said.message.content,
            thinking=said.message.thinking,
            finish=(said.done_reason or "stop") if said.done else "",
            prompt_tokens=plausible(said.prompt_eval_count),
            completion_tokens=plausible(said.eval_count),
            last=said.done,
        )


class _OpenAiModel(msgspec.Struct):
    id: str
    meta: dict[str, Any] | None = None


class _OpenAiModels(msgspec.Struct):
    data: list[_OpenAiModel]


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _OpenAiUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _OpenAiLine(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _OpenAiUsage | None = None
    error: Any = None


class OpenAiChat:
    """`/v1/chat/completions` as server-sent events: llama.cpp, vLLM, hosted ones."""

    async def models(self, client: ProviderClient) -> list[Model]:
        """What `/v1/models` lists; llama.cpp describes the weights there, which serves as a digest."""
        found: _OpenAiModels = await client.get(openai_path(client.profile, "/models"), _OpenAiModels)
        return [Model(model.id, content_id(model.meta) if model.meta else "") for model in found.data]

    async def prepare(self, client: ProviderClient, model: str, request: ChatRequest) -> list[str]:
        """Throw one answer away where that is wanted: see `warms_up`. Where that fails, the cases tell why."""
        if not warms_up(client.profile):
            return []
        try:
            async for _ in client.stream_lines(self.path(client), self.body(model, request)):
                pass
        except ProviderUnavailable as error:
            return [f"The warm-up failed: {error.message}"]
        return []

    def path(self, client: ProviderClient) -> str:
        """Below `/v1`, or below the profile's url where that ends in a version."""
        return openai_path(client.profile, "/chat/completions")

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """Messages and parameters; a schema where the answer must follow one."""
        body: dict[str, Any] = {
            "model": model,
            "messages": msgspec.to_builtins(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.schema is not None:
            form = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def piece(self, line: str) -> Piece | None:
        """One event; comments and empty lines between events have no content."""
        if not line.startswith("data:"):
            return None
        data = line[5:].strip()
        if data == "[DONE]":
            return Piece(last=True)
        said = _decoded(data, _OpenAiLine)
        if said.error is not None:
            detail = said.error.get("message", said.error) if isinstance(said.error, dict) else said.error
            raise UnusableReply("refused", f"the server stopped the answer: {printable(str(detail))[:200]}")
        choice = said.choices[0] if said.choices else _Choice()
        if choice.delta.refusal:
            raise UnusableReply("refused", f"the server refused: {printable(choice.delta.refusal)[:200]}")
        usage = said.usage or _OpenAiUsage()
        return Piece(
            text=choice.delta.content or "",
            thinking=choice.delta.reasoning_content or choice.delta.reasoning or "",
            finish=choice.finish_reason or "",
            prompt_tokens=plausible(usage.prompt_tokens),
            completion_tokens=plausible(usage.completion_tokens),
        )


def warms_up(profile: Profile) -> bool:
    """Whether an OpenAI-compatible server is asked for an answer that is thrown away.

    As the profile says. Where it says nothing, only a server on this machine without prices is: its first answer may
    wait until the model is read from the disk, while one elsewhere may charge for it.
    """
    if profile.warm_up is not None:
        return profile.warm_up
    priced = profile.input_price is not None or profile.output_price is not None
    return not priced and is_loopback(urlsplit(profile.url).hostname or "")


def unknown_model(client: ProviderClient, model: str, found: list[Model]) -> ProviderUnavailable:
    """The model is not there; the hint lists those that are."""
    if not found:
        return server_fault(client.profile, client.name, "lists no models", "model")
    fault = server_fault(client.profile, client.name, f"does not have the model {model!r}", "model")
    names = listed(other.name for other in found)
    return ProviderUnavailable(fault.message, f"It has: {names}. Set model in [profiles.{client.name}].")


def _decoded(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise UnusableReply(
            "malformed_reply", f"the server sent something that is no answer: {printable(str(error))}"
        ) from error
