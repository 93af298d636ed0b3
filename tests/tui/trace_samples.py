"""Workspaces with recorded runs, and the app over them, for the trace and diff screens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from ragtui.events import CaseFinished, ChunksSeen, RunFinished
from ragtui.experiment.presets import preset
from ragtui.lab import Lab, open_lab
from ragtui.settings import open_workspace
from ragtui.store.journal import JournalWriter, journal_path
from ragtui.store.store import Store
from ragtui.tui.app import RagtuiApp
from tests.store import samples
from tests.workshop import make_workspace

HOSTILE = (
    "\x1b[31mRED\x1b[0m \x1b]52;c;aGk=\x07 [bold]x[/bold] [/] \u202eevil\u202c zero\u200bwidth \x00nul 漢字仮名 "
    "[@click=app.quit]q[/]"
)


def hostile_workspace(folder: Path) -> Path:
    """Documents, questions, ids and tags that would like to be obeyed."""
    documents = {
        "plain": "# Water\n\nBoil water for three minutes above 2,000 m.\n",
        "evil [red]doc[/]": f"# {HOSTILE}\n\n{HOSTILE * 30}\n",
        "漢字の長い名前の文書" * 3: "# 水\n\n水を三分間沸騰させる。" + "長" * 2000 + "\n",
    }
    long = "漢字の長い名前の文書" * 3
    goldens: list[dict[str, Any]] = [
        {"id": "plain", "query": "How long to boil water?", "judgments": [{"doc": "plain", "quote": "three minutes"}]},
        {"id": HOSTILE[:60], "query": f"{HOSTILE} boil water", "relevantDocIds": ["plain"], "tags": [HOSTILE]},
        {"id": "long-" + "x" * 300, "query": "boil " * 500, "relevantDocIds": ["evil [red]doc[/]"], "tags": ["t" * 99]},
        {"id": "cjk", "query": "水を沸騰させる時間" * 9, "relevantDocIds": [long], "tags": ["漢字" * 9]},
    ]  # fmt: skip
    return make_workspace(folder, documents, goldens)


def record(folder: Path, *presets: str) -> list[str]:
    """Run presets that need no embedder; the ids of the runs, oldest first."""
    lab = open_lab(folder, execution="allow_runs")
    return [lab.run(lab.bind(preset(name))).run_id for name in presets]


def record_pair(folder: Path, minimum: float | None = None) -> tuple[str, str]:
    """A good run, and one whose minimum score drops most of what it found: ids of both.

    By default the minimum is what a quarter of the questions reach.
    """
    lab = open_lab(folder, execution="allow_runs")
    plan = preset("bm25")
    good = lab.run(lab.bind(plan))
    best = sorted(trace.channels["bm25"].scores[0] for trace in good.traces if trace.channels["bm25"].scores)
    reached = best[len(best) * 3 // 4] if minimum is None else minimum
    channels = {"bm25": msgspec.structs.replace(plan.retrieval.channels["bm25"], min_score=reached)}
    retrieval = msgspec.structs.replace(plan.retrieval, channels=channels, results=10)
    return good.run_id, lab.run(lab.bind(msgspec.structs.replace(plan, retrieval=retrieval))).run_id


def invented(folder: Path, run_id: str, count: int, errors: int = 0, seed: int = 0, depth: int = 3) -> Store:
    """A store with a run of `count` invented cases, the first `errors` of them failed."""
    (folder / "corpus").mkdir(exist_ok=True)
    journals, store = folder / ".ragtui" / "journal", Store(folder / "runs.duckdb")
    with JournalWriter.open(journals, run_id) as journal:
        journal.write([samples.started(run_id, count)])
        journal.write([ChunksSeen(chunks=[samples.chunk(ordinal) for ordinal in range(50)])])
        for start in range(0, count, 1000):
            numbers = range(start, min(start + 1000, count))
            at = "2026-01-01T00:00:01Z"
            traces = [samples.trace(number, seed=seed, depth=depth, error=number < errors) for number in numbers]
            journal.write([CaseFinished(attempt=1, at=at, trace=trace) for trace in traces])
        journal.write([RunFinished(attempt=1, status="completed", at="2026-01-01T00:01:00Z", elapsed_s=60.0)])
    store.load_journal(journal_path(journals, run_id))
    return store


def app(folder: Path, mode: str) -> RagtuiApp:
    """The app over a workspace, opened at a mode."""
    return RagtuiApp(open_workspace(folder), mode=mode)


def lab(folder: Path) -> Lab:
    """The laboratory that the app would have."""
    return Lab(open_workspace(folder))


async def until(pilot: Pilot[Any], true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something is so; AssertionError if it never is."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not true():
        assert asyncio.get_running_loop().time() < deadline, "it never came to be"
        await pilot.pause(0.02)


def shown(app: RagtuiApp) -> list[str]:
    """The screen's lines as a terminal would have them."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
