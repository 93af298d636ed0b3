"""From arguments to an exit code, with every error told once."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragtui.cli.output import print_json, say, show_error
from ragtui.errors import EXIT_INTERNAL, EXIT_OK, Interrupted, InvalidInput, RagtuiError, RunFailed, is_panic
from ragtui.settings import environment

if TYPE_CHECKING:
    from typer import TyperException

_LONGEST_NAME = 200


def guarded(argv: Sequence[str]) -> int:
    """Run the commands; whatever goes wrong becomes one message and the code that DESIGN gives it."""
    if not argv:
        return _app()
    import typer

    from ragtui.cli.app import app

    as_json = "--json" in argv
    try:
        outcome = typer.main.get_command(app).main(list(argv), prog_name="ragtui", standalone_mode=False)
        return _ended(outcome, as_json)
    except RagtuiError as error:
        return _told(error, as_json)
    except typer.Abort:
        return _told(Interrupted("Nothing was done.", "Answer yes to go on."), as_json)
    except typer.TyperException as error:
        return _told(_usage(error), as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        return _unusable(error, as_json)
    except BaseException as error:
        return _fault(error, as_json)


def _app() -> int:
    """Open the app. It needs none of the commands, and not loading them brings its first picture forward."""
    from ragtui.cli.full import open_here

    try:
        return _ended(open_here(), False)
    except RagtuiError as error:
        return _told(error, False)
    except OSError as error:
        return _unusable(error, False)
    except BaseException as error:
        return _fault(error, False)


def _ended(outcome: object, as_json: bool) -> int:
    if outcome == Interrupted.exit_code:
        return _told(Interrupted("Interrupted.", "`ragtui runs` lists what was recorded."), as_json)
    return outcome if isinstance(outcome, int) else EXIT_OK


def _fault(error: BaseException, as_json: bool) -> int:
    if not isinstance(error, Exception) and not is_panic(error):
        raise error
    if environment("RAGTUI_TRACEBACK"):
        traceback.print_exc()
    message = f"ragtui has a fault: {type(error).__name__}: {error}"
    if as_json:
        print_json({"error": {"kind": "internal", "message": message, "hint": "", "exit_code": EXIT_INTERNAL}})
    say(f"{message}\n  Set RAGTUI_TRACEBACK=1 to see where, and report it.")
    return EXIT_INTERNAL


def _unusable(error: OSError, as_json: bool) -> int:
    """A path that the system refuses (too long, not permitted, gone), or a full disk behind a redirection."""
    if error.filename is not None:
        message = f"{str(error.filename)[:_LONGEST_NAME]}: {error.strerror or error}."
        return _told(InvalidInput(message, "Name another path, or change its permissions."), as_json)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _told(RunFailed("The output cannot be written: no space is left.", "Free some space."), False)
    if error.errno == errno.ENOENT:
        return _told(InvalidInput("The current folder does not exist any more.", "Change to another one."), as_json)
    return _fault(error, as_json)


def _usage(error: TyperException) -> InvalidInput:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "ragtui"
    message = error.format_message()
    if message.startswith("Usage:"):
        # A group without a command answers with its help instead of a message.
        return InvalidInput(f"`{command}` needs a command.\n{message}")
    return InvalidInput(message, f"See `{command} --help`.")


def _told(error: RagtuiError, as_json: bool) -> int:
    if as_json:
        print_json((error.result or {}) | {"error": error.as_dict()})
    show_error(error)
    return error.exit_code
