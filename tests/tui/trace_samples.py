"""Workspaces with recorded runs, and the app over them, for the trace and diff screens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

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


async def until(pilot: Pilot[Any], true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so; AssertionError with the screen if it never is."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not true():
        assert asyncio.get_running_loop().time() < deadline, "it never came to be:\n" + "\n".join(shown(pilot.app))
        await pilot.pause(0.02)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after another, each when the app has done what the one before asked for."""
    for key in keys:
        await at_rest(pilot)
        await pilot.press(key)
    await at_rest(pilot)


async def at_rest(pilot: Pilot[Any], looks: int = 3) -> None:
    """Wait until the screen is mounted and painted, no message waits and no worker works, several looks in a row.

    Workers that go on for ever, looking at the workspace and following a run, do not count.
    """
    quiet = 0

    def resting() -> bool:
        nonlocal quiet
        quiet = quiet + 1 if _rests(pilot.app) else 0
        return quiet >= looks

    await until(pilot, resting)


def _rests(app: App[Any]) -> bool:
    if not app.is_running or app._exit:
        return True
    screen = app.screen
    widgets = list(screen.walk_children(Widget, with_self=True))
    working = (w for w in app.workers if w.group != "look" and not w.group.startswith("follow ") and not w.is_finished)
    waiting = any(node.message_queue_size or node._next_callbacks for node in (app, *widgets)) or screen._callbacks
    drawn = all(node.is_mounted for node in widgets) and not screen._layout_required and not screen._dirty_widgets
    return drawn and not waiting and not any(working)


def shown(app: App[Any]) -> list[str]:
    """The screen's lines as a terminal would have them."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
