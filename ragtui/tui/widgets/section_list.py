"""Several short tables under their headings, one cursor through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ragtui.tui.widgets.cells import Column, Row, layout, strip

# Lines that are no row: a heading, a note, a blank; from here down, the second line of row `_BELOW - line`.
_BELOW = -10


class Section(NamedTuple):
    """A heading (its columns' titles, the first names the section) and rows; `note` stands where there is none."""

    key: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""


class SectionList(ScrollView, can_focus=True):
    """`enter` opens the row under the cursor; the screen decides what that means for a section."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", tooltip="Open the row under the cursor.", id="sections.choose"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="One row up.", id="sections.up"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="One row down.", id="sections.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="One page up.", id="sections.pageup"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="One page down.", id="sections.pagedown"),
        Binding("home", "end(-1)", "First", show=False, tooltip="The first row.", id="sections.home"),
        Binding("end", "end(1)", "Last", show=False, tooltip="The last row.", id="sections.end"),
        Binding("tab", "section(1)", "Next part", tooltip="To the next part of the list.", id="sections.next"),
        Binding("shift+tab", "section(-1)", "Above", show=False, tooltip="To the part above.", id="sections.above"),
    ]  # fmt: skip
    COMPONENT_CLASSES: ClassVar[set[str]] = {"sections--head", "sections--cursor", "sections--cursor-blurred"}
    DEFAULT_CSS = """
    SectionList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; background: $background;
        & > .sections--head { text-style: bold; color: $primary; }
        & > .sections--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
        }
        & > .sections--cursor-blurred {
            background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
        }
    }
    """

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, sections: SectionList, section: str, row: Row) -> None:
            self.sections, self.section, self.row = sections, section, row
            super().__init__()

        @property
        def control(self) -> SectionList:
            """The list."""
            return self.sections

    class Chosen(Message):
        """A row was opened."""

        def __init__(self, sections: SectionList, section: str, row: Row) -> None:
            self.sections, self.section, self.row = sections, section, row
            super().__init__()

        @property
        def control(self) -> SectionList:
            """The list."""
            return self.sections

    def __init__(self, *, id: str | None = None, help_text: str = "") -> None:
        super().__init__(id=id)
        self.help_text = help_text
        self.sections: tuple[Section, ...] = ()
        self._lines: list[tuple[int, int]] = []
        self._places: list[int] = []
        self.cursor = 0

    def show(self, sections: Sequence[Section], *, keep_cursor: bool = False) -> None:
        """Show these parts; `keep_cursor` leaves the cursor on the row of the same section and key, if it is there."""
        before = self.under_cursor() if keep_cursor else None
        self.sections = tuple(sections)
        self._lines, self._places = [], []
        for number, section in enumerate(self.sections):
            if number:
                self._lines.append((number, -3))
            self._lines.append((number, -1))
            if not section.rows:
                self._lines.append((number, -2))
            for place, row in enumerate(section.rows):
                self._places.append(len(self._lines))
                self._lines.append((number, place))
                if row.below:
                    self._lines.append((number, _BELOW - place))
        self.virtual_size = Size(1, len(self._lines))
        self.cursor = 0
        if before is not None:
            wanted = (before[0], before[1].key)
            known = [(section.key, row.key) for section in self.sections for row in section.rows]
            self.cursor = known.index(wanted) if wanted in known else 0
        else:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    def under_cursor(self) -> tuple[str, Row] | None:
        """(section, row) under the cursor, None where there is no row."""
        if not self._places:
            return None
        number, place = self._lines[self._places[self.cursor]]
        return self.sections[number].key, self.sections[number].rows[place]

    def go(self, place: int) -> None:
        """Put the cursor on the nth row."""
        if not self._places:
            return
        old, self.cursor = self.cursor, max(0, min(place, len(self._places) - 1))
        line = self._places[self.cursor]
        top, height = round(self.scroll_y), max(self.size.height, 1)
        # The heading comes into view with the first row of its section.
        number, first = self._lines[line]
        head = line - 1 if first == 0 else line
        last = line + bool(self.sections[number].rows[first].below)
        if head < top:
            self.scroll_to(y=head, animate=False)
        elif last >= top + height:
            self.scroll_to(y=last - height + 1, animate=False)
        self.refresh()
        found = self.under_cursor()
        if old != self.cursor and found is not None:
            self.post_message(self.Moved(self, *found))

    def go_to(self, section: str) -> None:
        """Put the cursor on the first row of a section."""
        for number, line in enumerate(self._places):
            if self.sections[self._lines[line][0]].key == section:
                self.go(number)
                return

    def action_move(self, by: int) -> None:
        """Rows up or down."""
        self.go(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Pages up or down."""
        self.go(self.cursor + by * max(self.size.height - 2, 1))

    def action_end(self, side: int) -> None:
        """The first or the last row."""
        self.go(0 if side < 0 else len(self._places) - 1)

    def action_section(self, by: int) -> None:
        """To the part below or above; past the last one to the next pane."""
        found = self.under_cursor()
        filled = [section.key for section in self.sections if section.rows]
        place = filled.index(found[0]) + by if found is not None else -1
        if 0 <= place < len(filled):
            self.go_to(filled[place])
        elif by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        found = self.under_cursor()
        if found is not None:
            self.post_message(self.Chosen(self, *found))

    def on_focus(self) -> None:
        """The cursor looks different with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh()

    def on_resize(self) -> None:
        """Columns are laid out anew."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one opens."""
        line = round(self.scroll_y) + event.y
        if line < len(self._lines) and self._lines[line][1] <= _BELOW:
            line -= 1
        if line in self._places:
            place = self._places.index(line)
            again = place == self.cursor and event.chain > 1
            self.go(place)
            if again:
                self.action_choose()

    def render_line(self, y: int) -> Strip:
        """A heading, a row, a note, or a blank line between parts."""
        width, base = self.scrollable_content_region.width, self.rich_style
        line = round(self.scroll_y) + y
        if line >= len(self._lines):
            return Strip.blank(width, base)
        number, place = self._lines[line]
        section = self.sections[number]
        if place == -3:
            return Strip.blank(width, base)
        if place == -2:
            return Strip([Segment(f" {section.note}", base)]).adjust_cell_length(width, base)
        shown = layout(section.columns, width - 2)
        console = self.app.console
        if place == -1:
            style = base + self.get_component_rich_style("sections--head", partial=True)
            heads = [(Text(section.columns[at].title, end=""), size, section.columns[at].right) for at, size in shown]
            return strip(" ", heads, style, width, console)
        below = place <= _BELOW
        row = section.rows[_BELOW - place if below else place]
        on = bool(self._places) and line - below == self._places[self.cursor]
        style = base
        if on:
            style += self.get_component_rich_style("sections--cursor" if self.has_focus else "sections--cursor-blurred")
        texts = row.below if below else row.cells
        cells = [(texts[at], size, section.columns[at].right) for at, size in shown]
        return strip("▸" if on and not below else " ", cells, style, width, console)
