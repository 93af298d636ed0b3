"""From arguments to an exit code, with every error told once."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from ragtui.cli.output import print_json, say, show_error
from ragtui.errors import EXIT_INTERNAL, EXIT_OK, Interrupted, InvalidInput, RagtuiError
from ragtui.settings import environment


def guarded(argv: Sequence[str]) -> int:
    """Run the commands; whatever goes wrong becomes one message and the code that DESIGN gives it."""
    import click
    import typer

    from ragtui.cli.app import app

    as_json = "--json" in argv
    try:
        outcome = typer.main.get_command(app).main(list(argv), prog_name="ragtui", standalone_mode=False)
        return outcome if isinstance(outcome, int) else EXIT_OK
    except RagtuiError as error:
        return _told(error, as_json)
    except click.exceptions.Abort:
        return _told(Interrupted("Interrupted.", ""), as_json)
    except KeyboardInterrupt:
        return _told(Interrupted("Interrupted.", "`ragtui runs` lists what was recorded."), as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return InvalidInput.exit_code
    except click.ClickException as error:
        return _told(_usage(error), as_json)
    except click.exceptions.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as error:
        if environment("RAGTUI_TRACEBACK"):
            traceback.print_exc()
        message = f"ragtui has a fault: {type(error).__name__}: {error}"
        if as_json:
            print_json({"error": {"kind": "internal", "message": message, "hint": "", "exit_code": EXIT_INTERNAL}})
        say(f"{message}\n  Set RAGTUI_TRACEBACK=1 to see where, and report it.")
        return EXIT_INTERNAL


def _usage(error: object) -> InvalidInput:
    message = str(getattr(error, "format_message", lambda: error)())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "ragtui"
    return InvalidInput(message, f"See `{command} --help`.")


def _told(error: RagtuiError, as_json: bool) -> int:
    if as_json:
        print_json({"error": error.as_dict()})
    show_error(error)
    return error.exit_code
