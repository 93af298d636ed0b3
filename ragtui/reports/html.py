"""One HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ragtui.analysis.answer_flips import ANSWER_CHARACTERS
from ragtui.analysis.attribution import Indexed, Miss, attribute, attribution, moved
from ragtui.analysis.compare import Comparison
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.summary import counts, summary
from ragtui.ids import short
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.reports import cells
from ragtui.reports.cells import Table
from ragtui.trace import CaseTrace

RESULTS_SHOWN = 10

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #8886; padding: .2rem .6rem; text-align: left; vertical-align: top; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { font-size: 1.5rem; font-weight: 700; }
.hit { font-weight: 700; }
details { margin: .2rem 0; }
.side { display: flex; flex-wrap: wrap; gap: 2rem; }
"""


def run_html(run: RecordedRun, indexed: Indexed | None = None) -> str:
    """Measures, by tag, where the gold was lost, and every case with its ranking. `indexed` as in `attribute`."""
    table, tally = summary(run), counts(run.cases, run.trace_of)
    goldens, lost = by_golden(run), attribute(run, indexed=indexed)
    by_case: dict[str, list[Miss]] = {}
    for miss in lost:
        by_case.setdefault(miss.case, []).append(miss)
    title = " ".join(part for part in ("Run", run.provenance.name, run.run_id) if part)
    facts = (
        f"{run.status}; {tally.finished} of {tally.cases} cases finished, {tally.errors} with an error; "
        f"started {run.started_at}; specification {short(run.spec_id)}; corpus {short(run.specification.corpus_id)}"
    )
    parts = [
        f"<h1>{_text(title)}</h1><p>{_text(facts)}</p>",
        _table(cells.estimates("Measures", table.overall)),
        _table(cells.estimates_by_tag(table.by_tag, run.measures)),
        _table(cells.causes(attribution(goldens, attribute(goldens, indexed=indexed)))),
        "<h2>Cases</h2>",
        *(_case([run], case, by_case.get(case.id, ())) for case in run.cases),
    ]
    return _page(title, parts)


def comparison_html(
    comparison: Comparison, base: RecordedRun, new: RecordedRun,
    indexed: tuple[Indexed | None, Indexed | None] = (None, None),
) -> str:  # fmt: skip
    """Verdict, what was changed, measures, by tag, flips, and the rankings of both runs for every shared case.

    `indexed` as in `attribute`, for the base and for the new run.
    """
    base, new = (by_golden(run, comparison.answer_mode) for run in (base, new))
    title = f"{comparison.new_run} against {comparison.base_run}"
    shared = set(comparison.cases.shared)
    flipped = {flip.case for flip in comparison.flips}
    by_case: dict[str, list[Miss]] = {}
    lost_before, lost_now = (
        [m for m in attribute(run, indexed=asked) if m.case in shared]
        for run, asked in zip((base, new), indexed, strict=True)
    )
    for miss in lost_now:
        by_case.setdefault(miss.case, []).append(miss)
    # Flipped questions first, for they are what a reader looks for.
    cases = sorted((case for case in new.cases if case.id in shared), key=lambda case: case.id not in flipped)
    parts = [
        f"<h1>{_text(title)}</h1><p class=verdict>{_text(comparison.verdict.value)}</p>",
        _list(comparison.reasons),
        _list(comparison.notes),
        _table(cells.specification(comparison)) or "<p>The specifications are equal.</p>",
        _table(cells.changes("Measures", comparison.measures)),
        _list(f"{name} is not compared: {why}." for name, why in comparison.not_compared.items()),
        _table(cells.changes_by_tag(comparison.by_tag)),
        _table(cells.flips(comparison)),
        _table(cells.flipped_answers(comparison, ANSWER_CHARACTERS)),
        _table(cells.unstable(comparison, ANSWER_CHARACTERS)),
        _table(cells.moves(moved(lost_before, lost_now))),
        "<h2>Cases</h2>",
        *(_case([base, new], case, by_case.get(case.id, ())) for case in cases),
    ]
    return _page(title, parts)


def _case(runs: Sequence[RecordedRun], case: EvaluationCase, lost: Iterable[Miss]) -> str:
    """One case to open: question, what was missed, and the first results of each run."""
    summary_line = f"{_text(case.id)}: {_text(case.query)}"
    relevant = ", ".join(doc for doc, grade in case.grades.items() if grade > 0) or "nothing"
    blocks = "".join(_ranking(run, case, heading=len(runs) > 1) for run in runs)
    missed = _list(f"missed: {cells.missed(miss)}" for miss in lost)
    return (
        f"<details><summary>{summary_line}</summary><p>To be found: {_text(relevant)}</p>{missed}"
        f"<div class=side>{blocks}</div></details>"
    )


def _ranking(run: RecordedRun, case: EvaluationCase, heading: bool) -> str:
    above = f"<h3>{_text(run.run_id)}</h3>" if heading else ""
    trace = run.trace_of.get(case.id)
    if trace is None:
        return f"<div>{above}<p>Did not finish.</p></div>"
    if trace.error is not None:
        return f"<div>{above}<p>Error: {_text(trace.error.message)}</p></div>"
    rows = "".join(
        f"<tr{' class=hit' if hit.grade > 0 else ''}><td class=n>{hit.rank}<td>{_text(hit.chunk)}"
        f"<td class=n>{hit.score:.6f}<td>{f'relevant, grade {hit.grade}' if hit.grade > 0 else ''}</tr>"
        for hit in cells.ranking(run, case, trace, RESULTS_SHOWN)
    )
    answer = _answer(trace)
    found = f"<table>{rows}</table>" if rows else "" if answer else "<p>No result.</p>"
    return f"<div>{above}{answer}{found}</div>"


def _answer(trace: CaseTrace) -> str:
    """The beginning of an answer behind its mark; nothing in the retrieval tier."""
    answer = trace.answered
    if answer is None:
        return ""
    mark = {True: "✓ ", False: "✗ ", None: ""}[answer.passed]
    return f"<p>{mark}{_text(cells.clipped(answer.text, ANSWER_CHARACTERS))}</p>"


def _table(table: Table) -> str:
    """Nothing for a table without rows."""
    if not table.rows:
        return ""
    head = "".join(f"<th>{_text(name)}" for name in table.columns)
    left = len(table.columns) - table.numeric
    classes = [" class=n" if column >= left else "" for column in range(len(table.columns))]
    filled = (zip(classes, row, strict=True) for row in table.rows)
    rows = "".join("<tr>" + "".join(f"<td{mark}>{_text(value)}" for mark, value in row) + "</tr>" for row in filled)
    return f"<h2>{_text(table.title)}</h2><table><thead><tr>{head}</thead><tbody>{rows}</tbody></table>"


def _list(items: Iterable[str]) -> str:
    rows = "".join(f"<li>{_text(item)}" for item in items)
    return f"<ul>{rows}</ul>" if rows else ""


def _text(text: str) -> str:
    return escape(cells.inert(text))


def _page(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
