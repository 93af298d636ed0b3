"""The generation tier: cases through retrieval, prompt, model and measures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.events import Notice, RunEvent, RunStatus
from ragtui.execution.answering import Answering, case_error
from ragtui.execution.asking import Asker, Ledger, LimitReached, ServerGone
from ragtui.execution.dependencies import Attempt, Dependencies
from ragtui.execution.judging import Judging
from ragtui.execution.preparation import Preparation
from ragtui.execution.pulse import PULSE_SECONDS, Waits
from ragtui.execution.retrieval import GROUP, Reporter, Searcher, in_flight
from ragtui.experiment.cases import CaseName, parse_case
from ragtui.experiment.generation import SEARCHING
from ragtui.experiment.specification import Specification
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.pipeline.answer_scoring import AnswerScorer
from ragtui.pipeline.generate import request_for
from ragtui.providers.protocols import Generator
from ragtui.trace import AnswerTrace, CaseTrace

# Cases beyond those that the model works on: retrieval and prompt of the next are ready when a place is free.
_AHEAD = 4


class GenerationExecution:
    """Every golden in every mode, repeated, is a case."""

    def __init__(
        self,
        specification: Specification,
        cases: Sequence[EvaluationCase],
        dependencies: Dependencies,
        attempt: Attempt,
        prepared: Preparation,
    ) -> None:
        recipe = specification.plan.generation
        if recipe is None:
            raise ValueError("the plan has no generation")
        self._cases, self._dependencies = cases, dependencies
        self._generator = dependencies.generator
        self._recipe = recipe
        self._judge = dependencies.judge if recipe.judge is not None else None
        self._ledger = ledger = Ledger(dependencies.max_calls, dependencies.max_cost)
        self._asker = Asker(self._generator, recipe, ledger, dependencies.paid) if self._generator else None
        self._judging = Judging(Asker(self._judge, recipe, ledger, dependencies.paid_judge)) if self._judge else None
        self._table = prepared.table
        self._answering = Answering(specification.plan, recipe, prepared.table, self._asker)
        self._searcher = Searcher(specification, dependencies, prepared)
        self._scorer = AnswerScorer(specification.plan, dependencies.corpus.ordinals, prepared.table)
        self._reporter = Reporter(prepared.table, attempt.number)
        self._pulse = prepared.pulse
        self._pulse.under_way = lambda: ledger.under_way
        self.stopped: RunStatus | None = None
        self.reason = ""

    async def events(self, pending: Sequence[int]) -> AsyncGenerator[list[RunEvent], None]:
        """The events of each case, or group of echoes, as it completes."""
        try:
            loading = ((lambda model=model: self._loaded(model)) for model in self._models)
            async for told in in_flight(loading, lambda: 1, PULSE_SECONDS):
                found: list[RunEvent] = [Notice(message=message) for part in told for message in part]
                if found := [*found, *self._pulse.events()]:
                    yield found
            size, most = (GROUP, 2) if self._generator is None else (1, self._generator.concurrency + _AHEAD)

            def limit() -> int:
                self.stopped = self.stopped or self._dependencies.stop()
                return most if self.stopped is None else 0

            groups = (pending[start : start + size] for start in range(0, len(pending), size))
            jobs = ((lambda group=group: self._group(group)) for group in groups)
            async for done in in_flight(jobs, limit, PULSE_SECONDS):
                traces = sorted((trace for part in done for trace in part), key=lambda trace: trace.index)
                if found := [*self._reporter.events(traces), *self._pulse.events()]:
                    yield found
            if last := self._pulse.events(at_once=True):
                yield list(last)
            if self._ledger.replayed:
                fresh = f"{self._ledger.calls} calls were made"
                yield [Notice(message=f"{self._ledger.replayed} replies were replayed from earlier runs, {fresh}.")]
        finally:
            for model in self._models:
                await model.aclose()

    async def _loaded(self, model: Generator) -> list[str]:
        """What there is to tell of a model that was made ready; retries of a server that loads it are heard."""
        Waits(self._pulse)
        return await model.prepare(request_for(self._recipe, (), 1))

    @property
    def _models(self) -> list[Generator]:
        return [model for model in (self._generator, self._judge) if model is not None]

    async def _group(self, indexes: Sequence[int]) -> list[CaseTrace]:
        """The finished traces; a case that a limit kept from being answered is left out."""
        waits = Waits(self._pulse)
        cases = [self._cases[index] for index in indexes]
        names = [parse_case(case.id) for case in cases]
        answers = await asyncio.gather(*(self._started(*item) for item in zip(indexes, cases, names, strict=True)))
        searched = await self._searched(indexes, cases, names, answers)
        finished = await asyncio.gather(
            *(self._finished(*item) for item in zip(cases, names, searched, answers, strict=True))
        )
        kept = [(case, trace) for case, trace in zip(cases, finished, strict=True) if trace is not None]
        return self._scorer.scored([case for case, _ in kept], waits.told([trace for _, trace in kept]))

    async def _started(self, index: int, case: EvaluationCase, name: CaseName) -> AnswerTrace | CaseTrace | None:
        """The rewritten question where there is one; a finished trace where that failed, None where a limit came."""
        answer = AnswerTrace(mode=name.mode, repeat=name.repeat)
        try:
            return await self._answering.rewritten(case, answer)
        except LimitReached as limit:
            self._stop(limit)
            return None
        except ServerGone:
            raise
        except ProviderUnavailable as error:
            return CaseTrace(
                case=case.id, index=index, status="error", error=case_error(error), query=case.query, answer=answer
            )

    async def _searched(
        self,
        indexes: Sequence[int],
        cases: Sequence[EvaluationCase],
        names: Sequence[CaseName],
        answers: Sequence[AnswerTrace | CaseTrace | None],
    ) -> list[CaseTrace]:
        """A trace for each case, with what retrieval found in the modes that search."""
        traces = [CaseTrace(case=case.id, index=i, query=case.query) for i, case in zip(indexes, cases, strict=True)]
        places = [
            place
            for place, (name, answer) in enumerate(zip(names, answers, strict=True))
            if name.mode in SEARCHING and isinstance(answer, AnswerTrace)
        ]
        if places:
            questions = [self._question(cases[place], answers[place]) for place in places]
            found = await self._searcher.traces(
                [indexes[place] for place in places], [cases[place] for place in places], questions
            )
            for place, trace in zip(places, found, strict=True):
                traces[place] = trace
        return traces

    async def _finished(
        self, case: EvaluationCase, name: CaseName, trace: CaseTrace, answer: AnswerTrace | CaseTrace | None
    ) -> CaseTrace | None:
        if answer is None or isinstance(answer, CaseTrace):
            return answer
        if trace.error is not None:
            return msgspec.structs.replace(trace, answer=answer)
        started = time.perf_counter()
        try:
            finished = await self._answering.answered(case, name, trace, answer)
            if self._judging is not None and finished.answered is not None:
                finished = await self._judging.judged(case, finished, self._table.refs(finished.answered.context))
        except LimitReached as limit:
            self._stop(limit)
            return None
        timings = finished.timings | {"case": round((time.perf_counter() - started) * 1000, 3)}
        return msgspec.structs.replace(finished, timings=timings)

    def _question(self, case: EvaluationCase, answer: AnswerTrace | CaseTrace | None) -> str:
        rewrite = answer.rewrite if isinstance(answer, AnswerTrace) else None
        return rewrite.question if rewrite is not None else case.query

    def _stop(self, limit: LimitReached) -> None:
        if self.stopped is None:
            self.stopped, self.reason = "interrupted", str(limit)
