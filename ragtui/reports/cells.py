"""The tables of a run and of a comparison as rows of plain text, for every format that prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragtui.analysis.attribution import Attribution, Cause, Miss
from ragtui.analysis.compare import Comparison
from ragtui.analysis.contrast import MeasureChange
from ragtui.analysis.flips import Told
from ragtui.analysis.recorded import RecordedRun
from ragtui.ids import canonical_json
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.text import fold_space, printable
from ragtui.metrics.aggregate import Estimate
from ragtui.trace import CaseTrace


class Table(NamedTuple):
    """A heading, the names of the columns, and the rows; `numeric` counts the right-aligned columns at the end."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: int = 0


class RankedHit(NamedTuple):
    """One result of a case: its rank, chunk, score, and the grade of its document (0 where it is not judged)."""

    rank: int
    chunk: str
    score: float
    grade: int


def inert(text: str) -> str:
    """Text of unknown origin on one line, its control characters visible."""
    return fold_space(printable(text))


def number(value: float | None, signed: bool = False) -> str:
    """Four decimals, a dash where there is none; a value that rounds to zero has no sign."""
    if value is None:
        return "–"
    text = f"{value:+.4f}" if signed else f"{value:.4f}"
    return text.replace("+", "").replace("-", "") if float(text) == 0 else text


def estimates(title: str, table: Mapping[str, Estimate]) -> Table:
    """Measures of one run."""
    rows = [(name, number(e.value), f"[{number(e.low)}, {number(e.high)}]", str(e.n)) for name, e in table.items()]
    return Table(title, ("measure", "value", "95 % interval", "cases"), rows, 3)


def estimates_by_tag(by_tag: Mapping[str, Mapping[str, Estimate]], names: Sequence[str]) -> Table:
    """A row a tag, a column a measure."""
    rows = []
    for tag, table in by_tag.items():
        n = max((table[name].n for name in names), default=0)
        rows.append((inert(tag), str(n), *(number(table[name].value) for name in names)))
    return Table("By tag", ("tag", "cases", *names), rows, 1 + len(names))


def changes(title: str, table: Mapping[str, MeasureChange]) -> Table:
    """Measures of a comparison."""
    columns = ("measure", "base", "new", "delta", "95 % interval", "p", "p adj.", "win/tie/loss", "scored", "")
    return Table(title, columns, [(name, *_change(change)) for name, change in table.items()], 9)


def changes_by_tag(by_tag: Mapping[str, Mapping[str, MeasureChange]]) -> Table:
    """The gating measures of every tag."""
    columns = ("tag", "measure", "base", "new", "delta", "95 % interval", "win/tie/loss", "scored")
    rows = []
    for tag, table in by_tag.items():
        for name, change in table.items():
            if change.role and change.total:
                base, new, delta, interval, _, _, wins, scored, _ = _change(change)
                rows.append((inert(tag), name, base, new, delta, interval, wins, scored))
    return Table("By tag", columns, rows, 6)


def specification(comparison: Comparison) -> Table:
    """What the two specifications intended differently."""
    rows = [
        (inert(change.path), plain(change.base), plain(change.new)) for change in comparison.specification_diff
    ]  # fmt: skip
    return Table("What was changed", ("field", "base", "new"), rows)


def flips(comparison: Comparison) -> Table:
    """The questions that were lost or found."""
    rows = [
        (flip.direction, inert(flip.case), inert(flip.query), inert(", ".join(flip.tags)),
         number(flip.base), number(flip.new))
        for flip in comparison.flips
    ]  # fmt: skip
    columns = ("", "case", "question", "tags", "base", "new")
    return Table(f"Flips at {comparison.flipped_by}", columns, rows, 2)


def flipped_answers(comparison: Comparison, most: int) -> Table:
    """What was answered to the questions that flipped, before and now, each cut to `most` characters."""
    rows = [
        (flip.direction, inert(flip.case), said(flip.base_answer, most), said(flip.new_answer, most),
         faults(flip.base_answer if flip.direction == "found" else flip.new_answer))
        for flip in comparison.flips
        if flip.base_answer is not None and flip.new_answer is not None
    ]  # fmt: skip
    columns = ("", "case", "answered before", "answered now", "what is wrong")
    return Table("Answers that flipped", columns, rows)


def unstable(comparison: Comparison, most: int) -> Table:
    """The goldens that some repeats pass and others fail, with an answer that failed, cut to `most` characters."""
    rows = [
        (inert(row.case), inert(row.query), said(row.failed, most), faults(row.failed),
         f"{row.base_passed} of {row.base_repeats}", f"{row.new_passed} of {row.new_repeats}")
        for row in comparison.unstable
    ]  # fmt: skip
    columns = ("case", "question", "an answer that failed", "what is wrong", "passed before", "passed now")
    return Table("Unstable: right in some repeats, wrong in others; none of these is a flip", columns, rows, 2)


def said(told: Told | None, most: int) -> str:
    """An answer on one line, an ellipsis where it goes on."""
    return "–" if told is None else clipped(told.text, most, told.cut)


def clipped(text: str, most: int, cut: bool = False) -> str:
    """Text of unknown origin on one line of at most `most` characters, an ellipsis where it goes on."""
    # Escapes make text longer, never shorter: what lies beyond cannot show.
    shown = inert(text[: 2 * most])
    return shown[:most].rstrip() + "…" if cut or len(shown) > most else shown or "–"


def faults(told: Told | None) -> str:
    """What is wrong with an answer, on one line."""
    return "–" if told is None else inert("; ".join(told.faults)) or "–"


def causes(table: Attribution) -> Table:
    """Where the gold was lost, over all cases and by tag; only causes that occur."""
    seen = [cause for cause, count in table.missed.items() if count]
    counted = {"all": table.missed} | {tag: counts for tag, counts in table.by_tag.items() if any(counts.values())}
    rows = [(inert(tag), *(str(counts[cause]) for cause in seen)) for tag, counts in counted.items()]
    lost = sum(table.missed.values())
    title = f"Where the gold was lost: {lost} of {table.relevant} judgments, cut-off {table.cutoff}"
    return Table(title, ("tag", *seen), rows if seen else [], len(seen))


def moves(changed: Mapping[tuple[Cause | None, Cause | None], Sequence[Miss]]) -> Table:
    """The judgments that are lost elsewhere than before, or no longer; the most frequent move first."""
    order = sorted(changed.items(), key=lambda item: -len(item[1]))
    rows = [
        (old or "found", new or "found", inert(", ".join(f"{miss.case}: {miss.doc}" for miss in judgments)),
         str(len(judgments)))
        for (old, new), judgments in order
    ]  # fmt: skip
    return Table("Where the gold moved", ("lost before", "lost now", "judgments", "count"), rows, 1)


def missed(miss: Miss) -> str:
    """A missed judgment as a phrase."""
    place = miss.doc if miss.start is None else f"{miss.doc}#{miss.start}-{miss.end}"
    ranks = ", ".join(f"{stage} {rank}" for stage, rank in miss.ranks.items())
    return inert(f"{place} (grade {miss.grade}): {miss.cause}" + (f"; ranks: {ranks}" if ranks else ""))


def ranking(run: RecordedRun, case: EvaluationCase, trace: CaseTrace, most: int) -> list[RankedHit]:
    """The first results of a case."""
    hits = []
    for rank, (ordinal, score) in enumerate(zip(trace.results.chunks[:most], trace.results.scores, strict=False), 1):
        chunk = run.chunk_of.get(ordinal)
        doc = None if chunk is None else chunk.doc
        name = f"chunk {ordinal}" if chunk is None else chunk.name
        hits.append(RankedHit(rank, inert(name), score, case.grades.get(doc or "", 0)))
    return hits


def plain(value: Any) -> str:
    """A field of a plan as one line of JSON; text as it is, a dash for none."""
    if value is None:
        return "–"
    return inert(value if isinstance(value, str) else canonical_json(value).decode())


def _change(change: MeasureChange) -> tuple[str, ...]:
    return (
        number(change.base),
        number(change.new),
        number(change.delta, signed=True),
        f"[{number(change.low, signed=True)}, {number(change.high, signed=True)}]",
        "–" if change.p is None else f"{change.p:.2g}",
        "–" if change.p_adjusted is None else f"{change.p_adjusted:.2g}",
        f"{change.wins}/{change.ties}/{change.losses}",
        f"{change.scored}/{change.total}",
        " ".join(part for part in (change.word, f"({change.role})" if change.role else "") if part),
    )
