"""The capability table as rich tables and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ragtui.cli.generation_view import estimate_cell
from ragtui.cli.render import heading, safe, table
from ragtui.inputs.text import printable

if TYPE_CHECKING:
    from ragtui.analysis.matrix import Lookup, Matrix, MatrixRow
    from ragtui.metrics.aggregate import Estimate


def matrix_table(matrix: Matrix) -> RenderableType:
    """A table a mode: a row a model and plan, a column a measure; each cell with its interval and n."""
    from ragtui.analysis.matrix import COLUMNS

    parts: list[RenderableType] = []
    for mode in matrix.modes:
        shown = [name for name in COLUMNS if any(_told(_cell(row, mode, name)) for row in matrix.rows)]
        heads = [re.sub(r"(?<=[a-z])(?=[A-Z])", "\n", name) for name in shown]
        # A column of zeros can be spared.
        optional = () if any(row.errors for row in matrix.rows) else ("errors",)
        made = table(
            "model", "plan", *heads, "errors", right=(*heads, "errors"), wrapping=("model", "plan"), optional=optional
        )
        for row in matrix.rows:
            if mode in row.cells:
                cells = [_stacked(_cell(row, mode, name)) for name in shown]
                made.add_row(safe(row.model), safe(row.plan), *cells, str(row.errors))
        parts += [heading(mode), made]
    parts += [Text(f"✗ {printable(row.model)}: {printable(row.error)}") for row in matrix.rows if row.error]
    return Group(*parts)


def matrix_markdown(matrix: Matrix) -> str:
    """The same as Markdown, one table a mode."""
    from ragtui.analysis.matrix import COLUMNS

    lines = []
    for mode in matrix.modes:
        lines += [f"### {mode}", "", f"| model | plan | {' | '.join(COLUMNS)} | errors |"]
        lines.append(f"|---|---|{'---:|' * (len(COLUMNS) + 1)}")
        for row in matrix.rows:
            if mode in row.cells:
                cells = " | ".join(_shown(_cell(row, mode, name)) for name in COLUMNS)
                lines.append(f"| {_escaped(row.model)} | {_escaped(row.plan)} | {cells} | {row.errors} |")
        lines.append("")
    lines += [f"- {_escaped(row.model)}: {_escaped(row.error)}" for row in matrix.rows if row.error]
    return "\n".join(lines) + "\n"


def lookup_report(rows: Sequence[Lookup]) -> RenderableType:
    """One line a row of the model, and what to do."""
    made = table(
        "model", "plan", "mode", "reported", "measured here", "", right=("reported",), wrapping=("model", "plan")
    )
    for row in rows:
        made.add_row(
            safe(row.model), safe(row.plan), row.mode, f"{row.reported:.3f}", estimate_cell(row.expected), row.verdict
        )
    advice = dict.fromkeys(row.advice for row in rows)
    return Group(made, *(Text(line) for line in advice))


def _cell(row: MatrixRow, mode: str, name: str) -> Estimate | None:
    return row.cells.get(mode, {}).get(name)


def _told(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.value is not None


def _stacked(estimate: Estimate | None) -> str:
    """Value and n above the interval, so that a terminal of 80 columns holds a row."""
    if estimate is None or estimate.value is None:
        return "–"
    return f"{estimate.value:.3f} n={estimate.n}\n{estimate.low:.2f} … {estimate.high:.2f}"


def _shown(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    return f"{estimate_cell(estimate)} n={estimate.n}"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
