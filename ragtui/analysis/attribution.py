"""Where the gold was lost: one cause for every missed judgment, the first stage of the pipeline that lost it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.analysis.recorded import RecordedRun
from ragtui.artifacts.ranking import Ranking
from ragtui.inputs.evaluation import EvaluationCase, Span
from ragtui.metrics.measure import parse_measure
from ragtui.pipeline.floor import at_least
from ragtui.trace import CaseTrace, Hits

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Says whether some chunk holds half of the characters [start, end) of a document; None where that is not known.
Indexed = Callable[[str, int, int], bool | None]


class Cause(StrEnum):
    """Why a judged document or span is not among the results, in the order of the pipeline.

    Where the chunk set is not at hand, whether a span that no channel found is indexed at all is not known.
    """

    NOT_INDEXED = "not indexed"
    NOT_FOUND = "found by no channel"
    BELOW_DEPTH = "below every channel's depth"
    BELOW_MIN_SCORE = "below a channel's minimum score"
    LOST_IN_FUSION = "lost in fusion"
    BELOW_FLOOR = "below the floor"
    COLLAPSED = "collapsed away"
    BELOW_CUTOFF = "below the cut-off"


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """A judgment that the results do not hold within the cut-off; `start` and `end` are None for a whole document.

    `ranks` are its best ranks by stage, from 1: the channels that found it, `fused` and `results`.
    """

    case: str
    tags: tuple[str, ...]
    doc: str
    start: int | None
    end: int | None
    grade: int
    cause: Cause
    ranks: dict[str, int]

    @property
    def judgment(self) -> tuple[str, str, int | None, int | None]:
        """What was missed, the same in every run over the same goldens."""
        return self.case, self.doc, self.start, self.end


class Attribution(msgspec.Struct, frozen=True):
    """How many judgments were to be found and were missed, by cause, over all cases and by tag."""

    cutoff: int
    relevant: int
    missed: dict[Cause, int]
    by_tag: dict[str, dict[Cause, int]]


def attribute(run: RecordedRun, *, cutoff: int | None = None, indexed: Indexed | None = None) -> list[Miss]:
    """Every missed judgment of the finished cases, in the order of the run.

    A judgment counts from the plan's relevance up. A document is missed when it is not among the first `cutoff`
    documents of the results, a span when none of the first `cutoff` chunks covers half of it; where a document has
    judged spans, they stand for it. The cut-off is that of the primary measure unless given. `indexed` asks the chunk
    set (`held_by` makes it); without it only a span that is too long for any chunk is known not to be indexed.
    """
    reader = _Reader(run, default_cutoff(run) if cutoff is None else cutoff, indexed)
    return [miss for case, trace in _finished(run) for miss in reader.misses(case, trace)]


def attribution(run: RecordedRun, misses: Sequence[Miss], cutoff: int | None = None) -> Attribution:
    """The table of the misses of a run."""
    relevance = run.specification.plan.metrics.relevance
    by_tag: dict[str, Counter[Cause]] = {tag: Counter() for tag in sorted({t for c in run.cases for t in c.tags})}
    for miss in misses:
        for tag in miss.tags:
            by_tag[tag][miss.cause] += 1
    return Attribution(
        default_cutoff(run) if cutoff is None else cutoff,
        sum(1 for case, _ in _finished(run) for _ in _judgments(case, relevance)),
        _in_order(Counter(miss.cause for miss in misses)),
        {tag: _in_order(counts) for tag, counts in by_tag.items()},
    )


def moved(base: Sequence[Miss], new: Sequence[Miss]) -> dict[tuple[Cause | None, Cause | None], list[Miss]]:
    """The judgments whose cause changed, by (cause in base, cause in new); None is found. Misses as in the latter."""
    old = {miss.judgment: miss for miss in base}
    present = {miss.judgment: miss for miss in new}
    changes: dict[tuple[Cause | None, Cause | None], list[Miss]] = {}
    for judgment in dict.fromkeys([*present, *old]):
        before, after = old.get(judgment), present.get(judgment)
        was, is_now = None if before is None else before.cause, None if after is None else after.cause
        witness = after or before
        if was != is_now and witness is not None:
            changes.setdefault((was, is_now), []).append(witness)
    return changes


def held_by(docs: Iterable[str], starts: Iterable[int], ends: Iterable[int]) -> Indexed:
    """What `attribute` asks, from the parallel columns of a chunk set."""
    chunks: dict[str, list[tuple[int, int]]] = {}
    for doc, start, end in zip(docs, starts, ends, strict=True):
        chunks.setdefault(doc, []).append((start, end))

    def indexed(doc: str, start: int, end: int) -> bool:
        return any(_covers_half(first, last, start, end) for first, last in chunks.get(doc, ()))

    return indexed


def default_cutoff(run: RecordedRun) -> int:
    """The primary measure's, and where it has none what a model gets to read, or else the number of results."""
    plan = run.specification.plan
    reached = plan.retrieval.results if plan.generation is None else min(plan.context.top_n, plan.retrieval.results)
    return parse_measure(plan.metrics.primary).cutoff or reached


def _finished(run: RecordedRun) -> Iterator[tuple[EvaluationCase, CaseTrace]]:
    """The cases that searched: where a model was given the right documents, or none, nothing was lost."""
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        if trace is not None and trace.error is None and trace.channels:
            yield case, trace


def _judgments(case: EvaluationCase, relevance: int) -> Iterator[Span | tuple[str, int]]:
    """The relevant spans, and the relevant documents that have none."""
    spans = [span for span in case.spans if span.grade >= relevance]
    yield from spans
    with_span = {span.doc for span in spans}
    for doc, grade in case.grades.items():
        if grade >= relevance and doc not in with_span:
            yield doc, grade


class _Lists(msgspec.Struct, frozen=True):
    """The stages of one case as arrays of chunk ordinals; `counted` are the channels after their minimum scores."""

    raw: dict[str, IntArray]
    counted: dict[str, IntArray]
    fused: IntArray
    floored: IntArray
    collapsed: IntArray
    results: IntArray


class _Reader:
    """Reads the stages of a case for the place of a judgment."""

    def __init__(self, run: RecordedRun, cutoff: int, indexed: Indexed | None) -> None:
        self._run, self._cutoff, self._indexed = run, cutoff, indexed
        self._doc, self._start, self._end = run.columns
        self._plan = run.specification.plan

    def misses(self, case: EvaluationCase, trace: CaseTrace) -> Iterator[Miss]:
        lists = self._lists(trace)
        for judgment in _judgments(case, self._plan.metrics.relevance):
            if self._within(lists.results, judgment):
                continue
            doc, grade = (judgment.doc, judgment.grade) if isinstance(judgment, Span) else judgment
            places = {**lists.raw, "fused": lists.fused, "results": lists.results}
            ranks = {name: rank for name, hits in places.items() if (rank := self._rank(hits, judgment)) is not None}
            start, end = (judgment.start, judgment.end) if isinstance(judgment, Span) else (None, None)
            yield Miss(
                case=case.id, tags=case.tags, doc=doc, start=start, end=end, grade=grade,
                cause=self._cause(lists, judgment), ranks=ranks,
            )  # fmt: skip

    def _cause(self, lists: _Lists, judgment: Span | tuple[str, int]) -> Cause:
        """The first stage after which no hit holds the judgment, or after which it is out of reach."""
        held = self._held
        if not any(held(hits, judgment) for hits in lists.raw.values()):
            known = self._is_indexed(judgment)
            return Cause.NOT_FOUND if known is None else Cause.BELOW_DEPTH if known else Cause.NOT_INDEXED
        if not any(held(hits, judgment) for hits in lists.counted.values()):
            return Cause.BELOW_MIN_SCORE
        seen_near = any(self._within(hits, judgment) for hits in lists.counted.values())
        if not held(lists.fused, judgment) or (seen_near and not self._within(lists.fused, judgment)):
            return Cause.LOST_IN_FUSION
        # The floor only moves up what it leaves, so what it took out of reach it dropped.
        if not held(lists.floored, judgment) or (
            self._within(lists.fused, judgment) and not self._within(lists.floored, judgment)
        ):
            return Cause.BELOW_FLOOR
        if not held(lists.collapsed, judgment):
            return Cause.COLLAPSED
        return Cause.BELOW_CUTOFF

    def _lists(self, trace: CaseTrace) -> _Lists:
        channels = self._plan.retrieval.channels
        raw, counted = {}, {}
        for name, hits in trace.channels.items():
            raw[name] = _chunks(hits)
            minimum = channels[name].min_score if name in channels else None
            counted[name] = at_least(Ranking(raw[name], np.array(hits.scores, np.float64)), minimum).chunks
        fused = _chunks(trace.fused or trace.results)
        floored = fused if trace.floor is None else _chunks(trace.floor)
        collapsed = floored if trace.collapse is None else _chunks(trace.collapse)
        return _Lists(raw, counted, fused, floored, collapsed, _chunks(trace.results))

    def _matches(self, chunks: IntArray, judgment: Span | tuple[str, int]) -> BoolArray:
        doc = judgment.doc if isinstance(judgment, Span) else judgment[0]
        matches: BoolArray = self._doc[chunks] == self._run.documents[doc]
        if isinstance(judgment, Span):
            overlap = np.minimum(self._end[chunks], judgment.end) - np.maximum(self._start[chunks], judgment.start)
            matches &= (overlap > 0) & (2 * overlap >= judgment.end - judgment.start)
        return matches

    def _held(self, chunks: IntArray, judgment: Span | tuple[str, int]) -> bool:
        return bool(self._matches(chunks, judgment).any())

    def _rank(self, chunks: IntArray, judgment: Span | tuple[str, int]) -> int | None:
        """From 1, counted in documents for a document and in chunks for a span; None where no hit holds it."""
        matches = self._matches(chunks, judgment)
        if not matches.any():
            return None
        place = int(matches.argmax())
        return place + 1 if isinstance(judgment, Span) else len(np.unique(self._doc[chunks[: place + 1]]))

    def _within(self, chunks: IntArray, judgment: Span | tuple[str, int]) -> bool:
        rank = self._rank(chunks, judgment)
        return rank is not None and rank <= self._cutoff

    def _is_indexed(self, judgment: Span | tuple[str, int]) -> bool | None:
        # Chunking gives every document a chunk, or refuses it.
        if not isinstance(judgment, Span) or self._plan.chunking.strategy == "document":
            return True
        if judgment.end - judgment.start > 2 * self._plan.chunking.size:
            return False
        return None if self._indexed is None else self._indexed(judgment.doc, judgment.start, judgment.end)


def _covers_half(first: int, last: int, start: int, end: int) -> bool:
    overlap = min(last, end) - max(first, start)
    return overlap > 0 and 2 * overlap >= end - start


def _chunks(hits: Hits) -> IntArray:
    return np.array(hits.chunks, np.int64)


def _in_order(counts: Mapping[Cause, int]) -> dict[Cause, int]:
    """Every cause, also those without a miss, in the order of the pipeline."""
    return {cause: counts.get(cause, 0) for cause in Cause}
