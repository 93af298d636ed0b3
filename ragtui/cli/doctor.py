"""`doctor`: terminal, workspace, artifacts, stores, journals and profiles, each with what mends it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ragtui.cli.context import workspace_of
from ragtui.cli.options import JsonOption
from ragtui.cli.output import console, print_json
from ragtui.errors import RagtuiError
from ragtui.settings import environment

if TYPE_CHECKING:
    from ragtui.analysis.doctor import Finding

SMALLEST = (80, 24)
_COPIERS = ("wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "clip")
_GLYPHS = {"ok": "✓", "warning": "!", "failure": "✗"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    context: typer.Context,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look at the terminal, the workspace, artifacts, stores, journals and profiles; change nothing.

    The exit code is 0, or that of the gravest failure: 2 for inputs, 4 for a profile, 7 for stores and artifacts.

    Example: ragtui doctor
    """
    from ragtui.analysis.doctor import examine, failed

    findings: list[Finding] = list(terminal())
    try:
        workspace = workspace_of(context)
    except RagtuiError as error:
        findings.append(failed("workspace", error, "Nothing else can be looked at."))
    else:
        findings += examine(workspace, ask_servers=not offline)
    code = max(finding.exit_code for finding in findings)
    if as_json:
        print_json({"ok": code == 0, "findings": findings})
    else:
        _print(findings)
    raise typer.Exit(code)


def terminal() -> Iterator[Finding]:
    """Size, colours, characters and clipboard of the terminal, where there is one."""
    from ragtui.analysis.doctor import Finding

    area = "terminal"
    if not sys.stdout.isatty():
        yield Finding(area=area, what="output goes to a pipe or a file: plain text, no app")
    else:
        width, height = shutil.get_terminal_size()
        small = width < SMALLEST[0] or height < SMALLEST[1]
        yield Finding(
            area=area, what=f"{width} × {height} cells", state="warning" if small else "ok",
            meaning="The app needs 80 × 24." if small else "", mend="Enlarge the window." if small else "",
        )  # fmt: skip
        kind = environment("TERM") or "unknown"
        if environment("NO_COLOR"):
            colours = "none (NO_COLOR is set)"
        elif environment("COLORTERM") in ("truecolor", "24bit"):
            colours = "16 million"
        else:
            colours = "256" if "256" in kind else "none" if kind in ("dumb", "unknown") else "16"
        yield Finding(area=area, what=f"TERM {kind}, colours: {colours}")
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    unicode = encoding.startswith("utf")
    yield Finding(
        area=area, what="Unicode" if unicode else f"characters: {encoding}", state="ok" if unicode else "warning",
        meaning="" if unicode else "Symbols and many documents cannot be shown.",
        mend="" if unicode else "export PYTHONUTF8=1 LANG=C.UTF-8",
    )  # fmt: skip
    copier = next((name for name in _COPIERS if shutil.which(name)), None)
    how = f"through {copier}" if copier else "through the terminal itself (OSC 52), where it allows that"
    remote = " over SSH" if os.environ.get("SSH_CONNECTION") else ""
    yield Finding(area=area, what=f"clipboard{remote}: {how}")


def _print(findings: list[Finding]) -> None:
    from rich.console import Group, RenderableType
    from rich.text import Text

    from ragtui.cli.render import heading
    from ragtui.inputs.text import printable

    lines: list[RenderableType] = []
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            lines.append(heading(area.capitalize()))
        style = {"ok": "", "warning": "yellow", "failure": "red"}[finding.state]
        lines.append(Text(f"{_GLYPHS[finding.state]} {printable(finding.what)}", style=style))
        if finding.meaning or finding.mend:
            lines += [Text(f"    {printable(finding.meaning)}"), Text(f"    → {printable(finding.mend)}")]
    failures = sum(finding.state == "failure" for finding in findings)
    warnings = sum(finding.state == "warning" for finding in findings)
    tally = f"{failures} failure{'s' * (failures != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    lines.append(Text(f"\n{tally}" if failures or warnings else "\nall is well"))
    console().print(Group(*lines))
