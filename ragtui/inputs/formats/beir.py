"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, and `qrels/<split>.tsv` with or without a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import Problems
from ragtui.inputs.formats.records import read_documents, read_questions
from ragtui.inputs.formats.source import Source, SourceJudgment
from ragtui.inputs.formats.trec import iter_qrels


def beir_source(folder: Path, splits: Sequence[str] = ()) -> Source:
    """The collection in a folder, all its splits or those named. Raises InvalidInput where a part is missing."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.", "Name the folder that holds corpus.jsonl.")
    corpus, queries = _only(folder, "corpus.jsonl"), _only(folder, "queries.jsonl")
    found = {path.name.split(".")[0]: path for path in sorted((folder / "qrels").glob("*.tsv*")) if path.is_file()}
    if not found:
        raise InvalidInput(f"{folder} has no qrels/*.tsv.", "A BEIR folder has one file of judgments for each split.")
    unknown = [split for split in splits if split not in found]
    if unknown:
        raise InvalidInput(f"There is no split {unknown[0]!r}.", f"Splits: {', '.join(found)}.")
    chosen = {split: path for split, path in found.items() if not splits or split in splits}
    return Source(
        documents=lambda problems: read_documents(corpus, problems),
        questions=lambda problems: read_questions(queries, problems),
        judgments={split: _Judgments(path) for split, path in chosen.items()},
    )


class _Judgments:
    """Reads one file of judgments anew at each call."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, problems: Problems) -> Iterator[SourceJudgment]:
        name = self._path.name
        for item in iter_qrels(self._path, problems):
            yield SourceJudgment(item.query, item.doc, item.grade, None, name, item.line)


def _only(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    there = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
    hint = f"A BEIR folder has corpus.jsonl, queries.jsonl and qrels/*.tsv; this one holds {there}."
    raise InvalidInput(f"{folder} has no {name}.", hint)
