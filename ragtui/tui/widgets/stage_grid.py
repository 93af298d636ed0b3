"""A case's lists side by side, a column a stage, with one document followed through all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ragtui.tui.data.case import Hit, Stage
from ragtui.tui.widgets.cells import fitted, middle
from ragtui.tui.widgets.text import inert

LEAST = 18
MOST = 44
RELEVANT, JUDGED = "●", "○"


def glyph(hit: Hit) -> str:
    """`●3` for a relevant hit with its grade, `○1` for one judged below what counts, blanks for an unjudged one."""
    if hit.grade is None:
        return "  "
    return f"{RELEVANT if hit.relevant else JUDGED}{hit.grade}"


class StageGrid(Widget, can_focus=True):
    """The cursor is on one hit; the same document is marked `»` in every column.

    While following, each column is scrolled by itself to where it has the document.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "rank(-1)", "Up", show=False, tooltip="The hit above.", id="grid.up"),
        Binding("down,j", "rank(1)", "Down", show=False, tooltip="The hit below.", id="grid.down"),
        Binding("left,h", "stage(-1)", "Stage left", show=False, tooltip="The stage to the left.", id="grid.left"),
        Binding("right,l", "stage(1)", "Stage right", show=False, tooltip="The stage to the right.", id="grid.right"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A page of hits up.", id="grid.pageup"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="A page of hits down.", id="grid.pagedown"),
        Binding("home", "first", "First hit", show=False, tooltip="The first hit of the stage.", id="grid.home"),
        Binding(
            "f",
            "follow",
            "Follow",
            tooltip="Follow the document under the cursor through every stage.",
            id="grid.follow",
        ),
        Binding("n", "gold", "Next gold", tooltip="Go to the next relevant hit of this stage.", id="grid.gold"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "grid--head", "grid--relevant", "grid--same", "grid--cursor", "grid--cursor-blurred",
    }  # fmt: skip
    DEFAULT_CSS = """
    StageGrid { height: 1fr; background: $background;
        & > .grid--head { text-style: bold; color: $primary; }
        & > .grid--relevant { color: $success; text-style: bold; }
        & > .grid--same { color: $accent; text-style: bold; }
        & > .grid--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold; }
        & > .grid--cursor-blurred {
            background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
        }
    }
    """
    help_text = (
        "Each stage's hits, best first, in the order of the pipeline. ●3 is a relevant hit with its grade, ○1 one that "
        "is judged but does not count, » the document under the cursor wherever else it stands. f follows it: every "
        "stage scrolls to where it has it."
    )

    class Moved(Message):
        """Another hit is under the cursor; None where the stage is empty."""

        def __init__(self, grid: StageGrid, stage: Stage | None, hit: Hit | None) -> None:
            self.grid, self.stage, self.hit = grid, stage, hit
            super().__init__()

        @property
        def control(self) -> StageGrid:
            """The grid."""
            return self.grid

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.stages: tuple[Stage, ...] = ()
        self.column = 0
        self.rank = 1
        self.followed: str | None = None
        self._tops: list[int] = []
        self._first = 0

    def show(self, stages: Sequence[Stage]) -> None:
        """Show a case's stages, the cursor on the first hit of the last stage that has any."""
        self.stages = tuple(stages)
        filled = [place for place, stage in enumerate(self.stages) if stage.hits]
        self.column = filled[-1] if filled else max(len(self.stages) - 1, 0)
        self.rank = 1
        self._tops = [0] * len(self.stages)
        self._first = 0
        if self.followed is not None and not any(stage.rank_of(self.followed) for stage in self.stages):
            self.followed = None
        self._settle()

    @property
    def stage(self) -> Stage | None:
        """The stage under the cursor."""
        return self.stages[self.column] if self.stages else None

    @property
    def hit(self) -> Hit | None:
        """The hit under the cursor."""
        stage = self.stage
        return stage.hits[self.rank - 1] if stage is not None and self.rank <= len(stage.hits) else None

    @property
    def marked(self) -> str | None:
        """The document that is marked: the followed one, else the one under the cursor."""
        return self.followed if self.followed is not None else (self.hit.doc if self.hit is not None else None)

    def path(self) -> str:
        """Where each stage has the marked document: `bm25 3 → vector – → fused 2`."""
        doc = self.marked
        if doc is None:
            return ""
        return " → ".join(f"{stage.name} {stage.rank_of(doc) or '–'}" for stage in self.stages)

    # -- moving -------------------------------------------------------------------------------------------------------

    def action_rank(self, by: int) -> None:
        """Up or down in the stage."""
        self._go(self.column, self.rank + by)

    def action_page(self, by: int) -> None:
        """Pages up or down."""
        self._go(self.column, self.rank + by * max(self._rows - 1, 1))

    def action_first(self) -> None:
        """The first hit."""
        self._go(self.column, 1)

    def action_stage(self, by: int) -> None:
        """The stage beside; while following, to the followed document's hit in it."""
        column = max(0, min(self.column + by, len(self.stages) - 1))
        rank = self.rank
        if self.followed is not None and self.stages:
            rank = self.stages[column].rank_of(self.followed) or rank
        self._go(column, rank)

    def action_follow(self) -> None:
        """Follow the document under the cursor, or stop following it."""
        doc = self.hit.doc if self.hit is not None else None
        self.followed = None if self.followed == doc else doc
        self._settle()

    def action_gold(self) -> None:
        """The next relevant hit of the stage, from the top again after the last."""
        stage = self.stage
        ranks = [hit.rank for hit in stage.hits if hit.relevant] if stage is not None else []
        if ranks:
            self._go(self.column, next((rank for rank in ranks if rank > self.rank), ranks[0]))

    def _go(self, column: int, rank: int) -> None:
        if not self.stages:
            return
        self.column = max(0, min(column, len(self.stages) - 1))
        self.rank = max(1, min(rank, len(self.stages[self.column].hits) or 1))
        self._settle()

    @property
    def _rows(self) -> int:
        return max(self.size.height - 1, 1)

    def _settle(self) -> None:
        """Scroll so that the cursor is in view, and every column where it has the followed document."""
        if self.stages and self.size.height:
            for place, stage in enumerate(self.stages):
                last = max(len(stage.hits) - self._rows, 0)
                followed = stage.rank_of(self.followed) if self.followed is not None else None
                if self.followed is not None and place != self.column:
                    self._tops[place] = min(max((followed or 1) - 1 - self._rows // 2, 0), last)
            top = self._tops[self.column]
            top = min(max(top, self.rank - self._rows), self.rank - 1)
            if self.followed is None:
                self._tops = [min(top, max(len(stage.hits) - 1, 0)) for stage in self.stages]
            self._tops[self.column] = top
            shown = self._shown_count()
            self._first = min(max(self._first, self.column - shown + 1), self.column)
            self._first = max(min(self._first, len(self.stages) - shown), 0)
        self.refresh()
        self.post_message(self.Moved(self, self.stage, self.hit))

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._settle()

    def on_focus(self) -> None:
        """The cursor looks different with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the hit that was clicked."""
        place = min(self._first + (event.x - 1) // (self._width() + 1), len(self.stages) - 1)
        if self.stages and event.y >= 1:
            self._go(place, self._tops[place] + event.y)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three hits down."""
        event.stop()
        self.action_rank(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three hits up."""
        event.stop()
        self.action_rank(-3)

    # -- drawing ------------------------------------------------------------------------------------------------------

    def _shown_count(self) -> int:
        return max(1, min(len(self.stages), (self.size.width - 1) // (LEAST + 1)))

    def _width(self) -> int:
        return min(MOST, (self.size.width - 1) // max(self._shown_count(), 1) - 1)

    def render_line(self, y: int) -> Strip:
        """The heads, then hits."""
        base = self.rich_style
        width = self.size.width
        if not self.stages:
            return Strip([Segment(" No stage ran." if y == 0 else "", base)]).adjust_cell_length(width, base)
        size = self._width()
        segments = [Segment(" ", base)]
        for place in range(self._first, min(self._first + self._shown_count(), len(self.stages))):
            segments += self._head(place, size, base) if y == 0 else self._cell(place, y, size, base)
            segments.append(Segment(" ", base))
        return Strip(segments).adjust_cell_length(width, base)

    def _head(self, place: int, size: int, base: Style) -> list[Segment]:
        stage = self.stages[place]
        style = base + self.get_component_rich_style("grid--head", partial=True)
        left = "‹ " if place == self._first and place > 0 else ""
        last = self._first + self._shown_count() - 1
        right = " ›" if place == last and last < len(self.stages) - 1 else ""
        doc = self.marked
        found = stage.rank_of(doc) if doc else None
        note = f"»{found}" if found else ("»none" if self.followed is not None else "")
        if not stage.hits:
            note = "empty"
        tail = Text(f"{note}{right}", end="")
        head = inert(left + stage.name, width=max(size - len(tail.plain) - 1, 3))
        line = head + Text(" " * max(size - head.cell_len - tail.cell_len, 1), end="") + tail
        return fitted(line, size, False, style, self.app.console)

    def _cell(self, place: int, y: int, size: int, base: Style) -> list[Segment]:
        stage = self.stages[place]
        index = self._tops[place] + y - 1
        if index >= len(stage.hits):
            return [Segment(" " * size, base)]
        hit = stage.hits[index]
        on = place == self.column and hit.rank == self.rank
        same = hit.doc == self.marked and hit.doc != ""
        style = base
        if hit.relevant:
            style += self.get_component_rich_style("grid--relevant", partial=True)
        elif same:
            style += self.get_component_rich_style("grid--same", partial=True)
        if on:
            style = base + self.get_component_rich_style("grid--cursor" if self.has_focus else "grid--cursor-blurred")
        lead = "▸" if on else ("»" if same else " ")
        # What was injected without a search has no score.
        score = f" {hit.score:.4f}" if size >= 30 and not math.isnan(hit.score) else ""
        score = f" {hit.note}{score}" if hit.note else score
        front = f"{lead}{hit.rank:>3} {glyph(hit)} "
        room = size - len(front) - len(score)
        name = middle(inert(hit.name).plain, room)
        line = front + name + " " * (room - Text(name).cell_len) + score
        return fitted(Text(line, end=""), size, False, style, self.app.console)
