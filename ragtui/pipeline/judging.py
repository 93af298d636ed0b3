"""What a judge is asked, and how its verdict is read: as one JSON object of the agreed form, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from ragtui.experiment.generation import Prompt
from ragtui.inputs.goldens import Turn
from ragtui.inputs.text import printable
from ragtui.pipeline.prompt import compose
from ragtui.providers.protocols import Message
from ragtui.trace import Claim

# Bound to version 1 of the judge's recipe.
JUDGE_TOKENS = 2048
RULES = """You judge an answer to a question. You see the question, the context that the answer may rest on, the answer.
List every statement of fact in the answer as a claim, and say of each whether the context supports it.
completeness: how much of what the question asks for the answer gives, from 1 (nothing) to 5 (all).
relevance: how far the answer keeps to the question, from 1 (not at all) to 5 (entirely).
Reply with one JSON object and nothing else:
{{"claims": [{{"claim": "…", "supported": true}}], "completeness": 1, "relevance": 1}}"""
_TEMPLATE = Prompt(
    version="judge-1",
    system=RULES,
    user="Conversation before:\n{history}\n\n{question}\n\nContext:\n{context}",
    empty="(none)",
)
_Mark = Annotated[int, msgspec.Meta(ge=1, le=5)]


class _Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claim: str
    supported: bool


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The judge's form."""

    claims: tuple[_Claim, ...]
    completeness: _Mark
    relevance: _Mark

    def told(self) -> tuple[Claim, ...]:
        """The claims as they are recorded."""
        return tuple(Claim(claim.claim, claim.supported) for claim in self.claims)


def judge_messages(question: str, turns: Sequence[Turn], parts: Sequence[str], answer: str) -> tuple[Message, ...]:
    """The prompt of the judge; it never sees what the golden requires."""
    asked = f"Question: {question}\n\nAnswer to judge:\n{answer}"
    system, *rest = compose(_TEMPLATE, asked, turns, parts)
    return (system, *rest)


def read_verdict(raw: str) -> Verdict | str:
    """The verdict, or why the reply is none."""
    try:
        return msgspec.json.decode(raw.strip(), type=Verdict)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return f"the judge's reply is no verdict: {printable(str(error))}"


def verdict_schema() -> dict[str, Any]:
    """The form as JSON Schema, for servers that can enforce one."""
    mark = {"type": "integer", "minimum": 1, "maximum": 5}
    claim = {
        "type": "object", "properties": {"claim": {"type": "string"}, "supported": {"type": "boolean"}},
        "required": ["claim", "supported"], "additionalProperties": False,
    }  # fmt: skip
    return {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": claim}, "completeness": mark, "relevance": mark},
        "required": ["claims", "completeness", "relevance"],
        "additionalProperties": False,
    }
