"""The capability table as sections of a list, one a mode: a row a model and plan, two lines each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtui.metrics.aggregate import Estimate
from ragtui.tui.data.matrix import MatrixView, RowNow
from ragtui.tui.widgets.by_mode_rows import estimate_text, short_interval
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.section_list import Section
from ragtui.tui.widgets.text import inert

if TYPE_CHECKING:
    from collections.abc import Sequence

# Heads for narrow screens; help and the line of state have the whole names.
_HEADS = {
    "correctness": "correct", "refusalCorrectness": "refusals", "groundedness": "grounded", "leakageRate": "leakage",
    "unstableRate": "unstable",
}  # fmt: skip
_GLYPHS = {"waiting": "◌ waiting", "running": "▶", "done": "✓", "failed": "✗ error", "stopped": "‖ stopped"}


def sections(view: MatrixView, wide: bool) -> list[Section]:
    """A section a mode of the table."""
    from ragtui.analysis.matrix import COLUMNS

    width = 18 if wide else 10
    made = []
    for mode in view.modes:
        columns = (
            Column("model", f"{mode}: model", least=18),
            *(Column(name, name if wide else _HEADS[name], width, right=True) for name in COLUMNS),
        )
        made.append(Section(mode, columns, tuple(_row(row, mode, COLUMNS, wide) for row in view.rows)))
    return made


def _row(row: RowNow, mode: str, names: Sequence[str], wide: bool) -> Row:
    """Values with n above their intervals; the model above its plan and how far its run is."""
    cells = [row.cells.get(mode, {}).get(name) for name in names]
    first = inert(row.model, "bold")
    second = inert(f"{state_words(row)}  {row.plan}", "dim" if row.state == "waiting" else "")
    return Row(
        f"{mode} {row.run_id or row.model + row.plan}",
        (first, *(_value(cell) for cell in cells)),
        (second, *(Text(short_interval(cell, wide), "dim", end="") for cell in cells)),
    )


def _value(estimate: Estimate | None) -> Text:
    if estimate is None or estimate.value is None:
        return Text("–", "dim", end="")
    return Text(f"{estimate.value:.3f}", end="").append(f" {f'n{estimate.n}':>4}", "dim")


def state_words(row: RowNow) -> str:
    """A glyph and how far it is: `▶ 12/75`, `✓ 75`, `✗ error`."""
    words = _GLYPHS[row.state]
    if row.state == "running":
        return f"{words} {row.done}/{row.total}" if row.total else f"{words} begins"
    if row.state == "done":
        return f"{words} {row.done}" + (f" ✗ {row.errors}" if row.errors else "")
    return words


def told(row: RowNow, mode: str) -> str:
    """A row in words: what a narrow table abbreviates, or why it has none."""
    if row.error:
        return f"{row.model} with {row.plan}: {row.error}"
    cells = row.cells.get(mode, {})
    parts = [f"{name} {estimate_text(cell, True).plain} n {cell.n}" for name, cell in cells.items() if cell.n]
    return f"{row.model} with {row.plan}, {mode}: " + (", ".join(parts) or "no golden is finished yet")
