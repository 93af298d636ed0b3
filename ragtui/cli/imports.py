"""`import beir | trec | csv | squad | promptfoo | ragas | llamaindex`: other people's collections as a workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragtui.cli.importing import finish
from ragtui.cli.options import JsonOption
from ragtui.errors import InvalidInput

if TYPE_CHECKING:
    from ragtui.inputs.formats.source import Source

SourceArgument = Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder or a file.")]
IntoOption = Annotated[
    Path | None, typer.Option("--into", help="The workspace to write to (default: the current one).")
]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="The suite's name (default: core).")]
GradeOption = Annotated[
    list[str] | None, typer.Option("--grade", metavar="OLD=NEW", help="Map a grade, e.g. 1=3 for binary judgments.")
]
DocumentsOption = Annotated[Path | None, typer.Option("--documents", help="The documents' file or folder.")]
DocIdOption = Annotated[str | None, typer.Option("--doc-id", help="The documents' column of the id.")]
DocTextOption = Annotated[str | None, typer.Option("--doc-text", help="The documents' column of the text.")]
DocTitleOption = Annotated[str | None, typer.Option("--doc-title", help="The documents' column of the title.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
UnjudgedOption = Annotated[bool, typer.Option("--keep-unjudged", help="Keep questions without any judgment.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        name="import", help="Write corpus/ and goldens/ from other people's collections.", no_args_is_help=True
    )
    commands: dict[str, Callable[..., None]] = {
        "beir": beir, "trec": trec, "csv": table, "squad": squad, "promptfoo": promptfoo, "ragas": ragas,
        "llamaindex": llamaindex,
    }  # fmt: skip
    for name, command in commands.items():
        group.command(name)(command)
    app.add_typer(group)


def beir(
    context: typer.Context,
    source: SourceArgument,
    split: Annotated[list[str] | None, typer.Option("--split", help="Only this split; repeat for more.")] = None,
    into: IntoOption = None,
    suite: SuiteOption = None,
    grade: GradeOption = None,
    keep_unjudged: UnjudgedOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a BEIR folder: corpus.jsonl, queries.jsonl, qrels/*.tsv. Each split becomes a suite, test the core one.

    Example: ragtui import beir datasets/scifact --split test --into scifact
    """
    from ragtui.inputs.formats.beir import beir_source

    finish(context, beir_source(source, split or []), into, suite, grade, keep_unjudged, force, as_json)


def trec(
    context: typer.Context,
    source: SourceArgument,
    documents: DocumentsOption = None,
    topics: Annotated[Path | None, typer.Option("--topics", help="The file of questions.")] = None,
    qrels: Annotated[list[Path] | None, typer.Option("--qrels", help="A file of judgments; repeat for more.")] = None,
    topic: Annotated[
        Literal["title", "desc", "title+desc"], typer.Option("--topic-field", help="What of a topic is the question.")
    ] = "title",
    existing: Annotated[
        bool, typer.Option("--existing-corpus", help="Judge the documents that the target already has.")
    ] = False,
    escaped: Annotated[
        bool, typer.Option("--escaped", help="Ids are percent-encoded, as `ragtui export --escape` writes them.")
    ] = False,
    into: IntoOption = None,
    suite: SuiteOption = None,
    grade: GradeOption = None,
    keep_unjudged: UnjudgedOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a TREC collection: documents (SGML, JSON Lines, TSV), topics (SGML, TSV, JSON Lines), qrels.

    The parts are found in the folder by their names (docs*, topics*, *qrels*) unless they are given.

    Example: ragtui import trec robust04 --documents robust04/disk45 --topic-field title+desc
    """
    from ragtui.inputs.formats.trec_collection import trec_source

    found = trec_source(
        source, documents=documents, topics=topics, qrels=qrels or [], topic_field=topic, use_existing=existing,
        escaped=escaped,
    )  # fmt: skip
    finish(context, found, into, suite, grade, keep_unjudged, force, as_json)


def table(
    context: typer.Context,
    source: SourceArgument,
    documents: DocumentsOption = None,
    question: Annotated[str | None, typer.Option("--question", help="The column of the question.")] = None,
    question_id: Annotated[str | None, typer.Option("--id", help="The column of the question's id.")] = None,
    relevant: Annotated[str | None, typer.Option("--relevant", help="The column of relevant document ids.")] = None,
    grade_column: Annotated[str | None, typer.Option("--grade-column", help="The column of the grade.")] = None,
    separator: Annotated[str, typer.Option("--separator", help="Between ids in one cell.")] = "|",
    doc_id: DocIdOption = None,
    doc_text: DocTextOption = None,
    doc_title: DocTitleOption = None,
    into: IntoOption = None,
    suite: SuiteOption = None,
    grade: GradeOption = None,
    keep_unjudged: UnjudgedOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import tables with named columns: CSV, TSV, JSON Lines, or a JSON list of objects.

    SOURCE is the table of questions, or a folder with questions.* and documents.*. Without documents the questions
    are about those that the workspace already has.

    Example: ragtui import csv questions.csv --question text --relevant doc_ids --separator ";"
    """
    from ragtui.inputs.formats.tables import Columns, table_source

    columns = Columns(
        question=question, question_id=question_id, relevant=relevant, grade=grade_column, separator=separator,
        doc_id=doc_id, doc_text=doc_text, doc_title=doc_title,
    )  # fmt: skip
    finish(context, table_source(source, documents, columns), into, suite, grade, keep_unjudged, force, as_json)


def squad(
    context: typer.Context, source: SourceArgument, into: IntoOption = None, suite: SuiteOption = None,
    force: ForceOption = False, as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Import SQuAD-like JSON: each paragraph a document, each question about its paragraph.

    Example: ragtui import squad xquad.en.json --into xquad
    """
    from ragtui.inputs.formats.testsets import squad_source

    finish(context, squad_source(source), into, suite, None, False, force, as_json)


def promptfoo(
    context: typer.Context,
    source: SourceArgument,
    documents: DocumentsOption = None,
    question: Annotated[str | None, typer.Option("--question", help="The variable of the question.")] = None,
    relevant: Annotated[str | None, typer.Option("--relevant", help="The variable of relevant document ids.")] = None,
    doc_id: DocIdOption = None,
    doc_text: DocTextOption = None,
    doc_title: DocTitleOption = None,
    into: IntoOption = None,
    suite: SuiteOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import promptfoo tests: JSON, JSON Lines, CSV, or YAML where PyYAML is installed.

    Assertions about words become patterns of the answer; a `context` variable becomes a document.

    Example: ragtui import promptfoo tests.csv --relevant correct_chunks
    """
    from ragtui.inputs.formats.promptfoo import promptfoo_source

    found = with_documents(promptfoo_source(source, question, relevant), documents, doc_id, doc_text, doc_title)
    finish(context, found, into, suite, None, True, force, as_json)


def ragas(
    context: typer.Context,
    source: SourceArgument,
    documents: DocumentsOption = None,
    doc_id: DocIdOption = None,
    doc_text: DocTextOption = None,
    doc_title: DocTitleOption = None,
    into: IntoOption = None,
    suite: SuiteOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a ragas test set: user_input with reference_contexts (which become documents) or reference_context_ids.

    Example: ragtui import ragas testset.jsonl --into faq
    """
    from ragtui.inputs.formats.testsets import ragas_source

    found = with_documents(ragas_source(source), documents, doc_id, doc_text, doc_title)
    finish(context, found, into, suite, None, True, force, as_json)


def llamaindex(
    context: typer.Context, source: SourceArgument, into: IntoOption = None, suite: SuiteOption = None,
    force: ForceOption = False, as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Import LlamaIndex data: an EmbeddingQAFinetuneDataset or a LabelledRagDataset as JSON.

    Example: ragtui import llamaindex qa_finetune_dataset.json --into handbook
    """
    from ragtui.inputs.formats.testsets import llamaindex_source

    finish(context, llamaindex_source(source), into, suite, None, False, force, as_json)


def with_documents(
    source: Source, documents: Path | None, doc_id: str | None, doc_text: str | None, doc_title: str | None
) -> Source:
    """The source with the documents of a table instead of its own."""
    import msgspec

    from ragtui.inputs.formats.tables import Columns, read_table_documents

    if documents is None:
        return source
    if source.documents is not None:
        raise InvalidInput("The test set brings its own documents.", "Leave out --documents.")
    columns = Columns(doc_id=doc_id, doc_text=doc_text, doc_title=doc_title)
    path = documents
    return msgspec.structs.replace(source, documents=lambda problems: read_table_documents(path, columns, problems))
