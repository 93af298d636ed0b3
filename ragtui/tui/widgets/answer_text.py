"""An answer as the screens show it: what its golden's patterns match set off, and everything that led to it."""

from __future__ import annotations

import itertools

from rich.text import Text

from ragtui.analysis.answer_marks import marks_of
from ragtui.analysis.judge import judged_scores
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.text import printable
from ragtui.trace import CaseTrace, JudgeTrace, Usage
from ragtui.tui.data.answers import GoldenAnswers, ModeAnswers
from ragtui.tui.data.case import LONGEST_SHOWN, CaseView
from ragtui.tui.widgets.case_text import CLOSE, OPEN
from ragtui.tui.widgets.text import inert, inert_block, value

# Brackets besides styles: they are seen without any colour.
_SET_OFF = {"required": (f"{OPEN}✓", "bold"), "forbidden": (f"{OPEN}✗", "bold reverse")}
_PASSED = {True: "✓", False: "✗", None: "–"}


def marked_answer(case: EvaluationCase, text: str) -> Text:
    """The answer, inert: `⟦✓ ⟧` around what a required pattern matches, `⟦✗ ⟧` around what a forbidden one does."""
    text = text[:LONGEST_SHOWN]
    if not text.strip():
        return Text("(empty answer)", style="dim", end="")
    marks = marks_of(case, text).marks
    edges = sorted({0, len(text), *(place for mark in marks for place in (mark.start, mark.end))})
    shown = Text(end="")
    for kind, parts in itertools.groupby(
        itertools.pairwise(edges),
        # Where both match, what must not be there is the news.
        key=lambda part: min((m.kind for m in marks if m.start <= part[0] < m.end), default=""),
    ):
        spans = list(parts)
        piece = printable(text[spans[0][0] : spans[-1][1]]).expandtabs(4)
        if not kind:
            shown.append(piece)
            continue
        opening, style = _SET_OFF[kind]
        shown.append(opening, style).append(piece, style).append(CLOSE, style)
    return shown


def pattern_lines(case: EvaluationCase, text: str) -> Text:
    """Every pattern of the golden, a line each: whether the answer holds it, and whether that is right."""
    found = marks_of(case, text)
    held = {mark.pattern for mark in found.marks if mark.kind == "forbidden"}
    lines = [
        inert(f"{'✗ lacks' if pattern in found.missing else '✓ holds'}      {pattern}") for pattern in case.must_include
    ]
    lines += [
        inert(f"{'✗ must not hold' if pattern in held else '✓ rightly without'}  {pattern}")
        for pattern in case.must_not_include
    ]
    if case.expect_refusal:
        lines.append(Text("a refusal is right", end=""))
    return Text("\n").join(lines) if lines else Text("nothing says what is right", style="dim", end="")


def whole_answer(view: CaseView) -> Text:
    """Verdict, answer, patterns, reasoning, context with what was dropped, rewrite, and the prompt exactly as sent."""
    answer = view.answer
    shown = Text(end="")
    if view.error is not None:
        shown.append_text(inert(f"✗ {view.error.kind}: {view.error.message}", "bold")).append("\n\n")
    if answer is None:
        return shown.append("This case has no answer: it failed before its prompt, or its run asks no model.")
    told = {True: "✓ passed", False: "✗ failed", None: "– nothing says what is right"}[answer.passed]
    shown.append(told, "bold").append(f"  {answer.mode}, repeat {answer.repeat}")
    shown.append(", replayed from an earlier run" if answer.replayed else "").append("\n")
    shown.append(_took(answer.usage, answer.estimated_tokens, answer.finish), "dim")
    parts: list[tuple[str, Text]] = [
        ("Answer", marked_answer(view.case, answer.text)),
        ("Patterns", pattern_lines(view.case, answer.text)),
    ]
    if answer.thinking:
        parts.append(("Reasoning, apart", inert_block(answer.thinking, "dim")))
    if answer.judge is not None:
        parts += judged_parts(answer.judge)
    if answer.context or answer.dropped:
        title = f"Context: {len(answer.context)} injected, {len(answer.dropped)} dropped for lack of room"
        names = [(chunk, "✓") for chunk in answer.context] + [(chunk, "✗ dropped") for chunk in answer.dropped]
        parts.append((title, Text("\n").join(_chunk_line(view, chunk, mark) for chunk, mark in names)))
    if view.case.turns:
        parts.append(("History", Text(f"{answer.history} of {len(view.case.turns)} earlier turns were sent", end="")))
    if answer.rewrite is not None:
        parts.append(("Rewritten for the search", inert_block(answer.rewrite.question)))
    for place, message in enumerate(answer.messages, 1):
        title = f"Prompt as sent, {place} of {len(answer.messages)}: {message.role}"
        parts.append((title, inert_block(message.content)))
    for title, body in parts:
        shown.append("\n\n").append(title, "bold underline").append("\n").append_text(body)
    return shown


def judged_parts(judge: JudgeTrace) -> list[tuple[str, Text]]:
    """What the judge said: its claims, its marks, and its reply as it came."""
    lines = []
    if judge.error is not None:
        lines.append(inert(f"✗ {judge.error.kind}: {judge.error.message}", "bold"))
    lines += [
        inert(f"{'✓ supported' if claim.supported else '✗ not supported'}: {claim.claim}") for claim in judge.claims
    ]
    if judge.error is None:
        marks = (f"{name} {value(score)}" for name, score in judged_scores(judge).items())
        lines.append(Text("   ".join(marks), "bold", end=""))
        if not judge.claims:
            lines.append(Text("no claim was found in the answer", "dim", end=""))
    took = [f"{name} tokens {count}" for name, count in _counts(judge.usage) if count is not None]
    took += [f"cost {judge.usage.cost:.6f}"] if judge.usage.cost is not None else []
    took += ["replayed from an earlier run"] if judge.replayed else []
    if took:
        lines.append(Text("   ".join(took), "dim", end=""))
    raw = inert_block(judge.raw) if judge.raw else Text("(no reply)", "dim", end="")
    return [("Judge, apart from all measures", Text("\n").join(lines)), ("Judge's reply as it came", raw)]


def _counts(usage: Usage) -> list[tuple[str, int | None]]:
    return [("prompt", usage.prompt_tokens), ("answer", usage.completion_tokens)]


def _chunk_line(view: CaseView, ordinal: int, mark: str) -> Text:
    chunk = view.chunks.get(ordinal)
    return inert(f"{mark} {chunk.name if chunk is not None else f'chunk {ordinal}'}")


def _took(usage: Usage, estimated: int, finish: str) -> str:
    counted = f"{usage.prompt_tokens} counted, " if usage.prompt_tokens is not None else ""
    parts = [f"prompt tokens {counted}{estimated} estimated"]
    parts += [f"answer tokens {usage.completion_tokens}"] if usage.completion_tokens is not None else []
    parts += [f"cost {usage.cost:.6f}"] if usage.cost is not None else []
    parts += [f"finish {printable(finish)}"] if finish else []
    return "   ".join(parts)


def answer_line(view: CaseView, width: int) -> Text:
    """Whether the case passed, and its answer with its marks, cut to a width in cells."""
    line = Text(end="", no_wrap=True)
    if view.error is not None:
        line.append("✗ error  ", "bold").append_text(inert(f"{view.error.kind}: {view.error.message}"))
    elif view.answer is None:
        line.append("not executed" if view.status == "pending" else "no answer", "dim")
    else:
        passed = {True: "✓ passed", False: "✗ failed", None: "– unjudged"}[view.answer.passed]
        text = " ".join(view.answer.text[:LONGEST_SHOWN].split())
        line.append(f"{passed}  ", "bold").append_text(marked_answer(view.case, text))
    line.truncate(max(width, 0), overflow="ellipsis")
    return line


def trace_glyph(trace: CaseTrace | None) -> str:
    """One repeat in one sign: passed, failed, unjudged, `!` for an error, `◌` where it was not executed."""
    if trace is None:
        return "◌"
    answer = trace.answered
    return "!" if trace.error is not None or answer is None else _PASSED[answer.passed]


def mode_title(mode: ModeAnswers) -> str:
    """`e2e ✓✓✗`, a sign a repeat."""
    return f"{mode.mode} {''.join(trace_glyph(trace) for _, trace in mode.repeats)}"


def mode_body(found: GoldenAnswers, mode: ModeAnswers) -> Text:
    """What the mode gives the model, its answer in the repeat that is looked at, and those repeats that differ."""
    _, trace = mode.shown(found.repeat)
    shown = Text(end="").append(mode.meaning, "dim").append("\n\n").append_text(_said(found.case, trace))
    own = trace.answered.text if trace is not None and trace.answered is not None else None
    for number, (_, other) in enumerate(mode.repeats, 1):
        text = other.answered.text if other is not None and other.answered is not None else None
        if other is not trace and (text != own or trace_glyph(other) != trace_glyph(trace)):
            shown.append(f"\n\nrepeat {number} {trace_glyph(other)}\n", "bold").append_text(_said(found.case, other))
    return shown


def _said(case: EvaluationCase, trace: CaseTrace | None) -> Text:
    if trace is None:
        return Text("not executed", style="dim", end="")
    if trace.error is not None:
        return inert_block(f"✗ {trace.error.kind}: {trace.error.message}")
    answer = trace.answered
    return marked_answer(case, answer.text) if answer is not None else Text("no answer", style="dim", end="")


def modes_head(found: GoldenAnswers) -> Text:
    """The question, every mode's passes, and what they mean together."""
    head = inert(found.case.query, "bold", 400)
    head.append("\n").append("   ".join(mode_title(mode) for mode in found.modes), "not bold")
    if found.outcome:
        head.append("\n").append(found.outcome, "not bold")
    if found.unstable:
        head.append("\n").append(f"unstable in {', '.join(found.unstable)}: its repeats do not agree", "not bold")
    return head
