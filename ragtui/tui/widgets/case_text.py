"""A chunk's text with the question's words and the judged span marked, and the small bars of a case."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.text import Text

from ragtui.inputs.text import printable
from ragtui.trace import ChunkRef, time_spent
from ragtui.tui.data.case import LONGEST_SHOWN, Mark, Score
from ragtui.tui.widgets.text import inert, value

OPEN, CLOSE = "⟦", "⟧"


def marked_text(chunk: ChunkRef, found: Sequence[Mark], *, term: str = "underline", span: str = "bold") -> Text:
    """The chunk's text, inert. Judged spans stand in `⟦ ⟧`, words of the question are underlined."""
    text = chunk.text[:LONGEST_SHOWN]
    edges = sorted({0, len(text), *(min(place, len(text)) for mark in found for place in (mark.start, mark.end))})
    spans = [mark for mark in found if mark.kind == "span"]
    shown = Text(end="")
    for start, end in itertools.pairwise(edges):
        if any(mark.start == start for mark in spans):
            shown.append(OPEN, span)
        part = Text(printable(text[start:end]).expandtabs(4))
        if any(mark.kind == "span" and mark.start <= start < mark.end for mark in found):
            part.stylize(span)
        if any(mark.kind == "term" and mark.start <= start < mark.end for mark in found):
            part.stylize(term)
        shown.append_text(part)
        if any(min(mark.end, len(text)) == end for mark in spans):
            shown.append(CLOSE, span)
    if len(chunk.text) > LONGEST_SHOWN:
        shown.append(f"\n… {len(chunk.text) - LONGEST_SHOWN:,} more characters", "dim")
    return shown


def timing_line(timings: Sequence[tuple[str, float]], width: int) -> Text:
    """The total, then each stage's share of it as a bar with its milliseconds, as many as the width takes."""
    total = time_spent(dict(timings))
    if not timings or total <= 0:
        return Text("time –", style="dim", end="")
    line = Text("time ", style="dim", no_wrap=True, end="").append(_milliseconds(total), "not dim bold")
    labels = [(inert(name).plain, _milliseconds(spent).removesuffix(" ms")) for name, spent in timings]
    room = max(width - line.cell_len - sum(len(name) + len(spent) + 4 for name, spent in labels), 0)
    for (name, spent), (_, milliseconds) in zip(labels, timings, strict=True):
        share = milliseconds / total
        line.append("  " + "█" * max(int(room * share), 1 if share > 0.02 and room > len(labels) else 0), "not dim")
        line.append(f" {name} ", "dim").append(spent, "not dim")
    line.truncate(width, overflow="ellipsis")
    return line


def scores_line(scores: Sequence[Score], width: int, first: str = "") -> Text:
    """The measures on one line, `first` before the others; those that do not fit are counted."""
    ordered = sorted(scores, key=lambda score: score.measure != first)
    line = Text(no_wrap=True, end="")
    for place, score in enumerate(ordered):
        part = (
            Text(end="")
            .append(f"{score.measure} ", "dim")
            .append(value(score.value), "bold" if score.measure == first else "")
        )
        more = f"  +{len(ordered) - place}"
        if line.cell_len + part.cell_len + 2 > width - (len(more) if place < len(ordered) - 1 else 0):
            line.append(more, "dim")
            break
        if place:
            line.append("  ")
        line.append_text(part)
    return line


def scores_block(scores: Sequence[Score], width: int, first: str = "") -> Text:
    """The measures, one a line with a bar; a measure without a value says why."""
    ordered = sorted(scores, key=lambda score: score.measure != first)
    name_width = min(max((len(score.measure) for score in ordered), default=0), max(width - 16, 8))
    block = Text(end="")
    for place, score in enumerate(ordered):
        line = inert(score.measure, width=name_width)
        line.pad_right(name_width - line.cell_len)
        if score.value is None:
            line.append(f"     –  {score.reason}", "dim")
        else:
            room = max(min(width - name_width - 9, 20), 0)
            line.append(f" {score.value:.3f} ", "bold" if score.measure == first else "")
            line.append("█" * round(score.value * room) + "·" * (room - round(score.value * room)), "dim")
        line.truncate(width, overflow="ellipsis")
        block.append_text(line)
        if place < len(ordered) - 1:
            block.append("\n")
    return block


def _milliseconds(spent: float) -> str:
    return f"{spent:.2f} ms" if spent < 10 else f"{spent:.0f} ms"
