"""A tiny process that restores the terminal when the app is killed: no program can do that for itself.

It holds one end of a pipe. When the app leaves in order, it writes a byte and the guard goes silently; when the pipe
ends without that byte, the app has been killed, and the guard puts the terminal back as it found it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

# Leave the alternate screen, show the cursor, stop mouse, focus, paste and key protocols, default colours.
_RESET = (
    b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    b"\x1b[?2004l\x1b[?2026l\x1b[?2048l\x1b[<u\x1b[0m\r\n"
)


@contextlib.contextmanager
def guarded_terminal() -> Iterator[None]:
    """Keep a guard while the block runs; without a terminal or where processes cannot be forked, do nothing."""
    if sys.platform == "win32" or not sys.__stdin__ or not sys.__stdin__.isatty():
        yield
        return
    import termios

    terminal = sys.__stdin__.fileno()
    before = termios.tcgetattr(terminal)
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, False)
    if os.fork() == 0:
        _keep_watch(read_end, write_end, terminal, before)
    os.close(read_end)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.write(write_end, b".")
        os.close(write_end)


def _keep_watch(read_end: int, write_end: int, terminal: int, before: list[object]) -> None:
    """The guard's whole life. Never returns."""
    import signal
    import termios

    try:
        # A group of its own, so that what is sent to the app's group does not reach the guard.
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGTTOU, signal.SIGTSTP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        os.close(write_end)
        if os.read(read_end, 1) == b"":
            with contextlib.suppress(OSError, termios.error):
                os.write(terminal, _RESET)
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(terminal, termios.TCSANOW, before)  # type: ignore[arg-type]
    finally:
        os._exit(0)
