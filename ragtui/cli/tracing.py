"""One case on a terminal: question and golden, each channel's hits side by side, stages, measures, timings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ragtui.cli.render import heading, number, pairs, safe, table
from ragtui.inputs.text import printable
from ragtui.pipeline.answer_scoring import NOT_SEARCHED

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.inputs.evaluation import EvaluationCase
    from ragtui.trace import CaseTrace, Hits

_RELEVANT, _OTHER = "●", " "


def trace_report(run: RecordedRun, case_id: str, depth: int) -> RenderableType:
    """What `trace` prints."""
    trace = run.trace_of[case_id]
    case = next(case for case in run.cases if case.id == case_id)
    parts: list[RenderableType] = [_question(case, trace)]
    if trace.error is not None:
        parts.append(Text(f"✗ {trace.error.kind}: {printable(trace.error.message)}", style="bold"))
    if trace.channels or run.tier == "retrieval":
        parts += [heading(f"Hits (first {depth}; {_RELEVANT} relevant)"), _stages(run, case, trace, depth)]
    if run.tier == "generation":
        from ragtui.cli.answer_view import answer_parts

        parts += answer_parts(run, case, trace)
    for note in trace.notes:
        parts.append(Text(f"note: {printable(note)}"))
    parts += [heading("Measures"), _measures(trace)]
    timings = "   ".join(f"{name} {milliseconds:.2f} ms" for name, milliseconds in trace.timings.items())
    parts.append(Text(f"\n{printable(timings)}", style="dim"))
    return Group(*parts)


def _question(case: EvaluationCase, trace: CaseTrace) -> RenderableType:
    judged = ", ".join(f"{doc} ({grade})" for doc, grade in case.grades.items()) or "nothing to find"
    rows = {"case": case.id, "question": case.query}
    if trace.query != case.query:
        rows["asked"] = trace.query
    rows |= {"judged": judged, "tags": ", ".join(case.tags), "suite": case.suite}
    return pairs(rows)


def _stages(run: RecordedRun, case: EvaluationCase, trace: CaseTrace, depth: int) -> RenderableType:
    """A column a stage, a row a rank."""
    lists: dict[str, Hits] = dict(trace.channels)
    for name, hits in (("fused", trace.fused), ("floor", trace.floor), ("collapse", trace.collapse)):
        if hits is not None and (name != "fused" or len(lists) > 1):
            lists[name] = hits
    made = table("#", *lists, right=("#",), flexible=tuple(lists))
    made.expand = True
    for column in made.columns[1:]:
        column.ratio = 1
    for rank in range(min(depth, max((len(hits.chunks) for hits in lists.values()), default=0))):
        made.add_row(str(rank + 1), *(_hit(run, case, hits, rank) for hits in lists.values()))
    return made


def _hit(run: RecordedRun, case: EvaluationCase, hits: Hits, rank: int) -> Text:
    if rank >= len(hits.chunks):
        return Text("")
    chunk = run.chunk_of.get(hits.chunks[rank])
    relevant = chunk is not None and case.grades.get(chunk.doc, 0) >= run.specification.plan.metrics.relevance
    mark = _RELEVANT if relevant else _OTHER
    text = Text(f"{mark} {hits.scores[rank]:.4f} ", "bold" if relevant else "", no_wrap=True, overflow="ellipsis")
    return text.append_text(safe(chunk.name if chunk is not None else f"chunk {hits.chunks[rank]}"))


def _measures(trace: CaseTrace) -> RenderableType:
    if trace.error is not None:
        return Text("none: the case failed", style="dim")
    made = table("measure", "value", "", right=("value",))
    for name, value in trace.scores.items():
        # A case that does not search is about none of the rankings; that need not fill a screen.
        if trace.unscored.get(name) != NOT_SEARCHED:
            made.add_row(name, number(value), safe(trace.unscored.get(name, "")))
    return made
