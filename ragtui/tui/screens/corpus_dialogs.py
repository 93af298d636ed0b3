"""The corpus screen's dialogs: a document with its chunks and judged spans, and suite health."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ragtui.analysis.health import SuiteHealth
from ragtui.tui.data.corpus import Preview
from ragtui.tui.widgets.text import block, line, plural, value

_SHOWN = 12


class _Reader(ModalScreen[None]):
    """A scrolling text over the screen."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="reader.close", tooltip="Back to the screen."),
    ]

    def compose(self) -> ComposeResult:
        """The text in a frame."""
        with Vertical(classes="dialog") as box:
            box.border_title = self.title_text()
            box.border_subtitle = "↑ ↓ scroll · esc closes"
            with VerticalScroll():
                yield Static(self.body_text(), markup=False)

    def on_mount(self) -> None:
        """Arrow keys scroll."""
        self.query_one(VerticalScroll).focus()

    def title_text(self) -> Content:
        """The frame's title."""
        return Content("")

    def body_text(self) -> Content:
        """The text."""
        return Content("")


class PreviewDialog(_Reader):
    """A document as it is cut, with what is judged in it."""

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self.preview = preview

    def title_text(self) -> Content:
        """The document's id and its counts."""
        chunks, goldens = len(self.preview.chunks), len(self.preview.goldens)
        return line(f"{self.preview.doc} · {plural(chunks, 'chunk')} · {plural(goldens, 'golden')}")

    def body_text(self) -> Content:
        """Goldens first, then the text."""
        return preview_text(self.preview)


class HealthDialog(_Reader):
    """Suite health as lists."""

    def __init__(self, health: SuiteHealth | None) -> None:
        super().__init__()
        self.health = health

    def title_text(self) -> Content:
        """What it is judged by."""
        if self.health is None:
            return Content("Suite health")
        return Content(
            f"Suite health · {plural(self.health.runs, 'run')}, {plural(self.health.cases, 'question')}, "
            f"by {self.health.measure}"
        )

    def body_text(self) -> Content:
        """The lists, or what to do first."""
        return health_text(self.health)


def preview_text(preview: Preview) -> Content:
    """The text with a rule at each chunk's beginning; judged spans stand between `[grade▸` and `◂]`, underlined."""
    parts: list[Content] = []
    if preview.goldens:
        for case, grade, query in preview.goldens:
            parts.append(
                Content.assemble((f"grade {grade}  ", "$accent"), line(case, "bold"), "  ", line(query, "$secondary"))
            )
    else:
        parts.append(Content.styled("No golden relies on this document.", "$warning"))
    parts.append(Content(""))
    for number, (start, end, heading) in enumerate(preview.chunks, 1):
        head = f"── chunk {number} · {start}–{end} · {end - start} characters "
        parts.append(Content.assemble((head, "$primary bold"), line(heading, "$secondary")))
        parts.append(_judged(preview, start, end))
    return Content("\n").join(parts)


def _judged(preview: Preview, start: int, end: int) -> Content:
    """A chunk's text with the spans that begin or end in it."""
    pieces: list[Content] = []
    place = start
    for first, last, grade, _ in preview.spans:
        begin, stop = max(first, place), min(last, end)
        if begin >= stop:
            continue
        pieces.append(block(preview.text[place:begin]))
        pieces.append(Content.styled(f"[{grade}▸", "bold $accent"))
        pieces.append(block(preview.text[begin:stop], "bold underline"))
        pieces.append(Content.styled("◂]", "bold $accent"))
        place = stop
    pieces.append(block(preview.text[place:end]))
    return Content("").join(pieces)


def health_text(health: SuiteHealth | None) -> Content:
    """What the runs say of the questions, each list with its first dozen."""
    if health is None:
        return Content(
            "No retrieval run over this corpus is recorded yet. Press 2 to make one; two different plans tell most."
        )
    sections: list[tuple[str, str, list[Content]]] = [
        (
            "Questions that decide",
            "the runs differ on them",
            [
                line(f"{item.case}  {item.lowest:.2f} to {item.highest:.2f}, {item.share:.0%} of the difference")
                for item in health.deciding
            ],
        ),
        (
            "Questions that say nothing",
            "every run scores them alike",
            [line(f"{item.case}  always {value(item.value, 2)}") for item in health.constant],
        ),
        (
            "Not judged though often found",
            "judge them, or accept them as wrong",
            [
                line(f"{item.case}  {item.doc}  in {plural(item.runs, 'run')}, best rank {item.best_rank}")
                for item in health.unjudged
            ],
        ),
        (
            "Relevant but never found",
            "by no channel of any run",
            [line(f"{item.case}  {item.doc}  grade {item.grade}") for item in health.never_found],
        ),
        (
            "Nearly the same question",
            "they count double",
            [line(f"{item.first}  {item.second}  {item.similarity:.0%} alike") for item in health.alike],
        ),
        (
            "Tags too thin to show a change of 0.1",
            "",
            [
                line(f"{item.tag}  {plural(item.cases, 'case')}, shows {item.detectable:.2f}, {item.missing} missing")
                for item in health.thin_tags
            ],
        ),
    ]
    parts: list[Content] = []
    for title, why, rows in sections:
        parts.append(
            Content.assemble(
                (f"{title}  ", "bold"), (f"{len(rows)}", "bold $primary"), (f"  {why}" if rows else "", "$secondary")
            )
        )
        parts += [Content("  ") + row for row in rows[:_SHOWN]]
        if len(rows) > _SHOWN:
            parts.append(
                Content.styled(f"  and {len(rows) - _SHOWN} more: ragtui corpus health lists all", "$secondary")
            )
        parts.append(Content(""))
    return Content("\n").join(parts)
