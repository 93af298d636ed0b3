"""The committed record: a fresh run of each preset gives the numbers that the repository states."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragtui
from ragtui.analysis.compare import compare
from ragtui.analysis.stored import recorded_run
from ragtui.analysis.summary import summary
from ragtui.analysis.verify import verify_run
from ragtui.experiment.presets import PRESETS
from ragtui.store.store import Store
from tests.reference.record import REFERENCE, ROOT
from tests.reference.tables import PRESETS as TABLED
from tests.reference.tables import differences, gaps, reference_runs, shares, tables

# Across processors a vector score may differ by this much (DESIGN, Determinism).
TOLERANCE = 1e-6
BASELINE = ROOT / "goldens" / "baselines" / "retrieval-core-main.json"


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    store = Store(REFERENCE, read_only=True)
    return {row.name: row.run_id for row in store.runs()}


@pytest.mark.parametrize("name", PRESETS)
def test_a_fresh_run_gives_the_recorded_numbers(name: str, reference: dict[str, str], tmp_path: Path) -> None:
    recorded = recorded_run(Store(REFERENCE, read_only=True), reference[name])
    lab = ragtui.open(
        ROOT, execution="allow_runs", query_embedder=ragtui.BuiltinEmbedder(), store=tmp_path / "runs.duckdb"
    )
    fresh = lab.run(lab.bind(ragtui.preset(name)))

    assert fresh.specification.corpus_id == recorded.specification.corpus_id
    assert fresh.specification.evaluation_id == recorded.specification.evaluation_id
    for trace in fresh.traces:
        before = recorded.trace_of[trace.case]
        assert trace.scores == pytest.approx(before.scores, abs=TOLERANCE, nan_ok=True), trace.case
    ours, theirs = summary(fresh).overall, summary(recorded).overall
    for measure, estimate in theirs.items():
        assert ours[measure].value == pytest.approx(estimate.value, abs=TOLERANCE), measure


@pytest.mark.parametrize("name", PRESETS)
def test_every_recorded_number_can_be_recomputed(name: str, reference: dict[str, str]) -> None:
    checked = verify_run(recorded_run(Store(REFERENCE, read_only=True), reference[name]))
    assert checked.differences == ()
    assert checked.numbers > 0


def test_the_promoted_baseline_gates_a_fresh_run(tmp_path: Path) -> None:
    lab = ragtui.open(
        ROOT, execution="allow_runs", query_embedder=ragtui.BuiltinEmbedder(), store=tmp_path / "runs.duckdb"
    )
    fresh = lab.run(lab.bind(ragtui.preset("hybrid")))
    written = lab.recorded_or_file(str(BASELINE))
    assert compare(written, fresh).verdict == "PASS"
    worse = lab.run(lab.bind(ragtui.preset("vector")))
    assert compare(written, worse).verdict == "FAIL"


def test_the_record_is_small() -> None:
    assert REFERENCE.stat().st_size < 16_000_000


def test_the_readme_states_the_recorded_numbers() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    runs = reference_runs()
    assert tables(runs) in readme, "update the README: python -m tests.reference.tables"
    assert shares(runs) in readme, "update the README: python -m tests.reference.tables"
    handbook = (ROOT / "tests" / "handbook" / "README.md").read_text("utf-8")
    assert gaps(runs) in handbook, "update tests/handbook/README.md: python -m tests.reference.tables"


def test_the_handbook_tells_the_presets_apart() -> None:
    runs = reference_runs()
    apart = differences(runs)
    measures = [name for name in apart["hybrid − bm25"] if all(abs(row[name]) >= 0.03 for row in apart.values())]
    assert len(measures) >= 2
    scored = [trace.scores["R@5"] for trace in runs["hybrid"].traces if trace.scores["R@5"] is not None]
    assert 0.75 <= sum(scored) / len(scored) <= 0.93
    answerable = [trace.case for trace in runs["hybrid"].traces if trace.scores["RR"] is not None]
    at_the_top = [all(runs[name].trace_of[case].scores["RR"] == 1 for name in TABLED) for case in answerable]
    assert sum(at_the_top) <= len(answerable) / 2
