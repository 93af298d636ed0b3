"""Tables and lines for people, drawn with rich. All text of documents and questions is shown, never obeyed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtui.cli.fitting import INTERVAL, Flow, InertTable, Pairs
from ragtui.ids import short
from ragtui.inputs.text import fold_space, plural, printable

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.summary import Miss
    from ragtui.events import RunStatus
    from ragtui.metrics.aggregate import Estimate, Summary

_LEAKS = "nonEmptyRateOnRefusal"
STATUS_GLYPHS = {"completed": "✓", "running": "▶", "interrupted": "‖", "cancelled": "■", "failed": "✗"}


def status_words(status: RunStatus, errors: int, brief: bool = False) -> str:
    """A run's status behind its glyph; one that came to its end while cases failed is not called fine."""
    if status == "completed" and errors:
        return "! with errors" if brief else "! completed with errors"
    return f"{STATUS_GLYPHS[status]} {status}"


def table(
    *columns: str, right: Sequence[str] = (), flexible: Sequence[str] = (), wrapping: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Table:  # fmt: skip
    """A calm table: a rule under the head, no frame.

    Where the terminal is too narrow, the `flexible` columns are cut first and the `wrapping` ones take more lines, then
    heads take two lines, then other text is cut. Where that is not enough, intervals go below their values, then the
    `optional` columns go, in this order; numbers stay whole.
    """
    made = InertTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
    made.wrapping, made.optional = tuple(wrapping), tuple(optional)
    for name in columns:
        justify: Literal["left", "right"] = "right" if name in right or name == INTERVAL else "left"
        # Rich takes width from columns that may wrap; their cells are one line each and end in an ellipsis.
        head = Text(printable(name), no_wrap=False if justify == "right" else None, overflow="ellipsis")
        made.add_column(head, justify=justify, no_wrap=name not in (*flexible, *wrapping), overflow="ellipsis")
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


def probability(value: float | None) -> str:
    """A p value, which is never 0; a dash where there is none."""
    return "<.001" if value is not None and value < 0.001 else number(value)


def interval(estimate: Estimate) -> str:
    """`0.812 … 0.871`."""
    return "–" if estimate.value is None else f"{estimate.low:.3f} … {estimate.high:.3f}"


def measures_table(estimates: Mapping[str, Estimate], total: int) -> Table:
    """Measure, value, 95 % interval, and scored cases of all."""
    made = table("measure", "value", INTERVAL, "n", right=("value", "n"))
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
        of = f"{count} of {len(missed)}" if count < len(missed) else str(count)
        title = f"Worst by {primary} ({of} below 1)"
        parts += [heading(title), misses_table(missed[:count], primary)]
    parts.append(_closing(run, tally.errors))
    return Group(*parts)


def _tag_measures(measures: Sequence[str]) -> list[str]:
    wanted = ("R@5", "RR", "Success@5")
    return [name for name in measures if name.split("(")[0] in wanted] or list(measures[:3])


def _identity(run: RecordedRun, errors: int) -> RenderableType:
    specification = run.specification
    state = Text(status_words(run.status, errors), style="bold")
    state.append(f"  {printable(run.provenance.name) or 'unnamed'}")
    line = Flow(
        state,
        Text(f"{len(run.traces):,}/{plural(len(run.cases), 'case')} in {run.elapsed_s:.2f} s", style="bold"),
        Text(f"spec {short(run.spec_id, 8)}", style="dim"),
        Text(f"corpus {short(specification.corpus_id, 8)}", style="dim"),
    )
    return Group(line, safe(run.provenance.note)) if run.provenance.note else line


def _closing(run: RecordedRun, errors: int) -> RenderableType:
    from ragtui.analysis.summary import misses

    parts = [Text(f"run {run.run_id}", style="bold")]
    if errors:
        told = f"{errors} error{'' if errors == 1 else 's'}"
        parts.append(Text(f"{told}: ragtui show {run.run_id} --errors", style="bold"))
    if run.status in ("interrupted", "cancelled", "failed") and len(run.traces) < len(run.cases):
        parts.append(Text(f"continue: ragtui resume {run.run_id}"))
    elif run.traces:
        # The worst miss of a search; answers without one say little about the plan.
        searched = (miss.case for miss in misses(run) if run.tier == "retrieval" or "@e2e#" in miss.case)
        example = next(searched, run.traces[0].case)
        look = f"ragtui trace {run.run_id} {printable(shlex.quote(example))}"
        parts.append(Text(f"look closer: {look}", style="dim"))
    return Group("", Flow(*parts))


def pairs(rows: Mapping[str, Any]) -> RenderableType:
    """Names and values in two aligned columns without a head."""
    shown = ((name, value if isinstance(value, Text) else Text(printable(str(value)))) for name, value in rows.items())
    return Pairs(list(shown))
