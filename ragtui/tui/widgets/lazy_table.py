"""A table of any length that holds only the rows that are being looked at."""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ragtui.tui.widgets.cells import Column, Row, layout, strip

PAGE = 64
KEPT_PAGES = 16


class LazyTable(ScrollView, can_focus=True):
    """Rows are asked for with `RowsWanted` and given with `put`; at most `PAGE * KEPT_PAGES` of them are kept."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", tooltip="Open the row under the cursor.", id="table.choose"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="One row up.", id="table.up"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="One row down.", id="table.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="One page up.", id="table.pageup"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="One page down.", id="table.pagedown"),
        Binding("home", "end(-1)", "First", show=False, tooltip="The first row.", id="table.home"),
        Binding("end", "end(1)", "Last", show=False, tooltip="The last row.", id="table.end"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"lazy--head", "lazy--cursor", "lazy--cursor-blurred"}
    DEFAULT_CSS = """
    LazyTable { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; background: $background;
        & > .lazy--head { text-style: bold; color: $primary; }
        & > .lazy--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
        & > .lazy--cursor-blurred {
            background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
        }
    }
    """

    class RowsWanted(Message):
        """These rows are about to be shown and are not here."""

        def __init__(self, table: LazyTable, generation: int, offset: int, limit: int) -> None:
            self.table, self.generation, self.offset, self.limit = table, generation, offset, limit
            super().__init__()

        @property
        def control(self) -> LazyTable:
            """The table that asks."""
            return self.table

    class Moved(Message):
        """The cursor is on another row, or its row has come; `row` is None while it has not."""

        def __init__(self, table: LazyTable, index: int, row: Row | None) -> None:
            self.table, self.index, self.row = table, index, row
            super().__init__()

        @property
        def control(self) -> LazyTable:
            """The table."""
            return self.table

    class Chosen(Message):
        """A row was opened."""

        def __init__(self, table: LazyTable, index: int, row: Row) -> None:
            self.table, self.index, self.row = table, index, row
            super().__init__()

        @property
        def control(self) -> LazyTable:
            """The table."""
            return self.table

    def __init__(
        self, columns: Sequence[Column], *, empty: str = "", id: str | None = None, help_text: str = ""
    ) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.empty = empty
        self.help_text = help_text
        self.count = 0
        self.cursor = 0
        self.generation = 0
        self._pages: OrderedDict[int, tuple[Row, ...]] = OrderedDict()
        self._asked = False
        self._choosing = False

    # -- content ------------------------------------------------------------------------------------------------------

    def reset(self, count: int, columns: Sequence[Column] | None = None, *, keep_cursor: bool = False) -> None:
        """Show `count` rows anew. `keep_cursor` leaves the cursor where it is, as far as there are rows."""
        self.generation += 1
        self.count = count
        if columns is not None:
            self.columns = tuple(columns)
        self._pages.clear()
        self._asked = self._choosing = False
        self.cursor = min(self.cursor, max(count - 1, 0)) if keep_cursor else 0
        self.virtual_size = Size(1, count + 1)
        if not keep_cursor:
            self.scroll_to(y=0, animate=False)
        self.refresh()
        self.call_after_refresh(self._ask)

    def put(self, generation: int, offset: int, rows: Sequence[Row]) -> None:
        """Give rows that were wanted; those of an older generation are dropped."""
        if generation != self.generation:
            return
        self._asked = False
        for start in range(0, len(rows), PAGE):
            page = (offset + start) // PAGE
            self._pages[page] = tuple(rows[start : start + PAGE])
            self._pages.move_to_end(page)
        while len(self._pages) > KEPT_PAGES:
            self._pages.popitem(last=False)
        self.refresh()
        if offset <= self.cursor < offset + len(rows):
            self.post_message(self.Moved(self, self.cursor, self.row_at(self.cursor)))
            if self._choosing:
                self.action_choose()
        self.call_after_refresh(self._ask)

    def row_at(self, index: int) -> Row | None:
        """The row, None while it is not here."""
        page = self._pages.get(index // PAGE)
        place = index % PAGE
        return page[place] if page is not None and place < len(page) else None

    @property
    def kept(self) -> int:
        """How many rows are in memory."""
        return sum(map(len, self._pages.values()))

    def go(self, index: int) -> None:
        """Put the cursor on a row."""
        if not self.count:
            return
        old, self.cursor = self.cursor, max(0, min(index, self.count - 1))
        self._reveal()
        if old != self.cursor:
            self._choosing = False
            for line in (old, self.cursor):
                self.refresh(Region(0, line + 1 - round(self.scroll_y), self.size.width, 1))
            self.post_message(self.Moved(self, self.cursor, self.row_at(self.cursor)))

    def _reveal(self) -> None:
        height = max(self.size.height - 1, 1)
        top = round(self.scroll_y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def _ask(self) -> None:
        """Want the first missing run of visible pages; one request is under way at a time."""
        if self._asked or not self.count or not self.size.height:
            return
        top = round(self.scroll_y)
        last = min(top + self.size.height, self.count) - 1
        missing = [page for page in range(top // PAGE, last // PAGE + 1) if page not in self._pages]
        if missing:
            self._asked = True
            offset = missing[0] * PAGE
            limit = min((missing[-1] - missing[0] + 1) * PAGE, self.count - offset)
            self.post_message(self.RowsWanted(self, self.generation, offset, limit))

    def unanswered(self) -> None:
        """What was wanted could not be had; it is asked for again when the table next moves."""
        self._asked = False

    # -- events -------------------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch what came into view."""
        super().watch_scroll_y(old_value, new_value)
        self.call_after_refresh(self._ask)

    def on_resize(self) -> None:
        """Columns are laid out anew, and more rows may be in view."""
        self._reveal()
        self.refresh()
        self.call_after_refresh(self._ask)

    def on_focus(self) -> None:
        """The cursor is drawn by whether the table has the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one opens."""
        index = round(self.scroll_y) + event.y - 1
        if event.y >= 1 and 0 <= index < self.count:
            again = index == self.cursor and event.chain > 1
            self.go(index)
            if again:
                self.action_choose()

    def action_move(self, by: int) -> None:
        """Rows up or down."""
        self.go(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Pages up or down."""
        self.go(self.cursor + by * max(self.size.height - 2, 1))

    def action_end(self, side: int) -> None:
        """The first or the last row."""
        self.go(0 if side < 0 else self.count - 1)

    def action_choose(self) -> None:
        """Open the row under the cursor; one that is still on its way, when it comes."""
        row = self.row_at(self.cursor)
        self._choosing = row is None and self.cursor < self.count
        if row is not None:
            self.post_message(self.Chosen(self, self.cursor, row))

    # -- drawing ------------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width

    def render_line(self, y: int) -> Strip:
        """The head, then rows."""
        width = self._room
        shown = layout(self.columns, width - 2)
        base = self.rich_style
        if not self.count:
            lines = textwrap.wrap(self.empty, max(width - 4, 10))
            note = lines[y - 1] if 1 <= y <= len(lines) else ""
            return Strip([Segment(f"  {note}", base)]).adjust_cell_length(width, base)
        if y == 0:
            style = self.get_component_rich_style("lazy--head", partial=True)
            heads = [
                (Text(self.columns[place].title, end=""), size, self.columns[place].right) for place, size in shown
            ]
            return strip(" ", heads, base + style, width, self.app.console)
        index = round(self.scroll_y) + y - 1
        if index >= self.count:
            return Strip.blank(width, base)
        row = self.row_at(index)
        on = index == self.cursor
        style = base
        if on:
            name = "lazy--cursor" if self.has_focus else "lazy--cursor-blurred"
            style = base + self.get_component_rich_style(name)
        lead = "▸" if on else " "
        if row is None:
            waiting = Segment(lead + "·" * min(24, width - 1), style + Style(dim=True))
            return Strip([waiting]).adjust_cell_length(width, style)
        cells = [(row.cells[place], size, self.columns[place].right) for place, size in shown]
        return strip(lead, cells, style, width, self.app.console)
