"""A live run's journal: one JSON line an event, locked by the process that writes it.

    <folder>/<run_id>.jsonl      the events
    <folder>/<run_id>.cancel     somebody asks the run to stop

A journal whose lock is free is an interrupted run that is not loaded yet. Nothing here loads DuckDB.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ragtui.errors import StoreUnavailable
from ragtui.events import RunEvent
from ragtui.store.lines import (
    DamagedJournal,
    cut_torn,
    decode_events,
    follow,
    is_live,
    is_plain,
    open_plain,
    read_from,
    unreadable,
)
from ragtui.store.locks import REMOVABLE_WHILE_OPEN, try_lock

__all__ = [
    "DamagedJournal", "JournalWriter", "abandoned", "cancel_requested", "claim", "clear_cancel", "cut_torn_line",
    "decode_events", "discard", "follow", "is_live", "journal_path", "journals", "live", "read_from", "request_cancel",
]  # fmt: skip

_SUFFIX = ".jsonl"
_ENCODER = msgspec.json.Encoder()
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# A viewer's question whether the journal is live holds the lock for an instant; a writer outwaits it.
_PATIENCE_SECONDS = 0.5


class JournalWriter:
    """The one writer of a run's journal. Holds the lock from `open` to `close`, or to the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size

    @classmethod
    def open(cls, folder: Path, run_id: str) -> JournalWriter:
        """Create the run's journal, or continue it after cutting a torn last line.

        Raises StoreUnavailable if another process writes it or the folder cannot be written.
        """
        path = journal_path(folder, run_id)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = _locked(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _PATIENCE_SECONDS)
        except OSError as error:
            raise _unwritable(path, error) from error
        if descriptor is None:
            raise StoreUnavailable(
                f"Run {run_id} is being written by another process.", f"See it with `ragtui watch {run_id}`."
            )
        try:
            cut_torn(descriptor, path)
        except OSError as error:
            os.close(descriptor)
            raise _unwritable(path, error) from error
        except DamagedJournal:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def write(self, events: Sequence[RunEvent]) -> None:
        """Append the events in one write; they survive the end of the process once this returns.

        Raises StoreUnavailable where they cannot be written; the journal then ends as it did before.
        """
        try:
            data = memoryview(_ENCODER.encode_lines(list(events)))
        except (UnicodeEncodeError, TypeError, ValueError) as error:
            raise StoreUnavailable(
                f"{self.path}: an event cannot be written as JSON: {error}.", "Report this run's plan."
            ) from error
        written = 0
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            self._take_back(written)
            raise _unwritable(self.path, error) from error
        self._end += written

    def close(self) -> None:
        """Give the lock back; harmless when repeated."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take_back(self, written: int) -> None:
        # Half a line in the middle would make all that follows unreadable.
        if written:
            os.ftruncate(self._descriptor, self._end)


def journal_path(folder: Path, run_id: str) -> Path:
    """Where the run's journal is or would be."""
    return folder / f"{run_id}{_SUFFIX}"


def journals(folder: Path) -> list[Path]:
    """Every journal, oldest change first; links, folders and pipes are none."""
    found: list[tuple[float, Path]] = []
    for path in folder.glob(f"*{_SUFFIX}"):
        try:
            status = path.lstat()
        except OSError:
            continue  # loaded and removed since it was listed
        if is_plain(status):
            found.append((status.st_mtime, path))
    return [path for _, path in sorted(found)]


def live(folder: Path) -> list[Path]:
    """The journals that somebody is writing."""
    return [path for path in journals(folder) if is_live(path)]


def abandoned(folder: Path) -> list[Path]:
    """The journals of runs that ended, in whatever way, and are not loaded."""
    return [path for path in journals(folder) if not is_live(path)]


def request_cancel(folder: Path, run_id: str) -> None:
    """Ask the run to stop at its next batch. StoreUnavailable where the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(open_plain(_cancel_path(folder, run_id), os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        raise _unwritable(_cancel_path(folder, run_id), error) from error


def cancel_requested(folder: Path, run_id: str) -> bool:
    """Whether somebody asked the run to stop."""
    return _cancel_path(folder, run_id).exists()


def clear_cancel(folder: Path, run_id: str) -> None:
    """Forget the request, if there is one."""
    try:
        _cancel_path(folder, run_id).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(_cancel_path(folder, run_id), error) from error


def cut_torn_line(path: Path) -> int:
    """Cut what follows the last line end; the number of bytes cut.

    Raises StoreUnavailable if the journal is being written, DamagedJournal if the file is none.
    """
    with claim(path) as descriptor:
        return cut_torn(descriptor, path)


@contextmanager
def claim(path: Path, wait_seconds: float = _PATIENCE_SECONDS) -> Iterator[int]:
    """Hold the lock of an existing journal; gives its descriptor, open for reading and writing.

    Raises FileNotFoundError if there is none, StoreUnavailable if it is being written or cannot be opened.
    """
    try:
        descriptor = _locked(path, os.O_RDWR, wait_seconds)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    if descriptor is None:
        raise StoreUnavailable(
            f"Run {path.stem} is still being written.", f"Stop it with `ragtui cancel {path.stem}`, or wait."
        )
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def discard(path: Path, kept_as: Path | None = None) -> None:
    """Remove a loaded journal and its cancel request, or set the journal aside. The caller holds the claim."""
    try:
        if kept_as is not None:
            os.replace(path, kept_as)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        # Windows removes no open file; the next recovery finds the journal loaded and removes it.
        if REMOVABLE_WHILE_OPEN:
            raise _unwritable(path, error) from error
    clear_cancel(path.parent, path.stem)


def _locked(path: Path, flags: int, wait_seconds: float) -> int | None:
    """A locked descriptor of the file that stands at `path`, None if somebody else holds the lock."""
    deadline = time.monotonic() + wait_seconds
    while True:
        descriptor = open_plain(path, flags)
        try:
            if try_lock(descriptor):
                # The journal may have been loaded and removed between the open and the lock.
                if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
            elif time.monotonic() > deadline:
                os.close(descriptor)
                return None
            else:
                time.sleep(0.02)
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _cancel_path(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.cancel"


def _unwritable(path: Path, error: OSError) -> StoreUnavailable:
    reason = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        hint = f"Free some space, then go on with `ragtui resume {path.stem}`; what was reported is kept."
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = f"Make {path.parent} writable, or choose another workspace with -w."
    else:
        hint = "Check the disk; what was reported is kept."
    return StoreUnavailable(f"{path} cannot be written: {reason}.", hint)
