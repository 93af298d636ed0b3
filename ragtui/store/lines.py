"""Reading a journal: complete lines only, in pieces, while somebody else may be writing it."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from ragtui.errors import StoreUnavailable
from ragtui.events import RunEvent, RunFinished
from ragtui.store.locks import try_lock

_DECODER: msgspec.json.Decoder[RunEvent] = msgspec.json.Decoder(RunEvent)
_PIECE = 4 * 1024 * 1024
_BLOCK = 64 * 1024
# A link may lead to any file of the user's, and the opening of a pipe waits for its other end.
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_BEGINNING = b'{"event":"run_started",'
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class DamagedJournal(StoreUnavailable):
    """A complete line of a journal that is not an event. `line` counts from 1."""

    def __init__(self, path: Path | str, line: int, reason: object) -> None:
        self.line = line
        super().__init__(
            f"{path}:{line}: the journal is damaged: {reason}.",
            "`ragtui runs` keeps what stands before the line and sets the file aside.",
        )


def unreadable(path: Path, error: OSError) -> StoreUnavailable:
    """The failure to open or read a journal."""
    return StoreUnavailable(f"{path} cannot be read: {error.strerror or error}.", "Check the file's permissions.")


def is_plain(status: os.stat_result) -> bool:
    """Whether a file may be a journal: a regular one that has no other name anywhere."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink <= 1


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file that is written and read here alone; follows no link and never waits for a pipe.

    Raises OSError for whatever is no regular file with one name.
    """
    descriptor = os.open(path, flags | _PLAIN, 0o644)
    if not is_plain(os.fstat(descriptor)):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is a link or no regular file")
    return descriptor


def reading(path: Path) -> BinaryIO:
    """The file opened by `open_plain`, for reading."""
    return os.fdopen(open_plain(path), "rb")


def decode_events(data: bytes) -> list[RunEvent]:
    """The events of complete lines; what follows the last line end is left out. DamagedJournal names a bad line."""
    return _decode(data[: data.rfind(b"\n") + 1], Path("journal"), 0)


def read_from(path: Path, offset: int = 0, limit: int | None = None) -> tuple[list[RunEvent], int]:
    """The events of the complete lines from byte `offset` on, and the byte where the next read begins.

    `limit` bounds the bytes read at once (a longer line is read whole). Raises DamagedJournal with file and line, and
    StoreUnavailable where the file cannot be read.
    """
    try:
        with reading(path) as file:
            return _read(file, path, offset, limit)
    except OSError as error:
        raise unreadable(path, error) from error


def is_live(path: Path) -> bool:
    """Whether another process, or another part of this one, holds the journal's lock."""
    try:
        with reading(path) as file:
            return not try_lock(file.fileno(), shared=True)
    except OSError:
        return False


async def follow(path: Path, poll_seconds: float = 0.2) -> AsyncIterator[list[RunEvent]]:
    """Batches of events from the start of a journal, as they are written; blocks neither the loop nor the writer.

    Ends after RunFinished, or when nobody holds the lock and nothing more comes, or when the journal is gone. The file
    stays open meanwhile, so the last lines are told even if the journal is loaded and removed between two polls.
    """
    try:
        file = await asyncio.to_thread(reading, path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        offset, quiet = 0, 0
        while True:
            over = not is_live(path) or os.fstat(file.fileno()).st_nlink == 0
            try:
                events, offset = await asyncio.to_thread(_read, file, path, offset, _PIECE)
            except OSError as error:
                raise unreadable(path, error) from error
            if events:
                quiet = 0
                yield events
                if isinstance(events[-1], RunFinished):
                    return
                continue
            # A journal is created an instant before it is locked, so one quiet look proves nothing.
            quiet = quiet + 1 if over else 0
            if quiet > 1:
                return
            await asyncio.sleep(poll_seconds)


def cut_torn(descriptor: int, path: Path) -> int:
    """Cut an open journal after its last line end; the number of bytes cut. The caller holds the lock.

    Raises DamagedJournal, and cuts nothing, where the file does not begin as a journal does.
    """
    size = end = os.fstat(descriptor).st_size
    os.lseek(descriptor, 0, os.SEEK_SET)
    beginning = os.read(descriptor, len(_BEGINNING))
    if not _BEGINNING.startswith(beginning):
        raise DamagedJournal(path, 1, "it does not begin with the start of a run")
    while end > 0:
        start = max(0, end - _BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        found = os.read(descriptor, end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
    return size - end


def _read(file: BinaryIO, path: Path, offset: int, limit: int | None) -> tuple[list[RunEvent], int]:
    while True:
        file.seek(offset)
        data = file.read() if limit is None else file.read(limit)
        end = data.rfind(b"\n") + 1
        if end or limit is None or len(data) < limit:
            return _decode(data[:end], path, offset), offset + end
        limit *= 4


def _decode(data: bytes, path: Path, offset: int) -> list[RunEvent]:
    try:
        return _DECODER.decode_lines(data)
    except _UNREADABLE as error:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                _DECODER.decode(line)
            except _UNREADABLE as reason:
                raise DamagedJournal(path, number + _lines_before(path, offset), reason) from reason
        raise DamagedJournal(path, 1 + _lines_before(path, offset), error) from error


def _lines_before(path: Path, offset: int) -> int:
    if not offset:
        return 0
    with reading(path) as file:
        return file.read(offset).count(b"\n")
