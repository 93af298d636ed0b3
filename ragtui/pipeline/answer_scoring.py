"""From answers to scores: every measure of the generation tier, and the ranking measures where there was a search."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ragtui.experiment.generation import SEARCHING
from ragtui.experiment.plan import Plan
from ragtui.experiment.validate import measure_names, measures_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.answers import Answered, passed, score_answer
from ragtui.pipeline.chunk_table import ChunkTable
from ragtui.pipeline.injected import part_texts
from ragtui.pipeline.scoring import Scorer
from ragtui.trace import AnswerTrace, CaseTrace, ChunkRef

NOT_SEARCHED = "the mode does not search"


class AnswerScorer:
    """Fills in `scores`, `unscored` and `passed` of finished traces."""

    def __init__(self, plan: Plan, documents: dict[str, int], table: ChunkTable) -> None:
        self._names = measure_names(plan)
        self._rankings = Scorer(measures_of(plan), documents)
        self._table = table

    def scored(self, cases: Sequence[EvaluationCase], traces: Sequence[CaseTrace]) -> list[CaseTrace]:
        """The traces with their scores; an errored case is unscored, with its error as the reason."""
        table = self._table
        ranked = self._rankings.scored(cases, traces, table.doc, table.start, table.end)
        return [
            scored_answer(case, trace, self._names, table.refs(_injected(trace)))
            for case, trace in zip(cases, ranked, strict=True)
        ]


def scored_answer(
    case: EvaluationCase, trace: CaseTrace, names: Sequence[str], injected: Sequence[ChunkRef]
) -> CaseTrace:
    """A trace that has its ranking measures, with the answer's added; `injected` are the chunks of its context."""
    answer = trace.answered
    if answer is None or trace.error is not None:
        reason = trace.error.message if trace.error is not None else "there is no answer"
        return msgspec.structs.replace(trace, scores=dict.fromkeys(names), unscored=dict.fromkeys(names, reason))
    scores, reasons = dict(trace.scores), dict(trace.unscored)
    if answer.mode not in SEARCHING:
        scores, reasons = dict.fromkeys(scores), dict.fromkeys(scores, NOT_SEARCHED)
    of_answer, why = score_answer(case, answered(case, answer, injected))
    values = {**of_answer, **scores}
    return msgspec.structs.replace(
        trace,
        scores={name: values.get(name) for name in names},
        unscored={**why, **reasons},
        answer=msgspec.structs.replace(answer, passed=passed(case, of_answer)),
    )


def answered(case: EvaluationCase, answer: AnswerTrace, injected: Sequence[ChunkRef]) -> Answered:
    """What the measures look at."""
    turns = case.turns[len(case.turns) - answer.history :] if answer.history else ()
    return Answered(
        text=answer.text,
        context=tuple(part_texts(injected, answer.mode == "oracle")),
        asked=(case.query, *(turn.content for turn in turns)),
        turns=len(case.turns),
        turns_sent=answer.history,
        chunks=len(answer.context),
        chunks_dropped=len(answer.dropped),
        estimated_tokens=answer.estimated_tokens,
        prompt_tokens=answer.usage.prompt_tokens,
    )


def _injected(trace: CaseTrace) -> list[int]:
    answer = trace.answered
    return [] if answer is None else answer.context
