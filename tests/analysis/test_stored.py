"""What is read of two runs to compare them: the same comparison comes of it as of the whole runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.compare import compare
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.stored import recorded_run, runs_to_compare
from ragtui.errors import ComparisonRefused
from ragtui.experiment.plan import Metrics
from ragtui.experiment.presets import preset
from ragtui.lab import open_lab
from ragtui.store.store import Store
from tests.tui.trace_samples import invented, record, record_pair
from tests.workshop import make_workspace


def both(store: Store, base: str, new: str) -> tuple[tuple[RecordedRun, RecordedRun], tuple[RecordedRun, RecordedRun]]:
    whole = recorded_run(store, base), recorded_run(store, new)
    return whole, runs_to_compare((store, base), (store, new))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("stored") / "ws")


def test_scores_suffice_where_they_differ(folder: Path) -> None:
    store = Store(folder / "runs.duckdb")
    whole, light = both(store, *record_pair(folder))
    assert not any(trace.results.chunks for run in light for trace in run.traces)
    assert msgspec.json.encode(compare(*light)) == msgspec.json.encode(compare(*whole))


def test_errors_and_unscored_cases_are_read(folder: Path) -> None:
    invented(folder, "brokenbroken", 30, errors=4)
    store = invented(folder, "soundsounds", 30, seed=1)
    whole, light = both(store, "brokenbroken", "soundsounds")
    assert sum(trace.error is not None for trace in light[0].traces) == 4
    assert msgspec.json.encode(compare(*light)) == msgspec.json.encode(compare(*whole))


def test_equal_scores_take_the_rankings_to_be_called_identical(folder: Path) -> None:
    store = Store(folder / "runs.duckdb")
    first, second = record(folder, "bm25", "bm25")
    whole, read = both(store, first, second)
    assert all(trace.results.chunks for trace in read[1].traces if whole[1].trace_of[trace.case].results.chunks)
    assert any("identical" in note for note in compare(*read).notes)
    assert compare(*read) == compare(*whole)


def test_a_measure_that_only_one_run_reports_takes_the_rankings(folder: Path) -> None:
    opened, plan = open_lab(folder, execution="allow_runs"), preset("bm25")
    few = Metrics(measures=("R@1",), primary="R@1", guards=())
    base = opened.run(opened.bind(msgspec.structs.replace(plan, metrics=few))).run_id
    new = record_pair(folder)[1]
    whole, read = both(opened.store, base, new)
    assert "nDCG@10" not in read[0].measures
    assert compare(*read).measures["nDCG@10"].scored
    assert msgspec.json.encode(compare(*read)) == msgspec.json.encode(compare(*whole))


def test_other_corpora_are_refused_with_their_documents_named(tmp_path: Path, folder: Path) -> None:
    first = record(folder, "bm25")[0]
    changed = next((folder / "corpus").rglob("*.md"))
    text = changed.read_text("utf-8")
    changed.write_text(text.replace("the", "The", 1), "utf-8")
    try:
        second = record(folder, "bm25")[0]
    finally:
        changed.write_text(text, "utf-8")
    store = Store(folder / "runs.duckdb")
    with pytest.raises(ComparisonRefused, match=changed.stem):
        compare(*runs_to_compare((store, first), (store, second)))
