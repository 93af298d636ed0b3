"""Which texts a case's prompt may get, and how they stand in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.patterns import matches
from ragtui.trace import ChunkRef


def oracle_chunks(
    case: EvaluationCase, relevance: int, chunks_of: Callable[[str], Iterable[ChunkRef]]
) -> list[ChunkRef]:
    """Every chunk of the golden's own documents (grade `relevance` or above), best first.

    First those that hold a judged span or a required pattern, then by grade, then as they stand: where not all fits,
    what is known to matter stays.
    """
    ranked: list[tuple[tuple[bool, int, int], ChunkRef]] = []
    for doc, grade in case.grades.items():
        if grade < max(1, relevance):
            continue
        spans = [(span.start, span.end) for span in case.spans if span.doc == doc and span.grade > 0]
        for chunk in chunks_of(doc):
            judged = any(start < chunk.end and chunk.start < end for start, end in spans)
            holds = judged or any(matches(pattern, chunk.text) for pattern in case.must_include)
            ranked.append(((not holds, -grade, chunk.ordinal), chunk))
    return [chunk for _, chunk in sorted(ranked, key=lambda item: item[0])]


def as_they_stand(chunks: Iterable[ChunkRef]) -> list[ChunkRef]:
    """The chunks in the order of their documents."""
    return sorted(chunks, key=lambda chunk: (chunk.doc, chunk.start, chunk.end))


def part_texts(chunks: Sequence[ChunkRef], joined: bool) -> list[str]:
    """The parts of a context: each chunk's text, or with `joined` neighbours in one document as one text.

    White space between neighbours belongs to neither; a line break stands for it.
    """
    parts: list[str] = []
    last: ChunkRef | None = None
    for chunk in chunks:
        if joined and last is not None and chunk.doc == last.doc and chunk.ordinal == last.ordinal + 1:
            gap = "\n" if chunk.start > last.end else ""
            parts[-1] += gap + chunk.text[max(0, last.end - chunk.start) :]
        else:
            parts.append(chunk.text)
        last = chunk
    return parts
