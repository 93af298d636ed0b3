"""The diff screen: two runs, what differs between them, and each question in both."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Static
from textual.worker import get_current_worker

from ragtui.errors import Interrupted, RagtuiError
from ragtui.store.rows import Baseline
from ragtui.tui.data import diff as data
from ragtui.tui.data import trace
from ragtui.tui.data.diff import DiffView, Pair, PairView, Question, Side
from ragtui.tui.data.trace import RunLine, RunView
from ragtui.tui.messages import Failed, Loaded, ShowDiff, Told
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets import diff_rows
from ragtui.tui.widgets.document import DocumentDialog
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.pair_pane import PairPane
from ragtui.tui.widgets.picker import Picker
from ragtui.tui.widgets.promote import PromoteDialog
from ragtui.tui.widgets.run_rows import RUN_COLUMNS, run_rows
from ragtui.tui.widgets.section_list import SectionList
from ragtui.tui.widgets.text import inert, inert_block

Level = Literal["summary", "questions", "pair"]
BESIDE = 150


class DiffScreen(RagtuiScreen):
    """Specification, measures, tags, flips; then the questions of a measure; then both rankings of a question."""

    MODE = "diff"
    TITLE_WORDS = "Diff"
    HELP = """Did the change make it better? The new run against its baseline, or against any run: what differs in the
        specifications first, then each measure with its change, interval, wins and losses, then tags, then the cases that
        flipped. ★ is the measure that decides, ◆ one that guards. Enter on a measure lists its questions, worst first;
        enter on a question shows both rankings side by side."""
    CSS_PATH = "diff.tcss"
    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,backspace", "back", "Back", id="diff.back", tooltip="Back to the questions, or to the comparison."),
        Binding("b", "base", "Base", id="diff.base", tooltip="Choose the run to compare with."),
        Binding("n", "new", "New", id="diff.new", tooltip="Choose the run that is judged."),
        Binding("x", "swap", "Swap", id="diff.swap", tooltip="Exchange base and new."),
        Binding("p", "promote", "Promote", id="diff.promote", tooltip="Make the new run the baseline of its corpus and suites."),
        Binding("v", "verdict", "Verdict", id="diff.verdict", tooltip="The verdict with all its reasons and notes."),
        Binding("right_square_bracket", "step(1)", "Next", key_display="]", id="diff.next", tooltip="The next question of the list."),
        Binding("left_square_bracket", "step(-1)", "Previous", key_display="[", show=False, id="diff.previous", tooltip="The question above in the list."),
        Binding("o", "trace", "Trace", id="diff.trace", tooltip="Open the question in the new run on the Trace screen."),
        Binding("y", "copy", "Copy", id="diff.copy", tooltip="Copy the row under the cursor."),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.level: Level = "summary"
        self.lines: tuple[RunLine, ...] = ()
        self.pair: Pair | None = None
        self.view: DiffView | None = None
        self.views: tuple[RunView, RunView] | None = None
        self.measure = ""
        self.list: tuple[str, ...] = ()
        self._found: tuple[Question, ...] = ()
        self._at = 0
        self._from: Level = "summary"
        self._wanted: tuple[str | None, str | None] = (None, None)

    def compose_body(self) -> ComposeResult:
        """One level is seen at a time."""
        yield Static(id="diff-where", markup=False)
        yield Static(id="diff-verdict", markup=False)
        yield Static(id="diff-empty", markup=False)
        with Horizontal(id="diff-summary"):
            yield SectionList(id="diff-left", help_text="What differs. Enter on a measure or tag lists its questions.")
            yield SectionList(id="diff-right", help_text="Tags and flips. Enter on a flip shows both rankings.")
        yield LazyTable(
            diff_rows.QUESTION_COLUMNS, empty="No question changed.", id="diff-questions",
            help_text="The questions for which the measure changed, the greatest loss first.",
        )  # fmt: skip
        yield PairPane(id="diff-pair")

    def on_mount(self) -> None:
        """Read the runs; what to compare follows."""
        self._say("Reading the runs …")
        self.refresh_data()

    def refresh_data(self) -> None:
        """Read the runs again."""
        self.fetch("runs", partial(trace.run_lines, self.ragtui.lab))

    def on_show_diff(self, message: ShowDiff) -> None:
        """Another screen sends here."""
        self._wanted = (message.base, message.new)
        self.pair = None
        self.refresh_data()

    # -- levels -----------------------------------------------------------------------------------------------------

    def _say(self, text: str, hint: str = "") -> None:
        """A sentence in the place of results, and what to do."""
        shown = Text().append_text(inert_block(text, "bold" if hint else "")).append("\n\n").append_text(inert_block(hint))
        self.query_one("#diff-empty", Static).update(shown)
        self.view = None
        self._go("summary")

    def _go(self, level: Level) -> None:
        self.level = level
        there = self.view is not None
        self.query_one("#diff-empty").display = not there
        self.query_one("#diff-verdict").display = there and level == "summary"
        self.query_one("#diff-summary").display = there and level == "summary"
        self.query_one("#diff-questions").display = there and level == "questions"
        self.query_one("#diff-pair").display = there and level == "pair"
        if there:
            self.query_one({"summary": "#diff-left", "questions": "#diff-questions", "pair": "#pair-grid"}[level]).focus()
        self._where()
        self.refresh_bindings()

    def _where(self) -> None:
        line = Text(end="", no_wrap=True)
        if self.pair is not None:
            width = max((self.size.width - 30) // 2, 24)
            line.append("base ", "dim").append_text(_side(self.pair.base, width))
            line.append("  →  new ", "dim").append_text(_side(self.pair.new, width))
            if self.level == "summary":
                line.append(f"   {self.pair.why}", "dim")
            elif self.level == "questions":
                line.append(f"  › {self.measure}: {len(self._found)} changed", "bold")
            else:
                line.append(f"  › {self._at + 1} of {len(self.list)}", "bold")
        self.query_one("#diff-where", Static).update(line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is possible on this level."""
        if action in ("base", "new"):
            return self.level == "summary" and bool(self.lines)
        if action in ("swap", "promote", "verdict"):
            return self.level == "summary" and self.pair is not None
        if action == "back":
            return self.level != "summary"
        if action in ("step", "trace"):
            return self.level == "pair"
        return self.view is not None if action == "copy" else True

    def action_back(self) -> None:
        """One level out."""
        if self.level != "summary":
            self._go(self._from if self.level == "pair" else "summary")

    def on_resize(self, event: events.Resize) -> None:
        """One list or two."""
        self._sections(keep=True)
        self._where()

    # -- what workers bring -------------------------------------------------------------------------------------------

    def on_loaded(self, message: Loaded) -> None:
        """Keep and show."""
        getattr(self, f"_got_{message.topic}")(message.value)

    def on_failed(self, message: Failed) -> None:
        """Where nothing can be shown, the reason stands in its place; otherwise a dialog."""
        if message.topic in ("runs", "view"):
            self._say(f"✗ {message.error.message}", message.error.hint)
        else:
            self.ragtui.show_error(message.error)

    def _got_runs(self, lines: tuple[RunLine, ...]) -> None:
        self.lines = lines
        if self.pair is not None and self.view is not None:
            known = {line.row.run_id for line in lines}
            if {self.pair.base.row.run_id, self.pair.new.row.run_id} <= known:
                self.pair = data.choose_pair(lines, self.pair.base.row.run_id, self.pair.new.row.run_id)
                self._where()
                return
        self._compare(*self._wanted)

    def _compare(self, base: str | None, new: str | None) -> None:
        self._wanted = (base, new)
        try:
            self.pair = pair = data.choose_pair(self.lines, base, new)
        except RagtuiError as error:
            self.pair = None
            self._say(error.message, error.hint)
            return
        self._say(f"Comparing {pair.base.row.cases:,} and {pair.new.row.cases:,} cases …")
        lab = self.ragtui.lab

        def tell(text: str) -> None:
            if get_current_worker().is_cancelled:
                raise Interrupted("Another pair was chosen.", "")
            self.tell("view", text)

        self.fetch("view", lambda: (data.diff_view(lab, pair, tell), data.open_pair(lab, pair)))

    def on_told(self, message: Told) -> None:
        """How far the reading is."""
        if self.view is None:
            self.query_one("#diff-empty", Static).update(Text(message.text))

    def _got_view(self, found: tuple[DiffView, tuple[RunView, RunView]]) -> None:
        self.view, self.views = found
        self.measure = self.view.primary
        self._sections(keep=False)
        self._go("summary")
        self.query_one("#diff-left", SectionList).go_to("measures")

    def _sections(self, keep: bool) -> None:
        view = self.view
        if view is None:
            return
        width = self.app.size.width
        verdict = self.query_one("#diff-verdict", Static)
        verdict.update(diff_rows.verdict_text(view, width - 2, 2 if self.app.size.height < 36 else 4))
        for name in ("PASS", "FAIL", "INCONCLUSIVE"):
            verdict.set_class(str(view.comparison.verdict) == name, f"-{name.lower()}")
        beside = width >= BESIDE
        first = [diff_rows.specification_section(view), diff_rows.measure_section(view)]
        second = [diff_rows.tag_section(view, self.measure), diff_rows.flip_section(view)] if self.measure else []
        right = self.query_one("#diff-right", SectionList)
        right.display = beside
        self.query_one("#diff-left", SectionList).show([*first, *([] if beside else second), *diff_rows.left_out_section(view)], keep_cursor=keep)
        right.show(second if beside else [], keep_cursor=keep)

    def on_section_list_moved(self, message: SectionList.Moved) -> None:
        """The tags show the measure under the cursor."""
        if message.section == "measures" and self.view is not None and message.row.key in self.view.measures:
            self.measure = message.row.key
            self._sections(keep=True)

    def on_section_list_chosen(self, message: SectionList.Chosen) -> None:
        """To the questions of a measure or tag, or to a flipped case."""
        if self.view is None:
            return
        if message.section == "flips":
            self.list = tuple(flip.case for flip in self.view.comparison.flips)
            self.measure = self.view.comparison.flip_measure
            self._open_case(message.row.key, "summary")
        elif message.section == "tags" or (message.section == "measures" and message.row.key in self.view.measures):
            measure = self.measure if message.section == "tags" else message.row.key
            self._questions(measure, message.row.key if message.section == "tags" else None)

    def _questions(self, measure: str, tag: str | None) -> None:
        assert self.view is not None
        self.measure = measure
        self._found = data.questions(self.view, measure, tag)
        self.list = tuple(item.case for item in self._found)
        self.query_one("#diff-questions", LazyTable).reset(len(self._found))
        self._go("questions")

    def on_lazy_table_rows_wanted(self, message: LazyTable.RowsWanted) -> None:
        """The questions are here."""
        rows = diff_rows.question_rows(self._found[message.offset : message.offset + message.limit])
        message.table.put(message.generation, message.offset, rows)

    def on_lazy_table_chosen(self, message: LazyTable.Chosen) -> None:
        """Both rankings of a question."""
        self._open_case(message.row.key, "questions")

    def _open_case(self, case_id: str, come_from: Level) -> None:
        if self.views is None:
            return
        self._from, self._at = come_from, self.list.index(case_id)
        self.fetch("pair", partial(data.pair_view, self.ragtui.lab, self.views, case_id))

    def _got_pair(self, view: PairView) -> None:
        self.query_one(PairPane).show(view, self.measure)
        self._go("pair")

    def action_step(self, by: int) -> None:
        """The question below or above."""
        place = max(0, min(self._at + by, len(self.list) - 1))
        if place != self._at:
            self._open_case(self.list[place], self._from)
            if self._from == "questions":
                self.query_one("#diff-questions", LazyTable).go(place)

    def action_trace(self) -> None:
        """The question in the new run."""
        if self.pair is not None and self.list:
            self.ragtui.open_trace(self.pair.new.row.run_id, self.list[self._at])

    # -- the pair -----------------------------------------------------------------------------------------------------

    def action_base(self) -> None:
        """Choose the base."""
        self._choose("Compare with", lambda run_id: self._compare(run_id, self._side_id("new")), "base")

    def action_new(self) -> None:
        """Choose the run that is judged."""
        self._choose("Judge the run", lambda run_id: self._compare(None, run_id), "new")

    def _choose(self, title: str, then: Any, side: str) -> None:
        picker = Picker(title, RUN_COLUMNS, run_rows(self.lines), self._side_id(side))
        self.app.push_screen(picker, lambda key: then(key) if key is not None else None)

    def _side_id(self, side: str) -> str | None:
        if self.pair is None:
            return self._wanted[side == "new"]
        return (self.pair.base if side == "base" else self.pair.new).row.run_id

    def action_swap(self) -> None:
        """Exchange the two."""
        self._compare(self._side_id("new"), self._side_id("base"))

    def action_verdict(self) -> None:
        """All reasons and notes."""
        if self.view is not None:
            found = self.view.comparison
            parts = [str(found.verdict), *found.reasons, *(f"note: {note}" for note in found.notes)]
            self.app.push_screen(DocumentDialog("Verdict", "\n\n".join(parts)))

    def action_promote(self) -> None:
        """Ask for name and reason."""
        if self.pair is None:
            return
        row, known = self.pair.new.row, self.pair.base.baseline or "default"
        text = f"Run {row.run_id} ({row.name or 'unnamed'}) becomes the baseline of its corpus and suites. The old one stays a run."
        lab = self.ragtui.lab

        def done(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                self.fetch("promoted", partial(data.promote, lab, row.run_id, *answer))

        self.app.push_screen(PromoteDialog(text, known), done)

    def _got_promoted(self, baseline: Baseline) -> None:
        self.toast(f"Run {baseline.run_id} is now the baseline {baseline.name!r}.")
        self.ragtui.store_changed()

    def action_copy(self) -> None:
        """Copy the row under the cursor."""
        if self.level == "pair" and self.list:
            self.ragtui.copy(self.list[self._at])
            return
        table = self.query_one("#diff-questions", LazyTable)
        if self.level == "questions":
            row = table.row_at(table.cursor)
        else:
            focused = self.focused if isinstance(self.focused, SectionList) else self.query_one("#diff-left", SectionList)
            found = focused.under_cursor()
            row = found[1] if found is not None else None
        if row is not None:
            self.ragtui.copy("\t".join(cell.plain.strip() for cell in row.cells))


def _side(side: Side, width: int) -> Text:
    star = "★ " if side.baseline else ""
    return Text(f"{star}{side.row.run_id} ", style="bold", end="") + inert(side.row.name or "unnamed", "not bold", max(width - 16, 6))
