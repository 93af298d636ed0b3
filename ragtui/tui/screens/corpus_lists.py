"""The lists of the corpus screen: their columns and what they are for."""

from __future__ import annotations

from ragtui.tui.widgets.rows import Column, RowList

_PROBLEMS = "Every problem of corpus and goldens at its file and line. Enter shows the whole text."
_DOCUMENTS = (
    "Each document: its chunks, how many goldens rely on it, and whether the last run had it in any result. "
    "Enter shows its text with chunk boundaries and judged spans."
)
_SUITES = "How many goldens each suite has, and how many carry each tag."
_ARTIFACTS = (
    "What is built from the corpus, and what has to change for it to be built anew. `current` is used by a preset "
    "here, `unused` belongs to another corpus or recipe."
)


def corpus_lists() -> tuple[RowList, RowList, RowList, RowList]:
    """Problems, documents, suites and artifacts."""
    problems = (Column("place", 26), Column("problem and what to do"))
    documents = (
        Column("document"),
        Column("chars", 8, True, 52),
        Column("chunks", 6, True),
        Column("goldens", 7, True),
        Column("results", 7),
    )
    suites = (Column("suite or tag"), Column("goldens", 7, True))
    artifacts = (
        Column("kind", 7),
        Column("state", 11),
        Column("id", 8),
        Column("size", 8, True),
        Column("built, UTC", 14),
        Column("took", 6, True, 90),
        Column("recipe", 0, False, 90),
        Column("changes with"),
    )
    return (
        RowList(problems, id="problems", head=False, help_text=_PROBLEMS),
        RowList(documents, id="documents", empty="Reading the corpus…", help_text=_DOCUMENTS),
        RowList(suites, id="suites", cursor=False, help_text=_SUITES),
        RowList(artifacts, id="artifacts", cursor=False, empty="Looking…", help_text=_ARTIFACTS),
    )
