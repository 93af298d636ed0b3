"""A recorded run's channel hits and judgments in columns, ready to be taken through other stages many times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import InvalidInput
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.formulas import FloatArray, Found, IntArray, score_found
from ragtui.metrics.measure import Measure
from ragtui.metrics.ranking import ideal_grades
from ragtui.metrics.rates import score_rates
from ragtui.metrics.spans import Hits, SpanJudgment, judge_spans
from ragtui.pipeline.batch import Columns, first_of_group, positions
from ragtui.trace import CaseTrace


class Recording:
    """The finished cases of a run in columns. Chunks are renumbered in the order that breaks ties.

    `doc`, `start` and `end` are indexed by these numbers. InvalidInput if a trace refers to a chunk that the run does
    not describe.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        finished = [(case, run.trace_of[case.id]) for case in run.cases if case.id in run.trace_of]
        self.cases: list[EvaluationCase] = [case for case, _ in finished]
        self.traces: list[CaseTrace] = [trace for _, trace in finished]
        doc, start, end = run.columns
        known = np.flatnonzero(doc >= 0)
        order = known[np.lexsort((end[known], start[known], doc[known]))]
        self.doc, self.start, self.end = doc[order], start[order], end[order]
        self._number = np.full(len(doc) + 1, -1, np.int64)
        self._number[order] = np.arange(len(order))
        names = dict.fromkeys(name for trace in self.traces for name in trace.channels)
        self.channels = {name: self._columns(name) for name in names}

    def tie_order(self, chunks: IntArray) -> IntArray:
        """What breaks ties among chunks of the run's own numbering."""
        return self._number[chunks]

    def scored(self, results: Columns, measures: Sequence[Measure]) -> FloatArray:
        """Every measure of every finished case, as `Scorer` gives it: shape (cases, measures), NaN where unscored."""
        scores = np.empty((len(self.cases), len(measures)))
        levels: dict[str, list[int]] = {}
        for index, measure in enumerate(measures):
            levels.setdefault("rate" if measure.is_rate else measure.level, []).append(index)
        grades = self._grades(results)
        for level, columns in levels.items():
            chosen = [measures[index] for index in columns]
            if level == "rate":
                lengths = np.bincount(results.cases, minlength=len(self.cases))
                answerable = [not case.expect_refusal for case in self.cases]
                scores[:, columns] = score_rates(chosen, lengths, answerable)
            elif level == "span":
                scores[:, columns] = score_found(chosen, self._found_spans(results))
            else:
                scores[:, columns] = score_found(chosen, self._found(results, grades, by_document=level == "doc"))
        scores[[trace.error is not None for trace in self.traces]] = np.nan
        return scores

    def _columns(self, name: str) -> Columns:
        lists = [trace.channels.get(name) for trace in self.traces]
        lengths = [0 if hits is None else len(hits.chunks) for hits in lists]
        flat = list(chain.from_iterable(hits.chunks for hits in lists if hits is not None))
        scores = list(chain.from_iterable(hits.scores for hits in lists if hits is not None))
        ordinals = np.array(flat, np.int64)
        chunks = self._number[np.minimum(ordinals, len(self._number) - 1)]
        if len(chunks) and chunks.min() < 0:
            raise InvalidInput(
                f"The traces of {self.run.run_id} refer to chunks that the record does not describe.",
                "Export the run again with its chunks.",
            )
        return Columns(np.repeat(np.arange(len(lists)), lengths), chunks, np.array(scores, np.float64))

    @cached_property
    def _judged(self) -> tuple[IntArray, IntArray]:
        """Keys of (case, document) with a positive grade, ascending, and the grades."""
        documents, width = self.run.documents, len(self.run.documents)
        rows = sorted(
            (row * width + documents[doc], grade)
            for row, case in enumerate(self.cases)
            for doc, grade in case.grades.items()
            if grade > 0
        )
        return np.array([key for key, _ in rows], np.int64), np.array([grade for _, grade in rows], np.int64)

    def _grades(self, results: Columns) -> IntArray:
        """The grade of each hit's document."""
        keys, grades = self._judged
        if not len(keys):
            return np.zeros(len(results.cases), np.int64)
        asked = results.cases * len(self.run.documents) + self.doc[results.chunks]
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[place] == asked, grades[place], 0)

    @cached_property
    def _targets(self) -> IntArray:
        return ideal_grades([list(case.grades.values()) for case in self.cases])

    def _found(self, results: Columns, grades: IntArray, *, by_document: bool) -> Found:
        if not by_document:
            good = grades > 0
            return Found(results.cases[good], positions(results.cases)[good] + 1, grades[good], self._targets)
        first = first_of_group(results.cases, self.doc[results.chunks])
        cases, grades = results.cases[first], grades[first]
        good = grades > 0
        return Found(cases[good], positions(cases)[good] + 1, grades[good], self._targets)

    def _found_spans(self, results: Columns) -> Found:
        documents = self.run.documents
        bounds = np.searchsorted(results.cases, np.arange(len(self.cases) + 1)).tolist()
        hits = []
        for begin, stop in pairwise(bounds):
            chunks = results.chunks[begin:stop]
            hits.append(Hits(self.doc[chunks], self.start[chunks], self.end[chunks]))
        spans = [
            [SpanJudgment(documents[span.doc], span.start, span.end, span.grade) for span in case.spans]
            for case in self.cases
        ]
        return judge_spans(hits, spans)
