"""Small collections on disk, and what an import makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationSet, Selection, load_evaluation
from ragtui.inputs.formats.source import Source
from ragtui.inputs.formats.writing import ImportReport, write_workspace


def beir_folder(
    folder: Path, documents: Mapping[str, str], queries: Mapping[str, str],
    qrels: Mapping[str, Sequence[tuple[str, str, int]]], header: bool = True,
) -> Path:  # fmt: skip
    """A BEIR folder; `qrels` maps a split to (query, document, grade)."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _lines(folder / "corpus.jsonl", [{"_id": key, "title": "", "text": text} for key, text in documents.items()])
    _lines(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in queries.items()])
    for split, rows in qrels.items():
        head = ["query-id\tcorpus-id\tscore"] if header else []
        lines = head + [f"{query}\t{doc}\t{grade}" for query, doc, grade in rows]
        (folder / "qrels" / f"{split}.tsv").write_text("".join(line + "\n" for line in lines), "utf-8")
    return folder


def _lines(path: Path, records: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


class Imported:
    """A source written below a folder, and read back as ragtui reads it."""

    def __init__(self, source: Source, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.report: ImportReport = write_workspace(source, folder / "corpus", folder / "goldens", **options)

    @property
    def corpus(self) -> CorpusSnapshot:
        return load_corpus(self.folder / "corpus")

    def evaluation(self, *suites: str) -> EvaluationSet:
        selection = Selection(suites=suites or ("core",))
        return load_evaluation(self.folder / "goldens", self.corpus, selection)

    def grades(self, *suites: str) -> dict[str, dict[str, int]]:
        return {case.id: dict(case.grades) for case in self.evaluation(*suites).cases}
