"""Goldens bound to a snapshot: quotes resolved, hashes taken, a selection drawn."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec

from ragtui.errors import InvalidFiles, InvalidInput, Problem
from ragtui.ids import content_id
from ragtui.inputs.corpus import TEXT_SUFFIXES, CorpusSnapshot
from ragtui.inputs.goldens import GRADES, Golden, PlacedGolden, Turn, read_suites
from ragtui.inputs.patterns import CheckedFiles
from ragtui.inputs.text import fold_space

# Comparing an id with thousands takes a tenth of a second.
_NEAREST_FOR, _NEAREST_AMONG, _LONGEST_ID = 20, 5_000, 200


class Span(msgspec.Struct, frozen=True, order=True):
    """A judged span of a document: characters `start` to `end` (exclusive), grade 0 to 3."""

    doc: str
    start: int
    end: int
    grade: int


class EvaluationCase(msgspec.Struct, frozen=True):
    """A frozen golden.

    `grades` maps a judged document to its highest grade (0 included); `spans` are the judgments with a quote.
    `retrieval_hash` covers query, turns and judgments, `answer_hash` patterns and refusal.
    """

    id: str
    suite: str
    query: str
    turns: tuple[Turn, ...]
    grades: dict[str, int]
    spans: tuple[Span, ...]
    must_include: tuple[str, ...]
    must_not_include: tuple[str, ...]
    expect_refusal: bool
    tags: tuple[str, ...]
    retrieval_hash: str
    answer_hash: str

    @property
    def answerable(self) -> bool:
        """Whether there is anything to find."""
        return any(grade > 0 for grade in self.grades.values())


class EvaluationSet(msgspec.Struct, frozen=True):
    """The selected cases in the order of their files, and the content id of what retrieval depends on."""

    evaluation_id: str
    cases: tuple[EvaluationCase, ...]


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which goldens to run: suites, then any of the tags, then a stratified sample of `limit` with `seed`."""

    suites: tuple[str, ...] = ("core",)
    tags: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0


def load_evaluation(
    folder: Path, corpus: CorpusSnapshot, selection: Selection, checked: CheckedFiles | None = None
) -> EvaluationSet:
    """Read, validate, freeze and select. Raises InvalidFiles with every problem of the named suites.

    `checked` as in `read_suites`.
    """
    placed, problems = read_suites(folder, selection.suites, checked)
    cases, more = freeze(placed, corpus)
    if problems or more:
        raise InvalidFiles(problems + more)
    return evaluation_set(select(cases, selection))


def evaluation_set(cases: Sequence[EvaluationCase]) -> EvaluationSet:
    """Freeze the cases under the id of their retrieval hashes."""
    return EvaluationSet(content_id({case.id: case.retrieval_hash for case in cases}), tuple(cases))


def in_order(evaluation: EvaluationSet, ids: Iterable[str]) -> EvaluationSet:
    """The same set with its cases in the order of these ids; KeyError where they are not exactly its cases."""
    cases = {case.id: case for case in evaluation.cases}
    ordered = tuple(cases.pop(name) for name in dict.fromkeys(ids))
    if cases:
        raise KeyError(next(iter(cases)))
    return EvaluationSet(evaluation.evaluation_id, ordered)


def freeze(placed: Iterable[PlacedGolden], corpus: CorpusSnapshot) -> tuple[list[EvaluationCase], list[Problem]]:
    """Bind goldens to a snapshot; a golden with a problem gives no case."""
    cases: list[EvaluationCase] = []
    problems: list[Problem] = []
    advice = _IdAdvice(corpus)
    for item in placed:
        case = _freeze_one(item, corpus, advice)
        if isinstance(case, EvaluationCase):
            cases.append(case)
        else:
            problems.extend(case)
    return cases, problems


class _IdAdvice:
    """What to do about an id that is not in the corpus; the nearest id is looked for a few times only, as it takes."""

    def __init__(self, corpus: CorpusSnapshot) -> None:
        self._corpus = corpus
        self._left = _NEAREST_FOR if len(corpus.documents) <= _NEAREST_AMONG else 0

    def about(self, doc: str) -> str:
        """The hint of a problem."""
        stem = doc[: -len(PurePosixPath(doc).suffix)] if PurePosixPath(doc).suffix.lower() in TEXT_SUFFIXES else doc
        if stem != doc and stem in self._corpus:
            return f"An id has no suffix: write {stem!r}."
        near: list[str] = []
        if self._left > 0 and len(stem) <= _LONGEST_ID:
            self._left -= 1
            near = difflib.get_close_matches(stem, self._corpus.ordinals, n=1, cutoff=0.75)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        return f"{meant}Correct the id or add the document."


def _freeze_one(item: PlacedGolden, corpus: CorpusSnapshot, advice: _IdAdvice) -> EvaluationCase | list[Problem]:
    golden = item.golden
    grades: dict[str, int] = {}
    spans: dict[tuple[str, int, int], int] = {}
    faults: list[Problem] = []
    for judgment in golden.all_judgments:
        if judgment.doc not in corpus:
            message = f"golden {golden.id!r} names the document {judgment.doc!r}, which is not in the corpus."
            faults.append(Problem(item.file, item.line, message, advice.about(judgment.doc)))
            continue
        grade = GRADES[judgment.grade]
        grades[judgment.doc] = max(grade, grades.get(judgment.doc, 0))
        if judgment.quote is not None:
            place = find_quote(judgment.quote, corpus.document(judgment.doc).text)
            if place is None:
                message = f"golden {golden.id!r}: the quote {judgment.quote!r} is not in document {judgment.doc!r}."
                faults.append(Problem(item.file, item.line, message, "Copy the words from the document."))
            else:
                # One span judged twice is one span, with the higher grade, as for documents.
                key = (judgment.doc, *place)
                spans[key] = max(grade, spans.get(key, 0))
    if faults:
        return faults
    retrieval_hash, answer_hash = golden_hashes(golden)
    placed = tuple(sorted(Span(*key, grade) for key, grade in spans.items()))
    return EvaluationCase(
        golden.id, item.suite, golden.query, golden.turns, grades, placed, golden.must_include,
        golden.must_not_include, golden.expect_refusal, golden.tags, retrieval_hash, answer_hash,
    )  # fmt: skip


def golden_hashes(golden: Golden) -> tuple[str, str]:
    """Hashes of what retrieval depends on and of what answers depend on; the order of judgments does not matter."""
    judged = sorted((item.doc, GRADES[item.grade], item.quote or "") for item in golden.all_judgments)
    turns = [[turn.role, turn.content] for turn in golden.turns]
    retrieval = content_id({"query": golden.query, "turns": turns, "judgments": judged})
    answers = content_id(
        {
            "must_include": sorted(golden.must_include),
            "must_not_include": sorted(golden.must_not_include),
            "expect_refusal": golden.expect_refusal,
        }
    )
    return retrieval, answers


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Start and end of the first place where the quote stands, runs of white space being equal; None if nowhere."""
    wanted = fold_space(quote)
    if not wanted:
        return None
    folded = _folded(text)
    place = folded.find(wanted)
    if place < 0:
        return None
    return _unfolded(place, folded, text), _unfolded(place + len(wanted) - 1, folded, text) + 1


# Several quotes of a document are looked for one after another.
_folded = lru_cache(maxsize=16)(fold_space)


def _unfolded(place: int, folded: str, text: str) -> int:
    """Where a character of the folded text that is no space stands in the text."""
    word = folded.count(" ", 0, place)
    rest = text.split(None, word)[word]
    return len(text) - len(rest) + place - (folded.rfind(" ", 0, place) + 1)


def select(cases: Sequence[EvaluationCase], selection: Selection) -> list[EvaluationCase]:
    """The cases with any of the tags (all without tags), down to `limit`; raises InvalidInput if none is left."""
    wanted = set(selection.tags)
    chosen = [case for case in cases if not wanted or wanted.intersection(case.tags)]
    if not chosen:
        known = ", ".join(sorted({tag for case in cases for tag in case.tags})) or "none"
        raise InvalidInput(f"No golden has any of the tags {', '.join(sorted(wanted))}.", f"Tags in use: {known}.")
    if selection.limit is None or selection.limit >= len(chosen):
        return chosen
    if selection.limit < 1:
        raise InvalidInput(f"A limit of {selection.limit} leaves no case.", "Give a limit of at least 1.")
    return _stratified(chosen, selection.limit, selection.seed)


def _stratified(cases: Sequence[EvaluationCase], limit: int, seed: int) -> list[EvaluationCase]:
    """A sample whose first tags keep their shares (largest remainder), the same for the same seed and ids."""
    strata: dict[str, list[EvaluationCase]] = {}
    for case in sorted(cases, key=lambda case: hashlib.sha256(f"{seed}:{case.id}".encode()).digest()):
        strata.setdefault(case.tags[0] if case.tags else "", []).append(case)
    shares = {tag: limit * len(members) / len(cases) for tag, members in strata.items()}
    quota = {tag: int(share) for tag, share in shares.items()}
    for tag in sorted(shares, key=lambda tag: (quota[tag] - shares[tag], tag))[: limit - sum(quota.values())]:
        quota[tag] += 1
    kept = {case.id for tag, members in strata.items() for case in members[: quota[tag]]}
    return [case for case in cases if case.id in kept]
