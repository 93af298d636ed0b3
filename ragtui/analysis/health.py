"""What stored runs say about the suite itself: which questions decide, which say nothing, what is not judged."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ragtui.analysis.contrast import applies, score_columns
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import FloatArray, difference_spread, questions_needed, smallest_detectable_effect
from ragtui.analysis.summary import decisive_measure
from ragtui.errors import ComparisonRefused, InvalidInput
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.measure import parse_measure

ALIKE = 0.8
TELLING = 0.1
_WORD = re.compile(r"\w+")
# Without two runs nothing is known of differences; this is common between retrievers that are worth comparing.
_USUAL_SPREAD = 0.25


class Deciding(msgspec.Struct, frozen=True):
    """A question whose score differs between the runs, and its share of all such difference."""

    case: str
    query: str
    lowest: float
    highest: float
    share: float


class Constant(msgspec.Struct, frozen=True):
    """A question that every run scores the same."""

    case: str
    value: float


class Unjudged(msgspec.Struct, frozen=True):
    """A document that no judgment of the question names, within the first k documents of `runs` runs."""

    case: str
    doc: str
    runs: int
    best_rank: int


class NeverFound(msgspec.Struct, frozen=True):
    """A relevant document that is in no list of any run: neither in a channel nor in the results."""

    case: str
    doc: str
    grade: int


class Alike(msgspec.Struct, frozen=True):
    """Two questions of nearly the same words; `similarity` is the share of the words of both that both have."""

    first: str
    second: str
    similarity: float


class ThinTag(msgspec.Struct, frozen=True):
    """A tag whose scored cases cannot show a change of 0.1: what they can show, and how many are missing."""

    tag: str
    cases: int
    detectable: float
    missing: int


class SuiteHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a suite by `runs` runs under one measure; lists are in order of weight, then of the suite."""

    measure: str
    cutoff: int
    runs: int
    cases: int
    deciding: tuple[Deciding, ...]
    constant: tuple[Constant, ...]
    unjudged: tuple[Unjudged, ...]
    never_found: tuple[NeverFound, ...]
    alike: tuple[Alike, ...]
    thin_tags: tuple[ThinTag, ...]


def suite_health(runs: Sequence[RecordedRun], measure: str | None = None, cutoff: int = 10) -> SuiteHealth:
    """Read the goldens of the last run by all runs over the same corpus and the same goldens.

    Without `measure`, that run's primary. A question that a run did not ask, or asked otherwise, is not counted for
    that run. InvalidInput without runs, ComparisonRefused for runs over different corpora.
    """
    if not runs:
        raise InvalidInput("There is no run to judge the suite by.", "Make one with `ragtui run`.")
    last = runs[-1]
    others = sorted({run.run_id for run in runs if run.specification.corpus_id != last.specification.corpus_id})
    if others:
        raise ComparisonRefused(
            f"{', '.join(others)} ran on another corpus than {last.run_id}.", "Give runs over one corpus."
        )
    primary = last.specification.plan.metrics.primary
    name = str(parse_measure(measure)) if measure else decisive_measure(last.measures, primary)
    scores = np.column_stack([_scores(run, last, name) for run in runs])
    return SuiteHealth(
        measure=name,
        cutoff=cutoff,
        runs=len(runs),
        cases=len(last.cases),
        deciding=tuple(_deciding(last.cases, scores)),
        constant=tuple(_constant(last.cases, scores)),
        unjudged=tuple(_unjudged(runs, last, cutoff)),
        never_found=tuple(_never_found(runs, last)),
        alike=tuple(alike_questions(last.cases)),
        thin_tags=tuple(_thin_tags(last.cases, name, scores)),
    )


def alike_questions(cases: Sequence[EvaluationCase], least: float = ALIKE) -> list[Alike]:
    """Pairs of questions whose sets of words have a Jaccard similarity of at least `least`, the most alike first.

    Earlier turns count as words of the question. Only pairs that share a word which few questions have are looked at.
    """
    words = [frozenset(_words(case)) for case in cases]
    frequency = Counter(word for own in words for word in own)
    holders: dict[str, list[int]] = {}
    candidates: set[tuple[int, int]] = set()
    for index, own in enumerate(words):
        # Two sets that alike share one of each one's rarest words (prefix filtering, Chaudhuri et al., ICDE 2006).
        rarest = sorted(own, key=lambda word: (frequency[word], word))[: len(own) - int(np.ceil(least * len(own))) + 1]
        for word in rarest:
            candidates.update((other, index) for other in holders.get(word, ()))
            holders.setdefault(word, []).append(index)
    pairs = []
    for first, second in sorted(candidates):
        similarity = len(words[first] & words[second]) / len(words[first] | words[second])
        if similarity >= least:
            pairs.append(Alike(cases[first].id, cases[second].id, similarity))
    return sorted(pairs, key=lambda pair: -pair.similarity)


def _words(case: EvaluationCase) -> Iterator[str]:
    for text in (*(turn.content for turn in case.turns), case.query):
        yield from _WORD.findall(text.casefold())


def _same_questions(run: RecordedRun, last: RecordedRun) -> set[str]:
    """The questions of the last run that this one asked and judged alike."""
    hashes = {case.id: case.retrieval_hash for case in run.cases}
    return {case.id for case in last.cases if hashes.get(case.id) == case.retrieval_hash}


def _scores(run: RecordedRun, last: RecordedRun, name: str) -> FloatArray:
    scores = score_columns(run, last.cases, [name])[:, 0]
    same = _same_questions(run, last)
    scores[[case.id not in same for case in last.cases]] = np.nan
    return scores


def _deciding(cases: Sequence[EvaluationCase], scores: FloatArray) -> list[Deciding]:
    """By the range of scores, the widest first."""
    ranges = [_range(row) for row in scores]
    total = sum(high - low for low, high in ranges)
    rows = [
        Deciding(case.id, case.query, low, high, (high - low) / total)
        for case, (low, high) in zip(cases, ranges, strict=True)
        if high > low
    ]
    return sorted(rows, key=lambda row: -row.share)


def _constant(cases: Sequence[EvaluationCase], scores: FloatArray) -> Iterator[Constant]:
    """Questions that at least two runs scored, all of them the same."""
    for case, row in zip(cases, scores, strict=True):
        known = row[~np.isnan(row)]
        if len(known) > 1 and known.min() == known.max():
            yield Constant(case.id, float(known[0]))


def _range(row: FloatArray) -> tuple[float, float]:
    known = row[~np.isnan(row)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def _unjudged(runs: Sequence[RecordedRun], last: RecordedRun, cutoff: int) -> list[Unjudged]:
    """Documents that most runs put high and nobody judged, for questions that have something to find."""
    seen: dict[tuple[str, str], list[int]] = {}
    judged = {case.id: case.grades for case in last.cases if case.answerable}
    for run in runs:
        same = _same_questions(run, last)
        for trace in run.traces:
            if trace.case not in judged or trace.case not in same:
                continue
            for rank, doc in enumerate(itertools.islice(_documents(run, trace.results.chunks), cutoff), 1):
                if doc not in judged[trace.case]:
                    seen.setdefault((trace.case, doc), []).append(rank)
    rows = [Unjudged(case, doc, len(ranks), min(ranks)) for (case, doc), ranks in seen.items()]
    return sorted(rows, key=lambda row: (-row.runs, row.best_rank))


def _documents(run: RecordedRun, chunks: Sequence[int]) -> Iterator[str]:
    """The documents of a ranking, each at its first rank."""
    return iter(dict.fromkeys(run.chunk_of[chunk].doc for chunk in chunks if chunk in run.chunk_of))


def _never_found(runs: Sequence[RecordedRun], last: RecordedRun) -> Iterator[NeverFound]:
    found: dict[str, set[str]] = {}
    for run in runs:
        same = _same_questions(run, last)
        for trace in run.traces:
            if trace.case in same and trace.error is None:
                lists = (*(hits.chunks for hits in trace.channels.values()), trace.results.chunks)
                found.setdefault(trace.case, set()).update(_documents(run, list(itertools.chain(*lists))))
    for case in last.cases:
        for doc, grade in case.grades.items():
            if grade > 0 and case.id in found and doc not in found[case.id]:
                yield NeverFound(case.id, doc, grade)


def _thin_tags(cases: Sequence[EvaluationCase], name: str, scores: FloatArray) -> list[ThinTag]:
    """Tags by what a change must be to show in them, with the spread that the runs' differences have."""
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    differences = np.concatenate([scores[:, b] - scores[:, a] for a, b in pairs]) if pairs else np.empty(0)
    spread = difference_spread(differences) if np.any(differences) else _USUAL_SPREAD
    needed = questions_needed(spread, TELLING)
    about = applies(cases, [name])[:, 0]
    sizes = Counter(tag for case, counts in zip(cases, about, strict=True) if counts for tag in set(case.tags))
    return [
        ThinTag(tag, size, smallest_detectable_effect(spread, size), needed - size)
        for tag, size in sorted(sizes.items(), key=lambda item: (item[1], item[0]))
        if size < needed
    ]
