"""What the app remembers of a workspace between two sessions: theme, filters, sort, the last screen."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import msgspec


class Memory:
    """A small JSON file in the workspace's state folder. Losing it loses nothing that matters, so faults are silent."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "app.json"
        self._values: dict[str, Any] = {}
        self._saved: dict[str, Any] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            found = msgspec.json.decode(self._path.read_bytes())
            if isinstance(found, dict):
                self._values = found
                self._saved = dict(found)

    def get(self, key: str, default: Any = None) -> Any:
        """What was remembered, `default` where nothing was or where it is of another type than `default`."""
        value = self._values.get(key, default)
        return value if default is None or isinstance(value, type(default)) else default

    def set(self, key: str, value: Any) -> None:
        """Remember plain data under a key such as `trace.filter`."""
        self._values[key] = value

    def save(self) -> None:
        """Write the file if anything changed and the state folder exists; never creates the folder."""
        if self._values == self._saved or not self._path.parent.is_dir():
            return
        with contextlib.suppress(OSError, TypeError):
            aside = self._path.with_suffix(f".{os.getpid()}.tmp")
            aside.write_bytes(msgspec.json.format(msgspec.json.encode(self._values, order="sorted"), indent=2))
            aside.replace(self._path)
            self._saved = dict(self._values)
