"""How a run stands, from its events: what every live view shows, the terminal's and the app's."""

from __future__ import annotations

import math

import msgspec

from ragtui.analysis.summary import decisive_measure
from ragtui.events import (
    CaseFinished,
    RunEvent,
    RunFinished,
    RunStarted,
    RunStatus,
    ServerCalls,
    StageProgress,
    seconds_between,
)
from ragtui.experiment.generation import headline_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Estimate, mean_estimate
from ragtui.trace import AnswerTrace, CaseTrace

# One in so many of the cases that are done is early.
_EARLY = 4


class Progress:
    """Counts, scores and pace of one run; feed it every event in order."""

    def __init__(self) -> None:
        self.run_id = ""
        self.name = ""
        self.measures: tuple[str, ...] = ()
        self.cases: tuple[EvaluationCase, ...] = ()
        self.total = 0
        self.done = 0
        self.scored = 0
        self.missed = 0
        self.errors = 0
        self.errors_in_a_row = 0
        self.last_error = ""
        self.stage: StageProgress | None = None
        self.status: RunStatus = "running"
        self.reason = ""
        self.started_at = ""
        self.finished_at = ""
        self.first_case_at = ""
        self.last_case_at = ""
        # One value a golden, as reports count.
        self.values: dict[str, list[float]] = {}
        self.answer_tokens = 0
        self.replayed = 0
        self.cost: float | None = None
        self.mode = ""
        self.calls = ServerCalls()
        self._decisive = ""
        self._prepared: dict[str, float] = {}
        self._times: list[float] = []
        # Place among the values, and every repeat, by measure and golden.
        self._repeats: dict[tuple[str, str], tuple[int, list[float]]] = {}

    def add(self, event: RunEvent) -> None:
        """Take one event."""
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, StageProgress):
            self.stage = event
            self._prepared[event.stage] = event.elapsed_s or 0.0
        elif isinstance(event, ServerCalls):
            self.calls = event
        elif isinstance(event, CaseFinished):
            self._finish_case(event.trace, event.at)
        elif isinstance(event, RunFinished):
            self.status, self.reason, self.finished_at = event.status, event.reason, event.at
            self.calls = msgspec.structs.replace(self.calls, in_flight=0)

    def _start(self, event: RunStarted) -> None:
        plan = event.specification.plan
        self.run_id, self.name, self.cases = event.run_id, event.provenance.name, event.cases
        self.measures, self.total = event.measures, len(event.pending)
        self.started_at, self.status, self.finished_at = event.started_at, "running", ""
        self._decisive = decisive_measure(event.measures, plan.metrics.primary)
        modes = plan.generation.modes if plan.generation is not None else ()
        self.mode = headline_of(modes) if modes else ""
        self.answer_tokens, self.replayed, self.cost = 0, 0, None
        self.calls = ServerCalls()
        self.values = {name: [] for name in event.measures}
        self._repeats = {}
        self._prepared, self._times = {}, []

    def _finish_case(self, trace: CaseTrace, at: str) -> None:
        self.done += 1
        self.first_case_at = self.first_case_at or at
        self.last_case_at = at
        self._times.append(seconds_between(self.started_at, at))
        if trace.error is not None:
            self.errors += 1
            self.errors_in_a_row += 1
            self.last_error = f"{trace.case}: {trace.error.message}"
            return
        self.errors_in_a_row = 0
        if trace.answered is not None:
            self._count(trace.answered)
            if trace.answered.mode != self.mode:
                return
        for name, value in trace.scores.items():
            if value is not None:
                self._take(name, trace, value)
        decisive = trace.scores.get(self._decisive)
        self.scored += decisive is not None
        self.missed += decisive is not None and decisive < 1

    def _take(self, name: str, trace: CaseTrace, value: float) -> None:
        """One more value of a measure; the repeats of a golden are averaged first."""
        values = self.values.setdefault(name, [])
        if trace.answered is None:
            values.append(value)
            return
        # A case is `golden@mode#repeat`; a journal may hold anything.
        golden = trace.case.rpartition("@")[0]
        place, repeats = self._repeats.setdefault((name, golden), (len(values), []))
        repeats.append(value)
        values[place : place + 1] = [math.fsum(repeats) / len(repeats)]

    def _count(self, answer: AnswerTrace) -> None:
        """Tokens and cost of a fresh answer; the measures shown are of one mode, as in reports."""
        if answer.replayed:
            self.replayed += 1
            return
        for usage in (answer.usage, *((answer.rewrite.usage,) if answer.rewrite is not None else ())):
            self.answer_tokens += usage.completion_tokens or 0
            if usage.cost is not None:
                self.cost = (self.cost or 0.0) + usage.cost

    def tokens_per_second(self) -> float | None:
        """Answer tokens a second since the attempt began; None where none were counted."""
        seconds = seconds_between(self.started_at, self.last_case_at)
        return self.answer_tokens / seconds if self.answer_tokens and seconds > 0 else None

    def waiting(self) -> int:
        """Cases that no model or server is asked about yet."""
        return max(self.total - self.done - self.calls.in_flight, 0)

    def position(self) -> tuple[int, int]:
        """What the bar shows: cases, or units of the stage that is being prepared."""
        if self.done == 0 and self.stage is not None and self.stage.done < self.stage.total:
            return self.stage.done, self.stage.total
        return self.done, self.total

    def estimates(self) -> dict[str, float]:
        """The running mean of every measure that has a value."""
        return {name: math.fsum(values) / len(values) for name, values in self.values.items() if values}

    def intervals(self) -> dict[str, Estimate]:
        """The running estimate of every measure with its interval: the closed form that reports use too."""
        return {name: mean_estimate(values) for name, values in self.values.items()}

    def rate(self) -> float | None:
        """Cases a second; None before the second case.

        The first quarter of what is done does not count, nor what is prepared: a model that is being loaded, a cold
        cache and a pool of connections that fills say nothing of the cases that are left.
        """
        times, prepared = self._times, sum(self._prepared.values())
        early = len(times) // _EARLY
        if early and times[-1] <= times[early - 1]:
            # What comes in one batch has one time.
            early = 0
        seconds = times[-1] - (times[early - 1] if early else prepared) if times else 0.0
        return (len(times) - early) / seconds if len(times) > 1 and seconds > 0 else None

    def eta_seconds(self) -> float | None:
        """Seconds that the remaining cases take at the pace so far; None while it is unknown."""
        rate = self.rate()
        return None if rate is None else (self.total - self.done) / rate

    def line(self) -> str:
        """n/N, scored, missed, errored, rate and what is left, in one line."""
        if self.done == 0 and self.stage is not None and self.stage.done < self.stage.total:
            return f"preparing {stage_line(self.stage)}"
        parts = [
            f"{self.done}/{self.total}",
            f"scored {self.scored}",
            f"missed {self.missed}",
            f"errored {self.errors}",
        ]
        rate = self.rate()
        if rate is not None:
            parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        speed = self.tokens_per_second()
        parts += [f"{speed:.0f} tok/s"] if speed is not None else []
        if self.calls.in_flight:
            parts.append(f"in flight {self.calls.in_flight}, waiting {self.waiting()}")
        parts += [f"retries {self.calls.retries}"] if self.calls.retries else []
        parts += [f"replayed {self.replayed}"] if self.replayed else []
        parts += [f"cost {self.cost:.4f}"] if self.cost is not None else []
        remaining = self.eta_seconds()
        if remaining is not None and self.done < self.total:
            parts.append(f"{remaining:.0f} s left")
        return "  ".join(parts)


def retry_line(calls: ServerCalls) -> str:
    """`retries 3  local answers with HTTP 429, again in 2.0 s`."""
    return f"retries {calls.retries}  {calls.provider} {calls.reason}, again in {calls.wait_s:.1f} s"


def stage_line(stage: StageProgress) -> str:
    """`embeddings  448/742  120/s  2 s left`; without a pace at the beginning and for events of old journals."""
    parts = [stage.stage, f"{stage.done}/{stage.total}"]
    if stage.elapsed_s and stage.done:
        rate = stage.done / stage.elapsed_s
        parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        parts.append(f"{(stage.total - stage.done) / rate:.0f} s left")
    return "  ".join(parts)
