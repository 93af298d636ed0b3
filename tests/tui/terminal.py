"""The program in a real pseudo-terminal, read through a small screen: enough of one to see what a person sees."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.workshop import environment

_CONTROL = re.compile(
    rb"\x1b\[(?P<args>[0-9;:<=>?]*)(?P<final>[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_^][^\x1b]*\x1b\\"
    rb"|\x1b[^\[\]P_^]|[\x00-\x1a\x1c-\x1f]"
)


def _own_terminal() -> None:
    """In the new process: make the pseudo-terminal the one that controls it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A process on a pseudo-terminal and what its screen shows.

    `modes` are the private modes that are on, e.g. 1049 for the alternate screen, 25 for the cursor.
    """

    def __init__(self, folder: Path, *arguments: str, size: tuple[int, int] = (80, 24), **changes: str) -> None:
        self.width, self.height = size
        self.cells: list[list[str]] = []
        self.modes = {25}
        self.text = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._clear()
        self._place = (0, 0)
        # The slave's end stays open here, so that its settings can be read after the process has gone.
        self._master, self._slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self._slave)
        usual = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ragtui", *arguments], cwd=folder, env=environment(**usual | changes),
            stdin=self._slave, stdout=self._slave, stderr=self._slave, start_new_session=True,
            preexec_fn=_own_terminal,
        )  # fmt: skip

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size; the process is told."""
        if (width, height) != (self.width, self.height):
            self.width, self.height = width, height
            self._clear()
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def wait_for(self, words: str | Callable[[Terminal], bool], seconds: float = 60.0) -> None:
        """Read until the screen shows the words or something is so; AssertionError with the screen if it never does."""
        deadline = time.monotonic() + seconds
        while not (words in self.screen() if isinstance(words, str) else words(self)):
            assert time.monotonic() < deadline, f"never came: {words}\n{self.screen()}"
            self.read(0.05)

    def wait_end(self, seconds: float = 60.0) -> int:
        """Read until the process has ended and the terminal is restored, if it ever is; the exit code, negative for a
        signal."""
        deadline = time.monotonic() + seconds
        while (code := self._process.poll()) is None:
            assert time.monotonic() < deadline, f"it does not end\n{self.screen()}"
            self.read(0.05)
        while not self.restored() and time.monotonic() < deadline:
            self.read(0.05)
        return code

    def restored(self) -> bool:
        """Whether screen, cursor, mouse, paste and line settings are as they were."""
        same = termios.tcgetattr(self._slave)[:4] == self.before[:4]
        return same and 25 in self.modes and not self.modes & {1049, 1000, 1002, 1003, 1006, 2004}

    def screen(self) -> str:
        """What is shown, line by line."""
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def read(self, seconds: float) -> None:
        """Take what comes within the time."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return
        self.text += data
        data = self._tail + data
        # A sequence may be cut by the end of a read.
        cut = data.rfind(b"\x1b")
        whole = cut < 0 or _CONTROL.match(data, cut) is not None
        self._tail = b"" if whole else data[cut:]
        self._take(data if whole else data[:cut])

    _tail = b""

    def close(self) -> None:
        """End what is left."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._slave)
        os.close(self._master)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _clear(self) -> None:
        self.cells = [[" "] * self.width for _ in range(self.height)]

    def _take(self, data: bytes) -> None:
        place = 0
        for found in _CONTROL.finditer(data):
            self._put(self._decoder.decode(data[place : found.start()]))
            self._obey(found)
            place = found.end()
        # A read may end inside a character; the decoder keeps its beginning.
        self._put(self._decoder.decode(data[place:]))

    def _put(self, text: str) -> None:
        x, y = self._place
        for char in text:
            if 0 <= y < self.height and 0 <= x < self.width:
                self.cells[y][x] = char
            x += 1
        self._place = (x, y)

    def _obey(self, found: re.Match[bytes]) -> None:
        x, y = self._place
        final, args = found["final"], (found["args"] or b"").decode()
        if found.group() == b"\r":
            self._place = (0, y)
        elif found.group() == b"\n":
            self._place = (x, min(y + 1, self.height - 1))
        elif final in (b"H", b"f"):
            row, _, column = args.partition(";")
            self._place = (int(column or 1) - 1, int(row or 1) - 1)
        elif final == b"J":
            self._clear()
        elif final in (b"h", b"l") and args.startswith("?"):
            for mode in args[1:].split(";"):
                (self.modes.add if final == b"h" else self.modes.discard)(int(mode))
