"""Chat servers as scripts for `ScriptedServer`: Ollama's API and OpenAI's, each fault on demand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from ragtui.providers.protocols import ChatRequest, Message
from tests.generation.station import reads
from tests.providers.scripted_server import Reply, Request

Answer = Callable[[ChatRequest], str]
META = {"n_ctx_train": 32768, "n_params": 268098176, "size": 246000000}


def asked(request: Request) -> ChatRequest:
    """The chat in a request of either API."""
    body = request.body
    options = body.get("options", {})
    return ChatRequest(
        messages=tuple(Message(item["role"], item["content"]) for item in body["messages"]),
        max_tokens=body.get("max_tokens", options.get("num_predict", 0)),
        context_window=options.get("num_ctx", 0),
        temperature=body.get("temperature", options.get("temperature", 1.0)),
        seed=body.get("seed", options.get("seed", -1)),
    )


def prompt_tokens(chat: ChatRequest) -> int:
    """What these servers count: 4.2 characters a token and 4 a message."""
    return sum(math.ceil(len(message.content) / 4.2) + 4 for message in chat.messages)


def pieces(text: str, size: int = 7) -> list[str]:
    """A text as it is streamed."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def events(objects: Iterable[Any]) -> Reply:
    """Server-sent events."""
    lines = [line for item in objects for line in (f"data: {json.dumps(item)}", "")]
    return Reply.lines([": keep-alive", *lines, "data: [DONE]", ""])


def delta(finish: str | None = None, **parts: Any) -> dict[str, Any]:
    """One chunk of OpenAI's stream."""
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish}]}


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """The chunk with the counts."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def spoken(text: str, chat: ChatRequest, finish: str = "stop", thinking: str = "") -> Reply:
    """A whole answer in OpenAI's stream."""
    thought = [delta(reasoning_content=part) for part in pieces(thinking)]
    said = [delta(content=part) for part in pieces(text)]
    return events([delta(role="assistant"), *thought, *said, delta(finish), usage(prompt_tokens(chat), len(text) // 4)])


def openai(
    answer: Answer = reads, models: Iterable[str] = ("toy",), reply: Callable[[ChatRequest, str], Reply] | None = None
) -> Callable[[Request], Reply]:
    """An OpenAI-compatible server; `reply` makes the stream from chat and answer."""

    def script(request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply.json({"object": "list", "data": [{"id": name, "created": 7, "meta": META} for name in models]})
        if request.path != "/v1/chat/completions":
            return Reply.json({"error": {"message": "no such path"}}, 404)
        chat = asked(request)
        return (reply or (lambda chat, text: spoken(text, chat)))(chat, answer(chat))

    return script


def ollama(
    answer: Answer = reads,
    models: Iterable[str] = ("toy:latest",),
    resident: Iterable[str] = ("toy:latest",),
    context_length: int = 32768,
    last: dict[str, Any] | None = None,
    thinking: str = "",
) -> Callable[[Request], Reply]:
    """Ollama. `last` changes the line that ends an answer."""
    loaded = list(resident)

    def script(request: Request) -> Reply:
        match request.path:
            case "/api/tags":
                return Reply.json({"models": [{"name": name, "digest": "ab" * 32} for name in models]})
            case "/api/ps":
                return Reply.json({"models": [{"name": name, "digest": "ab" * 32} for name in loaded]})
            case "/api/show":
                return Reply.json({"model_info": {"gemma3.context_length": context_length}})
            case "/api/generate":
                loaded.remove(request.body["model"])
                return Reply.json({"done": True})
            case "/api/chat":
                chat = asked(request)
                text = answer(chat)
                lines: list[dict[str, Any]] = (
                    [{"message": {"role": "assistant", "thinking": thinking}}] if thinking else []
                )
                lines += [{"message": {"role": "assistant", "content": part}, "done": False} for part in pieces(text)]
                counted = {"prompt_eval_count": prompt_tokens(chat), "eval_count": len(text) // 4}
                end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counted}
                return Reply.lines([json.dumps(line) for line in [*lines, end | (last or {})]])
        return Reply.json({"error": "no such path"}, 404)

    return script
