"""The corpus screen: inputs and their problems, documents, artifacts and building them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ragtui.analysis.inputs_report import check_inputs
from ragtui.errors import Interrupted
from ragtui.lab import Lab
from ragtui.settings import open_workspace
from ragtui.tui.data import corpus as data
from ragtui.tui.data.health import health
from ragtui.tui.dialogs import ErrorDialog
from ragtui.tui.screens.corpus import CorpusScreen
from ragtui.tui.screens.corpus_dialogs import HealthDialog, PreviewDialog, preview_text
from ragtui.tui.widgets.rows import RowList
from tests.tui.trace_samples import app, at_rest, press, record, shown, until
from tests.workshop import make_workspace, ragtui, sample_documents, sample_goldens, write_suite


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ws")


def lab(folder: Path) -> Lab:
    return Lab(open_workspace(folder))


async def loaded(pilot: Pilot[Any]) -> CorpusScreen:
    screen = pilot.app.screen
    assert isinstance(screen, CorpusScreen)
    await until(pilot, lambda: screen.inputs is not None and bool(screen.artifacts))
    await at_rest(pilot)
    return screen


def test_documents_count_what_relies_on_them(workspace: Path) -> None:
    found = data.inputs(lab(workspace))
    assert [row.id for row in found.documents] == sorted(sample_documents())
    expected: dict[str, int] = {}
    for golden in sample_goldens():
        for doc in golden.get("relevantDocIds", ()):
            expected[doc] = expected.get(doc, 0) + 1
    assert {row.id: row.goldens for row in found.documents} == expected
    assert all(row.chunks is None for row in found.documents)
    opened = lab(workspace)
    data.ingest(opened, lambda text: None, lambda: False)
    counted = data.inputs(lab(workspace)).documents
    preview = data.document_preview(lab(workspace), counted[0].id)
    assert counted[0].chunks == len(preview.chunks)
    assert all(row.chunks for row in counted)


def test_never_retrieved_is_what_no_result_list_holds(workspace: Path) -> None:
    assert data.retrieved_documents(lab(workspace)) is None
    (workspace / "corpus" / "zzz-unfound.md").write_text("Xylophones quietly gleam.\n")
    [run_id] = record(workspace, "bm25")
    found = data.retrieved_documents(lab(workspace))
    assert found is not None
    assert found[0] == run_id
    assert "zzz-unfound" not in found[1]
    assert "anchor-notes" in found[1]


def test_artifacts_are_wanted_then_current_then_unused(workspace: Path) -> None:
    before = data.artifacts(lab(workspace))
    assert {(row.kind, row.state) for row in before} == {
        ("chunks", "not built"), ("bm25", "not built"), ("vectors", "not built"),
    }  # fmt: skip
    told: list[str] = []
    assert data.ingest(lab(workspace), told.append, lambda: False).startswith("Built:")
    assert any("vectors" in text for text in told)
    built = data.artifacts(lab(workspace))
    assert {row.state for row in built} == {"current"}
    assert all(row.size > 0 and row.built_at.endswith("Z") for row in built)
    (workspace / "corpus" / "new.md").write_text("A new document.\n")
    changed = data.artifacts(lab(workspace))
    assert {row.state for row in changed} == {"unused", "not built"}
    folder = next((workspace / ".ragtui" / "artifacts").glob("bm25-*"))
    (folder / "record.json").write_bytes(b"{}")
    assert any(row.state == "damaged" and row.damage for row in data.artifacts(lab(workspace)))


def test_building_can_be_cancelled(workspace: Path) -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 1

    with pytest.raises(Interrupted):
        data.ingest(lab(workspace), lambda text: None, cancelled)
    states = {row.kind: row.state for row in data.artifacts(lab(workspace))}
    assert states == {"chunks": "current", "bm25": "current", "vectors": "not built"}


def test_a_preview_marks_judged_spans_and_chunk_boundaries(tmp_path: Path) -> None:
    text = "# Water\n\nBoil it for three minutes [above] 2,000 m.\n\n" + "Other words follow here. " * 60
    goldens: list[dict[str, Any]] = [
        {"id": "g1", "query": "How long?", "judgments": [{"doc": "water", "quote": "three minutes [above]"}]},
        {"id": "g2", "query": "Other?", "relevantDocIds": ["other"]},
    ]
    folder = make_workspace(tmp_path / "ws", {"water": text, "other": "Other."}, goldens)
    found = data.document_preview(lab(folder), "water")
    assert len(found.chunks) > 1
    assert [(text[start:end], grade, case) for start, end, grade, case in found.spans] == [
        ("three minutes [above]", 3, "g1")
    ]
    plain = preview_text(found).plain
    assert "[3▸three minutes [above]◂]" in plain
    assert plain.count("── chunk ") == len(found.chunks)
    assert "g2" not in plain


def test_health_needs_runs_and_reads_the_newest_of_each_specification(workspace: Path) -> None:
    assert health(lab(workspace)) is None
    record(workspace, "bm25", "bm25")
    found = health(lab(workspace))
    assert found is not None
    assert found.runs == 1
    assert found.cases == 40


async def test_the_screen_shows_the_same_numbers_as_the_command(workspace: Path) -> None:
    report = check_inputs(workspace / "corpus", workspace / "goldens")
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        text = "\n".join(shown(running))
        assert report.corpus_id is not None
        assert report.corpus_id.removeprefix("sha256:")[:16] in text
        assert "40 in 1 suite" in text
        assert "Documents · 12 by name" in text
        assert "not built" in text


async def test_every_problem_is_shown_with_file_and_line(workspace: Path) -> None:
    write_suite(workspace, "extra", [{"id": "x", "query": "q", "relevantDocIds": ["[red]gone[/red]"]}, {"id": "y"}])
    printed = ragtui(workspace, "corpus", "check").stderr
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await loaded(pilot)
        text = "\n".join(shown(running))
        assert screen.inputs is not None
        for problem in screen.inputs.report.problems:
            assert f"{problem.file}:{problem.line}" in text
            assert f"{problem.file}:{problem.line}" in printed
        assert "2 problems" in text
        assert not screen.check_action("ingest", ()) or screen.inputs.report.corpus_id is not None
        screen.query_one("#problems", RowList).focus()
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(running.screen, ErrorDialog))
        assert "[red]gone[/red]" in "\n".join(shown(running))


async def test_ingest_builds_and_reset_asks_before_it_deletes(workspace: Path) -> None:
    running = app(workspace, "corpus")
    artifacts = workspace / ".ragtui" / "artifacts"
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await loaded(pilot)
        await press(pilot, "i")
        await until(pilot, lambda: {row.state for row in screen.artifacts} == {"current"})
        await until(pilot, lambda: "✓ current" in "\n".join(shown(running)))
        await press(pilot, "R", "n")
        assert len(list(artifacts.iterdir())) == 3
        await press(pilot, "R", "y")
        await until(pilot, lambda: not artifacts.exists())
        await until(pilot, lambda: {row.state for row in screen.artifacts} == {"not built"})


async def test_the_order_of_documents_is_remembered(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await loaded(pilot)
        await press(pilot, "o")
        keys = screen.query_one("#documents", RowList).keys
        assert screen.inputs is not None
        goldens = {row.id: row.goldens for row in screen.inputs.documents}
        assert [goldens[key] for key in keys] == sorted(goldens.values(), reverse=True)
        (workspace / ".ragtui").mkdir(exist_ok=True)
        running.leave()
    again = app(workspace, "corpus")
    async with again.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        assert "by goldens" in "\n".join(shown(again))


async def test_enter_opens_a_document_and_h_suite_health(workspace: Path) -> None:
    await asyncio.to_thread(record, workspace, "bm25")
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await press(pilot, "down", "enter")
        await until(pilot, lambda: "── chunk 1 " in "\n".join(shown(running)))
        assert isinstance(running.screen, PreviewDialog)
        assert "beacon-notes" in "\n".join(shown(running))
        await press(pilot, "escape", "h")
        await until(pilot, lambda: "Questions that decide" in "\n".join(shown(running)))
        assert isinstance(running.screen, HealthDialog)


async def test_a_click_moves_and_a_second_one_opens(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await loaded(pilot)
        documents = screen.query_one("#documents", RowList)
        await pilot.click("#documents", offset=(4, 3))
        await until(pilot, lambda: documents.cursor == 2)
        await pilot.click("#documents", offset=(4, 3))
        await until(pilot, lambda: isinstance(running.screen, PreviewDialog))


async def test_a_record_that_cannot_be_read_is_no_empty_one(workspace: Path) -> None:
    (workspace / "runs.duckdb").write_bytes(b"not a database" * 100)
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "the record of runs cannot be read" in "\n".join(shown(running)))
        assert "no run over this corpus yet" not in "\n".join(shown(running))
        await press(pilot, "2")
        await until(pilot, lambda: "its runs cannot be read" in "\n".join(shown(running)))
        assert "never run" not in "\n".join(shown(running))


async def test_reading_runs_is_not_told_once_the_dialog_is_there(workspace: Path) -> None:
    running = app(workspace, "corpus")
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await loaded(pilot)
        await press(pilot, "h")
        await until(pilot, lambda: isinstance(running.screen, HealthDialog))
        await press(pilot, "escape")
        await until(pilot, lambda: running.screen is screen)
        assert "Reading" not in shown(running)[-2]
