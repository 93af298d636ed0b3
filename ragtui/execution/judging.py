"""Asking the judge about one answer. Whatever happens here, the case stays what it is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.execution.asking import Asker, ServerGone
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.pipeline.channels import failure
from ragtui.pipeline.injected import part_texts
from ragtui.pipeline.judging import JUDGE_TOKENS, judge_messages, read_verdict, verdict_schema
from ragtui.providers.protocols import UnusableReply
from ragtui.trace import AnswerTrace, CaseError, CaseTrace, ChunkRef, JudgeTrace


class Judging:
    """Adds a judge's word to finished traces."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def judged(self, case: EvaluationCase, trace: CaseTrace, injected: Sequence[ChunkRef]) -> CaseTrace:
        """The trace with what the judge said; unchanged where there is no answer. Raises LimitReached."""
        answer = trace.answered
        if answer is None or trace.error is not None or answer.mode == "mock":
            return trace
        judge = await self._asked(case, answer, part_texts(injected, answer.mode == "oracle"))
        return msgspec.structs.replace(trace, answer=msgspec.structs.replace(answer, judge=judge))

    async def _asked(self, case: EvaluationCase, answer: AnswerTrace, parts: Sequence[str]) -> JudgeTrace:
        turns = case.turns[len(case.turns) - answer.history :] if answer.history else ()
        messages = judge_messages(case.query, turns, parts, answer.text)
        try:
            got = await self._asker.ask(messages, JUDGE_TOKENS, answer.repeat, verdict_schema())
        except ServerGone:
            raise
        except ProviderUnavailable as error:
            reply = error.reply if isinstance(error, UnusableReply) else None
            return JudgeTrace(raw=reply.text if reply is not None else "", error=failure(error))
        verdict = read_verdict(got.reply.text)
        if isinstance(verdict, str):
            return JudgeTrace(raw=got.reply.text, usage=got.usage, error=CaseError("no_verdict", verdict))
        return JudgeTrace(
            raw=got.reply.text, claims=verdict.told(), completeness=verdict.completeness, relevance=verdict.relevance,
            usage=got.usage, key=got.key, replayed=got.replayed,
        )  # fmt: skip
