"""The lists of the live screen: their columns and what they are for."""

from __future__ import annotations

from ragtui.tui.widgets.rows import Column, RowList

_MEASURES = "Every configured measure: mean over the cases that have a value, its 95 % interval, and how the mean went."
_FEED = (
    "Cases that did not find everything, and errors with their reason, the newest last. "
    "Enter opens the case once the run is recorded."
)


def live_lists() -> tuple[RowList, RowList, RowList, RowList]:
    """Measures, tags, latencies and the feed."""
    measures = (
        Column("measure"),
        Column("value", 5, True),
        Column("95 % interval", 13),
        Column("n", 5, True, 52),
        Column("so far", 8, wide=16),
    )
    tags = (Column("tag"), Column("cases", 7, True), Column("value", 5, True), Column("95 % interval", 13, False, 44))
    latency = (Column("stage"), Column("p50", 7, True), Column("p95", 7, True))
    feed = (Column("", 6), Column("case", 20), Column("score", 5, True), Column("question, or reason"))
    tag_words = "Cases finished of all, and the decisive measure, by tag."
    latency_words = "Milliseconds of each stage and provider over the last thousand cases."
    return (
        RowList(measures, id="measures", cursor=False, help_text=_MEASURES),
        RowList(tags, id="tags", cursor=False, help_text=tag_words),
        RowList(latency, id="latency", cursor=False, help_text=latency_words),
        RowList(feed, id="feed", empty="None so far.", help_text=_FEED),
    )
