"""What a generation run would take, found by preparing every prompt and sending none."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ragtui.engine import Attempt, Dependencies, run_experiment
from ragtui.events import CaseFinished, RunEvent
from ragtui.experiment.generation import Generation
from ragtui.experiment.specification import Specification
from ragtui.pipeline.budget import characters_per_token
from ragtui.pipeline.judging import JUDGE_TOKENS
from ragtui.pipeline.rewrite import REWRITE_TOKENS
from ragtui.providers.protocols import ChatRequest, GeneratorIdentity, Reply
from ragtui.trace import CaseTrace

_MILLION = 1_000_000
JUDGE = "judge"


class EstimateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One mode of one model, or what the judge is asked (`mode` is then `judge`, `cases` the answers it is given).

    `calls` leaves out what would be replayed; of a judge nothing is, for it depends on answers that are not there yet.
    Tokens and cost are of those calls.

    `prompt_tokens` is the budget's estimate, `answer_tokens` and so `cost` the most that the answers may take; `cost`
    is None without prices.
    """

    model: str
    mode: str
    cases: int
    calls: int
    replayed: int
    prompt_tokens: int
    answer_tokens: int
    cost: float | None


class Silent:
    """Stands in for a model: takes every prompt and sends nothing. `requests` counts them, `characters` their texts."""

    def __init__(self, identity: GeneratorIdentity, prices: tuple[float, float] | None) -> None:
        self.identity, self.prices = identity, prices
        self.concurrency = 64
        self.requests = self.characters = 0

    async def prepare(self, request: ChatRequest) -> list[str]:
        """Nothing to load."""
        return []

    async def answer(self, request: ChatRequest) -> Reply:
        """The shortest answer there is; a rewrite keeps its question this way, for the model's own is unknown."""
        self.requests += 1
        self.characters += sum(len(message.content) for message in request.messages)
        return Reply(text=request.messages[-1].content.rpartition("Last question: ")[2].split("\n")[0] or ".")

    async def aclose(self) -> None:
        """Nothing to close."""


class Nowhere:
    """Keeps no event."""

    def write(self, events: Sequence[RunEvent]) -> None:
        """Forget them."""


async def estimate(specification: Specification, dependencies: Dependencies) -> list[EstimateRow]:
    """A row a mode, and one for the judge. `dependencies` are those of a run; no model is asked, nothing recorded."""
    recipe, identity = specification.plan.generation, specification.generator
    if recipe is None or identity is None:
        return []
    prices = dependencies.generator.prices if dependencies.generator is not None else None
    silent = Silent(identity, prices) if dependencies.generator is not None else None
    judge = dependencies.judge if recipe.judge is not None else None
    mute = Silent(specification.judge, judge.prices) if judge is not None and specification.judge is not None else None
    needed = msgspec.structs.replace(
        dependencies, generator=silent, judge=mute, paid_judge=None, max_calls=None, max_cost=None
    )
    rows = {mode: _Row() for mode in recipe.modes}
    async for event in run_experiment(specification, needed, Attempt(run_id="estimate")):
        if isinstance(event, CaseFinished) and event.trace.answered is not None:
            rows[event.trace.answered.mode].add(event.trace, recipe.budget.answer_reserve, silent is not None)
    found = [row.finished(recipe.model, mode, prices) for mode, row in rows.items()]
    return found + ([_judging(recipe, mute)] if mute is not None else [])


def _judging(recipe: Generation, mute: Silent) -> EstimateRow:
    """What the judge would be asked. Each answer that it is shown may be as long as the budget's reserve."""
    row = _Row()
    row.cases = row.calls = mute.requests
    row.prompt = round(mute.characters / characters_per_token(recipe.budget)) + row.calls * recipe.budget.answer_reserve
    row.answer = row.calls * JUDGE_TOKENS
    return row.finished(recipe.judge.model if recipe.judge is not None else "", JUDGE, mute.prices)


class _Row:
    """Counts of one mode."""

    def __init__(self) -> None:
        self.cases = self.calls = self.replayed = self.prompt = self.answer = 0

    def add(self, trace: CaseTrace, reserve: int, asks: bool) -> None:
        """Count one case."""
        answer = trace.answered
        self.cases += 1
        if answer is None or not asks or answer.mode == "mock":
            return
        if answer.rewrite is not None:
            self._call(
                answer.rewrite.replayed, sum(len(m.content) for m in answer.rewrite.messages) // 4, REWRITE_TOKENS
            )
        if trace.error is None or not answer.messages:
            self._call(answer.replayed, answer.estimated_tokens, reserve)

    def _call(self, replayed: bool, prompt: int, most: int) -> None:
        if replayed:
            self.replayed += 1
            return
        self.calls += 1
        self.prompt += prompt
        self.answer += most

    def finished(self, model: str, mode: str, prices: tuple[float, float] | None) -> EstimateRow:
        """The row."""
        cost = None if prices is None else (self.prompt * prices[0] + self.answer * prices[1]) / _MILLION
        return EstimateRow(
            model=model, mode=mode, cases=self.cases, calls=self.calls, replayed=self.replayed,
            prompt_tokens=self.prompt, answer_tokens=self.answer, cost=cost,
        )  # fmt: skip
