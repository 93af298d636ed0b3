"""One case from its question to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from ragtui.errors import ProviderUnavailable, RagtuiError
from ragtui.execution.asking import Asker, ServerGone
from ragtui.experiment.cases import CaseName
from ragtui.experiment.generation import MOCK, Generation
from ragtui.experiment.plan import Plan
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.goldens import Turn
from ragtui.pipeline.budget import characters_per_token, estimated_tokens, fit
from ragtui.pipeline.channels import failure
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.generate import echo
from ragtui.pipeline.injected import as_they_stand, oracle_chunks, part_texts
from ragtui.pipeline.prompt import compose
from ragtui.pipeline.rewrite import REWRITE_TOKENS, rewrite_messages, rewritten
from ragtui.providers.protocols import Reply, UnusableReply
from ragtui.trace import AnswerTrace, CaseError, CaseTrace, ChunkRef, RewriteTrace

_DOCUMENTS_KEPT = 64


class Answering:
    """Rewrites, injects, fits, asks. Without an `asker` every answer is the echo of its context."""

    def __init__(self, plan: Plan, recipe: Generation, table: ChunkTable, asker: Asker | None) -> None:
        self._plan, self._recipe, self._table, self._asker = plan, recipe, table, asker
        self._chunks_of = lru_cache(maxsize=_DOCUMENTS_KEPT)(self._document)

    async def rewritten(self, case: EvaluationCase, answer: AnswerTrace) -> AnswerTrace:
        """The answer with the question made to stand alone, in `e2e` and where there are earlier turns."""
        if self._asker is None or not (self._recipe.rewrite and case.turns and answer.mode == "e2e"):
            return answer
        messages = rewrite_messages(self._recipe.budget, case.query, case.turns)
        got = await self._asker.ask(messages, REWRITE_TOKENS, answer.repeat)
        question = rewritten(got.reply.text) or case.query
        trace = RewriteTrace(messages=messages, question=question, usage=got.usage, key=got.key, replayed=got.replayed)
        return msgspec.structs.replace(answer, rewrite=trace)

    async def answered(self, case: EvaluationCase, name: CaseName, trace: CaseTrace, answer: AnswerTrace) -> CaseTrace:
        """The trace with prompt and answer, or with the error that took the answer's place. Raises LimitReached."""
        best = self._candidates(case, name, trace)
        parts = [chunk.text for chunk in best]
        recipe = self._recipe
        fitted = fit(recipe.prompt, recipe.budget, case.query, case.turns, parts)
        if fitted.missing:
            error = CaseError(
                "prompt_too_long", f"rules and question exceed the context window by {fitted.missing} tokens"
            )
            return msgspec.structs.replace(trace, status="error", error=error, answer=answer)
        kept = best[: fitted.parts]
        joined = name.mode == "oracle"
        injected = as_they_stand(kept) if joined else kept
        texts = part_texts(injected, joined)
        turns: Sequence[Turn] = case.turns[len(case.turns) - fitted.turns :]
        messages = compose(recipe.prompt, case.query, turns, texts)
        answer = msgspec.structs.replace(
            answer,
            messages=messages,
            context=[chunk.ordinal for chunk in injected],
            dropped=[chunk.ordinal for chunk in best[fitted.parts :]],
            history=fitted.turns,
            estimated_tokens=estimated_tokens(messages, characters_per_token(recipe.budget)),
        )
        if self._asker is None or name.mode == MOCK:
            return msgspec.structs.replace(
                trace, answer=msgspec.structs.replace(answer, text=echo(texts), finish="stop")
            )
        return await self._asked(self._asker, trace, answer)

    async def _asked(self, asker: Asker, trace: CaseTrace, answer: AnswerTrace) -> CaseTrace:
        try:
            got = await asker.ask(answer.messages, self._recipe.budget.answer_reserve, answer.repeat)
        except ServerGone:
            raise
        except ProviderUnavailable as error:
            reply = error.reply if isinstance(error, UnusableReply) else None
            if reply is not None:
                answer = msgspec.structs.replace(
                    answer, text=reply.text, thinking=reply.thinking, finish=reply.finish, usage=asker.usage(reply)
                )
                trace = msgspec.structs.replace(trace, timings=trace.timings | _timings(reply))
            return msgspec.structs.replace(trace, status="error", error=case_error(error), answer=answer)
        reply = got.reply
        answer = msgspec.structs.replace(
            answer, text=reply.text, thinking=reply.thinking, finish=reply.finish, usage=got.usage, key=got.key,
            replayed=got.replayed,
        )  # fmt: skip
        return msgspec.structs.replace(
            trace, answer=answer, timings=trace.timings | ({} if got.replayed else _timings(reply))
        )

    def _candidates(self, case: EvaluationCase, name: CaseName, trace: CaseTrace) -> list[ChunkRef]:
        """The chunks that may be injected, best first."""
        if name.mode == "noretrieval":
            return []
        if name.mode == "oracle":
            return oracle_chunks(case, self._plan.metrics.relevance, self._chunks_of)
        return self._table.refs(trace.results.chunks[: self._plan.context.top_n])

    def _document(self, doc: str) -> list[ChunkRef]:
        """The chunks of a document, as they stand."""
        chunks = self._table.chunks
        position = chunks.corpus.ordinals[doc]
        first, last = np.searchsorted(chunks.doc, [position, position + 1])
        return self._table.refs(range(int(first), int(last)))


def case_error(error: RagtuiError) -> CaseError:
    """A provider's failure as that of one case."""
    return failure(error)


def _timings(reply: Reply) -> dict[str, float]:
    """Milliseconds of a fresh reply; a replayed one has none, so that the two are never mixed."""
    timings = {"generate": round(reply.total_ms, 3)}
    if reply.first_token_ms is not None:
        timings["first_token"] = round(reply.first_token_ms, 3)
    return timings
