"""Asking a model within limits: replies already paid for are replayed, calls and cost never exceed what was allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

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


class Ledger:
    """What an attempt has spent on all its models, and what it may spend; `calls` and `cost` count up.

    `under_way` is how many calls are with a server now.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_calls, self.max_cost = max_calls, max_cost
        self.calls, self.replayed, self.cost = 0, 0, 0.0
        self._freed = asyncio.Condition()
        self._reserved, self.under_way = 0.0, 0

    async def reserve(self, cost: float) -> None:
        """Count a call that may cost this much. Waits while calls under way may turn out cheaper than they might be.

        Raises LimitReached.
        """
        async with self._freed:
            while True:
                if self.max_calls is not None and self.calls >= self.max_calls:
                    raise LimitReached(f"{self.calls} calls were made, as many as --max-calls allows.")
                if self.max_cost is None or self.cost + self._reserved + cost <= self.max_cost:
                    break
                if not self.under_way:
                    raise LimitReached(f"{self.cost:.4f} were spent; the next call might exceed --max-cost.")
                await self._freed.wait()
            self.calls += 1
            self._reserved += cost
            self.under_way += 1

    async def settle(self, reserved: float, cost: float) -> None:
        """The call is over and cost this much."""
        async with self._freed:
            self.cost += cost
            self._reserved -= reserved
            self.under_way -= 1
            self._freed.notify_all()


def refuse_unpriced(generator: Generator, max_cost: float | None) -> None:
    """InvalidInput where a limit of cost is set for a model whose cost nobody knows."""
    if max_cost is not None and generator.prices is None:
        raise InvalidInput(
            f"--max-cost needs the prices of {generator.identity.model}.",
            "Set input_price and output_price in its profile.",
        )


class Asker:
    """Sends requests to one model, and counts in the ledger."""

    def __init__(
        self, generator: Generator, recipe: Generation, ledger: Ledger, paid: PaidReplies | None = None
    ) -> None:
        refuse_unpriced(generator, ledger.max_cost)
        self._generator, self._recipe, self._ledger, self._paid = generator, recipe, ledger, paid
        self._slots = asyncio.Semaphore(generator.concurrency)
        self._failures = 0

    async def ask(
        self, messages: Sequence[Message], max_tokens: int, repeat: int, schema: dict[str, Any] | None = None
    ) -> Got:
        """The checked reply. Raises UnusableReply, ProviderUnavailable, LimitReached."""
        request = request_for(self._recipe, messages, max_tokens, schema)
        key = reply_key(self._generator.identity, request, repeat)
        kept = await asyncio.to_thread(self._paid.get, key) if self._paid is not None else None
        if kept is not None:
            self._ledger.replayed += 1
            reply = Reply(text=kept.text, thinking=kept.thinking, finish=kept.finish)
            return Got(reply=reply, key=key, replayed=True, usage=kept.usage)
        async with self._slots:
            reply = await self._paid_for(request)
        return Got(reply=checked(reply), key=key, replayed=False, usage=self.usage(reply))

    def usage(self, reply: Reply) -> Usage:
        """Tokens and cost of a reply; the cost is None where prices or counts are unknown."""
        counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
        cost = self._cost(reply.prompt_tokens or 0, reply.completion_tokens or 0) if counted else None
        return Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, cost=cost)

    async def _paid_for(self, request: ChatRequest) -> Reply:
        reserved = self._worst_cost(request)
        await self._ledger.reserve(reserved)
        cost = 0.0
        try:
            reply = await self._answered(request)
            cost = self._spent(request, reply)
        except UnusableReply as error:
            cost = self._spent(request, error.reply)
            raise
        finally:
            await self._ledger.settle(reserved, cost)
        return reply

    async def _answered(self, request: ChatRequest) -> Reply:
        try:
            reply = await self._generator.answer(request)
        except UnusableReply:
            self._failures = 0
            raise
        except ProviderUnavailable as error:
            self._failures += 1
            if self._failures >= UNREACHABLE_IN_A_ROW:
                raise ServerGone(error.message, error.hint) from error
            raise
        self._failures = 0
        return reply

    def _spent(self, request: ChatRequest, reply: Reply | None) -> float:
        usage = self.usage(reply) if reply is not None else Usage()
        # A server that counts no tokens is charged for by the estimate.
        return usage.cost if usage.cost is not None else self._worst_cost(request)

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
