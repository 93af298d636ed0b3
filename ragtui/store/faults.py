"""DuckDB's failures in the user's words. DuckDB tells most of them apart by their text only."""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

from ragtui.errors import StoreUnavailable

_HOLDER = re.compile(r"(?:held|open) in (.+?) \(PID (\d+)\)")
_LOCKED = ("could not set lock", "being used by another process", "file is already open")
_NO_ROOM = ("no space left", "file too large", "disk quota", "not enough space", "out of disk")
_FORBIDDEN = ("permission denied", "read-only file system", "operation not permitted", "access is denied")
_DAMAGED = ("corrupt", "checksum", "failed to deserialize", "serialization error", "internal error", "could not read")
_MEMORY = ("out of memory", "could not allocate", "failed to allocate")


def is_lock(error: Exception) -> bool:
    """Whether another process holds the file, so that waiting may help."""
    text = str(error).lower()
    return any(sign in text for sign in _LOCKED)


def locked(path: Path, error: Exception) -> StoreUnavailable:
    """The store is held; names the holder's program and process id."""
    found = _HOLDER.search(str(error))
    holder = f"{PureWindowsPath(found[1]).name} (pid {found[2]})" if found else "another program"
    hint = "Close it there, or wait until it has finished, and try again."
    return StoreUnavailable(f"{path} is locked by {holder}.", hint)


def not_a_store(path: Path) -> StoreUnavailable:
    """A DuckDB file without our tables."""
    return StoreUnavailable(f"{path} is a DuckDB file, but not a store of ragtui.", "Give another file with --store.")


def newer(path: Path, found: int, known: int) -> StoreUnavailable:
    """A store whose schema this version does not know."""
    return StoreUnavailable(
        f"{path} was written by a newer ragtui (schema {found}; this one knows {known}).",
        "Update ragtui, or give another file with --store.",
    )


def translated(path: Path, error: Exception) -> StoreUnavailable:
    """Any failure of DuckDB or of the file system as one sentence and what to do."""
    text = str(error)
    low = text.lower()
    if is_lock(error):
        return locked(path, error)
    if "not a valid duckdb" in low or "is a directory" in low:
        return StoreUnavailable(
            f"{path} is not a store: it is no DuckDB file.", "Give another file with --store, or move it away."
        )
    if any(sign in low for sign in _NO_ROOM):
        return StoreUnavailable(
            f"{path} cannot be written: the disk is full ({_first(text)}).",
            "Free some space and try again; what was reported is kept in the journal.",
        )
    if any(sign in low for sign in _FORBIDDEN):
        return StoreUnavailable(
            f"{path} cannot be opened: {_first(text)}.",
            "Make the file and its folder writable, or give another with --store.",
        )
    if any(sign in low for sign in _MEMORY):
        return StoreUnavailable(f"{path}: not enough memory ({_first(text)}).", "Close other programs and try again.")
    if "newer version" in low or "version number" in low:
        return StoreUnavailable(f"{path} was written by a newer DuckDB: {_first(text)}.", "Update the duckdb package.")
    if any(sign in low for sign in _DAMAGED):
        return StoreUnavailable(
            f"{path} is damaged: {_first(text)}.", "Restore it from a copy, or move it away and run again."
        )
    return StoreUnavailable(f"{path} cannot be used: {_first(text)}.", "`ragtui doctor` checks the store.")


def _first(text: str) -> str:
    """The first line without DuckDB's advice and final stop."""
    line = text.strip().splitlines()[0] if text.strip() else "no reason is given"
    return re.split(r"\. (?:See also|However)", line)[0].rstrip(".!")
