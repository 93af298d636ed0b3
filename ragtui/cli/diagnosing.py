"""Where the gold was lost, and how healthy a suite is, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ragtui.cli.render import heading, number, pairs, safe, table
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.analysis.attribution import Attribution, Miss
    from ragtui.analysis.health import SuiteHealth

_ROWS = 10


def lost_report(found: Attribution, misses: list[Miss], limit: int | None) -> RenderableType:
    """Causes over all cases and by tag, then each missed judgment with its cause and its best ranks."""
    causes = [cause for cause, count in found.missed.items() if count]
    total = sum(found.missed.values())
    title = f"{total} of {found.relevant} judgments are not within the first {found.cutoff}"
    if not causes:
        return Text(title, style="bold")
    summary = table("cause", "judgments", "share", right=("judgments", "share"))
    for cause in causes:
        summary.add_row(cause.value, str(found.missed[cause]), f"{found.missed[cause] / total:.0%}")
    names = [cause.value for cause in causes]
    tags = table("tag", *names, right=names)
    for tag, row in found.by_tag.items():
        if any(row.values()):
            tags.add_row(safe(tag, 24), *(str(row.get(cause, 0) or "·") for cause in causes))
    listed = misses if limit is None else misses[:limit]
    each = table("case", "document", "cause", "best ranks", wrapping=("document", "cause", "best ranks"))
    for miss in listed:
        ranks = ", ".join(f"{stage} {rank}" for stage, rank in miss.ranks.items()) or "in no list"
        place = miss.doc if miss.start is None else f"{miss.doc}#{miss.start}-{miss.end}"
        each.add_row(safe(miss.case, 30), safe(place), miss.cause.value, safe(ranks))
    shown = f"Missed judgments ({len(listed)} of {len(misses)})" if len(listed) < len(misses) else "Missed judgments"
    return Group(Text(title, style="bold"), summary, heading("By tag"), tags, heading(shown), each)


def health_report(found: SuiteHealth) -> RenderableType:
    """Counts first, then the first rows of each list."""
    counts = pairs(
        {
            "runs": found.runs,
            "questions": found.cases,
            "decide": f"{len(found.deciding)} (their score differs between runs)",
            "never vary": len(found.constant),
            "unjudged in front": f"{plural(len(found.unjudged), 'document')} within the first {found.cutoff}",
            "never found": f"{len(found.never_found)} judged documents",
            "alike": f"{plural(len(found.alike), 'pair')} of questions",
            "thin tags": f"{len(found.thin_tags)} (too few cases to show a change of 0.1)",
        }
    )
    parts: list[RenderableType] = [Text(f"Suite health by {found.measure}", style="bold"), counts]
    deciding = table("case", "question", "lowest", "highest", "share", right=("lowest", "highest", "share"),
                     flexible=("question",))  # fmt: skip
    for row in found.deciding[:_ROWS]:
        deciding.add_row(
            safe(row.case, 30), safe(row.query), number(row.lowest, 2), number(row.highest, 2), f"{row.share:.1%}"
        )
    unjudged = table("case", "document", "runs", "best rank", right=("runs", "best rank"), flexible=("document",))
    for item in found.unjudged[:_ROWS]:
        unjudged.add_row(safe(item.case, 30), safe(item.doc), str(item.runs), str(item.best_rank))
    never = table("case", "document", "grade", right=("grade",), flexible=("document",))
    for lost in found.never_found[:_ROWS]:
        never.add_row(safe(lost.case, 30), safe(lost.doc), str(lost.grade))
    alike = table("first", "second", "similarity", right=("similarity",), flexible=("first", "second"))
    for pair in found.alike[:_ROWS]:
        alike.add_row(safe(pair.first), safe(pair.second), number(pair.similarity, 2))
    thin = table("tag", "cases", "shows a change of", "missing", right=("cases", "shows a change of", "missing"))
    for tag in found.thin_tags:
        thin.add_row(safe(tag.tag, 24), str(tag.cases), number(tag.detectable), str(tag.missing))
    for title, rows in (
        ("Questions that decide", deciding), ("Unjudged documents in front", unjudged),
        ("Judged documents that no run finds", never), ("Questions that are alike", alike), ("Thin tags", thin),
    ):  # fmt: skip
        if rows.row_count:
            parts += [heading(title), rows]
    return Group(*parts)
