"""Asking a model within limits: replies already paid for are replayed, calls and cost never exceed what was allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from ragtui.errors import InvalidInput, ProviderUnavailable
from ragtui.execution.dependencies import PaidReplies
from ragtui.experiment.generation import Generation
from ragtui.pipeline.budget import characters_per_token, estimated_tokens
from ragtui.pipeline.generate import checked, reply_key, request_for
from ragtui.providers.protocols import ChatRequest, Generator, Message, Reply, UnusableReply
from ragtui.trace import Usage

_MILLION = 1_000_000
# So many calls in a row without any answer mean that the server is gone, not that a case is hard.
UNREACHABLE_IN_A_ROW = 12


class LimitReached(Exception):
    """The next call would exceed what was allowed; the message says which limit."""


class Got(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, from where it came and what it took."""

    reply: Reply
    key: str
    replayed: bool
    usage: Usage


class Asker:
    """Sends requests to one model; `calls`, `cost`, `replayed` count what happened."""

    def __init__(
        self, generator: Generator, recipe: Generation, paid: PaidReplies | None, max_calls: int | None, max_cost: float | None
    ) -> None:
        if max_cost is not None and generator.prices is None:
            raise InvalidInput(
                "--max-cost needs the model's prices.", "Set input_price and output_price in the profile."
            )
        self._generator, self._recipe, self._paid = generator, recipe, paid
        self._max_calls, self._max_cost = max_calls, max_cost
        self._slots = asyncio.Semaphore(generator.concurrency)
        self._freed = asyncio.Condition()
        self._reserved, self._under_way = 0.0, 0
        self._failures = 0
        self.calls, self.replayed, self.cost = 0, 0, 0.0

    async def ask(self, messages: Sequence[Message], max_tokens: int, repeat: int) -> Got:
        """The checked reply. Raises UnusableReply, ProviderUnavailable, LimitReached."""
        request = request_for(self._recipe, messages, max_tokens)
        key = reply_key(self._generator.identity, request, repeat)
        kept = await asyncio.to_thread(self._paid.get, key) if self._paid is not None else None
        if kept is not None:
            self.replayed += 1
            reply = Reply(text=kept.text, thinking=kept.thinking, finish=kept.finish)
            return Got(reply=reply, key=key, replayed=True, usage=kept.usage)
        async with self._slots:
            reserved = self._worst_cost(request)
            await self._reserve(reserved)
            try:
                reply = await self._answered(request)
            finally:
                await self._release(reserved)
        return Got(reply=checked(reply), key=key, replayed=False, usage=self.usage(reply))

    def usage(self, reply: Reply) -> Usage:
        """Tokens and cost of a reply; the cost is None where prices or counts are unknown."""
        counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
        cost = self._cost(reply.prompt_tokens or 0, reply.completion_tokens or 0) if counted else None
        return Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, cost=cost)

    async def _answered(self, request: ChatRequest) -> Reply:
        self.calls += 1
        try:
            reply = await self._generator.answer(request)
        except UnusableReply as error:
            self._failures = 0
            self._spend(request, error.reply)
            raise
        except ProviderUnavailable as error:
            self._failures += 1
            if self._failures >= UNREACHABLE_IN_A_ROW:
                raise ServerGone(error.message, error.hint) from error
            raise
        self._failures = 0
        self._spend(request, reply)
        return reply

    def _spend(self, request: ChatRequest, reply: Reply | None) -> None:
        usage = self.usage(reply) if reply is not None else Usage()
        # A server that counts no tokens is charged for by the estimate.
        self.cost += usage.cost if usage.cost is not None else self._worst_cost(request)

    async def _reserve(self, cost: float) -> None:
        """Wait until calls under way have shown what they cost, as long as that may make room for this one."""
        async with self._freed:
            while True:
                if self._max_calls is not None and self.calls >= self._max_calls:
                    raise LimitReached(f"{self.calls} calls were made, as many as --max-calls allows.")
                if self._max_cost is None or self.cost + self._reserved + cost <= self._max_cost:
                    break
                if not self._under_way:
                    raise LimitReached(f"{self.cost:.4f} were spent; the next call might exceed --max-cost.")
                await self._freed.wait()
            self._reserved += cost
            self._under_way += 1

    async def _release(self, cost: float) -> None:
        async with self._freed:
            self._reserved -= cost
            self._under_way -= 1
            self._freed.notify_all()

    def _worst_cost(self, request: ChatRequest) -> float:
        ratio = characters_per_token(self._recipe.budget)
        return self._cost(estimated_tokens(request.messages, ratio), request.max_tokens) or 0.0

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        if self._generator.prices is None:
            return None
        of_prompt, of_answer = self._generator.prices
        return (prompt_tokens * of_prompt + completion_tokens * of_answer) / _MILLION


class ServerGone(ProviderUnavailable):
    """The server answers nothing any more; the run ends and can be resumed."""
