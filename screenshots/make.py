"""Make the pictures of the five screens, 120×40, by driving the app over the bundled corpus.

    python screenshots/make.py [FOLDER]

Writes corpus.svg, launch.svg, live.svg, trace.svg and diff.svg into FOLDER (default: beside this script). Two real runs
are recorded in a workspace of their own; the live one is a recorded run, told again up to its middle.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from ragtui.events import CaseFinished, RunEvent, RunFinished, RunStarted
from ragtui.experiment.plan import Plan, Provenance
from ragtui.experiment.presets import preset
from ragtui.ids import new_run_id
from ragtui.lab import Lab, open_lab
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.settings import open_workspace
from ragtui.store.journal import JournalWriter
from ragtui.tui.app import RagtuiApp

ROOT = Path(__file__).resolve().parent.parent
SIZE = (120, 40)
_SECONDS = 60.0


def main(folder: Path) -> None:
    """Record, tell, draw; in the colours of a terminal that has them all, wherever this runs."""
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
    for name in ("NO_COLOR", "COLORFGBG", "RAGTUI_ASCII"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as made:
        workspace = Path(made) / "handbook"
        workspace.mkdir()
        for name in ("corpus", "goldens"):
            shutil.copytree(ROOT / name, workspace / name)
        lab = open_lab(workspace, execution="allow_runs", query_embedder=BuiltinEmbedder())
        base, _ = record(lab, preset("bm25"), "bm25")
        new, events = record(lab, preset("hybrid"), "hybrid")
        lab.store.promote(base, "main", "Keywords alone: what every change has to beat.")
        asyncio.run(draw(workspace, folder, base, new, events))


def record(lab: Lab, plan: Plan, name: str) -> tuple[str, list[RunEvent]]:
    """Run a plan; the run's id and everything that it told."""

    async def run() -> list[RunEvent]:
        return [event async for event in lab.events(lab.bind(plan), provenance=Provenance(name=name))]

    events = asyncio.run(run())
    started = next(event for event in events if isinstance(event, RunStarted))
    return started.run_id, events


def half_told(events: list[RunEvent], run_id: str) -> list[RunEvent]:
    """A run as it stood in the middle, begun a few seconds ago."""
    cases = [event for event in events if isinstance(event, CaseFinished)]
    began = datetime.now(UTC) - timedelta(seconds=9)
    told: list[RunEvent] = []
    count = 0
    for event in events:
        if isinstance(event, RunStarted):
            told.append(msgspec.structs.replace(event, run_id=run_id, started_at=_stamp(began)))
        elif isinstance(event, CaseFinished):
            count += 1
            if count > len(cases) * 0.6:
                break
            at = began + timedelta(seconds=9 * count / (len(cases) * 0.6))
            told.append(msgspec.structs.replace(event, at=_stamp(at)))
        elif not isinstance(event, RunFinished):
            told.append(event)
    return told


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def missed_case(lab: Lab, run_id: str) -> str:
    """A case whose right document was found, but not first: the most to see."""
    rows = [row for row in lab.store.case_rows(run_id, limit=1000) if 0 < (row.scores["RR"] or 0) <= 0.5]
    return max(rows, key=lambda row: (len(row.tags), row.scores["nDCG@10"] or 0)).case


async def draw(workspace: Path, folder: Path, base: str, new: str, events: list[RunEvent]) -> None:
    """Open the app once for each picture."""
    folder.mkdir(exist_ok=True)
    live = new_run_id()
    case = missed_case(open_lab(workspace), new)

    def at(screen: str, ready: str) -> Callable[[Any], Any]:
        async def go(pilot: Any) -> None:
            await shown(pilot, ready)

        return go

    async def to_trace(pilot: Any) -> None:
        pilot.app.open_trace(new, case)
        await shown(pilot, case)

    async def to_diff(pilot: Any) -> None:
        pilot.app.open_diff(base, new)
        await shown(pilot, "win/tie/loss")

    with JournalWriter.open(open_workspace(workspace).journals, live) as journal:
        journal.write(half_told(events, live))
        await picture(workspace, folder / "live.svg", "live", at("live", "scored"))
    # The half of a run is no run: it must not be recovered into the others' pictures.
    journal.path.unlink()
    await picture(workspace, folder / "corpus.svg", "corpus", at("corpus", "✓ found"))
    await picture(workspace, folder / "launch.svg", "launch", at("launch", "differ"))
    await picture(workspace, folder / "trace.svg", "trace", to_trace)
    await picture(workspace, folder / "diff.svg", "diff", to_diff)


async def picture(workspace: Path, path: Path, mode: str, go: Callable[[Any], Any]) -> None:
    """Open a mode, bring it to its state, write the SVG."""
    running = RagtuiApp(open_workspace(workspace), mode=mode)
    async with running.run_test(size=SIZE) as pilot:
        await pilot.pause(0.5)
        await go(pilot)
        await pilot.pause(1.0)
        path.write_text(running.export_screenshot(title=f"ragtui · {mode}"), "utf-8")
    print(path.name)


async def shown(pilot: Any, words: str) -> None:
    """Wait until the screen shows the words; SystemExit if it never does."""
    deadline = asyncio.get_running_loop().time() + _SECONDS
    while words not in pilot.app.export_screenshot().replace("&#160;", " "):
        if asyncio.get_running_loop().time() > deadline:
            raise SystemExit(f"The screen never showed {words!r}.")
        await pilot.pause(0.1)


if __name__ == "__main__":
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.exit(__doc__)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
