"""A list of rows in columns that draws only what is seen: cheap to change ten times a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Column(NamedTuple):
    """A column's head, its width in cells (0: what is left, shared), from which width of the pane it is shown, and
    its width in a wide pane where that differs."""

    title: str
    width: int = 0
    right: bool = False
    from_width: int = 0
    wide: int = 0


Row = Sequence[Content | str]
_WIDE = 60


class RowList(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows under a fixed head, with a cursor. Strings are text, never markup; foreign text must already be inert.

    `keys[i]` names row i: the cursor stays on its key when rows change. Enter or a click on the cursor's row posts
    `Chosen`; moving posts `Moved`.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="One row up."),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="One row down."),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="One page up."),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="One page down."),
        Binding("home", "edge(0)", "First", show=False, tooltip="The first row."),
        Binding("end", "edge(-1)", "Last", show=False, tooltip="The last row; a list that grows is followed there."),
        Binding("enter", "choose", "Open", show=False, tooltip="Open the row."),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--head", "rows--cursor", "rows--blurred"}
    DEFAULT_CSS = """
    RowList {
        height: 1fr; background: $background; color: $foreground; overflow-x: hidden; overflow-y: auto;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
    }
    RowList > .rows--head { text-style: bold; color: $secondary; background: $background; }
    RowList > .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
    RowList > .rows--blurred { background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground; }
    """
    cursor = reactive(0)

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: RowList, key: str) -> None:
            self.rows, self.key = rows, key
            super().__init__()

        @property
        def control(self) -> RowList:
            """The list, for `@on` selectors."""
            return self.rows

    class Chosen(Moved):
        """The row was opened."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        id: str | None = None,
        classes: str | None = None,
        head: bool = True,
        empty: str = "",
        help_text: str = "",
        cursor: bool = True,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = tuple(columns)
        self.rows: Sequence[Row] = ()
        self.keys: Sequence[str] = ()
        self.empty = empty
        self.help_text = help_text
        self._head = int(head)
        self._has_cursor = cursor
        self._strips: dict[tuple[int, int, bool], Strip] = {}

    def set_rows(self, rows: Sequence[Row], keys: Sequence[str] | None = None, *, follow: bool = False) -> None:
        """Show other rows. With `follow` a cursor on the last row goes to the new last row."""
        at_end = self.cursor >= len(self.rows) - 1
        key = self.key
        self.rows = rows
        self.keys = keys if keys is not None else [str(place) for place in range(len(rows))]
        self._strips.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, len(rows) + self._head)
        if follow and at_end:
            self.cursor = max(len(rows) - 1, 0)
        elif key in self.keys:
            self.cursor = self.keys.index(key)
        else:
            self.cursor = min(self.cursor, max(len(rows) - 1, 0))
        self._show_cursor()
        self.refresh()

    @property
    def is_wide(self) -> bool:
        """Whether columns have their wide width."""
        return self.scrollable_content_region.width >= _WIDE

    @property
    def key(self) -> str:
        """The key of the cursor's row; empty where there is none."""
        return self.keys[self.cursor] if 0 <= self.cursor < len(self.keys) else ""

    def select(self, key: str) -> None:
        """Put the cursor on a row."""
        if key in self.keys:
            self.cursor = self.keys.index(key)

    def validate_cursor(self, cursor: int) -> int:
        """Stay within the rows."""
        return min(max(cursor, 0), max(len(self.rows) - 1, 0))

    def watch_cursor(self, old: int, new: int) -> None:
        """Redraw, keep in sight, tell."""
        if old != new and self.rows:
            self._show_cursor()
            self.refresh()
            self.post_message(self.Moved(self, self.key))

    def _show_cursor(self) -> None:
        """Scroll just as far as the cursor's row needs."""
        seen = self.size.height - self._head
        if seen <= 0 or not self._has_cursor:
            return
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + seen:
            self.scroll_to(y=self.cursor - seen + 1, animate=False, immediate=True)

    def on_resize(self) -> None:
        """Columns are laid out anew."""
        self._strips.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.rows) + self._head)
        self._show_cursor()

    def notify_style_update(self) -> None:
        """Another theme, other colours."""
        self._strips.clear()
        super().notify_style_update()

    def on_focus(self) -> None:
        """The cursor looks different."""
        self._strips.clear()
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different."""
        self._strips.clear()
        self.refresh()

    # -- drawing ------------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the pane."""
        width = self.scrollable_content_region.width
        if y < self._head:
            return self._strip([column.title for column in self.columns], "rows--head", width)
        row = y - self._head + self.scroll_offset.y
        if row >= len(self.rows):
            if not self.rows and y == self._head and self.empty:
                text = Content.styled(self.empty, "dim").truncate(width, ellipsis=True, pad=True)
                return self._draw(text, "", width)
            return Strip.blank(width, self.rich_style)
        at_cursor = self._has_cursor and row == self.cursor
        key = (row, width, at_cursor)
        if key not in self._strips:
            if len(self._strips) > 500:
                self._strips.clear()
            name = ("rows--cursor" if self.has_focus else "rows--blurred") if at_cursor else ""
            self._strips[key] = self._strip(self.rows[row], name, width)
        return self._strips[key]

    def _strip(self, cells: Row, component: str, width: int) -> Strip:
        widths = self._widths(width)
        parts: list[Content] = []
        for column, room, cell in zip(self.columns, widths, cells, strict=False):
            if room <= 0:
                continue
            content = cell if isinstance(cell, Content) else Content(cell)
            if column.right and content.cell_length < room:
                content = content.pad_left(room - content.cell_length)
            parts.append(content.truncate(room, ellipsis=True, pad=True))
        text = Content("  ").join(parts).truncate(width, pad=True)
        return self._draw(text, component, width)

    def _draw(self, text: Content, component: str, width: int) -> Strip:
        style = self.get_visual_style(component) if component else self.visual_style
        segments = [Segment(part, found.rich_style) for part, found in text.render(style, "", self._get_style)]
        return Strip(segments, width)

    def _widths(self, width: int) -> list[int]:
        shown = [column.from_width <= width for column in self.columns]
        wanted = [column.wide if column.wide and width >= _WIDE else column.width for column in self.columns]
        fixed = sum(room for room, seen in zip(wanted, shown, strict=True) if seen)
        gaps = 2 * max(sum(shown) - 1, 0)
        loose = sum(seen and room == 0 for room, seen in zip(wanted, shown, strict=True))
        left = max(width - fixed - gaps, 0)
        found = []
        for room, seen in zip(wanted, shown, strict=True):
            if not seen:
                found.append(0)
            elif room:
                found.append(room)
            else:
                share = left // loose
                left, loose = left - share, loose - 1
                found.append(share)
        return found

    # -- moving -------------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Up or down."""
        if self._has_cursor:
            self.cursor += by
        else:
            self.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        step = max(self.size.height - self._head - 1, 1) * by
        if self._has_cursor:
            self.cursor += step
        else:
            self.scroll_relative(y=step, animate=False)

    def action_edge(self, place: int) -> None:
        """First or last row."""
        target = 0 if place == 0 else len(self.rows)
        if self._has_cursor:
            self.cursor = target
        else:
            self.scroll_to(y=target, animate=False)

    def action_choose(self) -> None:
        """Open the row."""
        if self.rows and self._has_cursor:
            self.post_message(self.Chosen(self, self.key))

    def on_click(self, event: events.Click) -> None:
        """Move to a row; a click on the cursor's row opens it."""
        row = event.y - self._head + self.scroll_offset.y
        if event.y < self._head or not 0 <= row < len(self.rows) or not self._has_cursor:
            return
        if row == self.cursor:
            self.action_choose()
        self.cursor = row

    def row_region(self, row: int) -> Region:
        """Where a row is drawn, relative to the pane; for tests."""
        return Region(0, row - self.scroll_offset.y + self._head, self.size.width, 1)
