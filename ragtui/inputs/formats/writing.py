"""From a source to `corpus/` and `goldens/`: joined, counted, and written a line at a time.

Judgments and the questions that they name are held in memory, documents are not: only their ids are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from ragtui.errors import InvalidInput, RunFailed
from ragtui.inputs.corpus import load_corpus, titled
from ragtui.inputs.formats.files import Problems
from ragtui.inputs.formats.source import Source, SourceJudgment, SourceQuestion, suite_names
from ragtui.inputs.formats.target import DOCUMENTS_NAME, Taken, refuse_existing
from ragtui.inputs.goldens import GRADES, SUITE_SUFFIX
from ragtui.inputs.text import checked_name, plural

LISTED = 1000
_NAMES = {number: name for name, number in GRADES.items()}
_encode = msgspec.json.Encoder().encode


class Listed(msgspec.Struct):
    """How many things there were, and the first thousand of them as `place: what`."""

    count: int = 0
    items: list[str] = []

    def add(self, file: str, line: int, what: str) -> None:
        """One more."""
        self.count += 1
        if len(self.items) < LISTED:
            self.items.append(f"{file}:{line}: {what}" if line else f"{file}: {what}" if file else what)


class ImportReport(msgspec.Struct, kw_only=True):
    """What was written, and everything that was not.

    `judgments` counts those read, `written` those in the goldens. `unjudged` counts questions without any judgment
    in any split, `kept` those of them that were written all the same, and `unchecked` those of the kept ones that have
    no pattern either, so that nothing measures them.
    """

    documents: int = 0
    suites: dict[str, int] = {}
    judgments: int = 0
    written: int = 0
    above_3: int = 0
    negative: int = 0
    unjudged: int = 0
    kept: int = 0
    unchecked: int = 0
    missing_documents: Listed = msgspec.field(default_factory=Listed)
    missing_questions: Listed = msgspec.field(default_factory=Listed)
    skipped_documents: Listed = msgspec.field(default_factory=Listed)
    skipped_questions: Listed = msgspec.field(default_factory=Listed)
    renamed_questions: Listed = msgspec.field(default_factory=Listed)
    remarks: list[str] = []


class _Split(msgspec.Struct):
    """A split's judgments by question; `named` are the questions that were found."""

    judgments: dict[str, list[SourceJudgment]]
    named: set[str]


def write_workspace(
    source: Source, corpus: Path, goldens: Path, *, suite: str | None = None, grades: Mapping[int, int] | None = None,
    keep_unjudged: bool = False, force: bool = False, progress: Callable[[str, int], None] = lambda what, done: None,
) -> ImportReport:  # fmt: skip
    """Write the source's documents into the folder `corpus` and its suites into `goldens`.

    `suite` names the suite of a source with one split. `grades` maps the source's grades to ours (default: 0 to 3 as
    they are, more as 3, less as 0). Existing files are replaced only with `force`; nothing is left half written.
    Raises InvalidFiles for lines that cannot be read, and InvalidInput where judgments match nothing.
    """
    report = ImportReport(remarks=list(source.remarks))
    problems = Problems()
    splits = {name: _read_split(read(problems), report, progress) for name, read in source.judgments.items()}
    problems.refuse("Correct the judgments.")
    # Several splits may give reason for one remark.
    report.remarks = list(dict.fromkeys(report.remarks))
    names = suite_names(splits)
    if suite is not None and len(names) > 1:
        raise InvalidInput(f"One suite cannot hold {len(names)} splits.", "Choose one with --split.")
    names = {split: checked_name(suite or name, "suite") for split, name in names.items()}
    targets = [goldens / f"{name}{SUITE_SUFFIX}" for name in names.values()]
    documents_file = corpus / DOCUMENTS_NAME
    refuse_existing(targets + ([documents_file] if source.documents else []), corpus, source, force)
    with _writing(force) as open_new:
        judged = {item.doc for split in splits.values() for items in split.judgments.values() for item in items}
        if source.documents is None:
            if not corpus.is_dir():
                raise InvalidInput(
                    "The source brings no documents, and the target has none to be judged.",
                    f"Give them with --documents, or put them into {corpus.name}/ of the target first.",
                )
            existing = load_corpus(corpus)
            known = judged & existing.ordinals.keys()
            report.documents = len(existing.documents)
        else:
            known = _write_documents(source, open_new(documents_file), judged, report, problems, progress)
            problems.refuse("Correct the documents.")
        _refuse_zero(report.judgments, judged, known, "document")
        files = {split: open_new(path) for split, path in zip(names, targets, strict=True)}
        taken = Taken(goldens, names.values())
        _write_goldens(
            source, splits, files, known, report, problems, grades or {}, source.keep_unjudged or keep_unjudged, names,
            taken,
        )  # fmt: skip
        problems.refuse("Correct the questions.")
        taken.refuse()
        for split in splits.values():
            for query in split.judgments.keys() - split.named:
                for item in split.judgments[query]:
                    report.missing_questions.add(item.file, item.line, f"question {query!r} (document {item.doc!r})")
        asked = {query for split in splits.values() for query in split.judgments}
        found = {query for split in splits.values() for query in split.named}
        _refuse_zero(report.judgments, asked, found, "query")
        if not any(report.suites.values()):
            raise InvalidInput("No question is left to write.", "Look at the source's ids.")
    return report


def _read_split(judgments: Any, report: ImportReport, progress: Callable[[str, int], None]) -> _Split:
    found: dict[str, list[SourceJudgment]] = {}
    zeros = count = 0
    for item in judgments:
        found.setdefault(item.query, []).append(item)
        count += 1
        zeros += item.grade <= 0
        if count % 50_000 == 0:
            progress("judgments", count)
    report.judgments += count
    best = max((item.grade for items in found.values() for item in items), default=0)
    if best == 1:
        report.remarks.append(
            "The highest grade is 1: it becomes 1_TANGENTIAL, which counts as relevant unless a plan's "
            "metrics.relevance asks for more (--grade 1=3 makes it 3_AUTHORITATIVE)."
        )
    if count and zeros == count:
        report.remarks.append(
            f"None of {plural(count, 'judgment')} has a grade above 0: nothing is relevant. Is it the right column?"
        )
    return _Split(found, set())


def _write_documents(
    source: Source, file: IO[bytes], judged: set[str], report: ImportReport, problems: Problems,
    progress: Callable[[str, int], None],
) -> set[str]:  # fmt: skip
    """Write every document once; gives the judged ids that exist."""
    assert source.documents is not None
    seen: set[str] = set()
    for item in source.documents(problems):
        if not item.id.strip():
            report.skipped_documents.add(item.file, item.line, "has no id")
        elif item.id in seen:
            report.skipped_documents.add(item.file, item.line, f"{item.id!r} is given again")
        elif not titled(item.title, item.text).strip():
            report.skipped_documents.add(item.file, item.line, f"{item.id!r} is empty")
        else:
            seen.add(item.id)
            record = {"id": item.id, "title": item.title, "text": item.text}
            file.write(_encode(record) + b"\n")
            report.documents += 1
            if report.documents % 10_000 == 0:
                progress("documents", report.documents)
    if not report.documents and not problems.count:
        raise InvalidInput("The source holds no document.", "Look at its files.")
    return judged & seen


def _write_goldens(
    source: Source, splits: dict[str, _Split], files: dict[str, IO[bytes]], known: set[str], report: ImportReport,
    problems: Problems, grades: Mapping[int, int], keep_unjudged: bool, names: Mapping[str, str],
    taken: Taken,
) -> None:  # fmt: skip
    seen: set[str] = set()
    written: set[str] = set()
    first = next(iter(splits))
    report.suites = dict.fromkeys(names.values(), 0)
    for question in source.questions(problems):
        if not question.id.strip() or not question.query.strip():
            report.skipped_questions.add(question.file, question.line, f"{question.id!r} is empty")
            continue
        if question.id in seen:
            report.skipped_questions.add(question.file, question.line, f"{question.id!r} is given again")
            continue
        seen.add(question.id)
        wanted = [name for name, split in splits.items() if question.id in split.judgments]
        if not wanted:
            # A question without an answer has no judgment by its nature.
            report.unjudged += not question.expect_refusal
            if not (keep_unjudged or question.expect_refusal):
                continue
            if not question.expect_refusal:
                report.kept += 1
                report.unchecked += not (question.must_include or question.must_not_include)
            wanted = [first]
        for name in wanted:
            splits[name].named.add(question.id)
            judged = _judged(splits[name].judgments.get(question.id, []), known, report, grades)
            if not judged and question.id in splits[name].judgments:
                what = f"{question.id!r}: none of its documents is here"
                report.skipped_questions.add(question.file, question.line, what)
                continue
            golden_id = question.id
            if golden_id in written or (question.numbered and golden_id in taken):
                # Ids are unique across suites; the first split keeps the plain one.
                golden_id = f"{question.id}~{names[name] if golden_id in taken else name}"
                where = f"in several splits; in {names[name]}" if question.id in written else "taken; here"
                what = f"{question.id!r} is {where} it is {golden_id!r}"
                report.renamed_questions.add(question.file, question.line, what)
            written.add(golden_id)
            taken.meet(golden_id)
            files[name].write(_encode(_golden(golden_id, question, judged)) + b"\n")
            report.suites[names[name]] += 1


def _judged(
    items: list[SourceJudgment], known: set[str], report: ImportReport, grades: Mapping[int, int]
) -> list[dict[str, Any]]:
    """The judgments of documents that exist, as goldens have them; a repeated one counts once, with its best grade."""
    best: dict[tuple[str, str | None], int] = {}
    for item in items:
        if item.doc not in known:
            report.missing_documents.add(item.file, item.line, f"document {item.doc!r} (question {item.query!r})")
            continue
        grade = grades.get(item.grade)
        if grade is None:
            report.above_3 += item.grade > 3
            report.negative += item.grade < 0
            grade = min(3, max(0, item.grade))
        key = (item.doc, item.quote)
        best[key] = max(grade, best.get(key, 0))
    report.written += len(best)
    return [
        {"doc": doc, "grade": _NAMES[grade]} | ({} if quote is None else {"quote": quote})
        for (doc, quote), grade in best.items()
    ]


def _golden(golden_id: str, question: SourceQuestion, judged: list[dict[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": golden_id, "query": question.query}
    optional = {
        "turns": msgspec.to_builtins(question.turns),
        "judgments": [item for item in judged if not question.expect_refusal or item["grade"] == _NAMES[0]],
        "mustInclude": question.must_include,
        "mustNotInclude": question.must_not_include,
        "expectRefusal": question.expect_refusal,
        "tags": question.tags,
    }
    return record | {name: value for name, value in optional.items() if value}


def _refuse_zero(judgments: int, wanted: set[str], found: set[str], what: str) -> None:
    if wanted and not found:
        raise InvalidInput(
            f"0 of {judgments:,} judgments match a {what}: are these positions instead of ids?",
            f"The judgments name {', '.join(map(repr, sorted(wanted)[:3]))}; compare with the {what} ids.",
        )


@contextmanager
def _writing(force: bool) -> Iterator[Callable[[Path], IO[bytes]]]:
    """Gives a function that opens a file to be; all of them appear together when the block ends well, else none."""
    begun: list[tuple[Path, Path, IO[bytes]]] = []

    def open_new(path: Path) -> IO[bytes]:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        file = part.open("wb")
        begun.append((part, path, file))
        return file

    try:
        yield open_new
        for _, _, file in begun:
            file.flush()
            os.fsync(file.fileno())
            file.close()
        for part, path, _ in begun:
            os.replace(part, path)
    except OSError as error:
        raise RunFailed(f"The import cannot be written: {error.strerror or error}.", "Free some space.") from error
    finally:
        for part, _, file in begun:
            file.close()
            part.unlink(missing_ok=True)
