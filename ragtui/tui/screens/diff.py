"""The diff screen: two runs, what differs between them, and each question in both."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from ragtui.tui.data import diff as data
from ragtui.tui.data import trace
from ragtui.tui.data.diff import DiffView, PairView, Question
from ragtui.tui.data.trace import RunLine, RunView
from ragtui.tui.messages import Failed, Loaded, ShowDiff
from ragtui.tui.screens.diff_pair import DIFF_KEYS, PairOfRuns
from ragtui.tui.widgets import diff_rows
from ragtui.tui.widgets.answer_text import whole_answer
from ragtui.tui.widgets.beside import BesideDialog, Side
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.pair_pane import PairPane
from ragtui.tui.widgets.section_list import SectionList
from ragtui.tui.widgets.text import inert

Level = Literal["summary", "questions", "pair"]
BESIDE = 150


class DiffScreen(PairOfRuns):
    """Specification, measures, tags, flips; then the questions of a measure; then both rankings of a question."""

    MODE = "diff"
    TITLE_WORDS = "Diff"
    HELP = """Did the change make it better? The new run against its baseline, or against any run: what differs in the
        specifications first, then each measure with its change, interval, wins and losses, then tags, then the cases
        that flipped. ◆ primary measure, ◇ guard, ★ baseline; ▲ better, ▼ worse, = equal, · not told apart from no
        change; verdict ✓ PASS, ✗ FAIL, ? INCONCLUSIVE. Enter on a measure lists its questions, worst first; enter on
        a question shows both rankings side by side, and for runs that ask a model both answers."""
    CSS_PATH = "diff.tcss"
    BINDINGS: ClassVar[list[Any]] = DIFF_KEYS

    def __init__(self) -> None:
        super().__init__()
        self.level: Level = "summary"
        self.views: tuple[RunView, RunView] | None = None
        self.measure = ""
        self.list: tuple[str, ...] = ()
        self._found: tuple[Question, ...] = ()
        self._at = 0
        self._from: Level = "summary"

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
        """Compare at once where another screen has read the runs, otherwise read them."""
        self.say("Reading the runs …")
        if self.ragtui.runs:
            self.call_after_refresh(self._got_runs, self.ragtui.runs)
        # What the other screen has read may be older than the newest run.
        self.refresh_data()

    def refresh_data(self) -> None:
        """Read the runs again."""
        self.fetch("runs", partial(trace.run_lines, self.ragtui.lab))

    def on_show_diff(self, message: ShowDiff) -> None:
        """Another screen sends here."""
        self.wanted = (message.base, message.new)
        self.pair = None
        self.refresh_data()

    # -- levels -----------------------------------------------------------------------------------------------------

    def show_nothing(self) -> None:
        """See the base class."""
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
            self.query_one(
                {"summary": "#diff-left", "questions": "#diff-questions", "pair": "#pair-grid"}[level]
            ).focus()
        self._where()
        self.refresh_bindings()

    def _where(self) -> None:
        line = Text(end="", no_wrap=True)
        if self.pair is not None:
            width = max((self.size.width - (30 if self.level == "summary" else 48)) // 2, 14)
            line.append("base ", "dim").append_text(diff_rows.side_text(self.pair.base, width))
            line.append("  →  new ", "dim").append_text(diff_rows.side_text(self.pair.new, width))
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
        if action == "whatif":
            return self.pair is not None
        if action in ("swap", "promote"):
            return self.level == "summary" and self.pair is not None
        if action == "verdict":
            return self.level == "summary" and self.view is not None
        if action == "back":
            return self.level != "summary"
        if action in ("step", "trace"):
            return self.level == "pair"
        if action == "answers":
            return self.level == "pair" and self.pair is not None and self.pair.new.row.tier == "generation"
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
        message.prevent_default()
        if message.topic in ("runs", "view"):
            self.say(f"✗ {message.error.message}", message.error.hint)
        else:
            self.ragtui.show_error(message.error)

    def _got_runs(self, lines: tuple[RunLine, ...]) -> None:
        if self.pair is not None and self.view is None and lines == self.lines:
            # They are being compared already.
            return
        self.lines = self.ragtui.runs = lines
        if self.pair is not None and self.view is not None:
            known = {line.row.run_id for line in lines}
            if {self.pair.base.row.run_id, self.pair.new.row.run_id} <= known:
                self.pair = data.choose_pair(lines, self.pair.base.row.run_id, self.pair.new.row.run_id)
                self._where()
                return
        self.compare(*self.wanted)

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
        self.query_one("#diff-left", SectionList).show(
            [*first, *([] if beside else second), *diff_rows.left_out_section(view)], keep_cursor=keep
        )
        right.show(second if beside else [], keep_cursor=keep)

    def on_section_list_moved(self, message: SectionList.Moved) -> None:
        """The tags show the measure under the cursor."""
        self.state_line(diff_rows.told(message.section, message.row))
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

    def on_lazy_table_moved(self, message: LazyTable.Moved) -> None:
        """Tell what the table is too narrow for."""
        if message.row is not None:
            self.state_line(diff_rows.told("questions", message.row))

    def on_lazy_table_chosen(self, message: LazyTable.Chosen) -> None:
        """Both rankings of a question."""
        self._open_case(message.row.key, "questions")

    def _open_case(self, case_id: str, come_from: Level) -> None:
        if self.views is None or self.view is None:
            return
        self._from, self._at = come_from, self.list.index(case_id)
        self.fetch("pair", partial(data.pair_view, self.ragtui.lab, self.views, case_id, self.view.names))

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

    def action_answers(self) -> None:
        """Both answers, whole."""
        view = self.query_one(PairPane).view
        if view is not None:
            sides = [
                Side(name, f"{name} {side.run_id} {side.case.id}", whole_answer(side))
                for name, side in (("base", view.base), ("new", view.new))
            ]
            head = inert(view.new.case.query, "bold", 400)
            self.app.push_screen(BesideDialog("Answers", head, sides, "new"), self._open_answered)

    def _open_answered(self, key: str | None) -> None:
        view = self.query_one(PairPane).view
        if key is not None and view is not None:
            side = view.base if key == "base" else view.new
            self.ragtui.open_trace(side.run_id, side.case.id)

    def action_trace(self) -> None:
        """The question in the new run."""
        if self.pair is not None and self.list:
            case = self.list[self._at]
            names = self.view.names[1] if self.view is not None else {}
            self.ragtui.open_trace(self.pair.new.row.run_id, names.get(case, case))

    def action_copy(self) -> None:
        """Copy the row under the cursor."""
        if self.level == "pair" and self.list:
            self.ragtui.copy(self.list[self._at])
            return
        table = self.query_one("#diff-questions", LazyTable)
        if self.level == "questions":
            row = table.row_at(table.cursor)
        else:
            focused = (
                self.focused if isinstance(self.focused, SectionList) else self.query_one("#diff-left", SectionList)
            )
            found = focused.under_cursor()
            row = found[1] if found is not None else None
        if row is not None:
            self.ragtui.copy("\t".join(cell.plain.strip() for cell in row.cells))
