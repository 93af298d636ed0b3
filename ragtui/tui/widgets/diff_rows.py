"""A comparison as the parts of a list: specification first, then measures, tags, and the cases that flipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.text import Text

from ragtui.tui.data.diff import DiffView, Question, Side
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.section_list import Section
from ragtui.tui.widgets.text import inert, plural, value

if TYPE_CHECKING:
    from ragtui.analysis.contrast import MeasureChange

VERDICT_GLYPHS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?"}
_WORDS = {"better": "▲ better", "worse": "▼ worse", "equal": "= equal", "unclear": "· unclear"}
_NUMBERS = (
    Column("base", "base", 5, right=True, rank=2), Column("new", "new", 5, right=True),
    Column("delta", "delta", 6, right=True),
    Column("interval", "95 % interval", 16, right=True, rank=1), Column("wtl", "win/tie/loss", 12, right=True),
    Column("word", "", 9),
)  # fmt: skip


def side_text(side: Side, width: int) -> Text:
    """A run of the pair: ★ where it is a baseline, its id, as much of its name as there is room for."""
    star = "★ " if side.baseline else ""
    name = inert(side.row.name or "unnamed", "not bold", max(width - 16, 6))
    return Text(f"{star}{side.row.run_id} ", style="bold", end="") + name


def specification_section(view: DiffView) -> Section:
    """A row for each field that differs."""
    changes = view.comparison.specification_diff
    title = f"Specification: {plural(len(changes), 'difference')}"
    columns = (Column("path", title, least=30), Column("base", "base", least=20), Column("new", "new", least=20))
    rows = tuple(
        Row(change.path, (inert(change.path.removeprefix("plan.")), _leaf(change.base), _leaf(change.new)))
        for change in changes
    )
    return Section("specification", columns, rows, "None: both runs have the same specification.")


def measure_section(view: DiffView) -> Section:
    """A row a measure, the ones that decide first."""
    table = view.comparison.measures
    order = sorted(table, key=lambda name: {"primary": 0, "guard": 1}.get(table[name].role, 2))
    columns = (
        Column("measure", "Measures", least=16), *_NUMBERS, Column("p", "p adj.", 6, right=True, rank=3),
        Column("n", "cases", 9, right=True, rank=4),
    )  # fmt: skip
    rows = tuple(
        Row(name, (_measure_name(name, table[name]), *_numbers(table[name]), _p(table[name]), _n(table[name])))
        for name in order
    )
    return Section("measures", columns, rows, "No measure can be compared.")


def left_out_section(view: DiffView) -> list[Section]:
    """Why measures are not compared, those of one reason together; nothing where all are."""
    by_reason: dict[str, list[str]] = {}
    for name, why in view.comparison.not_compared.items():
        by_reason.setdefault(why, []).append(name)
    if not by_reason:
        return []
    columns = (Column("why", "Not compared", least=30), Column("names", "measures", least=44))
    rows = tuple(Row(why, (inert(why), inert(", ".join(names)))) for why, names in by_reason.items())
    return [Section("left_out", columns, rows)]


def tag_section(view: DiffView, measure: str) -> Section:
    """A row a tag, for one measure; the greatest losses first."""
    table = {tag: row[measure] for tag, row in view.comparison.by_tag.items() if measure in row}
    order = sorted(table, key=lambda tag: (-table[tag].loss, tag))
    columns = (
        Column("tag", f"Tags by {measure}", least=16), *_NUMBERS, Column("p", "", 6, right=True, rank=3),
        Column("n", "cases", 9, right=True, rank=4),
    )  # fmt: skip
    rows = tuple(Row(tag, (inert(tag), *_numbers(table[tag]), Text(""), _n(table[tag]))) for tag in order)
    return Section("tags", columns, rows, "No case has a tag.")


def flip_section(view: DiffView) -> Section:
    """A row a case that found something in one run and nothing in the other."""
    comparison = view.comparison
    lost = sum(flip.direction == "lost" for flip in comparison.flips)
    title = f"Flips by {comparison.flip_measure}: {lost} lost, {len(comparison.flips) - lost} found"
    columns = (
        Column("case", title, least=40), Column("query", "question", least=24), Column("base", "base", 5, right=True),
        Column("new", "new", 5, right=True), Column("word", "", 7), Column("tags", "tags", 18, rank=3),
    )  # fmt: skip
    rows = tuple(
        Row(
            flip.case,
            (
                inert(flip.case, width=60), inert(flip.query, width=300), Text(value(flip.base)), Text(value(flip.new)),
                Text("▼ lost" if flip.direction == "lost" else "▲ found", style="bold"),
                inert(", ".join(flip.tags), width=60),
            ),
        )
        for flip in comparison.flips
    )  # fmt: skip
    return Section("flips", columns, rows, "No case flipped.")


QUESTION_COLUMNS = (
    Column("word", " ", 1), Column("case", "case", 22, rank=1), Column("query", "question", least=36),
    Column("base", "base", 5, right=True), Column("new", "new", 5, right=True), Column("gain", "change", 6, right=True),
    Column("tags", "tags", 24, rank=2),
)  # fmt: skip


def question_rows(found: Sequence[Question]) -> list[Row]:
    """A row a question."""
    return [
        Row(
            item.case,
            (
                Text("▲" if item.gain > 0 else "▼"), inert(item.case, width=60), inert(item.query, width=300),
                Text(value(item.base)), Text(value(item.new)), Text(f"{item.new - item.base:+.3f}", style="bold"),
                inert(", ".join(item.tags), width=60),
            ),
        )
        for item in found
    ]  # fmt: skip


def told(section: str, row: Row) -> str:
    """What a narrow list cuts off a row."""
    cells = [cell.plain.strip() for cell in row.cells]
    if section == "specification":
        return f"{cells[0]}: {cells[1]} → {cells[2]}"
    if section == "flips":
        return f"{cells[0]}   tags {cells[5]}" if cells[5] else cells[0]
    if section == "questions":
        return f"{cells[1]}   tags {cells[6]}" if cells[6] else cells[1]
    if section in ("measures", "tags"):
        tested = f", adjusted p {cells[7]}" if cells[7] not in ("", "–") else ""
        return f"{cells[0]}: {cells[1]} → {cells[2]}, {cells[3]} {cells[4]} over {cells[8]} cases{tested}"
    return cells[0]


def verdict_text(view: DiffView, width: int, most: int) -> Text:
    """The verdict and its reasons, then what has to be announced; at most so many lines."""
    comparison = view.comparison
    verdict = str(comparison.verdict)
    lines = [Text(f"{VERDICT_GLYPHS[verdict]} {verdict}", style="bold", end="")]
    reasons = [inert(reason) for reason in comparison.reasons]
    if reasons:
        lines[0] = lines[0] + Text("  ") + reasons[0]
    lines += [Text("  ") + reason for reason in reasons[1:]]
    lines += [Text("  note: ", style="dim") + inert(note, "dim") for note in comparison.notes]
    left = len(lines) - most
    more = f"  +{left}: v" if left > 0 else ""
    for line in lines[:most]:
        line.truncate(width - len(more), overflow="ellipsis")
    return Text("\n").join(lines[:most]) + Text(more, style="bold")


def _measure_name(name: str, change: MeasureChange) -> Text:
    return Text({"primary": "◆ ", "guard": "◇ "}.get(change.role, "  "), style="bold", end="") + Text(name)


def _numbers(change: MeasureChange) -> tuple[Text, ...]:
    delta = "–" if change.delta is None else f"{change.delta:+.3f}"
    interval = "–" if change.delta is None else f"[{change.low:+.3f}, {change.high:+.3f}]"
    return (
        Text(value(change.base)), Text(value(change.new)), Text(delta, style="bold"), Text(interval),
        Text("–" if change.delta is None else f"{change.wins}/{change.ties}/{change.losses}"),
        Text(_WORDS[change.word] if change.delta is not None else ""),
    )  # fmt: skip


def _p(change: MeasureChange) -> Text:
    return Text(
        "–" if change.p_adjusted is None else "<.001" if change.p_adjusted < 0.001 else f"{change.p_adjusted:.3f}"
    )


def _n(change: MeasureChange) -> Text:
    return Text(f"{change.scored}" if change.scored == change.total else f"{change.scored}/{change.total}")


def _leaf(item: Any) -> Text:
    if item is None:
        return Text("–", style="dim")
    if isinstance(item, str):
        return inert(item.removeprefix("sha256:")[:12] if item.startswith("sha256:") else item)
    return inert(msgspec.json.encode(item).decode())
