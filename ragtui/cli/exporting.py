"""Writing a run to a file or to stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.errors import InvalidInput, RunFailed

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab


def _json(run: RecordedRun) -> bytes:
    import msgspec

    return msgspec.json.encode(run) + b"\n"


# Format name → the bytes of a run in it.
FORMATS: dict[str, Callable[[RecordedRun], bytes]] = {"json": _json}


def export_run(lab: Lab, run: str, form: str, output: Path | None) -> None:
    """Write the run in the named format."""
    if form not in FORMATS:
        raise InvalidInput(f"There is no export format {form!r}.", f"Formats: {', '.join(FORMATS)}.")
    data = FORMATS[form](lab.recorded(run))
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise RunFailed(f"{output} cannot be written: {error.strerror or error}.", "Choose another place.") from error
