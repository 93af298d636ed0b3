from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.progress import Progress
from ragtui.analysis.summary import summary
from ragtui.events import CaseFinished, RunEvent, RunStarted, StageProgress, seconds_between
from ragtui.experiment.generation import Mode
from ragtui.experiment.plan import Provenance
from ragtui.store.lines import decode_events
from tests.analysis.test_goldens import answered_run
from tests.store import samples

JOURNAL = Path(__file__).resolve().parents[1] / "fuzz" / "seeds" / "journal" / "bm25"


def events_at(times: list[str]) -> list[RunEvent]:
    """A run that begins at noon, and its first cases at these times."""
    found = decode_events(JOURNAL.read_bytes())
    started = next(event for event in found if isinstance(event, RunStarted))
    cases = [event for event in found if isinstance(event, CaseFinished)]
    return [
        msgspec.structs.replace(started, started_at="2031-01-01T12:00:00.000Z"),
        *(msgspec.structs.replace(case, at=at) for case, at in zip(cases * 2, times, strict=False)),
    ]


def test_the_pace_leaves_out_the_preparation() -> None:
    start, *cases = events_at(["2031-01-01T12:01:44.000Z", "2031-01-01T12:01:44.000Z"])
    progress = Progress()
    progress.add(start)
    for done in (10, 40):
        progress.add(StageProgress(stage="embeddings", done=done, total=40, elapsed_s=done * 2.5))
    for case in cases:
        progress.add(case)
    assert progress.rate() == pytest.approx(0.5)


def test_times_that_are_none_give_no_pace() -> None:
    progress = Progress()
    for event in events_at(["2031-01-01T12:01:4400Z", "soon"]):
        progress.add(event)
    assert progress.rate() is None
    assert "2/" in progress.line()
    assert seconds_between("2031-01-01", "2031-01-01T00:00:00Z") == 0
    assert seconds_between("2031-01-01T00:00:00Z", "2031-01-01T00:00:01.500Z") == 1.5


@pytest.mark.parametrize(("modes", "stands"), [(("noretrieval", "oracle"), "oracle"), (("oracle", "e2e"), "e2e")])
def test_live_estimates_of_answers_are_those_of_the_report(modes: tuple[Mode, ...], stands: str) -> None:
    passes: list[list[bool | None]] = [
        [True, False, True],
        [True, True, True],
        [None, False, False],
        [None, None, None],
    ]
    run = answered_run("live", passes, modes)
    wrong = [
        msgspec.structs.replace(trace, scores={"correctness": 0.0}) if f"@{stands}#" not in trace.case else trace
        for trace in run.traces
    ]
    run = msgspec.structs.replace(run, traces=tuple(wrong))
    progress = Progress()
    progress.add(
        RunStarted(
            run_id=run.run_id, spec_id=run.spec_id, specification=run.specification, provenance=Provenance(),
            measures=run.measures, cases=run.cases, pending=tuple(range(len(run.cases))), environment={}, attempt=1,
            started_at="2031-01-01T12:00:00.000Z",
        )
    )  # fmt: skip
    for trace in run.traces:
        progress.add(CaseFinished(attempt=1, trace=trace, at="2031-01-01T12:00:01.000Z"))
    told = summary(run).overall["correctness"]
    assert told.n == 3
    assert told.value == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert progress.intervals()["correctness"] == told
    assert progress.estimates()["correctness"] == told.value


CASES = 2000
LATENCIES: dict[str, Callable[[random.Random, int], float]] = {
    "spread": lambda source, index: source.lognormvariate(-1, 0.5),
    "wide": lambda source, index: source.lognormvariate(-1, 0.8),
    "two kinds": lambda source, index: 2.0 if source.random() < 0.1 else 0.2,
    "slow at first": lambda source, index: source.lognormvariate(-1, 0.5) * (6 if index < CASES * 0.05 else 1),
    "a model that is loaded": lambda source, index: source.lognormvariate(-1, 0.5) + (20 if index == 0 else 0),
}


def finish_times(latencies: list[float], concurrency: int) -> list[float]:
    """When each case ends, in order, where so many are worked on at once."""
    free, ends = [0.0] * concurrency, []
    for latency in latencies:
        ends.append(heapq.heappop(free) + latency)
        heapq.heappush(free, ends[-1])
    return sorted(ends)


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("name", LATENCIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_left_is_right_within_a_fifth_once_a_fifth_is_done(name: str, concurrency: int, seed: int) -> None:
    """On a clock that is only told, with cases that take differently long, one at a time and sixteen at once.

    Until two thirds are done: what is left then is no longer many times as long as a single case.
    """
    source = random.Random(seed)
    times = finish_times([LATENCIES[name](source, index) for index in range(CASES)], concurrency)
    progress, noon = Progress(), datetime(2031, 1, 1, 12, tzinfo=UTC)
    progress.add(samples.started("sixteenatonce", CASES, at="2031-01-01T12:00:00.000Z"))
    ended = samples.finished(0)
    for done, time in enumerate(times, 1):
        at = (noon + timedelta(seconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        progress.add(msgspec.structs.replace(ended, at=at))
        if CASES // 5 <= done <= CASES * 2 // 3 and done % (CASES // 20) == 0:
            assert progress.eta_seconds() == pytest.approx(times[-1] - time, rel=0.2), done
