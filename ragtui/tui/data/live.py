"""A live run as an immutable snapshot, made from its events."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec
import numpy as np

from ragtui.analysis.progress import Progress
from ragtui.analysis.summary import decisive_measure
from ragtui.events import CaseFinished, Notice, RunEvent, RunStarted, RunStatus, ServerCalls
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.aggregate import Estimate, mean_estimate
from ragtui.tui.data.case import case_name

_FEED = 300
_TRAIL = 48
_WINDOW = 1000
ALIKE = 5


class FeedItem(msgspec.Struct, frozen=True):
    """A case that missed or failed, or a notice. `score` is the decisive measure's value."""

    kind: str
    case: str
    text: str
    score: float | None = None
    at: str = ""


class MeasureNow(msgspec.Struct, frozen=True):
    """A measure's estimate so far, and its running mean at up to 48 moments since the start."""

    name: str
    estimate: Estimate
    trail: tuple[float, ...]


class TagNow(msgspec.Struct, frozen=True):
    """A tag's cases finished and wanted, and its decisive measure so far."""

    tag: str
    done: int
    total: int
    estimate: Estimate


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds a case of one stage or channel over the last thousand cases."""

    name: str
    p50: float
    p95: float


class LiveView(msgspec.Struct, frozen=True, kw_only=True):
    """How a followed run stands. Times are UTC ISO-8601 strings, `rate` cases a second, `eta` seconds.

    `total`, `done` and all counts are this attempt's; `earlier` cases were done by the attempts before it. `status` is
    `interrupted` where the process died without a word. `alike` counts errors of one kind in a row.

    A run of the generation tier has a `mode`, the one that measures, tags and misses are of. `fresh` and `replayed`
    count answers of a model; tokens a second and cost are of the fresh ones, None where no server told any. `calls` is
    what servers are asked just now and how often they had to be asked again; `waiting` cases are asked about later.
    """

    run_id: str
    name: str
    spec_id: str
    attempt: int
    status: RunStatus
    reason: str
    started_at: str
    ended_at: str
    stage: str
    position: tuple[int, int]
    total: int
    done: int
    scored: int
    missed: int
    errors: int
    rate: float | None
    eta: float | None
    decisive: str
    measures: tuple[MeasureNow, ...]
    tags: tuple[TagNow, ...]
    latencies: tuple[Latency, ...]
    feed: tuple[FeedItem, ...]
    alike: int
    alike_kind: str
    alike_message: str
    mode: str = ""
    tokens_per_second: float | None = None
    fresh: int = 0
    replayed: int = 0
    cost: float | None = None
    calls: ServerCalls = ServerCalls()
    waiting: int = 0
    earlier: int = 0

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        return self.status != "running"


class LiveTally:
    """Takes every event of one journal in order and gives a `LiveView` when asked."""

    def __init__(self) -> None:
        self.progress = Progress()
        self._started: RunStarted | None = None
        self._cases: tuple[EvaluationCase, ...] = ()
        self._decisive = ""
        self._feed: deque[FeedItem] = deque(maxlen=_FEED)
        self._trails: dict[str, _Trail] = {}
        self._tags: dict[str, list[float]] = {}
        self._tag_done: dict[str, int] = {}
        self._tag_total: dict[str, int] = {}
        self._latencies: dict[str, deque[float]] = {}
        self._alike = 0
        self._alike_kind = ""
        self._alike_message = ""
        self._good = 0
        self._ended = False
        self._fresh = 0

    def add(self, event: RunEvent) -> None:
        """Take one event."""
        self.progress.add(event)
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, CaseFinished):
            self._finish(event)
        elif isinstance(event, Notice):
            self._feed.append(FeedItem("notice", "", event.message))

    def end(self) -> None:
        """Nothing more comes; without a RunFinished the process died."""
        self._ended = True

    def _start(self, event: RunStarted) -> None:
        self._started, self._cases = event, event.cases
        self._decisive = decisive_measure(event.measures, event.specification.plan.metrics.primary)
        self._trails = {name: _Trail() for name in event.measures}
        self._tags, self._tag_done, self._tag_total, self._fresh = {}, {}, {}, 0
        for index in event.pending:
            for tag in event.cases[index].tags if self._counts(event.cases[index].id) else ():
                self._tag_total[tag] = self._tag_total.get(tag, 0) + 1

    def _finish(self, event: CaseFinished) -> None:
        trace = event.trace
        counts = self._counts(trace.case)
        tags: Sequence[str] = self._cases[trace.index].tags if counts and trace.index < len(self._cases) else ()
        for tag in tags:
            self._tag_done[tag] = self._tag_done.get(tag, 0) + 1
        if trace.error is not None:
            self._good = 0
            self._alike = self._alike + 1 if trace.error.kind == self._alike_kind else 1
            self._alike_kind, self._alike_message = trace.error.kind, trace.error.message
            self._feed.append(
                FeedItem("error", trace.case, f"{trace.error.kind}: {trace.error.message}", None, event.at)
            )
            return
        self._good += 1
        # An alarm that has been raised stays until as many cases in a row went well.
        if self._alike < ALIKE or self._good >= ALIKE:
            self._alike, self._alike_kind = 0, ""
        for name, score in trace.scores.items() if counts else ():
            if score is not None and name in self._trails:
                self._trails[name].add(score)
        for name, spent in trace.timings.items():
            self._latencies.setdefault(name, deque(maxlen=_WINDOW)).append(spent)
        if trace.answered is not None:
            # The echo asks nobody: it has no key.
            self._fresh += bool(trace.answered.key) and not trace.answered.replayed
        decisive = trace.scores.get(self._decisive) if counts else None
        if decisive is not None:
            for tag in tags:
                self._tags.setdefault(tag, []).append(decisive)
            if decisive < 1:
                self._feed.append(FeedItem("miss", trace.case, trace.query, decisive, event.at))

    def _counts(self, case_id: str) -> bool:
        """Whether a case's scores are shown: those of one mode are, as in reports."""
        mode = self.progress.mode
        name = case_name(case_id) if mode else None
        return name is None or name.mode == mode

    def view(self) -> LiveView | None:
        """How the run stands; None before its first event."""
        progress, started = self.progress, self._started
        if started is None:
            return None
        intervals = progress.intervals()
        stage = progress.stage
        preparing = progress.done == 0 and stage is not None and progress.status == "running"
        status = "interrupted" if self._ended and progress.status == "running" else progress.status
        return LiveView(
            run_id=started.run_id,
            name=progress.name,
            spec_id=started.spec_id,
            attempt=started.attempt,
            status=status,
            reason=progress.reason,
            started_at=progress.started_at,
            ended_at=progress.finished_at or (progress.last_case_at if self._ended else ""),
            stage=stage.stage if preparing and stage is not None else "",
            position=progress.position(),
            total=progress.total,
            done=progress.done,
            scored=progress.scored,
            missed=progress.missed,
            errors=progress.errors,
            rate=progress.rate(),
            eta=progress.eta_seconds(),
            decisive=self._decisive,
            measures=tuple(
                MeasureNow(name, intervals.get(name) or mean_estimate([]), self._trails[name].points())
                for name in started.measures
            ),
            tags=tuple(
                TagNow(tag, self._tag_done.get(tag, 0), total, mean_estimate(self._tags.get(tag, [])))
                for tag, total in sorted(self._tag_total.items())
            ),
            latencies=tuple(_latency(name, values) for name, values in self._latencies.items()),
            feed=tuple(self._feed),
            alike=self._alike,
            alike_kind=self._alike_kind,
            alike_message=self._alike_message,
            mode=progress.mode,
            tokens_per_second=progress.tokens_per_second(),
            fresh=self._fresh,
            replayed=progress.replayed,
            cost=progress.cost,
            calls=progress.calls,
            waiting=progress.waiting(),
            earlier=max(len(started.cases) - len(started.pending), 0),
        )


class _Trail:
    """The running mean at evenly spaced moments; when there are too many, every other one is dropped."""

    def __init__(self) -> None:
        self._count, self._sum, self._stride = 0, 0.0, 1
        self._points: list[float] = []

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value
        if self._count % self._stride == 0:
            self._points.append(self._sum / self._count)
            if len(self._points) > _TRAIL:
                self._points = self._points[1::2]
                self._stride *= 2

    def points(self) -> tuple[float, ...]:
        return tuple(self._points)


def _latency(name: str, values: Sequence[float]) -> Latency:
    p50, p95 = np.percentile(np.fromiter(values, np.float64, len(values)), [50, 95])
    return Latency(name, float(p50), float(p95))
