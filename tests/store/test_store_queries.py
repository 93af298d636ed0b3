"""Lists, names, filters, baselines, copies, pruning, Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ragtui.errors import InvalidInput, StoreUnavailable
from ragtui.events import ChunksSeen
from ragtui.experiment.plan import Provenance
from ragtui.store import Store
from ragtui.store.journal import JournalWriter
from tests.store import samples


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three runs: `aa1` and `aa2` of one specification, `b` of another with an error and a case not executed."""
    folder = tmp_path_factory.mktemp("queries")
    store = Store(folder / "it's a store.duckdb")
    store.load_journal(samples.write_journal(folder, "aa1", samples.whole_run("aa1", 20, at="2026-01-01T00:00:00Z")))
    store.load_journal(samples.write_journal(folder, "aa2", samples.whole_run("aa2", 4, at="2026-01-03T00:00:00Z")))
    other = samples.specification(seed=7, suites=("extra", "core"))
    events = samples.whole_run("b", 9, at="2026-01-02T00:00:00Z", specification=other, provenance=Provenance(name="x"))
    events[5] = samples.finished(2, error=True)
    del events[6]
    store.load_journal(samples.write_journal(folder, "b", events))
    return store


def test_runs_are_listed_newest_first(store: Store) -> None:
    assert [row.run_id for row in store.runs()] == ["aa2", "b", "aa1"]
    assert [row.run_id for row in store.runs(limit=1, offset=1)] == ["b"]
    assert store.count_runs() == 3
    assert [row.run_id for row in store.spec_runs(samples.specification().spec_id)] == ["aa2", "aa1"]
    assert (store.runs()[1].name, store.runs()[1].suites) == ("x", ("extra", "core"))


def test_names_of_runs(store: Store) -> None:
    assert [store.resolve(text) for text in ("latest", "b", "B", "aa1")] == ["aa2", "b", "b", "aa1"]
    with pytest.raises(InvalidInput, match=r"'aa' names 2 runs: aa2 \(hybrid, 2026-01-03T00:00:00Z\), aa1 "):
        store.resolve("aa")
    for text in ("zz", "", "%"):
        with pytest.raises(InvalidInput, match="There is no run"):
            store.resolve(text)
    with pytest.raises(InvalidInput, match="There is no run yet"):
        Store(store.path.with_name("none")).resolve("latest")


def test_an_unknown_run_or_case(store: Store) -> None:
    for call in (store.run, store.cases_of, store.traces, store.scores, store.finished_indexes, store.case_rows):
        with pytest.raises(InvalidInput, match="There is no run 'none'"):
            call("none")
    with pytest.raises(InvalidInput, match="no case 'q 1/e'") as caught:
        store.trace("aa1", "q 1/e")
    assert caught.value.hint == "Did you mean 'q 1/é'?"
    with pytest.raises(InvalidInput, match="has not executed"):
        store.trace("b", samples.golden(3).id)


def test_scores_agree_with_traces(store: Store) -> None:
    names, scores = store.scores("b")
    assert tuple(names) == samples.MEASURES
    assert scores == {trace.case: trace.scores for trace in store.traces("b")}
    assert scores[samples.golden(2).id]["RR"] is None
    assert store.trace("b", samples.golden(8).id) == samples.trace(8)


def test_case_lists(store: Store) -> None:
    rows = store.case_rows("b")
    assert [row.index for row in rows] == list(range(9))
    assert [row.status for row in rows] == ["ok", "ok", "error", "pending", *["ok"] * 5]
    assert (rows[2].error, rows[3].query, rows[3].scores["RR"]) == ("It broke.", samples.golden(3).query, None)
    assert rows[0].tags == ("single-hop",)
    assert [row.index for row in store.case_rows("b", offset=7)] == [7, 8]
    assert [row.index for row in store.case_rows("b", tag="numeric")] == [1, 4, 7]
    assert [row.index for row in store.case_rows("b", status="pending")] == [3]
    assert [row.index for row in store.case_rows("b", text="QUESTION 4")] == [4]
    assert [row.index for row in store.case_rows("b", sort="index", descending=True, limit=2)] == [8, 7]
    assert store.count_cases("b", tag="numeric") == 3
    missed = [row for row in rows if row.scores["RR"] == 0]
    assert store.case_rows("b", missed_by="RR") == missed
    assert store.count_cases("b", missed_by="RR") == len(missed)
    values = [row.scores["AP"] for row in store.case_rows("b", sort="AP", descending=True)]
    assert values[-2:] == [None, None]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    with pytest.raises(InvalidInput, match="no measure 'XX'"):
        store.case_rows("b", sort="XX")


def test_baselines(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    for run_id, suites in (("aa1", ("core",)), ("b", ("extra", "core")), ("aa2", ("core",))):
        events = samples.whole_run(run_id, 1, specification=samples.specification(suites=suites))
        store.load_journal(samples.write_journal(tmp_path, run_id, events))
    corpus = store.run("aa1").corpus_id
    assert store.baseline_for(corpus, ("core",), "retrieval", "main") is None
    first = store.promote("aa1", "main", "the first")
    store.promote("b", "main", "other suites")
    assert store.baseline_for(corpus, ("core",), "retrieval", "main") == first
    second = store.promote("aa2", "main", "better")
    assert store.baseline_for(corpus, ["core", "core"], "retrieval", "main") == second
    assert [item.run_id for item in store.baselines()] == ["aa2", "b"]
    assert store.baselines()[1].suites == ("core", "extra")
    with pytest.raises(InvalidInput, match="There is no run"):
        store.promote("none", "main", "")


def test_an_incomplete_run_is_no_baseline(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    store.load_journal(samples.write_journal(tmp_path, "r", [samples.started("r", 1)]))
    with pytest.raises(InvalidInput, match="is interrupted; a baseline must be complete"):
        store.promote("r", "main", "")


def test_a_run_is_copied_whole_and_once(store: Store, tmp_path: Path) -> None:
    target = Store(tmp_path / "reference.duckdb")
    for run_id in ("b", "aa1", "b"):
        store.copy_run(run_id, target)
    assert [row.run_id for row in target.runs()] == ["b", "aa1"]
    for run_id in ("b", "aa1"):
        assert target.run(run_id) == store.run(run_id)
        assert target.cases_of(run_id) == store.cases_of(run_id)
        assert list(target.traces(run_id)) == list(store.traces(run_id))
        assert target.chunks(run_id, range(99)) == store.chunks(run_id, range(99))
    with target._gate.read() as connection:
        assert connection.execute("SELECT count(*) FROM texts").fetchone() == (50,)
    with pytest.raises(InvalidInput, match="both source and target"):
        store.copy_run("b", Store(store.path))
    with pytest.raises(InvalidInput, match="There is no run"):
        store.copy_run("none", target)


def test_a_run_that_went_on_is_copied_anew(tmp_path: Path) -> None:
    store, target = Store(tmp_path / "s.duckdb"), Store(tmp_path / "t.duckdb")
    store.load_journal(samples.write_journal(tmp_path, "r", [samples.started("r", 1)]))
    store.copy_run("r", target)
    again = [samples.started("r", 1, attempt=2), samples.finished(0, attempt=2), samples.ended(attempt=2)]
    store.load_journal(samples.write_journal(tmp_path, "r", again))
    store.copy_run("r", target)
    assert target.runs() == store.runs()
    assert list(target.traces("r")) == [samples.trace(0)]


def test_pruning_frees_the_disk(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    for run_id, first in (("big", 1000), ("small", 0)):
        events = samples.whole_run(run_id, 2)
        events[2] = ChunksSeen(chunks=[samples.chunk(n, 600) for n in range(first, first + 20)])
        if first:
            events[3:-1] = [samples.finished(index, depth=150, chunks=900) for index in range(300)]
        store.load_journal(samples.write_journal(tmp_path, run_id, events))
    store.promote("big", "main", "")
    kept = (store.run("small"), list(store.traces("small")), store.chunks("small", range(20)))
    before = store.size()
    assert store.estimate_freed(["big"]) > before * 0.9
    with pytest.raises(InvalidInput, match="There is no run 'none'"):
        store.delete_runs(["big", "none"])
    freed = store.delete_runs(["big"])
    assert freed == before - store.path.stat().st_size
    assert freed > before / 2
    assert (store.run("small"), list(store.traces("small")), store.chunks("small", range(20))) == kept
    assert (store.count_runs(), store.baselines()) == (1, [])
    with store._gate.read() as connection:
        assert connection.execute("SELECT count(*) FROM texts").fetchone() == (20,)
    # The rewritten file takes new runs.
    store.load_journal(samples.write_journal(tmp_path, "big", samples.whole_run("big", 2)))
    assert store.count_runs() == 2


def test_a_run_that_was_taken_up_again_is_not_deleted(tmp_path: Path) -> None:
    store, journals = Store(tmp_path / "s.duckdb"), tmp_path / "journal"
    for run_id in ("a", "b"):
        store.load_journal(samples.write_journal(tmp_path, run_id, samples.whole_run(run_id, 1)))
    with JournalWriter.open(journals, "b"):
        with pytest.raises(StoreUnavailable, match="Run b has been taken up again"):
            store.delete_runs(["a", "b"], journals)
        assert store.count_runs() == 2
        store.delete_runs(["a"], journals)
    assert [row.run_id for row in store.runs()] == ["b"]


def test_parquet(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "it's" / "run.parquet"
    store.export_parquet("b", path)
    query = 'SELECT "case", "index", status, "nDCG@10", trace FROM read_parquet($1)'
    rows = duckdb.execute(query, [str(path)]).fetchall()
    traces = list(store.traces("b"))
    assert [row[:4] for row in rows] == [(t.case, t.index, t.status, t.scores["nDCG@10"]) for t in traces]
    assert [item.name for item in path.parent.iterdir()] == ["run.parquet"]
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        store.export_parquet("b", tmp_path / "file" / "run.parquet")


def test_many_runs_are_listed_from_one_table(store: Store) -> None:
    """A list must not touch traces: that is what keeps a thousand runs fast."""
    with store._gate.read() as connection:
        plan = connection.execute("EXPLAIN SELECT * FROM runs ORDER BY started_at DESC").fetchall()[0][1]
    assert "traces" not in plan
