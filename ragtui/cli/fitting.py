"""Tables that fit their terminal: text is cut or wrapped, columns that can be spared go, numbers stay whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.style import StyleType
from rich.table import Column, Table
from rich.text import Text

from ragtui.inputs.text import printable

INTERVAL = "95 % interval"
# Cells, with padding, below which nothing is cut as long as another can be. A run's id fits into a name.
_LEAST, _LEAST_PROSE, _LEAST_NAME, _LEAST_WRAPPED = 5, 12, 16, 18
# Cells beside a column's text, as `render.table` asks for them.
_PADDING = 2
# Where a long word may go on in the next line: after these, and where a capital follows a small letter.
_PIECES = re.compile(r"[^,/=_\-.:#]*?(?:(?<=[a-z])(?=[A-Z])|[,/=_\-.:#]+)|[^,/=_\-.:#]+")
_PLACE = re.compile(r"#\d+-\d+$")
_VALUE = re.compile(r"[+-]?\d+\.\d+(?= n=| \[)")
_LEFT_OUT = "Intervals need a wider terminal; --json has them."


class InertTable(Table):
    """A table in which a plain string is foreign text until proven otherwise: control characters are shown."""

    wrapping: Sequence[str] = ()
    optional: Sequence[str] = ()

    def add_row(self, *cells: RenderableType | None, style: StyleType | None = None, end_section: bool = False) -> None:
        """Add a row; strings are made inert, other renderables are taken as they are."""
        shown = (Text(printable(cell)) if isinstance(cell, str) else cell for cell in cells)
        super().add_row(*shown, style=style, end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw what of the table fits into this terminal."""
        shown = self._fitted(options.max_width) if self.box is not None else self
        yield from Table.__rich_console__(shown, console, options)

    def _fitted(self, most: int) -> Table:
        """The table itself where it fits; otherwise the first form of it in which every number and name is whole."""
        if sum(self._widths()) <= self._room(most):
            return self
        sparing = [self._without(self.optional[:count]) for count in range(len(self.optional) + 1)]
        stacked = [form._formed(_stacked) for form in sparing]
        last = stacked[-1]._formed(_alone)
        # Long words are broken rather than intervals, but a column goes rather than a word is broken.
        tries = [*((form, False) for form in sparing), *((form, True) for form in (*sparing, *stacked))]
        chosen = next((form for form, tight in tries if sum(form._floors(tight)) <= form._room(most)), last)
        if chosen is last and any(_alone(cell) is not cell for column in self.columns for cell in column.cells):
            chosen.caption, chosen.caption_justify, chosen.caption_style = _LEFT_OUT, "left", "dim"
        chosen._narrow(chosen._room(most))
        return chosen

    def _room(self, most: int) -> int:
        # The box draws a cell to the left of each column and one at the right edge; the edges have no padding.
        return most - len(self.columns) - 1 + _PADDING

    def _without(self, heads: Sequence[str]) -> InertTable:
        made = copy(self)
        kept = [column for column in self.columns if str(column.header) not in heads]
        made.columns = [replace(column, _index=index) for index, column in enumerate(kept)]
        return made

    def _formed(self, form: Callable[[RenderableType], RenderableType]) -> InertTable:
        made = copy(self)
        made.columns = [
            replace(column, _cells=[form(cell) for cell in column.cells]) if column.justify == "right" else column
            for column in self.columns
        ]
        return made

    def _widths(self) -> list[int]:
        heads = [_widest(str(column.header).splitlines()) for column in self.columns]
        return [max(pair) + _PADDING for pair in zip(heads, self._cells(), strict=True)]

    def _cells(self) -> list[int]:
        return [_widest(line for cell in column.cells for line in _lines(cell)) for column in self.columns]

    def _wraps(self, column: Column) -> bool:
        return str(column.header) in self.wrapping

    def _headed(self) -> list[int]:
        words = [_widest(str(column.header).split()) for column in self.columns]
        return [max(pair) + _PADDING for pair in zip(words, self._cells(), strict=True)]

    def _floors(self, tight: bool) -> list[int]:
        """The least width of each column in which nothing is lost but the end of prose and of long names.

        `tight` breaks long words of the columns that wrap.
        """
        floors = []
        for column, width, headed in zip(self.columns, self._widths(), self._headed(), strict=True):
            if column.justify == "right":
                floors.append(headed)
            elif self._wraps(column):
                words = [word for cell in column.cells for line in _lines(cell) for word in line.split()]
                word = min(_widest(words) + _PADDING, _LEAST_PROSE if tight else _LEAST_WRAPPED)
                head = _widest(str(column.header).split()) + _PADDING
                floors.append(min(width, max(word, head, _LEAST_PROSE)))
            else:
                floors.append(min(width, _LEAST_NAME if column.no_wrap else _LEAST_PROSE))
        return floors

    def _narrow(self, room: int) -> None:
        """Set the widths: prose gives way first, then what wraps, heads, names, numbers last."""
        widths, floors = self._widths(), self._floors(tight=False)
        numbers = [column.justify == "right" for column in self.columns]
        wraps = [self._wraps(column) for column in self.columns]
        prose = [not column.no_wrap for column in self.columns]
        whole = [width + _PADDING for width in self._cells()]
        for least in (
            [low if each and not wrap else width
             for each, wrap, low, width in zip(prose, wraps, floors, widths, strict=True)],
            [low if each else width for each, low, width in zip(prose, floors, widths, strict=True)],
            [low if each else width for each, low, width in zip(numbers, floors, widths, strict=True)],
            floors,
            self._floors(tight=True),
            [low if each else width for each, low, width in zip(numbers, whole, widths, strict=True)],
            [_LEAST if each else width for each, width in zip(prose, widths, strict=True)],
            [width if each else _LEAST for each, width in zip(numbers, widths, strict=True)],
            [_LEAST] * len(widths),
        ):  # fmt: skip
            widths = _narrowed(widths, [min(pair) for pair in zip(least, widths, strict=True)], room)
        fitted = []
        for column, padded in zip(self.columns, widths, strict=True):
            width = max(padded - _PADDING, 1)
            cut = _broken if self._wraps(column) else _shortened
            cells = column._cells if column.justify == "right" else [cut(cell, width) for cell in column.cells]
            fitted.append(replace(column, width=width, ratio=None, _cells=cells))
        self.columns = fitted


def _lines(cell: RenderableType) -> list[str]:
    return (cell.plain if isinstance(cell, Text) else str(cell)).splitlines()


def _widest(texts: Iterable[str]) -> int:
    """Cells of the widest text; 0 without one."""
    return max(map(cell_len, texts), default=0)


def _narrowed(widths: Sequence[int], least: Sequence[int], most: int) -> list[int]:
    """The widths, the widest taken from first, none below its least, until their sum is no more than `most`."""
    found = list(widths)
    for _ in range(sum(found) - most):
        spare = [width if width > low else 0 for width, low in zip(found, least, strict=True)]
        if not any(spare):
            break
        found[spare.index(max(spare))] -= 1
    return found


def _whole(cell: RenderableType) -> RenderableType:
    return cell


def _stacked(cell: RenderableType) -> RenderableType:
    """An interval below its value, or its upper bound below the lower one."""
    if not isinstance(cell, Text) or "\n" in cell.plain:
        return cell
    return Text(cell.plain.replace(" [", "\n[").replace(" … ", " …\n"), style=cell.style)


def _alone(cell: RenderableType) -> RenderableType:
    """The value without its interval and count."""
    found = _VALUE.match(cell.plain.replace("\n", " ")) if isinstance(cell, Text) else None
    return cell if found is None else Text(found[0])


def _pieces(text: str) -> Iterator[str]:
    return (found[0] for found in _PIECES.finditer(text) if found[0])


def _broken(cell: RenderableType, width: int) -> RenderableType:
    """The whole text over lines of at most `width` cells, broken where a reader would."""
    if not isinstance(cell, Text):
        return cell
    lines = []
    for line in cell.plain.splitlines():
        made = ""
        for word in line.split():
            joined = f"{made} {word}" if made else word
            if cell_len(joined) <= width:
                made = joined
                continue
            if cell_len(word) <= width:
                lines.append(made)
                made = word
                continue
            # Only a word that no line holds is broken.
            made += " " if made else ""
            for piece in _pieces(word):
                if cell_len(made + piece) <= width:
                    made += piece
                    continue
                *full, made = ([made] if made else []) + chop_cells(piece, width)
                lines += full
        lines.append(made)
    return Text("\n".join(line.rstrip() for line in lines), style=cell.style)


def _shortened(cell: RenderableType, width: int) -> RenderableType:
    """A place in a document keeps its offsets, which tell it from its neighbours; other text ends in an ellipsis."""
    if not isinstance(cell, Text) or cell_len(cell.plain) <= width:
        return cell
    place = _PLACE.search(cell.plain)
    kept = width - 1 - len(place[0]) if place is not None else 0
    if place is None or kept < 1:
        return cell
    head = cell[: place.start()]
    head.truncate(kept, overflow="crop")
    return Text("", no_wrap=True, overflow="ellipsis").append_text(head).append("…").append_text(cell[place.start() :])


class Flow:
    """Parts on one line, or on several: a part is never broken, so a command can be copied whole."""

    def __init__(self, *parts: Text, gap: str = "   ") -> None:
        self._parts, self._gap = parts, gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many parts a line as it holds."""
        line: Text | None = None
        for part in self._parts:
            if line is None:
                line = part.copy()
            elif line.cell_len + len(self._gap) + part.cell_len <= options.max_width:
                line = Text().append_text(line).append(self._gap).append_text(part)
            else:
                yield self._whole(line)
                line = part.copy()
        if line is not None:
            yield self._whole(line)

    @staticmethod
    def _whole(line: Text) -> Text:
        line.no_wrap, line.overflow = True, "ignore"
        return line


class Pairs:
    """Names and values in two aligned columns; a word that would be broken, such as a hash, goes below its name."""

    def __init__(self, rows: Sequence[tuple[str, Text]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as aligned a table as the words allow."""
        name = _widest(printable(name) for name, _ in self._rows)
        together: list[tuple[str, Text]] = []
        for key, value in self._rows:
            longest = _widest(value.plain.split())
            if name + _PADDING + longest <= options.max_width or longest + _PADDING > options.max_width:
                together.append((key, value))
                continue
            yield from self._aligned(together, name)
            together = []
            yield Text(printable(key), "dim")
            yield Padding(value, (0, 0, 0, _PADDING))
        yield from self._aligned(together, name)

    @staticmethod
    def _aligned(rows: Sequence[tuple[str, Text]], name: int) -> Iterator[Table]:
        if not rows:
            return
        made = InertTable(box=None, show_header=False, pad_edge=False, padding=(0, _PADDING, 0, 0))
        made.add_column(style="dim", no_wrap=True, min_width=name)
        made.add_column(overflow="fold")
        for key, value in rows:
            made.add_row(key, value)
        yield made
