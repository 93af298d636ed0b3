"""One specification, executed again and again: the same bytes, wherever and in however many pieces it ran."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from semantic_text_splitter import MarkdownSplitter

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.verify import verify_run
from ragtui.events import CaseFinished, RunEvent, RunFinished, RunStatus
from ragtui.experiment.editing import read_plan
from ragtui.experiment.generation import Generation
from ragtui.experiment.plan import Channel, Plan, Retrieval
from ragtui.experiment.presets import PRESETS, preset
from ragtui.ids import canonical_json
from ragtui.lab import Lab, open_lab
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.providers.protocols import Role, Vectors
from ragtui.reports.records import comparable_trace
from tests.workshop import SPLITTER_FAILS, make_workspace, own_lab, ragtui, resume, sample_goldens, write_suite


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("repeats") / "ws")


def opened(folder: Path) -> Lab:
    return open_lab(folder, execution="allow_runs", query_embedder=BuiltinEmbedder())


def comparable(run: RecordedRun) -> list[bytes]:
    return [canonical_json(comparable_trace(run, trace)) for trace in run.traces]


@pytest.mark.parametrize("name", PRESETS)
def test_two_runs_are_identical(workspace: Path, name: str) -> None:
    lab = opened(workspace)
    specification = lab.bind(preset(name))
    first, second = lab.run(specification), lab.run(specification)
    assert first.run_id != second.run_id
    assert first.spec_id == second.spec_id
    assert comparable(first) == comparable(second)
    assert len(first.traces) == 40


def test_another_process_and_hash_seed(workspace: Path) -> None:
    """Artifacts are built anew too: each process has its own folder of them."""
    folders = {seed: make_workspace(workspace.parent / f"seed-{seed}") for seed in ("1", "4242")}
    for seed, folder in folders.items():
        done = ragtui(folder, "run", "hybrid", "--display", "none", PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
    lab = opened(workspace)
    here = lab.run(lab.bind(preset("hybrid")))
    for folder in folders.values():
        there = open_lab(folder).recorded("latest")
        assert there.spec_id == here.spec_id
        assert comparable(there) == comparable(here)


def test_the_store_keeps_what_was_yielded(workspace: Path) -> None:
    lab = opened(workspace)
    specification = lab.bind(preset("hybrid-weighted"))

    async def collect() -> list[CaseFinished]:
        events = lab.events(specification, run_id="kept")
        return [event async for event in events if isinstance(event, CaseFinished)]

    yielded = asyncio.run(collect())
    traces = sorted((event.trace for event in yielded), key=lambda trace: trace.index)
    assert traces == list(lab.recorded("kept").traces)


def test_trace_json_keeps_every_duration_under_timings(workspace: Path) -> None:
    lab = opened(workspace)
    records = []
    for _ in range(2):
        run = lab.run(lab.bind(preset("hybrid")))
        printed = ragtui(workspace, "trace", run.run_id, "q-003", "--json")
        record = json.loads(printed.stdout)
        assert set(record.pop("timings")) == {"bm25", "vector", "embed", "stages"}
        assert record.pop("run_id") == run.run_id
        records.append(record)
    assert records[0] == records[1]
    assert records[0]["results"][0].keys() == {"chunk", "rank", "score"}


def test_in_pieces_is_as_in_one(workspace: Path) -> None:
    """Foreign spans get their numbers as they are met; a run in three attempts still tells the same."""
    lab = own_lab(workspace)
    plan = _own_plan(workspace)
    specification = lab.bind(plan)
    whole = lab.run(specification)

    asked: list[RunStatus] = []

    async def begin(limit: int, resumed: bool) -> None:
        asked.clear()
        seen = 0
        events = lab.events(specification, run_id="pieces", resume=resumed, stop=lambda: asked[0] if asked else None)
        async for event in events:
            seen += isinstance(event, CaseFinished)
            if seen >= limit and not asked:
                asked.append("interrupted")
            if isinstance(event, RunFinished):
                assert event.status == "interrupted"

    asyncio.run(begin(5, False))
    assert len(lab.recorded("pieces").traces) < 20
    asyncio.run(begin(6, True))
    pieces = resume(lab, "pieces", plan)
    assert len(pieces.environments) == 3
    assert comparable(pieces) == comparable(whole)


@pytest.mark.parametrize("tier", ["retrieval", "generation"])
def test_a_resumed_run_keeps_the_order_of_its_cases(tmp_path: Path, tier: str) -> None:
    """The evaluation is the same whatever the order of its lines; what is left of a run is left of its own cases."""
    goldens = sample_goldens(10)
    folder = make_workspace(tmp_path / "ws", goldens=goldens)
    plan = _own_plan(folder)
    if tier == "generation":
        plan = msgspec.structs.replace(plan, generation=Generation(model="mock", modes=("mock",)))
    healthy, calls = own_lab(folder).retrievers["my_search:retrieve"], []

    def failing(query: str, depth: int) -> Any:
        calls.append(query)
        if query != goldens[3]["query"]:
            raise OSError("connection lost")
        return healthy(query, depth)

    failing.identity = healthy.identity  # type: ignore[attr-defined]
    broken = open_lab(folder, execution="allow_runs", retrievers={"my_search:retrieve": failing})

    async def begin() -> None:
        async for _ in broken.events(broken.bind(plan), run_id="turned"):
            pass

    asyncio.run(begin())
    assert len(calls) == 10
    began = broken.recorded("turned")
    assert [trace.case for trace in began.traces if trace.error is None] == [began.cases[3].id]
    write_suite(folder, "core", goldens[::-1])
    turned = resume(own_lab(folder), "turned", plan)
    names = [golden["id"] + ("@mock#1" if tier == "generation" else "") for golden in goldens]
    assert [case.id for case in turned.cases] == names
    assert [(trace.case, trace.index, trace.error) for trace in turned.traces] == [
        (name, place, None) for place, name in enumerate(names)
    ]
    assert [trace.query for trace in turned.traces] == [golden["query"] for golden in goldens]
    assert verify_run(turned).ok


def test_a_span_of_a_replaced_trace_keeps_its_ordinal(tmp_path: Path) -> None:
    """Attempt 1 fails with a span told, attempt 2 needs none, attempt 3 meets another: the first keeps its number."""
    goldens = [{"id": "x", "query": "first", "relevantDocIds": ["one"]},
               {"id": "y", "query": "second", "relevantDocIds": ["two"]}]  # fmt: skip
    documents = {"one": "# One\n\nFirst of all.", "two": "# Two\n\nSecond to none."}
    folder = make_workspace(tmp_path / "ws", documents, goldens)
    attempt = 1

    def spans(query: str, depth: int) -> list[tuple[Any, ...]]:
        if attempt == 2:
            return []
        return [("one", 3, 9, 1.0)] if attempt == 1 else [("two", 2, 12, 1.0)]

    def other(query: str, depth: int) -> list[tuple[Any, ...]]:
        if attempt == 1 or (attempt == 2 and query == "second"):
            raise OSError("connection lost")
        return []

    for call in (spans, other):
        call.identity = "1"  # type: ignore[attr-defined]
    lab = open_lab(folder, execution="allow_runs", retrievers={"spans": spans, "other": other})
    channels = {name: Channel(kind="python", source=name) for name in ("spans", "other")}
    plan = msgspec.structs.replace(preset("bm25"), retrieval=Retrieval(channels=channels))

    async def begin() -> None:
        async for _ in lab.events(lab.bind(plan), run_id="spans"):
            pass

    asyncio.run(begin())
    attempt = 2
    resume(lab, "spans", plan)
    attempt = 3
    run = resume(lab, "spans", plan)
    assert [[run.chunk_of[chunk].name for chunk in trace.results.chunks] for trace in run.traces] == [[], ["two#2-12"]]
    assert [trace.scores["R@5"] for trace in run.traces] == [0.0, 1.0]
    assert verify_run(run).ok


def test_a_library_that_panics_fails_the_run(workspace: Path) -> None:
    """The run says that it failed and why; it does not end without a word, as if its process had been killed."""

    class Panicking(BuiltinEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> Vectors:
            if role == "query":
                text, size, overlap = SPLITTER_FAILS
                MarkdownSplitter(size, overlap=overlap).chunk_indices(text)
            return super().embed(texts, role)

    lab = open_lab(workspace, execution="allow_runs", query_embedder=Panicking())
    last: list[RunEvent] = []

    async def run() -> None:
        async for event in lab.events(lab.bind(preset("vector")), run_id="panic"):
            last[:] = [event]

    with pytest.raises(BaseException, match="Invalid byte sequence"):
        asyncio.run(run())
    [ended] = last
    assert isinstance(ended, RunFinished)
    assert (ended.status, ended.reason) == ("failed", "PanicException: Invalid byte sequence")
    assert lab.recover() == ["panic"]
    assert lab.store.run("panic").status == "failed"


def test_leaving_the_iterator_keeps_what_was_reported(workspace: Path) -> None:
    lab = own_lab(workspace)
    plan = _own_plan(workspace)

    async def leave() -> set[str]:
        seen = set()
        events = lab.events(lab.bind(plan), run_id="left")
        async for event in events:
            if isinstance(event, CaseFinished):
                seen.add(event.trace.case)
            if len(seen) == 7:
                break
        await events.aclose()
        return seen

    seen = asyncio.run(leave())
    assert lab.recover() == ["left"]
    run = lab.recorded("left")
    assert run.status == "interrupted"
    assert seen <= set(run.trace_of)
    assert resume(lab, "left", plan).status == "completed"


def _own_plan(workspace: Path) -> Plan:
    return read_plan(workspace / "own.toml")[0]
