"""Runs started from the app: processes of their own, exactly what the command line would start."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ragtui.errors import RunFailed
from ragtui.settings import STATE_FOLDER, Workspace
from ragtui.tui.data.program import program

_TAIL_BYTES = 4000


class StartedRun:
    """A process that was started here. Nothing ends it when the app ends."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path, log: Path) -> None:
        self._process, self._output, self._log = process, output, log

    def ended(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def log_text(self) -> str:
        """The end of what it wrote to stderr."""
        with contextlib.suppress(OSError):
            return self._log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace").strip()
        return ""

    def run_id(self) -> str:
        """The run that it printed when it ended; empty where it printed none."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._output.read_bytes())
            rows = found.get("rows", []) if isinstance(found, dict) else []
            # A matrix prints its table: the last row's run stands for it.
            return str(found.get("run_id", "") or next((row.get("run_id", "") for row in reversed(rows)), ""))
        return ""

    def tidy(self) -> None:
        """Remove its files, once they are read."""
        for path in (self._output, self._log):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def shell_command(workspace: Workspace, arguments: Sequence[str]) -> str:
    """What a person would type for the same run; the workspace only where it is not the current folder."""
    words = [] if workspace.root == Path.cwd() else ["-w", str(workspace.root)]
    return shlex.join(["ragtui", *words, *arguments])


def start(workspace: Workspace, arguments: Sequence[str]) -> StartedRun:
    """Start `ragtui …` in a session of its own, in the current folder. Raises RunFailed where that cannot be done."""
    folder = workspace.root / STATE_FOLDER / "started"
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    output, log = folder / f"{stamp}.json", folder / f"{stamp}.log"
    command = [
        *program(workspace),
        "--store",
        str(workspace.store),
        *arguments,
        "--display",
        "plain",
        "--json",
    ]
    environment = dict(os.environ) | {"PYTHONUNBUFFERED": "1"}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with output.open("wb") as out, log.open("wb") as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, env=environment
            )
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunFailed(f"The run cannot be started: {reason}.", f"Check that {folder} can be written.") from error
    return StartedRun(process, output, log)
