"""What the shell wants to know every second: what is live, and whether the store has changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from ragtui.errors import RagtuiError
from ragtui.lab import Lab
from ragtui.store.journal import abandoned, live
from ragtui.store.lines import DamagedJournal

# A run that has just finished loads its own journal; only one that nobody cares for is recovered here.
_ABANDONED_SECONDS = 15.0


class WorkspaceState(msgspec.Struct, frozen=True):
    """Live runs, newest first; a value that changes when a store changes; the runs recovered just now.

    `set_aside` has a sentence for each damaged journal that was met: where the damage is, and the file's new name.
    """

    live: tuple[str, ...]
    signature: tuple[Any, ...]
    recovered: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()


def workspace_state(lab: Lab) -> WorkspaceState:
    """Look at the journals and the store's files; opens no store unless a run has died."""
    folder = lab.workspace.journals
    running = tuple(path.stem for path in reversed(live(folder)))
    recovered: tuple[str, ...] = ()
    aside: list[str] = []

    def set_aside(error: DamagedJournal, kept: Path) -> None:
        run_id = kept.name.partition(".")[0]
        aside.append(f"The journal of run {run_id} is damaged at line {error.line}; it is set aside as {kept.name}.")

    if any(_age(path) > _ABANDONED_SECONDS for path in abandoned(folder)):
        try:
            recovered = tuple(lab.recover(set_aside))
        except RagtuiError:
            recovered = ()
    stores = (lab.workspace.store, lab.workspace.reference)
    signature = tuple(_mark(path) for path in stores if path is not None)
    return WorkspaceState(running, signature, recovered, tuple(aside))


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _mark(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
