"""Markdown (GitHub's) for a pull request's comment."""

from __future__ import annotations

import re

from ragtui.analysis.attribution import Indexed, attribute, attribution
from ragtui.analysis.compare import Comparison
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.summary import counts, misses, summary
from ragtui.ids import short
from ragtui.reports import cells
from ragtui.reports.cells import Table

MOST_ROWS = 50
_ANSWER_CHARACTERS = 200
_ICONS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}
# What GitHub reads as a mention; the @ of a measure follows a letter.
_MENTION = re.compile(r"(?<![A-Za-z0-9])@(?=[A-Za-z0-9])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#!|~&:$])")


def comparison_markdown(comparison: Comparison) -> str:
    """The verdict first, then what was changed, the measures, by tag, the flips, and what was answered to them."""
    verdict = comparison.verdict.value
    parts = [
        f"## {_ICONS[verdict]} {verdict}: {_text(comparison.new_run)} against {_text(comparison.base_run)}",
        _list(comparison.reasons),
        _list(comparison.notes),
        _table(cells.specification(comparison)) or "The specifications are equal.",
        _table(cells.changes("Measures", comparison.measures)),
        _list([f"{name} is not compared: {why}." for name, why in comparison.not_compared.items()]),
        _folded(cells.changes_by_tag(comparison.by_tag)),
        _table(cells.flips(comparison)) or f"No question flipped at {_text(comparison.flip_measure)}.",
        _folded(cells.flipped_answers(comparison, _ANSWER_CHARACTERS)),
        _table(cells.unstable(comparison, _ANSWER_CHARACTERS)),
    ]
    return _document(parts)


def run_markdown(run: RecordedRun, indexed: Indexed | None = None) -> str:
    """The measures of a run, by tag, where the gold was lost, and the worst misses. `indexed` as in `attribute`."""
    table, tally, goldens = summary(run), counts(run.cases, run.trace_of), by_golden(run)
    facts = f"{run.status}, {tally.finished} of {tally.cases} cases finished, {tally.errors} with an error"
    rows = [
        (cells.inert(miss.case), cells.inert(miss.query), cells.inert(", ".join(miss.wanted)),
         cells.inert(", ".join(miss.retrieved[:3])), cells.number(miss.score))
        for miss in misses(goldens)
    ]  # fmt: skip
    title = " ".join(part for part in (run.provenance.name, run.run_id) if part)
    parts = [
        f"## Run {_text(title)}",
        f"{facts}; specification {short(run.spec_id)}, corpus {short(run.specification.corpus_id)}",
        _table(cells.estimates("Measures", table.overall)),
        _folded(cells.estimates_by_tag(table.by_tag, run.measures)),
        _table(cells.causes(attribution(goldens, attribute(goldens, indexed=indexed)))),
        _folded(Table("Misses", ("case", "question", "wanted", "came first", "score"), rows, 1)),
    ]
    return _document(parts)


def _document(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, and nobody is mentioned."""
    escaped = _SPECIAL.sub(r"\\\1", cells.inert(text))
    return _MENTION.sub("@<!-- -->", escaped).replace("www.", "www<!-- -->.")


def _list(items: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {_text(item)}" for item in items)


def _table(table: Table, heading: bool = True) -> str:
    """Nothing for a table without rows; a long one says what it leaves out."""
    if not table.rows:
        return ""
    left = len(table.columns) - table.numeric
    lines = [f"### {_text(table.title)}", ""] if heading else []
    lines.append(_row(table.columns))
    lines.append("|" + "".join(" --- |" if column < left else " ---: |" for column in range(len(table.columns))))
    lines += [_row(row) for row in table.rows[:MOST_ROWS]]
    if len(table.rows) > MOST_ROWS:
        lines += ["", f"… and {len(table.rows) - MOST_ROWS} more rows."]
    return "\n".join(lines)


def _row(values: tuple[str, ...]) -> str:
    return "| " + " | ".join(_text(value) for value in values) + " |"


def _folded(table: Table) -> str:
    """A table that a reader opens."""
    inside = _table(table, heading=False)
    return f"<details><summary>{table.title}</summary>\n\n{inside}\n\n</details>" if inside else ""
