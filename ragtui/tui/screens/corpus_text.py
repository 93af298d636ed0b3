"""The words of the corpus screen: functions from snapshots to text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from textual.content import Content

from ragtui.analysis.inputs_report import InputsReport
from ragtui.ids import short
from ragtui.tui.data.corpus import ArtifactLine, DocumentRow, Inputs
from ragtui.tui.widgets.rows import Row
from ragtui.tui.widgets.text import line, plural, seconds, size, when

_STATES = {
    "current": ("✓ current", "$success"),
    "unused": ("○ unused", "$secondary"),
    "damaged": ("✗ damaged", "$error bold"),
    "not built": ("… not built", "$warning"),
}


def snapshot(report: InputsReport) -> Content:
    """Identity and sizes, one a line."""
    rows = [
        (
            "corpus",
            Content.styled(short(report.corpus_id, 16), "bold")
            if report.corpus_id
            else Content.styled("✗ not valid", "$error bold"),
        ),
        ("documents", Content(f"{report.documents:,} ({_thousands(report.characters)} chars)")),
        ("goldens", Content(f"{report.goldens:,} in {plural(len(report.suites), 'suite')}")),
        (
            "problems",
            Content.styled(f"✗ {len(report.problems)}", "$error bold")
            if report.problems
            else Content.styled(f"✓ none{_warned(report)}", "$success"),
        ),
    ]
    return Content("\n").join([Content.assemble((f"{name:10}", "$secondary"), text) for name, text in rows])


def _thousands(count: int) -> str:
    """`374k`, `1.2M`; small counts as they are."""
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}k" if count >= 1e4 else str(count)


def _warned(report: InputsReport) -> str:
    return f", {plural(len(report.warnings), 'warning')}" if report.warnings else ""


def suite_rows(report: InputsReport) -> list[Row]:
    """Suites, then tags."""
    rows: list[Row] = [(line(name, "bold"), f"{count:,}") for name, count in report.suites.items()]
    return rows + [(Content("  ") + line(name), f"{count:,}") for name, count in report.tags.items()]


def problems_title(report: InputsReport) -> str:
    """`✗ 3 problems, 1 warning`."""
    if report.problems:
        return f"✗ {plural(len(report.problems), 'problem')}{_warned(report)}"
    return f"⚠ {plural(len(report.warnings), 'warning')}"


def problem_rows(report: InputsReport) -> tuple[list[Row], list[str]]:
    """Place and sentence of each problem, then of each warning."""
    rows: list[Row] = []
    for glyph, style, items in (("✗", "$error", report.problems), ("⚠", "$warning", report.warnings)):
        for item in items:
            place = f"{item.file.rpartition('/')[2]}:{item.line}" if item.line else item.file.rpartition("/")[2]
            rows.append(
                (Content.assemble((f"{glyph} ", style), line(place, "bold")), line(f"{item.message} {item.hint}"))
            )
    return rows, [str(place) for place in range(len(rows))]


def marked(rows: Sequence[DocumentRow], retrieved: tuple[str, frozenset[str]] | None) -> list[DocumentRow]:
    """The rows with whether the last run found them."""
    if retrieved is None:
        return list(rows)
    return [msgspec.structs.replace(row, retrieved=row.id in retrieved[1]) for row in rows]


def document_rows(rows: Sequence[DocumentRow], order: str) -> tuple[list[Row], list[str]]:
    """The rows in an order, and their ids."""
    if order == "goldens":
        rows = sorted(rows, key=lambda row: (-row.goldens, row.id))
    elif order == "size":
        rows = sorted(rows, key=lambda row: (-row.characters, row.id))
    elif order == "unfound":
        rows = sorted(rows, key=lambda row: (row.retrieved is not False, row.id))
    made: list[Row] = [
        (
            line(row.id),
            f"{row.characters:,}",
            "–" if row.chunks is None else str(row.chunks),
            Content.styled("none", "$warning") if not row.goldens else str(row.goldens),
            _found(row.retrieved),
        )
        for row in rows
    ]
    return made, [row.id for row in rows]


def _found(retrieved: bool | None) -> Content:
    if retrieved is None:
        return Content.styled("–", "dim")
    return Content.styled("✓ found", "$secondary") if retrieved else Content.styled("○ never", "$warning")


def retrieved_note(rows: Sequence[DocumentRow], retrieved: tuple[str, frozenset[str]] | None) -> str:
    """How many documents the last run never retrieved."""
    if retrieved is None:
        return "no run over this corpus yet"
    never = sum(row.retrieved is False for row in rows)
    return f"{never:,} never retrieved by {retrieved[0]}"


def artifact_rows(rows: Sequence[ArtifactLine]) -> list[Row]:
    """A row an artifact."""
    made: list[Row] = []
    for row in rows:
        word, style = _STATES[row.state]
        built = row.state != "not built"
        made.append(
            (
                row.kind,
                Content.styled(word, style),
                Content.styled(short(row.id, 8), "$secondary"),
                size(row.size) if built else "–",
                when(row.built_at)[2:] if row.built_at else "–",
                seconds(row.seconds),
                line(row.recipe),
                line(row.damage)
                if row.damage
                else line(row.rebuilt_by if row.state != "unused" else "another corpus or recipe", "$secondary"),
            )
        )
    return made


def on_disk(rows: Sequence[ArtifactLine]) -> tuple[str, str]:
    """How many artifacts stand on disk (empty for none), and their size."""
    built = [row for row in rows if row.state != "not built"]
    return (plural(len(built), "artifact") if built else "", size(sum(row.size for row in built)))


def state(inputs: Inputs | None, rows: Sequence[ArtifactLine], building: str) -> str:
    """What goes on, or what to do next."""
    if building:
        return f"Building: {building}  (esc stops)"
    if inputs is None:
        return "Reading the corpus…"
    if inputs.report.problems:
        return "Mend the places named above, then press c. Nothing can run before that."
    missing = [row.kind for row in rows if row.state == "not built"]
    if missing:
        return f"Not built yet: {', '.join(dict.fromkeys(missing))}. i builds them; the first run would, too."
    return "Everything is built. 2 chooses a plan and starts a run."
