"""The cases of a run: a line of filters above a table of any length."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from ragtui.store.rows import CaseRow
from ragtui.tui.data.case import case_name
from ragtui.tui.data.trace import KIND_WORDS, CaseOrder, CaseQuery, RunView
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.lazy_table import LazyTable
from ragtui.tui.widgets.text import inert, value

_GLYPHS = {"ok": " ", "error": "✗", "pending": "◌"}


class CasesPane(Vertical):
    """Input, state of the filters, and rows."""

    DEFAULT_CSS = """
    CasesPane { height: 1fr; width: 1fr; }
    CasesPane > #case-filter { height: 1; margin: 0 1; }
    CasesPane > #case-state { height: 1; padding: 0 1; }
    CasesPane > LazyTable { height: 1fr; min-height: 3; }
    """

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Input(placeholder="/ filters by words of the question, id or tag", compact=True, id="case-filter")
        yield Static(id="case-state", markup=False)
        yield LazyTable(
            (), empty="No case is left by these filters. c clears them.", id="case-rows",
            help_text="The run's cases. ● found everything, ◐ a part, ○ nothing, by the measure that decides; ✗ ended "
            "in an error, ◌ was not executed, – cannot be scored. Rows are fetched as they are shown.",
        )  # fmt: skip

    @property
    def table(self) -> LazyTable:
        """The rows."""
        return self.query_one("#case-rows", LazyTable)

    def show(self, view: RunView, query: CaseQuery, order: CaseOrder, *, keep_cursor: bool = False) -> None:
        """Show a list anew; its rows are asked for as they come into view."""
        self.table.empty = order.note or "No case is left by these filters. c clears them."
        self.table.reset(len(order.indexes), columns(view), keep_cursor=keep_cursor)
        self.state(view, query, order)

    def state(self, view: RunView, query: CaseQuery, order: CaseOrder) -> None:
        """The line above the table: how many are left of all, by what."""
        line = Text(end="", no_wrap=True)
        line.append(f"{len(order.indexes):,}", "bold").append(f" of {view.record.cases:,}", "dim")
        line.append("   w ", "bold").append(KIND_WORDS[query.kind], "" if query.kind == "all" else "bold reverse")
        line.append("   t ", "bold")
        line.append_text(inert(query.tag or "any tag", "bold reverse" if query.tag else ""))
        line.append("   s ", "bold").append(f"{query.sort} {'▼' if query.descending else '▲'}")
        if order.near:
            line.append("   nothing as typed; mistyped words taken too", "bold")
        self.query_one("#case-state", Static).update(line)


def columns(view: RunView) -> list[Column]:
    """Id, question, tags, and the measures: the one that decides never goes."""
    others = [name for name in view.record.measure_names if name != view.decisive]
    return [
        Column("mark", " ", 1),
        Column("case", "case", 22, rank=1),
        Column("query", "question", least=44),
        Column("tags", "tags", 20, rank=3),
        *([Column("mode", "mode", 13)] if view.record.tier == "generation" else []),
        *([Column(view.decisive, view.decisive, max(len(view.decisive), 5), right=True)] if view.decisive else []),
        *(Column(name, name, max(len(name), 5), right=True, rank=4 + place) for place, name in enumerate(others)),
    ]


def rows(view: RunView, page: Sequence[CaseRow]) -> list[Row]:
    """A page as it is shown."""
    others = [name for name in view.record.measure_names if name != view.decisive]
    names = [*([view.decisive] if view.decisive else []), *others]
    made = []
    for row in page:
        question = inert(row.query, width=400)
        if row.status == "error":
            question = inert(f"✗ {row.error}  ", "bold", 200) + question
        cells = [
            Text(mark(row, view.decisive), end=""),
            inert(row.case, width=80),
            question,
            inert(", ".join(row.tags), width=80),
        ]
        if view.record.tier == "generation":
            name = case_name(row.case)
            cells.append(Text(f"{name.mode}#{name.repeat}" if name is not None else "", end=""))
        cells += [Text(value(row.scores.get(name)), end="") for name in names]
        made.append(Row(row.case, tuple(cells)))
    return made


def told(row: Row) -> str:
    """What a narrow table leaves out of a row: its id and tags."""
    tags = row.cells[3].plain
    return row.cells[1].plain + (f"   tags {tags}" if tags else "")


def mark(row: CaseRow, decisive: str) -> str:
    """The case's state in one glyph."""
    if row.status != "ok":
        return _GLYPHS[row.status]
    score = row.scores.get(decisive)
    if score is None:
        return "–"
    return "●" if score >= 1 else "◐" if score > 0 else "○"
