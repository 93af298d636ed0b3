"""Runs that are going on now, as their journals show them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ragtui.events import RunStarted
from ragtui.store.journal import live

_CASE = b'{"event":"case_finished"'
_PIECE = 1 << 20


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in progress: how many of this attempt's cases have finished."""

    run_id: str
    spec_id: str
    name: str
    started_at: str
    cases: int
    finished: int
    journal: Path


def live_runs(folder: Path) -> list[LiveRun]:
    """Every run whose journal is held by a process, newest first."""
    found = [run for path in live(folder) if (run := _read(path)) is not None]
    return sorted(found, key=lambda run: run.started_at, reverse=True)


def _read(path: Path) -> LiveRun | None:
    """The run of a journal; None while its first line is not whole yet, or once the file has gone."""
    try:
        with path.open("rb") as file:
            started = msgspec.json.decode(file.readline(), type=RunStarted)
            finished, tail = 0, b""
            while piece := file.read(_PIECE):
                text = tail + piece
                finished += text.count(_CASE)
                # A line's beginning may be cut by the end of a piece.
                tail = text[-(len(_CASE) - 1) :]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return LiveRun(
        run_id=started.run_id, spec_id=started.spec_id, name=started.provenance.name, started_at=started.started_at,
        cases=len(started.pending), finished=finished, journal=path,
    )  # fmt: skip
