"""Test sets of other evaluation tools: SQuAD-like files, promptfoo, ragas, LlamaIndex."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import regex

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import Problems, read_json
from ragtui.inputs.formats.source import MAIN_SUITE, Source, SourceDocument, SourceJudgment, SourceQuestion
from ragtui.inputs.formats.tables import cell, first_value, rows, several
from ragtui.inputs.goldens import Turn
from ragtui.inputs.text import fold_space, plural

FULL_GRADE = 3
_QUESTION = ("user_input", "question", "query", "input", "prompt")


class Gathered:
    """Documents, questions and judgments of a small file, collected in memory."""

    def __init__(self) -> None:
        self.documents: dict[str, SourceDocument] = {}
        self.questions: list[SourceQuestion] = []
        self.judgments: list[SourceJudgment] = []
        self.remarks: list[str] = []

    def context(self, text: str, file: str, line: int) -> str:
        """The id of a context without one: of its words, so that equal contexts are one document."""
        digest = hashlib.sha256(fold_space(text).encode("utf-8", "replace")).hexdigest()[:12]
        return self.document(f"context-{digest}", text, "", file, line)

    def document(self, identifier: str, text: str, title: str, file: str, line: int) -> str:
        """Add a document unless it is there; gives its id."""
        self.documents.setdefault(identifier, SourceDocument(identifier, text, title, file, line))
        return identifier

    def judge(self, question: SourceQuestion, docs: Iterable[str]) -> None:
        """Add a question with its relevant documents."""
        self.questions.append(question)
        self.judgments += [
            SourceJudgment(question.id, doc, FULL_GRADE, None, question.file, question.line) for doc in docs
        ]

    def source(self, keep_unjudged: bool = True, own_documents: bool | None = None) -> Source:
        """All of it. Without documents the judgments are about those that the target already has."""
        has_documents = bool(self.documents) if own_documents is None else own_documents
        return Source(
            documents=(lambda problems: self.documents.values()) if has_documents else None,
            questions=lambda problems: self.questions,
            judgments={MAIN_SUITE: lambda problems: self.judgments},
            keep_unjudged=keep_unjudged,
            remarks=tuple(self.remarks),
        )


class _SquadAnswer(msgspec.Struct):
    text: str


class _SquadQuestion(msgspec.Struct):
    id: str | int
    question: str
    answers: list[_SquadAnswer] = []
    is_impossible: bool = False


class _SquadParagraph(msgspec.Struct):
    context: str
    qas: list[_SquadQuestion]


class _SquadArticle(msgspec.Struct):
    paragraphs: list[_SquadParagraph]
    title: str = ""


class _Squad(msgspec.Struct):
    data: list[_SquadArticle]


def squad_source(path: Path) -> Source:
    """`{"data": [{"title", "paragraphs": [{"context", "qas": […]}]}]}`: a paragraph is a document.

    The answers become one pattern, any of them; a question marked impossible becomes a refusal.
    """
    found = Gathered()
    squad: _Squad = read_json(path, _Squad)
    impossible = 0
    for at, article in enumerate(squad.data, 1):
        for number, paragraph in enumerate(article.paragraphs, 1):
            doc = f"{at:03d}-{article.title}/{number:03d}" if article.title else f"{at:03d}/{number:03d}"
            found.document(doc, paragraph.context, "", path.name, 0)
            for item in paragraph.qas:
                answers = list(dict.fromkeys(answer.text for answer in item.answers if answer.text.strip()))
                impossible += item.is_impossible
                question = SourceQuestion(
                    id=str(item.id), query=item.question, file=path.name, expect_refusal=item.is_impossible,
                    must_include=() if item.is_impossible or not answers else (any_of(answers),),
                )  # fmt: skip
                found.judge(question, () if item.is_impossible else (doc,))
    if impossible:
        found.remarks.append(
            f"{plural(impossible, 'question')} marked impossible, now among the refusals: make sure that no other "
            "document answers them."
        )
    return found.source()


def any_of(texts: Iterable[str]) -> str:
    """A pattern that finds any of the texts as they stand, white space folded as answers are."""
    return "|".join(regex.escape(fold_space(text), literal_spaces=True) for text in texts)


def ragas_source(path: Path) -> Source:
    """Rows with `user_input` (or `question`) and `reference_contexts` (or ids of contexts); JSON, JSONL or CSV.

    Contexts become documents; the reference answer is free text, for which goldens have no field.
    """
    found, problems = Gathered(), Problems()
    references = ids = 0
    for number, row in rows(path, problems):
        asked, turns = _conversation(row)
        if not asked:
            problems.add(path.name, number, "has no user_input or question.", f"Fields: {', '.join(row)}.")
            continue
        references += any(cell(row, name) for name in ("reference", "ground_truth", "ground_truths"))
        contexts = first_value(row, ("reference_contexts", "ground_truth_contexts", "ground_truth_context", "contexts"))
        named = several(first_value(row, ("reference_context_ids",)), "")
        ids += bool(named)
        docs = named or [found.context(text, path.name, number) for text in several(contexts, "") if text.strip()]
        identifier = cell(row, "id") or f"q{len(found.questions) + 1:04d}"
        tag = cell(row, "synthesizer_name")
        question = SourceQuestion(
            id=identifier, query=asked, turns=turns, tags=(tag,) if tag else (), numbered=not cell(row, "id"),
            file=path.name, line=number,
        )  # fmt: skip
        found.judge(question, docs)
    problems.refuse("Correct the rows.")
    if ids and found.documents:
        raise InvalidInput(f"{path.name} names some contexts by id and quotes others.", "Use one way in a file.")
    if references:
        found.remarks.append(f"{references:,} reference answers were left out: goldens check answers by patterns.")
    return found.source()


def _conversation(row: Any) -> tuple[str, tuple[Turn, ...]]:
    """The question, and the messages before it where `user_input` is a conversation."""
    value = first_value(row, _QUESTION)
    if not isinstance(value, list):
        return (value if isinstance(value, str) else ""), ()
    roles: dict[str, Any] = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}
    turns = [
        Turn(roles[kind], str(item.get("content", "")))
        for item in value
        if isinstance(item, dict) and (kind := str(item.get("type") or item.get("role"))) in roles
    ]
    last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=-1)
    return (turns[last].content, tuple(turns[:last])) if last >= 0 else ("", ())


class _LlamaExample(msgspec.Struct):
    query: str
    reference_contexts: list[str] | None = None
    reference_answer: str | None = None


class _LlamaRag(msgspec.Struct):
    examples: list[_LlamaExample]


class _LlamaPairs(msgspec.Struct):
    queries: dict[str, str]
    corpus: dict[str, str]
    relevant_docs: dict[str, list[str]]


def llamaindex_source(path: Path) -> Source:
    """An `EmbeddingQAFinetuneDataset` (queries, corpus, relevant_docs) or a `LabelledRagDataset` (examples).

    A folder stands for the `rag_dataset.json` in it.
    """
    path = path / "rag_dataset.json" if path.is_dir() else path
    found = Gathered()
    content: dict[str, Any] = read_json(path, dict[str, Any])
    if "examples" not in content:
        pairs = _converted(content, _LlamaPairs, path)
        for identifier, text in pairs.corpus.items():
            found.document(identifier, text, "", path.name, 0)
        for identifier, text in pairs.queries.items():
            question = SourceQuestion(id=identifier, query=text, file=path.name)
            found.judge(question, pairs.relevant_docs.get(identifier, []))
        strays = pairs.relevant_docs.keys() - pairs.queries.keys()
        found.judgments += [
            SourceJudgment(query, doc, FULL_GRADE, None, path.name, 0)
            for query in sorted(strays)
            for doc in pairs.relevant_docs[query]
        ]
        return found.source(keep_unjudged=False, own_documents=True)
    answers = 0
    for number, example in enumerate(_converted(content, _LlamaRag, path).examples, 1):
        answers += bool(example.reference_answer)
        contexts = [text for text in example.reference_contexts or [] if text.strip()]
        docs = [found.context(text, path.name, number) for text in contexts]
        question = SourceQuestion(id=f"q{number:04d}", query=example.query, numbered=True, file=path.name, line=number)
        found.judge(question, docs)
    if answers:
        found.remarks.append(f"{answers:,} reference answers were left out: goldens check answers by patterns.")
    return found.source()


def _converted(content: Any, kind: Any, path: Path) -> Any:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        hint = "Expected are queries, corpus and relevant_docs, or examples."
        raise InvalidInput(f"{path.name}: {error}.", hint) from None
