"""Whether a run that is yet to be made can be compared with a recorded one: told before anything is spent on it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ragtui.analysis.comparability import pair
from ragtui.analysis.goldens import by_golden, common_mode
from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.plan import tier_of
from ragtui.experiment.specification import Specification
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.trace import ChunkRef


def refuse_incomparable(
    base: RecordedRun, specification: Specification, goldens: Sequence[EvaluationCase], corpus: CorpusSnapshot
) -> None:
    """Raise ComparisonRefused, with all that differs named, where a comparison of the finished run would."""
    same = base.specification.corpus_id == specification.corpus_id
    planned = RecordedRun(
        run_id="the new run",
        spec_id=specification.spec_id,
        status="running",
        tier=tier_of(specification.plan),
        specification=specification,
        measures=(),
        cases=tuple(goldens),
        traces=(),
        chunks=() if same else _as_they_are(base.chunks, corpus),
    )
    pair(by_golden(base, common_mode((base, planned))), planned)


def _as_they_are(chunks: Sequence[ChunkRef], corpus: CorpusSnapshot) -> tuple[ChunkRef, ...]:
    """These places with the texts that the corpus has there now; a document that is gone has none."""
    return tuple(
        msgspec.structs.replace(chunk, text=corpus.document(chunk.doc).text[chunk.start : chunk.end])
        for chunk in chunks
        if chunk.doc in corpus
    )
