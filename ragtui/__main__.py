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
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # The reader went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os._exit(code)


if __name__ == "__main__":
    entry()
