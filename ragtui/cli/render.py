"""Tables and lines for people, drawn with rich. All text of documents and questions is shown, never obeyed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from ragtui.ids import short
from ragtui.inputs.text import fold_space, plural, printable

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.summary import Miss
    from ragtui.events import RunStatus
    from ragtui.metrics.aggregate import Estimate, Summary

_LEAKS = "nonEmptyRateOnRefusal"
# Cells, with padding, below which nothing is cut as long as another can be. A run's id fits into a name.
_LEAST, _LEAST_PROSE, _LEAST_NAME = 5, 12, 16
# Cells beside a column's text, as `table` asks for them.
_PADDING = 2
_INTERVAL = "95 % interval"
STATUS_GLYPHS = {"completed": "✓", "running": "▶", "interrupted": "‖", "cancelled": "■", "failed": "✗"}


def status_words(status: RunStatus, errors: int, brief: bool = False) -> str:
    """A run's status behind its glyph; one that came to its end while cases failed is not called fine."""
    if status == "completed" and errors:
        return "! with errors" if brief else "! completed with errors"
    return f"{STATUS_GLYPHS[status]} {status}"


class InertTable(Table):
    """A table in which a plain string is foreign text until proven otherwise: control characters are shown."""

    def add_row(self, *cells: RenderableType | None, style: StyleType | None = None, end_section: bool = False) -> None:
        """Add a row; strings are made inert, other renderables are taken as they are."""
        shown = (Text(printable(cell)) if isinstance(cell, str) else cell for cell in cells)
        super().add_row(*shown, style=style, end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Set the columns' widths for this terminal, then draw."""
        if self.box is not None:
            self._fit(options.max_width)
        yield from super().__rich_console__(console, options)

    def _fit(self, most: int) -> None:
        """Choose widths for a table too wide for `most` cells: prose gives way first, then heads, names, numbers last.

        A column of prose may wrap, one of numbers is aligned to the right.
        """
        # The box draws a cell to the left of each column and one at the right edge; the edges have no padding.
        room = most - len(self.columns) - 1 + _PADDING
        heads = [_widest(str(column.header).splitlines()) for column in self.columns]
        cells = [_widest(line for cell in column.cells for line in _lines(cell)) for column in self.columns]
        widths = [max(pair) + _PADDING for pair in zip(heads, cells, strict=True)]
        for column, width in zip(self.columns, self._narrowed(widths, cells, room), strict=True):
            column.width = max(width - _PADDING, 0) if sum(widths) > room else None

    def _narrowed(self, widths: list[int], cells: Sequence[int], most: int) -> list[int]:
        prose = [not column.no_wrap for column in self.columns]
        # An interval is more than a number: half of it is still of use.
        numbers = [column.justify == "right" and str(column.header) != _INTERVAL for column in self.columns]
        words = [_widest(str(column.header).split()) for column in self.columns]
        whole = [width + _PADDING for width in cells]
        headed = [max(pair) + _PADDING for pair in zip(words, cells, strict=True)]
        for least in (
            [_LEAST_PROSE if each else width for each, width in zip(prose, widths, strict=True)],
            [low if each else width for each, low, width in zip(numbers, headed, widths, strict=True)],
            [width if figure or each else _LEAST_NAME
             for figure, each, width in zip(numbers, prose, widths, strict=True)],
            [low if each else width for each, low, width in zip(numbers, whole, widths, strict=True)],
            [_LEAST if each else width for each, width in zip(prose, widths, strict=True)],
            [_LEAST] * len(widths),
        ):  # fmt: skip
            widths = _narrowed(widths, least, most)
        return widths


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


def table(*columns: str, right: Sequence[str] = (), flexible: Sequence[str] = ()) -> Table:
    """A calm table: a rule under the head, no frame.

    Where the terminal is too narrow, the `flexible` columns are cut first, then heads take two lines, then other text
    is cut; numbers stay whole.
    """
    made = InertTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in columns:
        justify: Literal["left", "right"] = "right" if name in right or name == _INTERVAL else "left"
        # Rich takes width from columns that may wrap; their cells are one line each and end in an ellipsis.
        head = Text(printable(name), no_wrap=False if justify == "right" else None, overflow="ellipsis")
        made.add_column(head, justify=justify, no_wrap=name not in flexible, overflow="ellipsis")
    return made


def safe(text: str, width: int | None = None) -> Text:
    """Foreign text on one line, inert, cut to a width of cells."""
    shown = Text(printable(fold_space(text)), no_wrap=True, overflow="ellipsis")
    if width is not None:
        shown.truncate(width, overflow="ellipsis")
    return shown


def number(value: float | None, digits: int = 3) -> str:
    """A measure's value; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate) -> str:
    """`0.812 … 0.871`."""
    return "–" if estimate.value is None else f"{estimate.low:.3f} … {estimate.high:.3f}"


def measures_table(estimates: Mapping[str, Estimate], total: int) -> Table:
    """Measure, value, 95 % interval, and scored cases of all."""
    made = table("measure", "value", _INTERVAL, "n", right=("value", "n"))
    for name, estimate in estimates.items():
        count = f"{estimate.n}/{total}" if estimate.n != total else str(total)
        made.add_row(name, number(estimate.value), interval(estimate), count)
    return made


def tags_table(summary: Summary, measures: Sequence[str], sizes: Mapping[str, int]) -> Table:
    """A row a tag, a column a measure; `leaks` is the share of refusals that were answered with hits."""
    leaks = ("leaks",) if _LEAKS in summary.overall and summary.overall[_LEAKS].n else ()
    made = table("tag", "cases", *measures, *leaks, right=("cases", *measures, *leaks))
    for tag, row in summary.by_tag.items():
        shown = (*measures, _LEAKS) if leaks else measures
        made.add_row(safe(tag, 24), str(sizes.get(tag, 0)), *(number(row[name].value) for name in shown))
    return made


def misses_table(misses: Sequence[Miss], measure: str, retrieved: int = 2) -> Table:
    """A row a miss: what was wanted, what came instead."""
    prose = ("question", "wanted", "retrieved instead")
    made = table("case", measure, *prose, right=(measure,), flexible=prose)
    for miss in misses:
        other = [doc for doc in miss.retrieved if doc not in miss.wanted][:retrieved]
        made.add_row(
            safe(miss.case, 30), number(miss.score, 2), safe(miss.query), safe(", ".join(miss.wanted)),
            safe(", ".join(other) or "nothing"),
        )  # fmt: skip
    return made


def heading(text: str) -> Text:
    """A section's title."""
    return Text(f"\n{text}", style="bold")


def run_report(run: RecordedRun, worst: int | None = 5) -> RenderableType:
    """What `run` and `show` print: identity, measures, tags, worst misses, and the commands that go on from here."""
    from ragtui.analysis.summary import counts, decisive_measure, misses, summary

    tally = counts(run.cases, run.trace_of)
    if run.tier == "generation":
        from ragtui.cli.generation_view import generation_parts

        return Group(_identity(run, tally.errors), *generation_parts(run, worst is None), _closing(run, tally.errors))
    estimates = summary(run)
    primary = decisive_measure(run.measures, run.specification.plan.metrics.primary)
    sizes: dict[str, int] = {}
    for case in run.cases:
        for tag in case.tags:
            sizes[tag] = sizes.get(tag, 0) + 1
    parts: list[RenderableType] = [_identity(run, tally.errors), measures_table(estimates.overall, tally.cases)]
    if sizes:
        shown = [name for name in dict.fromkeys((primary, *_tag_measures(run.measures))) if name in run.measures]
        parts += [heading("By tag"), tags_table(estimates, shown, sizes)]
    missed = misses(run)
    if missed:
        count = len(missed) if worst is None else min(worst, len(missed))
        title = f"Worst misses ({count} of {len(missed)})" if count < len(missed) else f"Misses ({count})"
        parts += [heading(title), misses_table(missed[:count], primary)]
    parts.append(_closing(run, tally.errors))
    return Group(*parts)


def _tag_measures(measures: Sequence[str]) -> list[str]:
    wanted = ("R@5", "RR", "Success@5")
    return [name for name in measures if name.split("(")[0] in wanted] or list(measures[:3])


def _identity(run: RecordedRun, errors: int) -> Text:
    specification = run.specification
    line = Text()
    line.append(status_words(run.status, errors), style="bold")
    line.append(f"  {printable(run.provenance.name) or 'unnamed'}")
    line.append(f"   {len(run.traces):,}/{plural(len(run.cases), 'case')} in {run.elapsed_s:.2f} s")
    line.append(f"   spec {short(run.spec_id, 8)}   corpus {short(specification.corpus_id, 8)}", style="dim")
    return line


def _closing(run: RecordedRun, errors: int) -> Text:
    from ragtui.analysis.summary import misses

    text = Text(f"\nrun {run.run_id}", style="bold")
    if errors:
        told = f"{errors} error{'' if errors == 1 else 's'}"
        text.append(f"   {told}: ragtui show {run.run_id} --errors", style="bold")
    if run.status in ("interrupted", "cancelled", "failed") and len(run.traces) < len(run.cases):
        text.append(f"   continue: ragtui resume {run.run_id}", style="not bold")
    elif run.traces:
        # The worst miss of a search; answers without one say little about the plan.
        searched = (miss.case for miss in misses(run) if run.tier == "retrieval" or "@e2e#" in miss.case)
        example = next(searched, run.traces[0].case)
        look = f"ragtui trace {run.run_id} {printable(shlex.quote(example))}"
        text.append(f"   look closer: {look}", style="not bold dim")
    return text


def pairs(rows: Mapping[str, Any]) -> Table:
    """Names and values in two aligned columns without a head."""
    made = InertTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows.items():
        made.add_row(name, value if isinstance(value, Text) else str(value))
    return made
