"""What a run would take before anything is asked: `--dry-run` of the same command, as a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ragtui.errors import RagtuiError
from ragtui.settings import Workspace
from ragtui.tui.data.program import program

if TYPE_CHECKING:
    from ragtui.analysis.estimate import EstimateRow

_PATIENCE_SECONDS = 0.4
_LOOK_SECONDS = 0.1


class Estimated(msgspec.Struct, frozen=True):
    """The rows of `ragtui … --dry-run` for these arguments; `fault` stands in their place where it failed."""

    arguments: tuple[str, ...]
    rows: tuple[EstimateRow, ...] = ()
    fault: str = ""


def estimated(workspace: Workspace, arguments: Sequence[str], cancelled: Callable[[], bool]) -> Estimated | None:
    """The estimate; None where it was `cancelled` meanwhile, which ends the process too.

    User code and servers are a process's business: the app loads neither.
    """
    command = [*program(workspace), "--store", str(workspace.store)]
    command += [*arguments, "--dry-run", "--json"]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        return Estimated(tuple(arguments), fault=f"The estimate cannot be made: {error.strerror or error}.")
    wait = _PATIENCE_SECONDS
    with process:
        while True:
            try:
                out, _ = process.communicate(timeout=wait)
                break
            except subprocess.TimeoutExpired:
                wait = _LOOK_SECONDS
                if cancelled():
                    process.kill()
                    return None
    return Estimated(tuple(arguments), *_read(out))


def _read(out: bytes) -> tuple[tuple[EstimateRow, ...], str]:
    from ragtui.analysis.estimate import EstimateRow

    try:
        found = json.loads(out)
        if isinstance(found, dict) and "error" in found:
            return (), f"{found['error']['message']} {found['error']['hint']}".strip()
        return msgspec.convert(found["estimate"], tuple[EstimateRow, ...]), ""
    except (ValueError, KeyError, TypeError, msgspec.ValidationError, RagtuiError):
        return (), "The estimate cannot be read; try `--dry-run` on the command line."
