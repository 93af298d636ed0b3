"""Everything that can be said of a corpus and its goldens without an index or a database."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ragtui.errors import InvalidInput, Problem
from ragtui.inputs.corpus import CorpusSnapshot, read_corpus, snapshot
from ragtui.inputs.evaluation import EvaluationCase, freeze
from ragtui.inputs.goldens import PlacedGolden, read_suites
from ragtui.inputs.patterns import matches

CORE = "core"


class InputsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Counts, every problem, and warnings: what is allowed but probably not meant.

    `corpus_id` is None while the corpus has a problem. `suites` and `tags` count goldens.
    """

    corpus_id: str | None
    documents: int
    characters: int
    goldens: int
    suites: dict[str, int]
    tags: dict[str, int]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def check_inputs(corpus_folder: Path, goldens_folder: Path) -> InputsReport:
    """Read and validate the corpus and all suites."""
    documents, problems = read_corpus(corpus_folder)
    corpus = snapshot(documents) if not problems else None
    placed, golden_problems = read_suites(goldens_folder)
    problems += golden_problems
    cases: list[EvaluationCase] = []
    if corpus is not None:
        cases, unbound = freeze(placed, corpus)
        problems += unbound
    suites: dict[str, int] = {}
    tags: dict[str, int] = {}
    for item in placed:
        suites[item.suite] = suites.get(item.suite, 0) + 1
        for tag in item.golden.tags:
            tags[tag] = tags.get(tag, 0) + 1
    if CORE not in suites and not any(problem.file.startswith(CORE) for problem in problems):
        hint = "Runs use it by default: write it, or run with --suite."
        problems.append(Problem(f"{goldens_folder.name}/{CORE}.jsonl", 0, "is missing.", hint))
    return InputsReport(
        corpus_id=corpus.corpus_id if corpus else None,
        documents=len(documents),
        characters=sum(len(document.text) for document in documents),
        goldens=len(placed),
        suites=suites,
        tags=dict(sorted(tags.items())),
        problems=tuple(sorted(set(problems))),
        warnings=tuple(_warnings(corpus, placed, cases)) if corpus else (),
    )


def _warnings(corpus: CorpusSnapshot, placed: list[PlacedGolden], cases: list[EvaluationCase]) -> list[Problem]:
    found = []
    if len(corpus.documents) == 1:
        found.append(Problem("corpus", 0, "has one document: every question finds it, so nothing is measured.", ""))
    places = {item.golden.id: item for item in placed}
    for case in cases:
        item = places[case.id]
        text = "\n".join(corpus.document(doc).text for doc, grade in case.grades.items() if grade > 0)
        for pattern in case.must_include if text else ():
            message = _mismatch(pattern, text, case.id)
            if message:
                found.append(Problem(item.file, item.line, message, "Correct the pattern or the document."))
    return found + _measuring_nothing(cases, places) + _alike_tags(placed)


def _measuring_nothing(cases: list[EvaluationCase], places: dict[str, PlacedGolden]) -> list[Problem]:
    """A warning for each suite with goldens of which nothing is known to be right."""
    empty: dict[str, list[PlacedGolden]] = {}
    for case in cases:
        if not (case.grades or case.expect_refusal or case.must_include or case.must_not_include):
            empty.setdefault(case.suite, []).append(places[case.id])
    hint = "Name documents or patterns, or say that a refusal is right with expectRefusal."
    found = []
    for first, *others in empty.values():
        more = f", nor {'does' if len(others) == 1 else 'do'} {len(others):,} more of this suite" if others else ""
        message = f"golden {first.golden.id!r} names no document, no pattern and no refusal{more}: it measures nothing."
        found.append(Problem(first.file, first.line, message, hint))
    return found


def _alike_tags(placed: list[PlacedGolden]) -> list[Problem]:
    """A warning for each group of tags that are told apart by case or outer spaces only."""
    groups: dict[str, dict[str, PlacedGolden]] = {}
    for item in placed:
        for tag in item.golden.tags:
            groups.setdefault(tag.strip().casefold(), {}).setdefault(tag, item)
    found = []
    for spellings in groups.values():
        if len(spellings) > 1:
            last = list(spellings.values())[-1]
            message = f"the tags {', '.join(map(repr, spellings))} differ only by case or outer spaces."
            found.append(Problem(last.file, last.line, message, "Write them alike: each is a group of its own."))
    return found


def _mismatch(pattern: str, text: str, case_id: str) -> str:
    try:
        if matches(pattern, text):
            return ""
    except InvalidInput as error:
        return f"golden {case_id!r}: {error.message}."
    return f"golden {case_id!r}: the pattern {pattern!r} matches none of its documents."
