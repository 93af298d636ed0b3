"""The answer's part of a trace on a terminal: prompt, context, answer with its patterns marked, the other modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from ragtui.cli.render import heading, pairs, safe, table
from ragtui.inputs.text import printable

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.inputs.evaluation import EvaluationCase
    from ragtui.trace import AnswerTrace, CaseTrace, JudgeTrace

_STYLES = {"required": "bold green", "forbidden": "bold red"}


def answer_parts(run: RecordedRun, case: EvaluationCase, trace: CaseTrace) -> list[RenderableType]:
    """Everything after retrieval."""
    answer = trace.answered
    if answer is None:
        return []
    parts: list[RenderableType] = []
    if answer.rewrite is not None:
        parts += [heading("Rewritten for the search"), Text(printable(answer.rewrite.question))]
    parts += [heading("Prompt, as sent")]
    for message in answer.messages:
        parts += [Text(message.role, style="dim"), Text(printable(message.content))]
    if answer.context or answer.dropped:
        parts += [heading(f"Context ({len(answer.context)} injected, {len(answer.dropped)} dropped)")]
        parts += [_chunks(run, answer.context, "✓"), _chunks(run, answer.dropped, "✗")]
    if answer.thinking:
        parts += [heading("Reasoning, apart"), Text(printable(answer.thinking), style="dim")]
    parts += [heading("Answer" + (" (replayed)" if answer.replayed else "")), marked_answer(case, answer.text)]
    parts += [*([] if trace.error is not None else _missing(case, answer.text)), _took(case, answer)]
    if answer.judge is not None:
        parts += [heading("Judged"), _judge(answer.judge)]
    return [*parts, heading("All modes"), modes_table(run, trace), *_outcome(run, trace)]


def marked_answer(case: EvaluationCase, text: str) -> Text:
    """The answer, inert, with what a pattern matches set off: required ones green, forbidden ones red."""
    from ragtui.analysis.answer_marks import marks_of

    shown = Text()
    place = 0
    for mark in marks_of(case, text).marks:
        if mark.start < place:
            continue
        shown.append(printable(text[place : mark.start]))
        shown.append(printable(text[mark.start : mark.end]), style=_STYLES[mark.kind])
        place = mark.end
    return shown.append(printable(text[place:]))


def modes_table(run: RecordedRun, trace: CaseTrace) -> RenderableType:
    """The same golden in every mode and repeat: whether it passed, and what was answered."""
    from ragtui.experiment.cases import parse_case

    golden = parse_case(trace.case).golden
    made = table("mode", "repeat", "", "answer", right=("repeat",), flexible=("answer",))
    made.expand = True
    made.columns[3].ratio = 1
    for other in run.traces:
        answer = other.answered
        if answer is None or parse_case(other.case).golden != golden:
            continue
        mark = "!" if other.error is not None else {True: "✓", False: "✗", None: "·"}[answer.passed]
        text = other.error.message if other.error is not None else answer.text
        made.add_row(answer.mode, str(answer.repeat), mark, safe(text))
    return made


def _outcome(run: RecordedRun, trace: CaseTrace) -> list[RenderableType]:
    """What the three modes together say of the golden; nothing where not all of them were judged."""
    from ragtui.analysis.decomposition import case_outcome

    row = case_outcome(run, trace.case)
    return [] if row is None else [Text(f"which means  {row.meaning}")]


def _chunks(run: RecordedRun, ordinals: list[int], mark: str) -> Text:
    names = [run.chunk_of[chunk].name if chunk in run.chunk_of else f"chunk {chunk}" for chunk in ordinals]
    return Text("\n".join(f"{mark} {printable(name)}" for name in names), end="\n" if names else "")


def _missing(case: EvaluationCase, text: str) -> list[RenderableType]:
    from ragtui.analysis.answer_marks import marks_of

    found = marks_of(case, text)
    lines = [Text(f"✗ lacks  {printable(pattern)}") for pattern in found.missing]
    forbidden = dict.fromkeys(mark.pattern for mark in found.marks if mark.kind == "forbidden")
    return [*lines, *(Text(f"✗ holds  {printable(pattern)}") for pattern in forbidden)]


def _took(case: EvaluationCase, answer: AnswerTrace) -> RenderableType:
    usage = answer.usage
    rows: dict[str, object] = {"finish": answer.finish or "–", "prompt tokens": f"{answer.estimated_tokens} estimated"}
    if usage.prompt_tokens is not None:
        rows["prompt tokens"] = f"{usage.prompt_tokens} counted, {answer.estimated_tokens} estimated"
    if usage.completion_tokens is not None:
        rows["answer tokens"] = usage.completion_tokens
    if usage.cost is not None:
        rows["cost"] = f"{usage.cost:.6f}"
    if case.turns:
        rows["earlier turns"] = f"{answer.history} of {len(case.turns)} sent"
    return pairs(rows)


def _judge(judge: JudgeTrace) -> RenderableType:
    if judge.error is not None:
        return Text(f"✗ {printable(judge.error.message)}\n{printable(judge.raw)}")
    lines = [f"completeness {judge.completeness} of 5, relevance {judge.relevance} of 5"]
    lines += [f"{'✓' if claim.supported else '✗'} {claim.claim}" for claim in judge.claims]
    return Text(printable("\n".join(lines)))
