"""Writing files that are either there whole or as they were."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file aside and put it into place, so that a full disk leaves what was there.

    A link at the path is replaced, never followed; what is no file (a pipe, a terminal) is written to as it is. Raises
    OSError.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    aside = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}.new")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.is_file() and not path.is_symlink():
            aside.chmod(path.stat().st_mode & 0o777)
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
