"""Goldens: what is asked, and what is known to be right about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from ragtui.errors import InvalidInput, Problem
from ragtui.inputs.patterns import CheckedFiles, compile_pattern
from ragtui.inputs.text import read_text
from ragtui.settings import FAULTS_SHOWN, field_faults

Grade = Literal["0_IRRELEVANT", "1_TANGENTIAL", "2_SUBSTANTIAL", "3_AUTHORITATIVE"]
GRADES: dict[str, int] = {"0_IRRELEVANT": 0, "1_TANGENTIAL": 1, "2_SUBSTANTIAL": 2, "3_AUTHORITATIVE": 3}
SUITE_SUFFIX = ".jsonl"
_EXAMPLE = 'E.g. {"id": "boil-01", "query": "How long?", "relevantDocIds": ["water-boiling"], "tags": ["numeric"]}.'


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An earlier message of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str


class Judgment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Relevance of a document, or with `quote` of the span of it that the quote names."""

    doc: str
    grade: Grade = "3_AUTHORITATIVE"
    quote: str | None = None


class Golden(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One evaluation question. The short form `relevantDocIds` means a judgment of grade 3 for each."""

    id: str
    query: str
    turns: tuple[Turn, ...] = ()
    relevant_doc_ids: tuple[str, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    expect_refusal: bool = False
    tags: tuple[str, ...] = ()

    @property
    def all_judgments(self) -> tuple[Judgment, ...]:
        """Both forms as judgments."""
        return tuple(Judgment(doc) for doc in self.relevant_doc_ids) + self.judgments


class PlacedGolden(msgspec.Struct, frozen=True):
    """A golden and where it was read."""

    golden: Golden
    suite: str
    file: str
    line: int


_GOLDEN = msgspec.json.Decoder(Golden)
FIELDS: tuple[str, ...] = tuple(field.encode_name for field in msgspec.structs.fields(Golden))


def suite_files(folder: Path) -> dict[str, Path]:
    """Suite name → file, for each `.jsonl` file directly inside the folder; InvalidInput if it may not be read."""
    if not folder.is_dir():
        return {}
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be read: {error.strerror}.", "Change its permissions.") from error
    return {path.stem: path for path in paths if path.suffix == SUITE_SUFFIX and path.is_file()}


def read_suites(
    folder: Path, names: Iterable[str] | None = None, checked: CheckedFiles | None = None
) -> tuple[list[PlacedGolden], list[Problem]]:
    """The goldens of the named suites (all with None), and every problem that a file alone can show.

    Patterns of files that `checked` holds are not compiled again; files without a problem are added to it.
    """
    files = suite_files(folder)
    goldens: list[PlacedGolden] = []
    problems: list[Problem] = []
    for name in sorted(files) if names is None else dict.fromkeys(names):
        if name not in files:
            known = ", ".join(sorted(files)) or "none"
            hint = f"Suites in {folder}: {known}."
            problems.append(Problem(str(folder / f"{name}{SUITE_SUFFIX}"), 0, f"suite {name!r} does not exist.", hint))
            continue
        for item in read_suite(files[name], name, checked):
            (problems if isinstance(item, Problem) else goldens).append(item)  # type: ignore[arg-type]
    return goldens, problems + _repeated_ids(goldens)


def read_suite(path: Path, suite: str, checked: CheckedFiles | None = None) -> list[PlacedGolden | Problem]:
    """One suite file: a golden or a problem for each line that is neither blank nor a `//` comment."""
    name = path.name
    text = read_text(path, name)
    if isinstance(text, Problem):
        return [text]
    found: list[PlacedGolden | Problem] = []
    known = checked is not None and text in checked
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("//"):
            golden = _parse(line, name, number)
            found.extend(_checked(golden, suite, name, number, known) if isinstance(golden, Golden) else golden)
    if checked is not None and not known and not any(isinstance(item, Problem) for item in found):
        checked.add(text)
    if not found:
        found.append(Problem(name, 0, "holds no golden.", "Add a question a line, or delete the file."))
    return found


def _parse(line: str, file: str, number: int) -> Golden | list[Problem]:
    try:
        return _GOLDEN.decode(line)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass  # It is looked at field by field, so that all its faults are told.
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        return [Problem(file, number, f"is not JSON: {error}.", "Write one JSON object on each line.")]
    if not isinstance(record, dict):
        return [Problem(file, number, "is not a JSON object.", 'Write {"id": "…", "query": "…"} on each line.')]
    faults = field_faults(record, Golden)
    if faults:
        fields = f"Fields: {', '.join(FIELDS)}."
        shown = faults[:FAULTS_SHOWN]
        if len(faults) > FAULTS_SHOWN:
            shown.append(f"and {len(faults) - FAULTS_SHOWN:,} more faults on this line")
        return [Problem(file, number, f"{fault}.", fields if " field " in fault else _wanted(fault)) for fault in shown]
    return msgspec.convert(record, Golden)


def _wanted(fault: str) -> str:
    """What should stand where a value has the wrong type."""
    return f"Grades: {', '.join(GRADES)}." if fault.endswith(".grade`") else _EXAMPLE


def _checked(golden: Golden, suite: str, file: str, number: int, compiled: bool) -> list[PlacedGolden | Problem]:
    """The golden, or what is wrong with it that needs no corpus to see; patterns only if not `compiled` before."""
    faults: list[tuple[str, str]] = []
    if not golden.id.strip():
        faults.append(("has an empty id.", "Give every golden an id."))
    if not golden.query.strip():
        faults.append((f"golden {golden.id!r} has an empty query.", "Write the question."))
    if golden.expect_refusal and any(GRADES[judgment.grade] > 0 for judgment in golden.all_judgments):
        hint = "Remove the documents or set expectRefusal to false."
        faults.append((f"golden {golden.id!r} expects a refusal but names relevant documents.", hint))
    for pattern in () if compiled else golden.must_include + golden.must_not_include:
        try:
            compile_pattern(pattern)
        except InvalidInput as error:
            faults.append((f"golden {golden.id!r}: {error.message}.", error.hint))
    if faults:
        return [Problem(file, number, message, hint) for message, hint in faults]
    return [PlacedGolden(golden, suite, file, number)]


def _repeated_ids(goldens: list[PlacedGolden]) -> list[Problem]:
    first: dict[str, PlacedGolden] = {}
    problems = []
    for placed in goldens:
        earlier = first.setdefault(placed.golden.id, placed)
        if earlier is not placed:
            message = f"repeats the id {placed.golden.id!r} of {earlier.file}:{earlier.line}."
            problems.append(Problem(placed.file, placed.line, message, "Ids are unique across suites."))
    return problems
