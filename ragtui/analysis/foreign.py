"""Anybody's runs scored against anybody's judgments, as trec_eval scores them.

Two conventions differ from ragtui's own runs, because published numbers follow them: a query with nothing to find
counts as 0 in every mean, and hits are ordered by score and then by document id, descending.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from ragtui.analysis.contrast import MeasureChange, contrast
from ragtui.analysis.statistics import FloatArray, holm
from ragtui.inputs.formats.trec import ForeignRun, Qrels
from ragtui.metrics.aggregate import Estimate, mean_estimate
from ragtui.metrics.foreign import judge_runs
from ragtui.metrics.measure import Measure
from ragtui.metrics.ranking import score_matrix


class ScoredRun(msgspec.Struct, frozen=True):
    """A run's scores.

    `scores` has shape (queries, measures): each in [0, 1], or NaN for a rate that is about other queries. `lacking`
    counts judged queries that the run does not answer, `unjudged` its queries without any judgment, which are left
    out, and `empty` the scored queries with nothing to find, which count as 0.
    """

    queries: tuple[str, ...]
    scores: FloatArray
    lacking: int
    unjudged: int
    empty: int

    def means(self, measures: Sequence[Measure]) -> dict[str, Estimate]:
        """Each measure's mean over the queries, with its interval; None where there is no query."""
        return {str(measure): mean_estimate(self.scores[:, column]) for column, measure in enumerate(measures)}

    def per_query(self, measures: Sequence[Measure]) -> dict[str, dict[str, float | None]]:
        """Query → measure → value, None for a rate that is about other queries."""
        names = [str(measure) for measure in measures]
        return {
            query: {name: None if math.isnan(value) else value for name, value in zip(names, row, strict=True)}
            for query, row in zip(self.queries, self.scores.tolist(), strict=True)
        }


def score_run(
    qrels: Qrels, run: ForeignRun, measures: Sequence[Measure], *, complete: bool = True, single_precision: bool = True
) -> ScoredRun:
    """Score every judged query (`complete`), or only those that the run answers, as trec_eval does without -c."""
    queries = tuple(query for query in qrels if complete or query in run)
    hits = [run.get(query, {}) for query in queries]
    judged = judge_runs(hits, [qrels[query] for query in queries], single_precision=single_precision)
    scores = score_matrix(measures, judged)
    ranking = [column for column, measure in enumerate(measures) if not measure.is_rate]
    scores[:, ranking] = np.nan_to_num(scores[:, ranking], nan=0.0)
    return ScoredRun(
        queries,
        scores,
        lacking=sum(query not in run for query in qrels),
        unjudged=sum(query not in qrels for query in run),
        empty=sum(not any(grade > 0 for grade in qrels[query].values()) for query in queries),
    )


def paired(
    measures: Sequence[Measure], base: ScoredRun, others: Mapping[str, ScoredRun]
) -> dict[str, dict[str, MeasureChange]]:
    """Each other run's changes from the base over the queries that both are scored on, by measure.

    p-values are adjusted by Holm over all pairs and measures shown.
    """
    names = [str(measure) for measure in measures]
    tables = {}
    for name, other in others.items():
        row_of = {query: row for row, query in enumerate(other.queries)}
        shared = [(row, row_of[query]) for row, query in enumerate(base.queries) if query in row_of]
        old = base.scores[[left for left, _ in shared]]
        new = other.scores[[right for _, right in shared]]
        tables[name] = contrast(names, old, new, np.ones(old.shape, dtype=np.bool_))
    cells = [(name, measure) for name, table in tables.items() for measure in table if table[measure].p is not None]
    adjusted = dict(zip(cells, holm([tables[name][measure].p or 0.0 for name, measure in cells]), strict=True))
    return {
        name: {
            measure: msgspec.structs.replace(change, p_adjusted=adjusted.get((name, measure)))
            for measure, change in table.items()
        }
        for name, table in tables.items()
    }
