"""From a template to the messages of a prompt."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

from ragtui.experiment.generation import Prompt
from ragtui.inputs.goldens import Turn
from ragtui.providers.protocols import Message

PART_SEPARATOR = "\n\n"
_SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "System"}


def compose(template: Prompt, question: str, turns: Sequence[Turn], parts: Sequence[str]) -> tuple[Message, ...]:
    """The messages: system, earlier turns (unless the template has them in its text), user.

    Texts are put in once, so braces in a document or question are never taken for fields.
    """
    fields = {
        "context": render_context(template, parts),
        "question": question,
        "history": "\n".join(f"{_SPEAKERS[turn.role]}: {turn.content}" for turn in turns),
    }
    messages = [Message("system", _filled(template.system, fields))] if template.system else []
    if not history_in_text(template):
        messages += [Message(turn.role, turn.content) for turn in turns]
    return (*messages, Message("user", _filled(template.user, fields)))


def render_context(template: Prompt, parts: Sequence[str]) -> str:
    """The context as it stands in the prompt."""
    if not parts:
        return template.empty
    shown: Iterable[str] = (f"[{n}] {part}" for n, part in enumerate(parts, 1)) if template.numbered else parts
    return PART_SEPARATOR.join(shown)


def history_in_text(template: Prompt) -> bool:
    """Whether the template itself says where earlier turns stand."""
    return any(
        field == "history"
        for text in (template.system, template.user)
        for _, field, _, _ in string.Formatter().parse(text)
    )


def _filled(template: str, fields: dict[str, str]) -> str:
    pieces = []
    for literal, field, _, _ in string.Formatter().parse(template):
        pieces.append(literal)
        if field is not None:
            pieces.append(fields[field])
    return "".join(pieces)
