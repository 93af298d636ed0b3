"""Runs as rows of a table; the trace and the diff screen list them the same way."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ragtui.ids import short
from ragtui.tui.data.trace import RunLine
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.text import STATUS_GLYPHS, inert, value, when

_CASES_WIDTH = 7
_SHOWN = ("nDCG@10", "R@5", "RR")
RUN_COLUMNS = (
    Column("run", "run", 12),
    Column("status", "status", 13, rank=1),
    Column("name", "name"),
    Column("started", "started (UTC)", 16, rank=2),
    Column("cases", "cases", _CASES_WIDTH, right=True, rank=3),
    Column("errors", "err", 4, right=True, rank=3),
    *(Column(name, name, 7, right=True, rank=0 if name == "nDCG@10" else 4) for name in _SHOWN),
    Column("spec", "spec", 8, rank=5),
    Column("suites", "suites", 14, rank=6),
    Column("store", "store", 9, rank=7),
)


def run_rows(lines: Sequence[RunLine]) -> list[Row]:
    """A row a run."""
    made = []
    for line in lines:
        row = line.row
        name = inert(row.name or "unnamed")
        if line.baseline:
            name = Text("★ ", style="bold", end="") + inert(
                f"{row.name or 'unnamed'} (baseline {line.baseline})", "not bold"
            )
        if row.tier == "generation":
            name = Text("gen ", style="dim", end="") + name
        cells = [
            Text(row.run_id), Text(f"{STATUS_GLYPHS[row.status]} {row.status}"), name, Text(when(row.started_at)),
            Text(_cases(line)), Text(f"{row.errors:,}" if row.errors else "–"),
            *(Text(value(_measure(row.measures, shown))) for shown in _SHOWN),
            Text(short(row.spec_id, 8)), inert(", ".join(row.suites)), Text(line.store),
        ]  # fmt: skip
        made.append(Row(row.run_id, tuple(cells)))
    return made


def _cases(line: RunLine) -> str:
    """`600`, or `96/600` where not all were executed: `17 %` where both numbers are too long."""
    done, cases = line.done, line.row.cases
    if done == cases:
        return f"{cases:,}"
    both = f"{done}/{cases}"
    return both if len(both) <= _CASES_WIDTH else f"{100 * done // cases} %"


def _measure(measures: dict[str, float | None], name: str) -> float | None:
    """The measure of this name, whatever its relevance threshold."""
    return next((number for key, number in measures.items() if key.split("(")[0] == name), None)
