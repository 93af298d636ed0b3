"""Asking the chunk set that a recorded run searched, while the corpus is still the run's."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ragtui.errors import RagtuiError

if TYPE_CHECKING:
    from ragtui.analysis.attribution import Indexed
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab.laboratory import Lab


def indexed_in(lab: Lab, run: RecordedRun) -> Indexed:
    """What `attribute` asks of the run's chunks: read when first asked for, not known where they are not to be had."""
    specification = run.specification

    @cache
    def chunks() -> Indexed | None:
        from ragtui.analysis.attribution import held_by
        from ragtui.artifacts.chunking import chunk_set, chunk_set_id

        try:
            corpus = lab.snapshot
            if chunk_set_id(corpus.corpus_id, specification.plan.chunking) != specification.chunk_set_id:
                return None
            found = chunk_set(corpus, specification.plan.chunking, lab.cache)
        except (RagtuiError, OSError):
            return None
        docs = (corpus.documents[doc].id for doc in found.doc.tolist())
        return held_by(docs, found.start.tolist(), found.end.tolist())

    def indexed(doc: str, start: int, end: int) -> bool | None:
        asked = chunks()
        return None if asked is None else asked(doc, start, end)

    return indexed
