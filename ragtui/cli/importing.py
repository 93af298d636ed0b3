"""Writing an imported collection, and telling what was written and what was not."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragtui.cli.context import workspace_of
from ragtui.cli.output import print_json, say, tell, typed
from ragtui.errors import InvalidInput, RagtuiError
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.inputs.formats.source import Source
    from ragtui.inputs.formats.writing import ImportReport, Listed

SHOWN = 5


def finish(
    context: typer.Context, source: Source, into: Path | None, suite: str | None, grade: list[str] | None,
    keep_unjudged: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write the source and tell what was written and what was not."""
    from ragtui.inputs.formats.source import MAIN_SUITE
    from ragtui.inputs.formats.writing import write_workspace
    from ragtui.settings import open_workspace

    grades = parse_grades(grade or [])
    if into is None:
        workspace = workspace_of(context)
    else:
        try:
            into.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"{into} cannot be made: {error.strerror or error}.", "Choose another folder.") from None
        workspace = open_workspace(into)
    try:
        report = write_workspace(
            source, workspace.corpus, workspace.goldens, suite=suite, grades=grades, keep_unjudged=keep_unjudged,
            force=force, progress=counter(as_json),
        )  # fmt: skip
    except RagtuiError:
        # A folder that was made for nothing goes again.
        for folder in (workspace.corpus, workspace.goldens, *([into] if into is not None else [])):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    if as_json:
        print_json(report)
    else:
        show_report(report)
        where = "" if into is None else f"-w {typed(into)} "
        chosen = (
            "" if MAIN_SUITE in report.suites else "".join(f" --suite {shlex.quote(name)}" for name in report.suites)
        )
        say(f"Next: ragtui {where}corpus check, then ragtui {where}run bm25{chosen}")


def parse_grades(texts: list[str]) -> dict[int, int]:
    """`1=3` as a mapping from the source's grade to ours."""
    grades: dict[int, int] = {}
    for text in texts:
        old, _, new = text.partition("=")
        try:
            grades[int(old)] = int(new)
        except ValueError:
            raise InvalidInput(f"--grade {text!r} is not OLD=NEW with whole numbers.", "E.g. --grade 1=3") from None
        if not 0 <= int(new) <= 3:
            raise InvalidInput(f"--grade {text!r}: a grade is from 0 to 3.", "E.g. --grade 1=3")
    return grades


def counter(quiet: bool) -> Callable[[str, int], None]:
    """Shows how far a long import is, in place, on a terminal only."""

    def show(what: str, done: int) -> None:
        sys.stderr.write(f"\r{done:,} {what} \x1b[K")
        sys.stderr.flush()

    return show if sys.stderr.isatty() and not quiet else lambda what, done: None


def show_report(report: ImportReport) -> None:
    """Counts on stdout, everything that was left out or changed on stderr."""
    suites = ", ".join(f"{name} {count:,}" for name, count in report.suites.items())
    judged = f"{report.written:,} of {plural(report.judgments, 'judgment')}"
    tell(f"{plural(report.documents, 'document')}, goldens: {suites}, {judged}")
    for remark in report.remarks:
        say(remark)
    if report.above_3:
        say(f"{plural(report.above_3, 'judgment')} above grade 3 became 3 (--grade OLD=NEW maps them otherwise).")
    if report.negative:
        say(f"{plural(report.negative, 'negative judgment')} became 0.")
    if report.unjudged:
        without = f"Without any judgment: {plural(report.unjudged, 'question')}"
        if not report.kept:
            say(f"{without}, left out (--keep-unjudged keeps such questions).")
        elif report.unchecked:
            say(f"{without}, kept; {report.unchecked:,} of them without any pattern too: nothing measures such a one.")
        else:
            say(f"{without}, kept: patterns check the answers.")
    for what, happened, listed in (
        ("judgment", "of a document that is not there", report.missing_documents),
        ("judgment", "of a question that is not there", report.missing_questions),
        ("document", "left out", report.skipped_documents),
        ("question", "left out", report.skipped_questions),
        ("question", "renamed", report.renamed_questions),
    ):
        _tell_listed(what, happened, listed)


def _tell_listed(what: str, happened: str, listed: Listed) -> None:
    if not listed.count:
        return
    say(f"{plural(listed.count, what)} {happened}:")
    for item in listed.items[:SHOWN]:
        say(f"  {item}")
    if listed.count > SHOWN:
        say(f"  … and {listed.count - SHOWN:,} more (--json lists up to {len(listed.items):,})")
