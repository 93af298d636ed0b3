"""The JSON objects, and the ways in which a run is read back from its store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragtui.analysis.recorded import RecordedRun, decode_recorded
from ragtui.analysis.separation import separation_rows
from ragtui.analysis.summary import counts, decisive_measure, misses, summary
from ragtui.analysis.verify import verify_run, verify_slices
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.ids import canonical_json
from ragtui.lab import Lab, open_lab
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.reports.records import comparable_trace, run_record, trace_record
from tests.workshop import make_workspace, sample_goldens

# More goldens than fit into one slice or one page.
COUNT = 1100


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder = make_workspace(tmp_path_factory.mktemp("records") / "ws", None, sample_goldens(COUNT))
    return open_lab(folder, execution="allow_runs", query_embedder=BuiltinEmbedder())


@pytest.fixture(scope="module")
def run(lab: Lab) -> RecordedRun:
    plan = edit(preset("hybrid"), ["chunking.size=60", "retrieval.floor.score=vector", "retrieval.floor.minimum=0.05"])
    return lab.run(lab.bind(plan))


def test_run_record_is_json_and_agrees_with_the_summary(run: RecordedRun) -> None:
    record = run_record(run)
    assert json.loads(json.dumps(record)) == record
    estimates = summary(run)
    assert record["measures"] == {name: msgspec.to_builtins(value) for name, value in estimates.overall.items()}
    tally = counts(run.cases, run.trace_of)
    assert record["counts"] == {
        "cases": COUNT, "scored": tally.scored, "unscored": COUNT - tally.scored, "errors": 0,
    }  # fmt: skip
    assert tally.scored == COUNT * 9 // 10
    assert record["attempts"] == 1


def test_an_outline_says_the_same_as_the_whole_run(lab: Lab, run: RecordedRun) -> None:
    outline = lab.outlined(run.run_id)
    assert run_record(outline) == run_record(run)
    shown = [(miss.case, miss.score, miss.wanted, miss.retrieved[:3]) for miss in misses(outline)]
    assert shown == [(miss.case, miss.score, miss.wanted, miss.retrieved[:3]) for miss in misses(run)]
    assert len(canonical_json(outline.traces)) < len(canonical_json(run.traces)) / 2


def test_slices_are_the_run_in_parts(lab: Lab, run: RecordedRun) -> None:
    slices = list(lab.slices(run.run_id))
    assert [len(part.traces) for part in slices] == [1000, 100]
    assert tuple(trace for part in slices for trace in part.traces) == run.traces
    assert [case.id for part in slices for case in part.cases] == [case.id for case in run.cases]
    whole = verify_run(run)
    assert whole.ok
    assert verify_slices(run.run_id, slices, [case.id for case in run.cases], run.status) == whole


def test_a_run_that_lacks_doubles_or_misplaces_a_case_is_not_verified(run: RecordedRun) -> None:
    def differences(**changes: Any) -> tuple[str, ...]:
        return verify_run(msgspec.structs.replace(run, **changes)).differences

    first, second, third, *rest = run.traces
    assert differences(traces=(first, third, *rest)) == ("q-001: there is no trace of it, but the run is completed",)
    assert differences(traces=(first, third, *rest), status="interrupted") == ()
    assert differences(traces=(first, second, second, third, *rest)) == ("q-001: there are 2 traces of it",)
    moved = msgspec.structs.replace(second, index=7)
    assert differences(traces=(first, moved, third, *rest)) == (
        "q-001: its trace is numbered 7, which is not this case of the run",
    )
    # As a resumed run once left it: the question of another case under this one's number.
    again = msgspec.structs.replace(third, index=1)
    assert differences(traces=(first, again, third, *rest)) == (
        "q-002: its trace is numbered 1, which is not this case of the run",
        "q-002: there are 2 traces of it",
        "q-001: there is no trace of it, but the run is completed",
    )
    gone = msgspec.structs.replace(second, case="gone")
    assert len(differences(traces=(first, gone, third, *rest))) == 2


def test_one_case_alone(lab: Lab, run: RecordedRun) -> None:
    for case_id in ("q-000", "q-042", f"q-{COUNT - 1}"):
        alone = lab.recorded_case(run.run_id, case_id)
        assert trace_record(alone, case_id) == trace_record(run, case_id)
    with pytest.raises(InvalidInput):
        lab.recorded_case(run.run_id, "q-nothing")


def test_trace_record_names_every_chunk(run: RecordedRun) -> None:
    record = trace_record(run, "q-004")
    assert set(json.loads(json.dumps(record))) == set(record)
    for stage in (record["fused"], record["floor"], record["results"], *record["channels"].values()):
        assert [hit["rank"] for hit in stage] == list(range(1, len(stage) + 1))
        assert all(hit["chunk"] for hit in stage)
    assert record["collapse"] is None
    assert record["floor"] != record["fused"]
    assert record["scores"]["nDCG@10"] is not None
    refusal = trace_record(run, "q-009")
    assert refusal["scores"]["nDCG@10"] is None
    assert refusal["unscored"]["nDCG@10"] == "no document is judged relevant"


def test_comparable_traces_hold_no_time_and_no_run(lab: Lab, run: RecordedRun) -> None:
    trace = run.traces[3]
    record = comparable_trace(run, trace)
    assert "timings" not in record
    assert "run_id" not in record
    other = msgspec.structs.replace(trace, timings={"bm25": 9.9})
    assert comparable_trace(run, other) == record


def test_an_exported_run_is_the_run(run: RecordedRun) -> None:
    again = decode_recorded(msgspec.json.encode(run), "x.json")
    assert again == run
    assert summary(again) == summary(run)
    with pytest.raises(InvalidInput, match=r"x\.json is not an exported run: "):
        decode_recorded(b"{}", "x.json")
    newer = msgspec.json.encode(msgspec.structs.replace(run, schema=99))
    with pytest.raises(InvalidInput, match=r"x\.json has schema 99; this version reads 1\."):
        decode_recorded(newer, "x.json")


def test_separation_has_a_row_for_each_axis(run: RecordedRun) -> None:
    rows = {row.name: row for row in separation_rows(run)}
    assert set(rows) >= {"bm25", "vector", "fused"}
    assert (rows["vector"].auc or 0) > 0.5
    assert rows["bm25"].relevant.p50 is not None
    assert rows["bm25"].irrelevant.p50 is not None
    assert rows["bm25"].relevant.p50 > rows["bm25"].irrelevant.p50


def test_the_decisive_measure_is_the_primary_at_the_runs_relevance() -> None:
    assert decisive_measure(["R@1", "nDCG@10"], "ndcg@10") == "nDCG@10"
    assert decisive_measure(["R@1(rel=2)", "RR(rel=2)"], "RR") == "RR(rel=2)"
    assert decisive_measure(["RR(rel=2)", "RR"], "RR") == "RR"
    assert decisive_measure(["R@1", "AP"], "RR") == "R@1"


def test_nothing_of_this_machine_is_in_a_run(run: RecordedRun, lab: Lab) -> None:
    import platform

    text = msgspec.json.encode(run).decode()
    assert str(lab.workspace.root) not in text
    assert str(Path.home()) not in text
    assert platform.node() not in text or len(platform.node()) < 5
