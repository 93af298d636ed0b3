"""What reaches the terminal: results on stdout, everything else on stderr, all foreign text inert."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ragtui.errors import RagtuiError, RunFailed
from ragtui.inputs.text import is_unsafe, printable
from ragtui.inputs.whole import write_whole
from ragtui.settings import environment, in_ci

if TYPE_CHECKING:
    from rich.console import Console

Display = Literal["auto", "full", "rich", "plain", "none"]


def print_json(value: Any) -> None:
    """One JSON object on stdout, indented for a reader, keys in the order given."""
    sys.stdout.write(_inert_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"))


def print_data(data: bytes, is_json: bool = False) -> None:
    """A file's content on stdout: byte for byte into a pipe or file, inert on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    text = data.decode("utf-8", "surrogatepass").replace("\r\n", "\n")
    sys.stdout.write(_inert_json(text) if is_json else printable(text))


def tell(text: str) -> None:
    """A line of a result on stdout, at once."""
    sys.stdout.write(printable(text) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(printable(text) + "\n")


def _inert_json(text: str) -> str:
    """JSON leaves some characters as they are that a terminal obeys; as escapes they mean the same."""
    if text.isascii():
        return text
    return "".join(json.dumps(char)[1:-1] if char != "\n" and is_unsafe(char) else char for char in text)


def typed(path: Path) -> str:
    """A path as one would type it here: relative where that is shorter, quoted where it must be."""
    try:
        near = os.path.relpath(path)
    except ValueError:
        # Another drive has no relative path.
        near = str(path)
    return shlex.quote(min(near, str(path), key=len))


def write_file(path: Path, data: bytes) -> None:
    """Write what a command was asked to put into a file; its folder is made. RunFailed where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever names a link means the file that it leads to.
        write_whole(path.resolve() if path.is_symlink() else path, data)
    except OSError as error:
        raise RunFailed(f"{path} cannot be written: {error.strerror or error}.", "Choose another place.") from error


def show_error(error: RagtuiError) -> None:
    """What happened, and what to do."""
    say(f"ragtui: {error.message}" + (f"\n  {error.hint}" if error.hint else ""))


def console(stderr: bool = False) -> Console:
    """A console that obeys NO_COLOR, never interprets markup or emoji codes in data, and wraps nothing for a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    asked = environment("COLUMNS") or ""
    width = None if stream.isatty() else int(asked) if asked.isdecimal() and int(asked) else 120
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def resolve_display(wanted: Display) -> Literal["rich", "plain", "none"]:
    """The rung of the ladder: `auto` is rich on a terminal, plain for a pipe, CI or a dumb terminal.

    `full` is the app's; a headless command shows its richest form instead.
    """
    if wanted == "full" or wanted == "auto":
        terminal = sys.stderr.isatty() and not in_ci() and (environment("TERM") or "dumb") != "dumb"
        return "rich" if terminal else "plain"
    return wanted
