"""Public collections as frozen inputs, for benchmarks and for the tests that use them where they are at hand.

The folder that holds them is the environment variable RAGTUI_DATASETS, or `../shared/datasets` beside the repository.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import tokenize
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ragtui.inputs.corpus import CorpusSnapshot, document, snapshot
from ragtui.inputs.evaluation import EvaluationSet, evaluation_set, freeze
from ragtui.inputs.goldens import Golden, Judgment, PlacedGolden

_GRADE_NAMES = ("0_IRRELEVANT", "1_TANGENTIAL", "2_SUBSTANTIAL", "3_AUTHORITATIVE")


def datasets_folder() -> Path | None:
    """Where the collections are, None if they are not here."""
    named = os.environ.get("RAGTUI_DATASETS")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "datasets"
    return folder if folder.is_dir() else None


def scifact(folder: Path, splits: Iterable[str] = ("test",)) -> tuple[CorpusSnapshot, EvaluationSet]:
    """SciFact as BEIR has it: 5,183 abstracts with their titles, the 300 test (809 train) claims, their judgments."""
    with zipfile.ZipFile(folder / "scifact-hf-original.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("corpus_train.csv"))
        rows = csv.DictReader(io.TextIOWrapper(archive.open(name), "utf-8"))
        documents = [document(row["doc_id"], f"{row['title']}\n\n{_sentences(row['abstract'])}") for row in rows]
    qrels: dict[str, dict[str, int]] = {}
    for split in splits:
        for line in (folder / "qrels" / f"{split}.tsv").read_text().splitlines()[1:]:
            query, doc, grade = line.split("\t")
            qrels.setdefault(query, {})[doc] = int(grade)
    queries = {}
    for line in (folder / "queries.jsonl").read_text().splitlines():
        record = json.loads(line)
        queries[record["_id"]] = record["text"]
    return frozen(snapshot(documents), {query: queries[query] for query in qrels}, qrels)


def xquad(folder: Path, language: str) -> tuple[CorpusSnapshot, EvaluationSet]:
    """XQuAD paragraphs as documents; each question's own paragraph is relevant."""
    articles = json.loads((folder / f"xquad.{language}.json").read_text())["data"]
    documents, queries, qrels = [], {}, {}
    for number, article in enumerate(articles):
        for position, paragraph in enumerate(article["paragraphs"]):
            doc_id = f"{number:02}-{position:02}"
            documents.append(document(doc_id, paragraph["context"]))
            for question in paragraph["qas"]:
                queries[question["id"]] = question["question"]
                qrels[question["id"]] = {doc_id: 1}
    return frozen(snapshot(documents), queries, qrels)


def frozen(
    corpus: CorpusSnapshot, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> tuple[CorpusSnapshot, EvaluationSet]:
    """Queries and judgments as an evaluation set over the corpus; ValueError for a judgment that does not join."""
    goldens = [
        Golden(id=query, query=text, judgments=tuple(_judgments(qrels[query]))) for query, text in queries.items()
    ]
    cases, problems = freeze([PlacedGolden(golden, "test", "test.jsonl", 0) for golden in goldens], corpus)
    if problems:
        raise ValueError(str(problems[0]))
    return corpus, evaluation_set(cases)


def _judgments(grades: Mapping[str, int]) -> Iterable[Judgment]:
    for doc, grade in grades.items():
        yield Judgment(doc, _GRADE_NAMES[grade])  # type: ignore[arg-type]


def _sentences(text: str) -> str:
    """The sentences of a NumPy list's repr, joined by blanks."""
    tokens = tokenize.generate_tokens(io.StringIO(f"({text[1:-1]})").readline)
    return " ".join(ast.literal_eval(token.string).strip() for token in tokens if token.type == tokenize.STRING)
