"""One case: question and golden, stages side by side, a chunk's text, where the gold was lost, measures, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from ragtui.tui.data.case import CaseView, Hit, marks
from ragtui.tui.widgets.answer_text import answer_line
from ragtui.tui.widgets.case_text import marked_text, scores_block, scores_line, timing_line
from ragtui.tui.widgets.stage_grid import RELEVANT, StageGrid
from ragtui.tui.widgets.text import inert

if TYPE_CHECKING:
    from ragtui.analysis.attribution import Miss

_ROOMY = 108
_ANY_WIDTH = 10_000


class ChunkPane(VerticalScroll):
    """The text of the chunk under the cursor."""

    help_text = (
        "The chunk's text as the run saw it: the judged span in ⟦ ⟧, words of the question underlined. It scrolls."
    )


class SidePane(VerticalScroll):
    """Measures and where the gold was lost."""

    help_text = (
        "Every measure of this case, why it has no value if it has none, and where each missed judgment was lost."
    )


class CasePane(Vertical):
    """Shows a `CaseView`; what does not fit beside is put on one line."""

    DEFAULT_CSS = """
    CasePane { height: 1fr; width: 1fr; }
    CasePane > Static { height: auto; max-height: 3; padding: 0 1; }
    CasePane > #case-question { max-height: 3; text-style: bold; }
    CasePane > .line { height: 1; }
    CasePane StageGrid { height: 5fr; min-height: 4; }
    CasePane > #case-lower { height: 4fr; min-height: 4; }
    CasePane ChunkPane { width: 3fr; height: 1fr; }
    CasePane SidePane { width: 2fr; height: 1fr; display: none; }
    CasePane.-roomy SidePane { display: block; }
    CasePane.-roomy > #case-scores, CasePane.-roomy > #case-lost { display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: CaseView | None = None
        self.first = ""

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Static(id="case-question", markup=False)
        yield Static(id="case-golden", classes="line", markup=False)
        yield Static(id="case-scores", classes="line", markup=False)
        yield Static(id="case-lost", markup=False)
        yield StageGrid(id="case-grid")
        yield Static(id="case-path", classes="line", markup=False)
        with Horizontal(id="case-lower"):
            yield ChunkPane(classes="pane", id="case-chunk")
            yield SidePane(classes="pane", id="case-side")
        yield Static(id="case-time", classes="line", markup=False)

    def on_mount(self) -> None:
        """What scrolls holds one text each."""
        self.query_one(ChunkPane).mount(Static(id="chunk-text", markup=False))
        side = self.query_one(SidePane)
        side.border_title = "Measures"
        side.mount(Static(id="side-text", markup=False))

    def on_resize(self, event: events.Resize) -> None:
        """Another width shows other parts."""
        self.set_class(event.size.width >= _ROOMY, "-roomy")
        self.call_after_refresh(self._lines)

    def show(self, view: CaseView, first: str) -> None:
        """Show a case; `first` is the measure that decides."""
        self.view, self.first = view, first
        self.query_one(StageGrid).show(view.stages)
        self._lines()

    def _lines(self) -> None:
        view = self.view
        if view is None or not self.is_mounted or not self.query("#side-text"):
            return
        width = max(self.size.width - 2, 10)
        self.query_one("#case-question", Static).update(question_text(view))
        self.query_one("#case-golden", Static).update(golden_line(view, width))
        self.query_one("#case-scores", Static).update(scores_line(view.scores, width, self.first))
        lost = self.query_one("#case-lost", Static)
        lost.update(lost_lines(view, width, 2))
        lost.display = not self.has_class("-roomy")
        side = self.query_one(SidePane)
        self.query_one("#side-text", Static).update(self._side(max(side.content_size.width, 20)))
        self.query_one("#case-time", Static).update(timing_line(view.timings, width))

    def _side(self, width: int) -> Text:
        assert self.view is not None
        text = scores_block(self.view.scores, width, self.first)
        lost = lost_lines(self.view, _ANY_WIDTH, None)
        text.append("\n\n").append_text(lost)
        for note in self.view.notes:
            text.append("\n").append_text(inert(f"note: {note}"))
        return text

    def on_stage_grid_moved(self, message: StageGrid.Moved) -> None:
        """Show the text of the hit, and where the stages have its document."""
        grid = message.grid
        lead = "following » " if grid.followed is not None else "» "
        path = inert(f"{lead}{grid.marked}: {grid.path()}" if grid.marked else "")
        if path.cell_len > self.size.width - 2:
            path = inert(f"{lead}{grid.path()}")
        if grid.followed is not None:
            path.stylize("bold")
        self.query_one("#case-path", Static).update(path)
        self._chunk(message.hit)

    def _chunk(self, hit: Hit | None) -> None:
        pane = self.query_one(ChunkPane)
        texts = self.query("#chunk-text").results(Static)
        body = next(texts, None)
        if body is None or self.view is None:
            return
        chunk = self.view.chunks.get(hit.ordinal) if hit is not None else None
        if chunk is None:
            pane.border_title = "No chunk"
            body.update(Text(_nothing(self.view), style="dim"))
            return
        assert hit is not None
        judged = "" if hit.grade is None else f" · judged {hit.grade}" + ("" if hit.relevant else ", does not count")
        pane.border_title = inert(f"{chunk.name}{judged}")
        body.update(marked_text(chunk, marks(chunk, self.view.case, self.view.words, self.view.stemmer)))
        pane.scroll_home(animate=False)


def _nothing(view: CaseView) -> str:
    if view.status == "pending":
        return f"This case was not executed. Finish the run: ragtui resume {view.run_id}"
    if view.error is not None:
        return "The case ended in an error before it had results."
    return "This stage has no hit."


def question_text(view: CaseView, *, answered: bool = True) -> Text:
    """The question, what was asked instead if that differs, the error that ended the case, and its answer."""
    text = Text(end="")
    if view.error is not None:
        text.append("✗ ").append_text(inert(f"{view.error.kind}: {view.error.message}")).append("\n")
    elif view.case.turns:
        text.append(f"after {len(view.case.turns)} turn{'s' if len(view.case.turns) > 1 else ''}: ", "dim")
    text.append_text(inert(view.case.query))
    if answered and view.answer is not None:
        said = answer_line(view, 300)
        said.stylize_before("not bold")
        text.append("\n").append_text(said)
    if view.asked != view.case.query and view.error is None:
        text.append("   asked: ", "not bold dim").append_text(inert(view.asked, "not bold"))
    return text


def golden_line(view: CaseView, width: int) -> Text:
    """What is judged, with grades and spans, and the tags."""
    case = view.case
    line = Text("gold ", style="dim", end="", no_wrap=True)
    if not case.grades:
        line.append("nothing to find" + ("; a refusal is right" if case.expect_refusal else ""), "not dim")
    spans: dict[str, list[str]] = {}
    for span in case.spans:
        spans.setdefault(span.doc, []).append(f"{span.start}-{span.end}")
    for place, (doc, grade) in enumerate(case.grades.items()):
        glyph = RELEVANT if grade >= view.relevance else "○"
        where = f"#{','.join(spans[doc])}" if doc in spans else ""
        line.append(", " if place else "", "not dim")
        line.append(f"{glyph}{grade} ", "not dim bold").append_text(inert(doc + where, "not dim"))
    if case.tags:
        line.append("   tags ", "dim").append_text(inert(", ".join(case.tags)))
    line.truncate(width, overflow="ellipsis")
    return line


def lost_lines(view: CaseView, width: int, most: int | None) -> Text:
    """Where the gold was lost, a judgment a line."""
    if view.status == "pending":
        return Text("not executed", style="dim")
    if view.error is not None:
        return Text("")
    if not view.searched:
        return Text("nothing was searched for in this mode", style="dim")
    if not view.lost:
        return Text("✓ no gold was lost" if view.case.answerable else "", style="dim")
    lines = [_lost_line(miss, width) for miss in view.lost]
    if most is not None and len(lines) > most:
        left = len(lines) - most + 1
        lines = [*lines[: most - 1], Text(f"✗ and {left} more judgments were lost", end="")]
    return Text("\n").join(lines)


def _lost_line(miss: Miss, width: int) -> Text:
    span = "" if miss.start is None else f"#{miss.start}-{miss.end}"
    ranks = ", ".join(f"{name} {rank}" for name, rank in miss.ranks.items()) or "in no list"
    line = Text("✗ lost: ", end="", no_wrap=True).append(str(miss.cause), "bold").append("  ")
    line.append_text(inert(miss.doc + span)).append("  ").append_text(inert(ranks, "dim"))
    line.truncate(width, overflow="ellipsis")
    return line
