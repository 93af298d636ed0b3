"""What the trace screen is told: lists, filters, cases, marks."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ragtui.errors import InvalidInput
from ragtui.store.cases import CaseFilter
from ragtui.tui.data import case, documents
from ragtui.tui.data import trace as data
from ragtui.tui.data.trace import CaseQuery
from ragtui.tui.widgets.run_rows import run_rows
from tests.store import samples
from tests.tui.trace_samples import hostile_workspace, invented, lab, record, record_pair
from tests.workshop import make_workspace


def indexes(folder: Path, run_id: str, **query: object) -> list[int]:
    view = data.open_run(lab(folder), run_id, "working")
    found: list[int] = data.case_order(lab(folder), view, msgspec.convert(query, CaseQuery)).indexes.tolist()
    return found


def test_runs_are_listed_newest_first_with_the_baseline_named(tmp_path: Path) -> None:
    make_workspace(tmp_path / "ws")
    old, new = record_pair(tmp_path / "ws")
    lab(tmp_path / "ws").store.promote(old, "main", "first")
    lines = data.run_lines(lab(tmp_path / "ws"))
    assert [line.row.run_id for line in lines] == [new, old]
    assert [line.baseline for line in lines] == ["", "main"]


def test_a_stopped_run_is_listed_with_what_it_did_of_what_it_was_to_do(tmp_path: Path) -> None:
    opened = lab(tmp_path)
    events = [samples.started("r1", 60), *map(samples.finished, range(9)), samples.ended(status="cancelled")]
    opened.store.load_journal(samples.write_journal(tmp_path / ".ragtui" / "journal", "r1", events))
    opened.store.load_journal(
        samples.write_journal(tmp_path / ".ragtui" / "journal", "r2", samples.whole_run("r2", 60))
    )
    lines = data.run_lines(opened)
    told = {row.key: row.cells[4].plain for row in run_rows(lines)}
    assert {line.row.run_id: line.done for line in lines} == {"r1": 9, "r2": 60}
    assert told == {"r1": "9/60", "r2": "60"}
    long = msgspec.structs.replace(lines[0].row, status="cancelled", cases=5_000)
    (row,) = run_rows([data.RunLine(row=long, store="working", done=850)])
    assert row.cells[4].plain == "17 %"


def test_every_outcome_can_be_filtered(tmp_path: Path) -> None:
    store = invented(tmp_path, "r1", 300, errors=4)
    scores = store.scores("r1")[1]
    by_index = [scores[row.case]["nDCG@10"] for row in store.case_rows("r1", limit=300)]
    assert indexes(tmp_path, "r1", kind="error") == [0, 1, 2, 3]
    assert indexes(tmp_path, "r1", kind="missed") == [i for i, x in enumerate(by_index) if x is not None and x < 1]
    assert indexes(tmp_path, "r1", kind="nothing") == [i for i, x in enumerate(by_index) if x == 0]
    assert indexes(tmp_path, "r1", kind="pending") == []
    assert indexes(tmp_path, "r1", tag="numeric") == list(range(1, 300, 3))


def test_sorting_puts_cases_without_a_value_last_both_ways(tmp_path: Path) -> None:
    store = invented(tmp_path, "r1", 50, errors=4)
    for descending in (False, True):
        found = indexes(tmp_path, "r1", sort="RR", descending=descending)
        values = [row.scores["RR"] for row in store.cases_at("r1", found)]
        assert values[-4:] == [None] * 4
        numbers = [value for value in values if value is not None]
        assert numbers == sorted(numbers, reverse=descending)


def test_words_are_found_in_any_order_and_mistyped_ones_only_where_nothing_else_is(tmp_path: Path) -> None:
    make_workspace(tmp_path / "ws")
    (run_id,) = record(tmp_path / "ws", "bm25")
    view = data.open_run(lab(tmp_path / "ws"), run_id, "working")

    def order(text: str) -> data.CaseOrder:
        return data.case_order(lab(tmp_path / "ws"), view, CaseQuery(text=text))

    exact = order("checked anchor")
    assert len(exact.indexes) == 4
    assert not exact.near
    assert order("odd").indexes.tolist() == list(range(1, 40, 2))
    near = order("anchr chekced")
    assert near.near
    assert near.indexes.tolist() == exact.indexes.tolist()
    assert not len(order("zzzzzzzzzz").indexes)


def test_changed_against_the_baseline_is_what_the_scores_say(tmp_path: Path) -> None:
    make_workspace(tmp_path / "ws")
    old, new = record_pair(tmp_path / "ws")
    opened = lab(tmp_path / "ws")
    assert (
        "No baseline" in data.case_order(opened, data.open_run(opened, new, "working"), CaseQuery(kind="changed")).note
    )
    opened.store.promote(old, "main", "first")
    assert (
        data.case_order(opened, data.open_run(opened, old, "working"), CaseQuery(kind="changed")).note
        == "This run is the baseline."
    )
    (_, before), (_, after) = opened.store.scores(old), opened.store.scores(new)
    expected = [place for place, name in enumerate(after) if after[name] != before[name]]
    found = data.case_order(opened, data.open_run(opened, new, "working"), CaseQuery(kind="changed")).indexes.tolist()
    assert found == expected
    assert 0 < len(found) < 40


def test_a_page_comes_in_the_order_asked_for(tmp_path: Path) -> None:
    store = invented(tmp_path, "r1", 30)
    assert [row.index for row in store.cases_at("r1", [7, 3, 29, 99, 0])] == [7, 3, 29, 0]
    assert store.cases_at("r1", []) == []
    assert store.case_order("r1", CaseFilter()).dtype == np.int64


def test_a_remembered_query_is_fitted_to_the_run(tmp_path: Path) -> None:
    invented(tmp_path, "r1", 10)
    view = data.open_run(lab(tmp_path), "r1", "working")
    query = data.fitting(view, CaseQuery(text="kept", tag="gone", sort="R@99", kind="missed"))
    assert query == CaseQuery(text="kept", kind="missed")


def test_a_case_is_shown_as_it_was_recorded(tmp_path: Path) -> None:
    make_workspace(tmp_path / "ws")
    (run_id,) = record(tmp_path / "ws", "bm25")
    opened = lab(tmp_path / "ws")
    view = data.open_run(opened, run_id, "working")
    shown = data.open_case(opened, view, "q-000")
    trace = opened.store.trace(run_id, "q-000")
    results = shown.stages[-1]
    assert [hit.ordinal for hit in results.hits] == trace.results.chunks
    assert [hit.score for hit in results.hits] == trace.results.scores
    assert {hit.doc for hit in results.hits if hit.relevant} == {"anchor-notes"}
    assert results.rank_of("anchor-notes") == next(hit.rank for hit in results.hits if hit.doc == "anchor-notes")
    assert results.rank_of("nowhere") is None
    assert {score.measure: score.value for score in shown.scores} == trace.scores
    with pytest.raises(InvalidInput, match="no case"):
        data.open_case(opened, view, "q-999")


def test_lost_gold_is_what_analysis_says(tmp_path: Path) -> None:
    from ragtui.analysis.attribution import attribute

    make_workspace(tmp_path / "ws")
    _, run_id = record_pair(tmp_path / "ws")
    opened = lab(tmp_path / "ws")
    told = {miss.case: miss for miss in attribute(opened.recorded(run_id))}
    assert told
    view = data.open_run(opened, run_id, "working")
    for name, miss in told.items():
        assert miss in data.open_case(opened, view, name).lost


def test_span_and_words_are_marked_where_they_stand(tmp_path: Path) -> None:
    hostile_workspace(tmp_path / "ws")
    (run_id,) = record(tmp_path / "ws", "bm25")
    opened = lab(tmp_path / "ws")
    shown = data.open_case(opened, data.open_run(opened, run_id, "working"), "plain")
    chunk = next(chunk for chunk in shown.chunks.values() if chunk.doc == "plain")
    found = case.marks(chunk, shown.case, shown.words, shown.stemmer)
    texts = {(mark.kind, chunk.text[mark.start : mark.end]) for mark in found}
    assert ("span", "three minutes") in texts
    assert {text for kind, text in texts if kind == "term"} == {"Boil", "water", "Water"}


def test_an_export_is_what_the_command_prints_and_stays_in_its_folder(tmp_path: Path) -> None:
    folder = hostile_workspace(tmp_path / "ws")
    (run_id,) = record(folder, "bm25")
    opened = lab(folder)
    view = data.open_run(opened, run_id, "working")
    from ragtui.reports.records import trace_record

    for row in opened.store.case_rows(run_id):
        path = documents.export_case(opened.store, view.record, row.case, folder / ".ragtui" / "exports")
        assert path.parent == folder / ".ragtui" / "exports"
        plain = msgspec.to_builtins(trace_record(opened.recorded(run_id), row.case))
        assert json.loads(path.read_bytes()) == json.loads(msgspec.json.encode(plain))
    assert len(list((folder / ".ragtui" / "exports").iterdir())) == 4


def test_the_manifest_holds_the_fingerprint_that_its_content_gives(tmp_path: Path) -> None:
    from ragtui.ids import content_id

    make_workspace(tmp_path / "ws")
    (run_id,) = record(tmp_path / "ws", "bm25")
    shown = json.loads(documents.manifest(lab(tmp_path / "ws").store.run(run_id)))
    assert content_id(shown["specification"]) == shown["spec_id"]
