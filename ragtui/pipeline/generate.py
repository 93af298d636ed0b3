"""From a prompt to an answer: the request, its key, the reasoning taken apart, and what is no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ragtui.experiment.generation import Generation
from ragtui.ids import content_id
from ragtui.pipeline.prompt import PART_SEPARATOR
from ragtui.providers.protocols import ChatRequest, GeneratorIdentity, Message, Reply, UnusableReply

NO_CONTEXT = "No context was given."
_LEADING_THOUGHT = re.compile(
    r"\s*<(think|thinking|reasoning)>(?P<thought>.*?)(?:</\1>|\Z)\s*", re.DOTALL | re.IGNORECASE
)


def request_for(
    recipe: Generation, messages: Sequence[Message], max_tokens: int, schema: dict[str, Any] | None = None
) -> ChatRequest:
    """The request that sends these messages with the recipe's parameters."""
    return ChatRequest(
        messages=tuple(messages),
        max_tokens=max_tokens,
        context_window=recipe.budget.context_window,
        temperature=recipe.temperature,
        seed=recipe.seed,
        schema=schema,
    )


def reply_key(identity: GeneratorIdentity, request: ChatRequest, repeat: int) -> str:
    """The id under which a reply is kept: of model, prompt, parameters and repeat."""
    asked = msgspec.to_builtins(request)
    return content_id({"generator": msgspec.to_builtins(identity), "request": asked, "repeat": repeat})


def checked(reply: Reply) -> Reply:
    """The reply with leading reasoning moved out of the answer.

    Raises UnusableReply where nothing is left, or where the model was cut off.
    """
    text, thinking = split_thinking(reply.text)
    reply = msgspec.structs.replace(reply, text=text, thinking="\n".join(filter(None, (reply.thinking, thinking))))
    if reply.finish == "length":
        raise UnusableReply(
            "length", "the answer was cut off at the limit of tokens", "Raise generation.budget.answer_reserve.", reply
        )
    if reply.finish == "content_filter":
        raise UnusableReply("refused", "the server refused to let the model answer", reply=reply)
    if not text.strip():
        what = "only reasoning and no answer" if reply.thinking else "an empty answer"
        raise UnusableReply("empty_answer", f"the model gave {what}", reply=reply)
    return reply


def split_thinking(text: str) -> tuple[str, str]:
    """The answer, and the block of reasoning that stood before it; marks of reasoning anywhere else stay."""
    found = _LEADING_THOUGHT.match(text)
    return (text[found.end() :], found["thought"].strip()) if found else (text, "")


def echo(parts: Sequence[str]) -> str:
    """What `mock` answers: the injected context, so that what was retrieved is all that can be right or wrong."""
    return PART_SEPARATOR.join(parts) or NO_CONTEXT
