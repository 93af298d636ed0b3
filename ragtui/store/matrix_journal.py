"""A matrix under way: its rows, each with the run that fills it, so that viewers follow the whole table.

    <folder>/<moment>.jsonl      one line for the plan, then one for each row that could not be run

The process that works through the rows holds the file's lock, as a run holds its journal's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ragtui.errors import StoreUnavailable
from ragtui.store.lines import is_live, open_plain, reading
from ragtui.store.locks import try_lock

_SUFFIX = ".jsonl"
_KEPT = 4
_PATIENCE_SECONDS = 0.5
_ENCODER = msgspec.json.Encoder()


class MatrixPlanned(msgspec.Struct, frozen=True, kw_only=True, tag="matrix_planned", tag_field="event"):
    """The table to come. `rows` are (model, plan, run id) in order; `made_at` is UTC, `limit` goldens a row."""

    rows: tuple[tuple[str, str, str], ...]
    modes: tuple[str, ...]
    limit: int
    made_at: str


class RowFailed(msgspec.Struct, frozen=True, kw_only=True, tag="row_failed", tag_field="event"):
    """A row whose run could not be begun or ended in an error."""

    run_id: str
    error: str


class MatrixProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What a file tells: the plan, errors by run id, and whether its process still works."""

    planned: MatrixPlanned
    errors: dict[str, str]
    live: bool


class MatrixWriter:
    """The one writer. The lock is held from `begin` to `close`, or to the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def begin(cls, folder: Path, planned: MatrixPlanned) -> MatrixWriter:
        """Write the plan; older files that nobody writes are removed but for a few. StoreUnavailable if it cannot."""
        path = folder / f"{planned.made_at.replace(':', '')}-{os.getpid()}{_SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for old in _files(folder)[_KEPT:]:
                if not is_live(old):
                    old.unlink(missing_ok=True)
            descriptor = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            # A viewer's question whether the file is live holds the lock for an instant.
            while not try_lock(descriptor) and time.monotonic() < deadline:
                time.sleep(0.01)
            writer = cls(descriptor)
            writer._write(planned)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreUnavailable(f"{path} cannot be written: {reason}.", "Check the disk.") from error
        return writer

    def failed(self, run_id: str, error: str) -> None:
        """A row has no run. The table is told all the same, so a full disk is none of its business."""
        with suppress(OSError):
            self._write(RowFailed(run_id=run_id, error=error))

    def _write(self, event: MatrixPlanned | RowFailed) -> None:
        os.write(self._descriptor, _ENCODER.encode(event) + b"\n")

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def matrix_progress(folder: Path) -> MatrixProgress | None:
    """The newest matrix, one under way before those that are over; None where there is none that can be read."""
    found = [progress for path in _files(folder) if (progress := _read(path)) is not None]
    return next((progress for progress in found if progress.live), found[0] if found else None)


def _files(folder: Path) -> Sequence[Path]:
    """Newest first."""
    return sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.name, reverse=True)


def _read(path: Path) -> MatrixProgress | None:
    live = is_live(path)
    try:
        with reading(path) as file:
            lines = file.read().splitlines(keepends=True)
        events = [msgspec.json.decode(each, type=MatrixPlanned | RowFailed) for each in lines if each.endswith(b"\n")]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not events or not isinstance(events[0], MatrixPlanned):
        return None
    errors = {event.run_id: event.error for event in events if isinstance(event, RowFailed)}
    return MatrixProgress(planned=events[0], errors=errors, live=live)
