"""Runs that are going on now, as their journals show them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from ragtui.events import RunStarted
from ragtui.store.journal import journals, live
from ragtui.store.lines import reading

_CASE = b'{"event":"case_finished"'
_PIECE = 1 << 20
_STARTED = msgspec.json.Decoder(RunStarted)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError)


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in progress: how many cases it has, and how many of them this attempt has not left to do."""

    run_id: str
    spec_id: str
    name: str
    started_at: str
    cases: int
    finished: int
    journal: Path
    note: str = ""


def live_runs(folder: Path) -> list[LiveRun]:
    """Every run whose journal is held by a process, newest first."""
    found = [run for path in live(folder) if (run := _read(path)) is not None]
    return sorted(found, key=lambda run: run.started_at, reverse=True)


def journaled_runs(folder: Path) -> list[RunStarted]:
    """How every run that has a journal began: one that is going on, or whose attempt is not loaded yet."""
    found = []
    for path in journals(folder):
        with suppress(OSError, *_UNREADABLE), reading(path) as file:
            found.append(_STARTED.decode(file.readline()))
    return found


def _read(path: Path) -> LiveRun | None:
    """The run of a journal; None while its first line is not whole yet, or once the file has gone."""
    try:
        with reading(path) as file:
            started = _STARTED.decode(file.readline())
            finished, tail = 0, b""
            while piece := file.read(_PIECE):
                text = tail + piece
                finished += text.count(_CASE)
                # A line's beginning may be cut by the end of a piece.
                tail = text[-(len(_CASE) - 1) :]
    except (OSError, *_UNREADABLE):
        return None
    return LiveRun(
        run_id=started.run_id, spec_id=started.spec_id, name=started.provenance.name, note=started.provenance.note,
        started_at=started.started_at,
        cases=len(started.cases), finished=len(started.cases) - len(started.pending) + finished, journal=path,
    )  # fmt: skip
