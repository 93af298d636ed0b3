"""Writing the reports of a run, and of its comparison if there is one, into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ragtui.cli.output import say, write_file

if TYPE_CHECKING:
    from ragtui.analysis.compare import Comparison
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab


def write_reports(
    lab: Lab, folder: Path, run: RecordedRun, base: RecordedRun | None = None, comparison: Comparison | None = None
) -> None:
    """Write `run.json`, `report.md`, `junit.xml` and `report.html`; with a comparison also `comparison.json`."""
    from ragtui.lab.chunks import indexed_in
    from ragtui.reports.html import comparison_html, run_html
    from ragtui.reports.junit import comparison_junit, run_junit
    from ragtui.reports.markdown import comparison_markdown, run_markdown
    from ragtui.reports.records import run_record

    indexed = indexed_in(lab, run)
    files = {"run.json": _json(run_record(run))}
    if comparison is None or base is None:
        files |= {
            "report.md": run_markdown(run, indexed),
            "junit.xml": run_junit(run, indexed),
            "report.html": run_html(run, indexed),
        }
    else:
        files |= {
            "comparison.json": _json(comparison),
            "report.md": comparison_markdown(comparison),
            "junit.xml": comparison_junit(comparison, run),
            "report.html": comparison_html(comparison, base, run, (indexed_in(lab, base), indexed)),
        }
    for name, text in files.items():
        write_file(folder / name, text.encode())
    say(f"reports: {', '.join(str(folder / name) for name in files)}")


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
