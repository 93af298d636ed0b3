"""`help TOPIC`: the tutorial, as Markdown files beside this module."""

from __future__ import annotations

import difflib
import sys
from importlib.resources import files
from typing import Annotated

import typer

from ragtui.cli.output import console, tell
from ragtui.errors import InvalidInput

# In the order in which they are best read.
TOPICS = ("start", "goldens", "plans", "trace", "gates", "profiles")
_WIDEST = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("help")(show_help)


def show_help(
    topic: Annotated[str | None, typer.Argument(help="start, goldens, plans, trace, gates or profiles.")] = None,
) -> None:
    """Read the tutorial: start, goldens, plans, trace (reading one), gates (in CI), profiles.

    Example: ragtui help start
    """
    if topic is None:
        for name in TOPICS:
            tell(f"ragtui help {name:10} {title(name)}")
        return
    if topic not in TOPICS:
        near = difflib.get_close_matches(topic, TOPICS, 1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInput(
            f"There is no help topic {topic!r}.{guess}",
            f"Topics: {', '.join(TOPICS)}. For a command: ragtui COMMAND --help.",
        )
    text = topic_text(topic)
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.markdown import Markdown
    from rich.theme import Theme

    shown = console()
    # The terminal's own background, dark or light, stays as it is.
    with shown.use_theme(Theme({"markdown.code": "bold", "markdown.code_block": "default"})):
        shown.print(Markdown(text, code_theme="ansi_dark"), width=min(shown.width, _WIDEST))


def topic_text(name: str) -> str:
    """The topic's Markdown."""
    return (files("ragtui.cli") / "topics" / f"{name}.md").read_text("utf-8")


def title(name: str) -> str:
    """The topic's heading."""
    return topic_text(name).splitlines()[0].removeprefix("# ")
