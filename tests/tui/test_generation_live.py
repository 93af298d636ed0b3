"""A server that asks for patience: retries and the queue reach the journal, `watch` and the live screen."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len

from ragtui.analysis.progress import Progress
from ragtui.cli.display import PlainDisplay
from ragtui.events import CaseFinished, RunEvent, ServerCalls
from ragtui.experiment.editing import edit
from ragtui.experiment.plan import Plan
from ragtui.experiment.presets import preset
from ragtui.ids import new_run_id
from ragtui.lab import Lab, open_lab, plan_generator, plan_retrievers
from ragtui.providers.chat_wire import WARM_UP
from ragtui.providers.scripted import ScriptedGenerator
from ragtui.settings import open_workspace
from ragtui.store.journal import JournalWriter
from ragtui.store.store import Store
from ragtui.trace import CaseTrace
from ragtui.tui.data.live import LiveTally
from ragtui.tui.screens import live_text
from ragtui.tui.screens.live import LiveScreen
from tests.generation.chat_server import openai
from tests.generation.station import generating, lab_with, reads, station
from tests.providers.scripted_server import Reply, Request, ScriptedServer
from tests.store import samples
from tests.tui.trace_samples import HOSTILE, app, at_rest, shown, until
from tests.workshop import start

SIZES = [(80, 24), (120, 40)]
PROFILE = '[profiles.local]\nkind = "openai"\nurl = "{url}"\nconcurrency = {places}\nretries = {retries}\n'
PLAN = generating("e2e", model="local")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return station(tmp_path / "ws")


def busy(times: int, wait: float, then: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    """The first `times` questions get a 429 that asks for `wait` seconds of patience; the others `then`."""
    lock, left = threading.Lock(), [times]

    def script(request: Request) -> Reply:
        if request.method == "POST" and WARM_UP not in str(request.body):
            with lock:
                left[0] -= 1
                refused = left[0] >= 0
            if refused:
                return Reply.json({"error": "slow down"}, 429, retry_after=f"{wait:g}")
        return then(request)

    return script


def asking(folder: Path, url: str, places: int = 2, retries: int = 3) -> Lab:
    """The workspace opened to run with the server's model."""
    (folder / "ragtui.toml").write_text(PROFILE.format(url=url, places=places, retries=retries))
    opened = open_lab(folder, execution="allow_runs")
    opened.generator = plan_generator(PLAN, opened.workspace)
    return opened


def drained(opened: Lab, *folds: Callable[[RunEvent], None], plan: Plan = PLAN) -> list[RunEvent]:
    """The events of one run."""
    found: list[RunEvent] = []

    async def drain() -> None:
        async for event in opened.events(opened.bind(plan), run_id=new_run_id()):
            found.append(event)
            for fold in folds:
                fold(event)

    asyncio.run(drain())
    return found


def without_times(events: list[RunEvent]) -> list[CaseTrace]:
    traces = [event.trace for event in events if isinstance(event, CaseFinished)]
    return sorted((msgspec.structs.replace(trace, timings={}) for trace in traces), key=lambda trace: trace.index)


# -- what is told -----------------------------------------------------------------------------------------------------


def test_retries_are_counted_with_their_reason_and_change_no_answer(folder: Path) -> None:
    lines: list[str] = []
    progress, display, tally = Progress(), PlainDisplay(write=lines.append), LiveTally()
    with ScriptedServer(busy(5, 0.05, openai())) as server:
        events = drained(asking(folder, server.url), progress.add, display.show, tally.add)
    told = [event for event in events if isinstance(event, ServerCalls)]
    assert told[-1].retries == 5
    assert (told[-1].provider, told[-1].reason) == ("local", "answers with HTTP 429 (slow down)")
    assert (progress.calls.retries, progress.calls.in_flight, progress.waiting()) == (5, 0, 0)
    assert "retries 5" in progress.line()
    assert sum(line.startswith("retries ") and "local answers with HTTP 429" in line for line in lines) == 1
    view = tally.view()
    assert view is not None
    assert view.calls.retries == 5
    with ScriptedServer(openai()) as server:
        again = drained(asking(folder, server.url))
    assert not any(event.retries for event in again if isinstance(event, ServerCalls))
    # The waits are times, apart from what must be the same for equal runs.
    plain = [msgspec.structs.replace(trace, answer=_paid_anew(trace)) for trace in without_times(again)]
    assert [msgspec.structs.replace(trace, answer=_paid_anew(trace)) for trace in without_times(events)] == plain
    waited = [event.trace.timings.get("retry_wait", 0.0) for event in events if isinstance(event, CaseFinished)]
    assert sum(waited) >= 5 * 50
    assert not any("retry_wait" in event.trace.timings for event in again if isinstance(event, CaseFinished))


def _paid_anew(trace: CaseTrace) -> Any:
    """The answer as if nothing had been replayed: the second run finds the first one's answers paid for."""
    answer = trace.answered
    assert answer is not None
    rewrite = answer.rewrite and msgspec.structs.replace(answer.rewrite, replayed=False)
    return msgspec.structs.replace(answer, replayed=False, rewrite=rewrite)


def test_the_first_error_is_journalled_at_once_while_others_wait_for_the_server(folder: Path) -> None:
    """One place waits for seconds, asked to; what fails beside it is told within one."""
    refused: list[float] = []
    seen: list[tuple[float, RunEvent]] = []

    def reply(request: Request) -> Reply:
        if request.method == "POST":
            text = str(request.body["messages"][-1]["content"])
            if "beacon" in text:
                return Reply.json({"error": "busy"}, 503)
            if "diesel" in text and not refused:
                refused.append(time.monotonic())
                return Reply.json({"error": "no such thing"}, 400)
        return openai()(request)

    with ScriptedServer(reply) as server:
        opened = asking(folder, server.url)
        events = drained(opened, lambda event: seen.append((time.monotonic(), event)))
    errors = [(at, event) for at, event in seen if isinstance(event, CaseFinished) and event.trace.error is not None]
    first = next(at for at, event in errors if isinstance(event, CaseFinished) and "diesel" in event.trace.case)
    assert first - refused[0] < 1
    exhausted = [e.trace for _, e in errors if isinstance(e, CaseFinished) and e.trace.case.startswith("beacon-litres")]
    assert exhausted[0].error is not None
    assert "asked 4 times" in exhausted[0].error.message
    # While the place waited, retries had been told already.
    told = [event for event in events if isinstance(event, ServerCalls)]
    assert told[0].retries <= 1 < told[-1].retries


def test_the_queue_is_what_is_in_flight_and_what_waits(folder: Path) -> None:
    opened = lab_with(folder)
    opened.generator = ScriptedGenerator(reads, model="local", concurrency=3, seconds=0.2)
    progress, seen = Progress(), []

    def fold(event: RunEvent) -> None:
        progress.add(event)
        if isinstance(event, ServerCalls):
            seen.append((event.in_flight, progress.waiting(), progress.done))

    drained(opened, fold)
    assert max(at_once for at_once, _, _ in seen) == 3
    assert all(at_once + waiting + done == 20 for at_once, waiting, done in seen)
    assert seen[-1] == (0, 0, 20)


# -- what is seen -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_live_shows_retries_and_the_queue_while_the_run_goes_on(folder: Path, size: tuple[int, int]) -> None:
    def slow(request: Request) -> Reply:
        time.sleep(0.1)
        return openai()(request)

    with ScriptedServer(busy(4, 0.3, slow)) as server:
        (folder / "ragtui.toml").write_text(PROFILE.format(url=server.url, places=2, retries=3))
        running = app(folder, "live")
        async with running.run_test(size=size) as pilot:
            screen = running.screen
            assert isinstance(screen, LiveScreen)
            command = ("generate", "bm25", "--model", "local", "--mode", "e2e", "--repeats", "3")
            process = await asyncio.to_thread(start, folder, *command, "--display", "plain")
            try:
                await until(pilot, lambda: "retries 4" in "\n".join(shown(running)))
                text = "\n".join(shown(running))
                assert "in flight" in text
                assert " waiting" in text
                assert "HTTP 429" in text
                assert all(cell_len(each) == size[0] for each in shown(running))
                _, told = await asyncio.to_thread(process.communicate, timeout=60)
                assert process.returncode == 0, told
                assert "local answers with HTTP 429 (slow down), again in 0.3 s" in told
                assert "retries 4" in told
                await until(pilot, lambda: screen.views[screen.shown].over)
                await at_rest(pilot)
                text = "\n".join(shown(running))
                assert "in flight" not in text
                assert "retries 4" in text
            finally:
                process.kill()
                process.wait()
    traces = list(Store(folder / "runs.duckdb").traces(screen.shown))
    assert sum("retry_wait" in trace.timings for trace in traces) >= 1


async def test_hostile_reasons_are_inert(folder: Path) -> None:
    run_id = new_run_id()
    running = app(folder, "live")
    async with running.run_test(size=(80, 24)) as pilot:
        screen = running.screen
        assert isinstance(screen, LiveScreen)
        with JournalWriter.open(folder / ".ragtui" / "journal", run_id) as journal:
            calls = ServerCalls(in_flight=3, retries=7, provider="[b]p", reason=HOSTILE * 3, wait_s=2.0)
            journal.write([samples.started(run_id, 40), calls, samples.finished(0)])
            await until(pilot, lambda: run_id in screen.views and screen.views[run_id].done == 1)
            await at_rest(pilot)
            lines = shown(running)
            assert any("3 in flight, 36 waiting   retries 7   [b]p \\x1b[31mRED" in each for each in lines)
            assert all(cell_len(each) == 80 for each in lines)
            assert not set("".join(lines)) & set("\x1b\x00\x07\u202e\u200b")


def test_a_new_attempt_counts_anew() -> None:
    tally = LiveTally()
    tally.add(samples.started("abc", 10))
    tally.add(ServerCalls(in_flight=2, retries=5, reason="It is busy.", wait_s=1.0))
    view = tally.view()
    assert view is not None
    assert view.waiting == 8
    tally.add(samples.started("abc", 10))
    view = tally.view()
    assert view is not None
    assert view.calls == ServerCalls()
    assert live_text.queue(view) is None


def test_retries_of_a_retriever_are_heard_too(folder: Path) -> None:
    """A retrieval run over HTTP asks no model; its server may be busy all the same."""
    left = [3]

    def script(request: Request) -> Reply:
        left[0] -= 1
        if left[0] >= 0:
            return Reply.json({"error": "warming"}, 503, retry_after="0.05")
        return Reply.json({"hits": [{"doc": "anchor-tank", "score": 1.0}]})

    with ScriptedServer(script) as server:
        profile = f'[profiles.mine]\nkind = "retriever"\nurl = "{server.url}/search"\nrevision = "1"\nretries = 4\n'
        (folder / "ragtui.toml").write_text(profile)
        workspace = open_workspace(folder)
        plan = edit(preset("bm25"), ['retrieval.channels={"own": {"kind": "http", "source": "mine", "depth": 5}}'])
        opened = open_lab(folder, execution="allow_runs", retrievers=plan_retrievers(plan, workspace))
        progress = Progress()
        events = drained(opened, progress.add, plan=plan)
    assert (progress.calls.retries, progress.calls.provider, progress.errors) == (3, "mine", 0)
    assert progress.calls.reason.startswith("answers with HTTP 503")
    waited = [event.trace.timings for event in events if isinstance(event, CaseFinished)]
    assert sum("retry_wait" in timings for timings in waited) >= 1
