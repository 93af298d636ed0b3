"""One question in two runs: both answers if there are any, both rankings, and the text under the cursor."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from ragtui.tui.data.case import CaseView, case_name, marks
from ragtui.tui.data.diff import PairView
from ragtui.tui.widgets.answer_text import answer_line
from ragtui.tui.widgets.case_pane import ChunkPane, golden_line, lost_lines, question_text
from ragtui.tui.widgets.case_text import marked_text
from ragtui.tui.widgets.stage_grid import StageGrid
from ragtui.tui.widgets.text import inert, value


class PairPane(Vertical):
    """Shows a `PairView`; `f` follows a document in both lists."""

    DEFAULT_CSS = """
    PairPane { height: 1fr; width: 1fr; }
    PairPane > Static { height: auto; max-height: 2; padding: 0 1; }
    PairPane > #pair-question { text-style: bold; }
    PairPane > .line { height: 1; }
    PairPane > .answer { height: auto; max-height: 2; }
    PairPane > .answer.-none { display: none; }
    PairPane > StageGrid { height: 5fr; min-height: 4; }
    PairPane > ChunkPane { height: 4fr; min-height: 4; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: PairView | None = None
        self.measure = ""

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Static(id="pair-question", markup=False)
        yield Static(id="pair-golden", classes="line", markup=False)
        yield Static(id="pair-score", classes="line", markup=False)
        yield Static(id="pair-base", classes="line", markup=False)
        yield Static(id="pair-new", classes="line", markup=False)
        yield Static(id="pair-base-answer", classes="answer -none", markup=False)
        yield Static(id="pair-new-answer", classes="answer -none", markup=False)
        yield StageGrid(id="pair-grid")
        yield ChunkPane(Static(id="pair-text", markup=False), classes="pane", id="pair-chunk")

    def show(self, view: PairView, measure: str) -> None:
        """Show a question; `measure` is the one that led here."""
        self.view, self.measure = view, measure
        grid = self.query_one(StageGrid)
        grid.show(view.stages)
        self._lines()

    def on_resize(self, event: events.Resize) -> None:
        """Lines are cut anew."""
        self._lines()

    def _lines(self) -> None:
        if self.view is None:
            return
        width = max(self.size.width - 2, 10)
        self.query_one("#pair-question", Static).update(question_text(self.view.new, answered=False))
        self.query_one("#pair-golden", Static).update(golden_line(self.view.new, width))
        self.query_one("#pair-score", Static).update(self._scores(width))
        for side, view in (("base", self.view.base), ("new", self.view.new)):
            self.query_one(f"#pair-{side}", Static).update(_side(side, view, width))
            answer = self.query_one(f"#pair-{side}-answer", Static)
            answer.set_class(case_name(view.case.id) is None or (view.answer is None and view.error is None), "-none")
            answer.update(Text(end="").append(f"{side:<5}", "bold").append_text(answer_line(view, 2 * width - 5)))

    def _scores(self, width: int) -> Text:
        assert self.view is not None
        old = {score.measure: score.value for score in self.view.base.scores}
        present = {score.measure: score.value for score in self.view.new.scores}
        names = [self.measure, *(name for name in present if name != self.measure)]
        line = Text(end="", no_wrap=True)
        for name in names:
            before, after = old.get(name), present.get(name)
            if name == self.measure or (before is not None and after is not None and before != after):
                line.append(f"{'' if name == names[0] else '   '}{name} ", "dim" if name != self.measure else "bold")
                line.append(f"{value(before)} → {value(after)}", "bold" if name == self.measure else "")
        line.truncate(width, overflow="ellipsis")
        return line

    def on_stage_grid_moved(self, message: StageGrid.Moved) -> None:
        """The text of the hit, as the run of its column saw it."""
        view = self.view
        if view is None:
            return
        case = view.base if message.stage is not None and message.stage.name == "base" else view.new
        pane, hit = self.query_one("#pair-chunk", ChunkPane), message.hit
        chunk = case.chunks.get(hit.ordinal) if hit is not None else None
        body = self.query_one("#pair-text", Static)
        if chunk is None:
            pane.border_title = "No chunk"
            body.update(Text("This list has no hit here.", style="dim"))
            return
        pane.border_title = inert(f"{chunk.name} · {message.grid.path()}")
        body.update(marked_text(chunk, marks(chunk, case.case, case.words, case.stemmer)))
        pane.scroll_home(animate=False)


def _side(side: str, view: CaseView, width: int) -> Text:
    return Text(f"{side:<5}", style="bold", end="") + lost_lines(view, width - 5, 1)
