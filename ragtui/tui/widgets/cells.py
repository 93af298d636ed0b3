"""Columns, rows and cells: how tables of several kinds lay out one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

_GAP = 2


class Column(NamedTuple):
    """A column: cells wide (0: it takes what is left, `least` cells if it can), right-aligned or not.

    `rank` says which columns go first where it is narrow; 0 never goes.
    """

    key: str
    title: str
    width: int = 0
    right: bool = False
    rank: int = 0
    least: int = 12


class Row(NamedTuple):
    """A row: what it stands for, and a cell for each column; cells are inert text.

    `below` is a second line of cells, in lists that show one.
    """

    key: str
    cells: tuple[Text, ...]
    below: tuple[Text, ...] = ()


def layout(columns: Sequence[Column], room: int) -> list[tuple[int, int]]:
    """(column, width) of those that fit. Columns of the highest rank go first; free columns share what is left as their
    least widths are to each other."""
    shown = list(range(len(columns)))

    def needed() -> int:
        return sum((columns[place].width or columns[place].least) + _GAP for place in shown) - _GAP

    while len(shown) > 1 and needed() > room:
        rank = max(columns[place].rank for place in shown)
        if rank == 0:
            break
        shown.remove(max(place for place in shown if columns[place].rank == rank))
    left = max(room - sum(columns[place].width + _GAP for place in shown) + _GAP, 0)
    free = [place for place in shown if not columns[place].width]
    widths = {place: columns[place].width for place in shown}
    weight = sum(columns[place].least for place in free)
    for place in free:
        widths[place] = left * columns[place].least // weight
    if free:
        widths[free[0]] += left - sum(widths[place] for place in free)
    return [(place, widths[place]) for place in shown]


def strip(lead: str, cells: Sequence[tuple[Text, int, bool]], style: Style, width: int, console: Console) -> Strip:
    """A line of (cell, width, right-aligned) after its lead."""
    segments = [Segment(lead, style)]
    for place, (cell, size, right) in enumerate(cells):
        if place:
            segments.append(Segment(" " * _GAP, style))
        segments.extend(fitted(cell, size, right, style, console))
    return Strip(segments).adjust_cell_length(width, style)


def fitted(cell: Text, size: int, right: bool, style: Style, console: Console) -> list[Segment]:
    """A cell's segments, exactly `size` cells wide; what is too long ends in `…`."""
    shown = cell
    length = cell_len(cell.plain)
    if length > size:
        shown = cell.copy()
        shown.truncate(size, overflow="ellipsis")
        length = cell_len(shown.plain)
    pad = [Segment(" " * (size - length), style)] if length < size else []
    if shown.spans or shown.style:
        body = [Segment(text, style + (own or Style())) for text, own, _ in shown.render(console)]
    else:
        body = [Segment(shown.plain, style)]
    return pad + body if right else body + pad


def middle(text: str, width: int) -> str:
    """A chunk's name cut in its document so that `#start-end` stays, as far as that leaves the document readable."""
    if Text(text).cell_len <= width:
        return text
    doc, mark, span = text.rpartition("#")
    room = width - len(span) - 2
    if mark and room >= 8 and span.replace("-", "").isdigit():
        head = Text(doc)
        head.truncate(room, overflow="crop")
        return f"{head.plain}…#{span}"
    cut = Text(doc if mark and span.replace("-", "").isdigit() else text)
    cut.truncate(max(width, 0), overflow="ellipsis")
    return cut.plain
