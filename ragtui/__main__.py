"""The process: start-up, and the one place where an error becomes a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Never shows a traceback unless RAGTUI_TRACEBACK is set."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv in (["--version"], ["-V"]):
        from ragtui import __version__

        print(f"ragtui {__version__}")
        return 0
    from ragtui.cli.process import guarded

    return guarded(argv)


def entry() -> None:
    """The console script: exits without waiting for threads that a hung retriever still holds."""
    _open_streams()
    try:
        code = main()
    except KeyboardInterrupt:
        # During start-up; a command that runs answers the signal itself.
        print("ragtui: Interrupted.", file=sys.stderr)
        code = 130
    except OSError as error:
        code = _unwritable(error)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # The reader went away; there is nobody left to tell.
        _discard_output()
    except OSError as error:
        code = _unwritable(error)
    os._exit(code)


def _open_streams() -> None:
    """Streams that are closed go nowhere, and characters that an encoding lacks are written as escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")


def _unwritable(error: OSError) -> int:
    """Tell that stdout takes nothing more; 7 as for any file that cannot be written."""
    print(f"ragtui: The output cannot be written: {error.strerror or error}.", file=sys.stderr)
    _discard_output()
    return 7


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    entry()
