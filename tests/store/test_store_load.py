"""Journals into the store: round trips, tears, damage, repeats, resumed runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragtui.errors import StoreUnavailable
from ragtui.events import CaseFinished, ChunksSeen, Notice, RunEvent
from ragtui.store import Store, load
from ragtui.store.journal import JournalWriter, journal_path, request_cancel
from ragtui.trace import CaseTrace
from tests.store import samples
from tests.store.test_store_journal import TRACES


def opened(folder: Path) -> Store:
    return Store(folder / "runs.duckdb")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TRACES, max_size=5, unique_by=lambda trace: trace.index))
def test_a_trace_comes_back_byte_for_byte(traces: list[CaseTrace]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = [samples.started("r", 1), *(CaseFinished(attempt=1, at="t", trace=trace) for trace in traces)]
        store = opened(folder)
        store.load_journal(samples.write_journal(folder, "r", events))
        back = list(store.traces("r"))
        expected = sorted(traces, key=lambda trace: trace.index)
        assert back == expected
        assert [msgspec.json.encode(trace) for trace in back] == [msgspec.json.encode(trace) for trace in expected]


def test_a_completed_run(tmp_path: Path) -> None:
    events = samples.whole_run("r", 7)
    events[4] = samples.finished(1, error=True)
    store = opened(tmp_path)
    path = samples.write_journal(tmp_path, "r", events)
    request_cancel(tmp_path, "r")
    assert store.load_journal(path) == "r"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["runs.duckdb"]
    (row,) = store.runs()
    assert (row.status, row.cases, row.scored, row.unscored, row.errors, row.attempts) == ("completed", 7, 6, 1, 1, 1)
    assert (row.started_at, row.ended_at, row.elapsed_s) == ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", 2.5)
    values = [samples.trace(index).scores["RR"] or 0.0 for index in range(7) if index != 1]
    assert row.measures["RR"] == sum(values) / 6
    record = store.run("r")
    assert record.specification == samples.specification()
    assert record.measure_names == samples.MEASURES
    assert record.environments == ({"python": "3.11", "attempt": 1},)
    assert store.cases_of("r") == tuple(samples.golden(index) for index in range(7))
    # Loaded once more by somebody who did not see that it was gone.
    assert store.load_journal(path) == "r"
    with pytest.raises(StoreUnavailable, match="does not exist"):
        store.load_journal(tmp_path / "none.jsonl")


def test_a_run_without_any_case_executed(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.load_journal(samples.write_journal(tmp_path, "r", [samples.started("r", 3)]), "failed")
    (row,) = store.runs()
    assert (row.status, row.scored, row.unscored, row.measures["RR"]) == ("failed", 0, 3, None)
    assert list(store.traces("r")) == []
    assert [case.status for case in store.case_rows("r")] == ["pending"] * 3


def test_a_journal_torn_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts in one line differ only in length, so all offsets of a journal of short lines stand for every journal."""
    events = [samples.started("r", 2, cases=(), pending=()), samples.finished(0, depth=1), samples.ended()]
    data = samples.write_journal(tmp_path, "r", events).read_bytes()
    journal_path(tmp_path, "r").unlink()
    store = opened(tmp_path)
    outcomes: dict[int, set[tuple[str, int]]] = {}
    # What a cut leaves is decided before the database is reached; the database sees each outcome once.
    loaded: dict[int, int] = {}
    for cut in range(len(data) + 1):
        folder = tmp_path / "journal"
        folder.mkdir(exist_ok=True)
        path = journal_path(folder, "r")
        path.write_bytes(data[:cut])
        lines = data[:cut].count(b"\n")
        if lines in loaded and loaded[lines] > 1:
            with monkeypatch.context() as patch:
                patch.setattr(load, "_known", lambda gate, run_id: None)
                patch.setattr(load._Load, "commit", lambda *rest: None)
                with path.open("r+b") as file:
                    load._load_claimed(store._gate, path, file.fileno(), "interrupted")
            assert path.read_bytes() == data[: data[:cut].rfind(b"\n") + 1]
            path.unlink()
            continue
        loaded[lines] = loaded.get(lines, 0) + 1
        target = opened(tmp_path / f"store{cut}")
        recovered = target.recover(folder)
        assert recovered == (["r"] if lines else [])
        assert not path.exists()
        if lines:
            outcomes.setdefault(lines, set()).add((target.runs()[0].status, len(list(target.traces("r")))))
    assert outcomes == {1: {("interrupted", 0)}, 2: {("interrupted", 1)}, 3: {("completed", 1)}}


def test_loading_twice_changes_nothing(tmp_path: Path) -> None:
    events = samples.whole_run("r", 5)
    store = opened(tmp_path)
    store.load_journal(samples.write_journal(tmp_path, "r", events))
    before = (store.runs(), list(store.traces("r")), store.chunks("r", range(50)))
    # The same events in a journal of another size are not recognised as loaded, so everything is inserted again.
    store.load_journal(samples.write_journal(tmp_path, "r", [*events, events[1]]))
    assert (store.runs(), list(store.traces("r")), store.chunks("r", range(50))) == before


def test_batches_commit_one_by_one_and_the_end_shows_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtui.store.batch.CASES_A_BATCH", 3)
    store = opened(tmp_path)
    seen: list[tuple[str, int]] = []
    real = load._Load.commit

    def watched(self: load._Load, *rest: object) -> None:
        real(self, *rest)  # type: ignore[arg-type]
        seen.append((store.runs()[0].status, len(store.finished_indexes("r"))))

    monkeypatch.setattr(load._Load, "commit", watched)
    store.load_journal(samples.write_journal(tmp_path, "r", samples.whole_run("r", 10)))
    assert seen == [("running", 4), ("running", 8), ("completed", 10)]


def test_a_resumed_run_adds_an_attempt(tmp_path: Path) -> None:
    store = opened(tmp_path)
    first: list[RunEvent] = [
        samples.started("r", 4),
        ChunksSeen(chunks=[samples.chunk(0)]),
        samples.finished(0),
        samples.finished(1, error=True),
    ]
    samples.write_journal(tmp_path, "r", first)
    assert store.recover(tmp_path) == ["r"]
    assert (store.runs()[0].status, store.runs()[0].ended_at) == ("interrupted", "2026-01-01T00:00:01Z")
    assert store.finished_indexes("r") == {0, 1}
    assert store.finished_indexes("r", including_errors=False) == {0}
    second: list[RunEvent] = [
        samples.started("r", 4, attempt=2, pending=(1, 2, 3)),
        ChunksSeen(chunks=[samples.chunk(0), samples.chunk(1)]),
        *(samples.finished(index, attempt=2) for index in (3, 1, 2)),
        samples.ended(attempt=2),
    ]
    store.load_journal(samples.write_journal(tmp_path, "r", second))
    (row,) = store.runs()
    assert (row.status, row.attempts, row.scored, row.errors, row.elapsed_s) == ("completed", 2, 4, 0, 3.5)
    assert list(store.traces("r")) == [samples.trace(index) for index in range(4)]
    assert [attempt.status for attempt in store.run("r").attempt_rows] == ["interrupted", "completed"]
    assert store.chunks("r", [0, 1, 9]) == {0: samples.chunk(0), 1: samples.chunk(1)}


def test_a_run_that_lacks_cases_is_not_complete(tmp_path: Path) -> None:
    """Its first attempt was deleted while the second was under way, which did all that was left to it."""
    store = opened(tmp_path)
    events: list[RunEvent] = [samples.started("r", 3, attempt=2, pending=(2,)), samples.finished(2, attempt=2)]
    events.append(samples.ended(attempt=2))
    store.load_journal(samples.write_journal(tmp_path, "r", events))
    (row,) = store.runs()
    assert (row.status, row.cases, row.scored, row.attempts) == ("interrupted", 3, 1, 2)
    # The next attempt is the third: as another second one its traces would be taken for those that are there.
    events = [samples.started("r", 3, attempt=row.attempts + 1, pending=(0, 1))]
    events += [*(samples.finished(index, attempt=3) for index in (0, 1)), samples.ended(attempt=3)]
    store.load_journal(samples.write_journal(tmp_path, "r", events))
    (row,) = store.runs()
    assert (row.status, row.scored, row.attempts) == ("completed", 3, 3)


def test_an_error_after_a_success_does_not_hide_it(tmp_path: Path) -> None:
    store = opened(tmp_path)
    events = [samples.started("r", 1), samples.finished(0), samples.started("r", 1, attempt=2)]
    events.append(samples.finished(0, attempt=2, error=True))
    store.load_journal(samples.write_journal(tmp_path, "r", events))
    assert store.trace("r", samples.golden(0).id) == samples.trace(0)


def test_a_damaged_journal_is_loaded_up_to_the_damage_and_set_aside(tmp_path: Path) -> None:
    store = opened(tmp_path)
    path = samples.write_journal(tmp_path, "r", samples.whole_run("r", 4))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = b"\x00" * 40 + b"\n"
    path.write_bytes(b"".join(lines))
    samples.write_journal(tmp_path, "other", samples.whole_run("other", 1))
    journal_path(tmp_path, "nothing").write_bytes(b"nonsense\n")
    with pytest.raises(StoreUnavailable, match=r"r\.jsonl:6: the journal is damaged"):
        store.load_journal(path)
    assert path.exists()
    aside: dict[str, str] = {}
    recovered = store.recover(tmp_path, lambda error, kept: aside.update({kept.name: str(error)}))
    assert sorted(recovered) == ["other", "r"]
    assert sorted(aside) == ["nothing.jsonl.damaged", "r.jsonl.damaged"]
    assert "r.jsonl:6: the journal is damaged" in aside["r.jsonl.damaged"]
    assert list(store.traces("r")) == [samples.trace(0), samples.trace(1)]
    record = store.run("r")
    assert record.status == "interrupted"
    assert record.attempt_rows[0].reason == "The journal is damaged at line 6; it is kept as r.jsonl.damaged."
    assert (tmp_path / "r.jsonl.damaged").read_bytes() == b"".join(lines)
    assert (tmp_path / "nothing.jsonl.damaged").exists()
    assert store.recover(tmp_path) == []


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_ordinal_told_of_two_spans_is_damage(tmp_path: Path, attempts: int) -> None:
    """Traces of both would show one document's text for the other's; whichever attempt told it."""
    moved = msgspec.structs.replace(samples.chunk(1), start=3)
    events: list[RunEvent] = [samples.started("r", 2), ChunksSeen(chunks=[samples.chunk(1)]), samples.finished(0)]
    if attempts == 2:
        store = opened(tmp_path)
        store.load_journal(samples.write_journal(tmp_path, "r", events))
        events = [samples.started("r", 2, attempt=2), Notice(message="ready")]
    path = samples.write_journal(tmp_path, "r", [*events, ChunksSeen(chunks=[moved]), samples.finished(1)])
    store = opened(tmp_path)
    line = 4 if attempts == 1 else 3
    with pytest.raises(StoreUnavailable, match=rf"r\.jsonl:{line}: .* gives the chunk ordinal 1 to another span"):
        store.load_journal(path)
    assert store.recover(tmp_path) == ["r"]
    assert store.chunks("r", [1]) == {1: samples.chunk(1)}
    assert list(store.traces("r")) == [samples.trace(0)]
    assert (tmp_path / "r.jsonl.damaged").exists()


@pytest.mark.parametrize(
    ("events", "reason"),
    [([samples.finished(0)], "does not begin with the start of a run"), ([samples.started("x", 1)], "of run x")],
)
def test_a_journal_that_is_not_this_runs(tmp_path: Path, events: list[RunEvent], reason: str) -> None:
    with pytest.raises(StoreUnavailable, match=reason):
        opened(tmp_path).load_journal(samples.write_journal(tmp_path, "r", events))


def test_a_live_journal_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.duckdb", wait_seconds=0.05)
    with JournalWriter.open(tmp_path, "r") as writer:
        writer.write([samples.started("r", 1)])
        assert store.recover(tmp_path) == []
        with pytest.raises(StoreUnavailable, match="Run r is still being written"):
            store.load_journal(writer.path)
    assert store.recover(tmp_path) == ["r"]


def test_one_text_is_kept_once(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for run_id in ("a", "b"):
        store.load_journal(samples.write_journal(tmp_path, run_id, samples.whole_run(run_id, 1, chunks=6000)))
    with store._gate.read() as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT text_id) FROM texts").fetchall() == [(6000, 6000)]
    assert store.chunks("b", range(6000)) == {ordinal: samples.chunk(ordinal) for ordinal in range(6000)}
