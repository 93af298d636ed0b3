"""Everything that reads what others wrote, as functions of bytes. Only a RagtuiError may leave them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ragtui.analysis.compare import compare
from ragtui.analysis.progress import Progress
from ragtui.analysis.recorded import decode_recorded
from ragtui.artifacts.chunking import cut
from ragtui.artifacts.recipes import Chunking
from ragtui.cli.display import PlainDisplay
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit, read_plan
from ragtui.experiment.presets import preset
from ragtui.experiment.specification import decode
from ragtui.experiment.validate import check_plan
from ragtui.inputs.corpus import read_corpus, snapshot
from ragtui.inputs.evaluation import freeze
from ragtui.inputs.formats.beir import beir_source
from ragtui.inputs.formats.promptfoo import promptfoo_source
from ragtui.inputs.formats.source import Source
from ragtui.inputs.formats.tables import Columns, table_source
from ragtui.inputs.formats.testsets import llamaindex_source, ragas_source, squad_source
from ragtui.inputs.formats.trec import read_qrels, read_run
from ragtui.inputs.formats.trec_collection import trec_source
from ragtui.inputs.formats.writing import write_workspace
from ragtui.inputs.goldens import read_suites
from ragtui.inputs.patterns import matches
from ragtui.inputs.starting import first_goldens
from ragtui.metrics.measure import parse_measure
from ragtui.reports.baseline import baseline_json
from ragtui.reports.tables import csv_table
from ragtui.reports.trec import trec_run as escaped_run
from ragtui.settings import open_workspace
from ragtui.store.lines import read_from
from ragtui.store.store import Store
from tests.fuzz import servers

Target = Callable[[bytes, Path], None]


def _file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _import(source: Source, folder: Path) -> None:
    """What was written must be a workspace without a fault."""
    out = folder / "out"
    write_workspace(source, out / "corpus", out / "goldens", force=True)
    documents, problems = read_corpus(out / "corpus")
    assert not problems, problems[:3]
    placed, problems = read_suites(out / "goldens")
    assert not problems, problems[:3]
    _, problems = freeze(placed, snapshot(documents))
    assert not problems, problems[:3]


def corpus_lines(data: bytes, folder: Path) -> None:
    """A `.jsonl` corpus file."""
    _file(folder, "corpus/d.jsonl", data)
    documents, problems = read_corpus(folder / "corpus")
    if not problems:
        snapshot(documents)


def document(data: bytes, folder: Path) -> None:
    """A Markdown document, cut into chunks whose offsets are right."""
    _file(folder, "corpus/d.md", data)
    documents, problems = read_corpus(folder / "corpus")
    if problems:
        return
    frozen = snapshot(documents)
    columns = cut(frozen, Chunking(size=120, overlap=20))
    for start, end in zip(columns.start, columns.end, strict=True):
        assert 0 <= start < end <= len(documents[0].text)


def text_document(data: bytes, folder: Path) -> None:
    """A plain text, as a workspace begins: its first questions are goldens without a fault."""
    _file(folder, "corpus/Mein Text.txt", data)
    documents, problems = read_corpus(folder / "corpus")
    if problems:
        return
    _file(folder, "goldens/core.jsonl", first_goldens(documents).encode())
    placed, problems = read_suites(folder / "goldens")
    assert not problems, problems
    _, problems = freeze(placed, snapshot(documents))
    assert not problems, problems


def goldens(data: bytes, folder: Path) -> None:
    """A suite, bound to a corpus."""
    _file(folder, "corpus/tea.md", b"# Tea\n\nThree minutes in a kettle.\n")
    _file(folder, "goldens/core.jsonl", data)
    placed, _ = read_suites(folder / "goldens")
    freeze(placed, snapshot(read_corpus(folder / "corpus")[0]))


def pattern(data: bytes, folder: Path) -> None:
    """A golden's regular expression, within its time limit."""
    matches(data.decode("utf-8", "replace"), "three minutes above 2,000 m " * 40, seconds=0.2)


def settings(data: bytes, folder: Path) -> None:
    """`ragtui.toml`."""
    _file(folder, "ragtui.toml", data)
    open_workspace(folder)


def plan_toml(data: bytes, folder: Path) -> None:
    """A plan in TOML."""
    check_plan(read_plan(_file(folder, "plan.toml", data))[0])


def plan_json(data: bytes, folder: Path) -> None:
    """A plan in JSON."""
    check_plan(read_plan(_file(folder, "plan.json", data))[0])


def plan_python(data: bytes, folder: Path) -> None:
    """A plan in Python: a seed does nothing but build one, and small damages make no program of it."""
    check_plan(read_plan(_file(folder, "plan.py", data))[0])


def plan_edit(data: bytes, folder: Path) -> None:
    """`--set`."""
    check_plan(edit(preset("hybrid"), data.decode("utf-8", "replace").splitlines()))


def measure(data: bytes, folder: Path) -> None:
    """A measure's name, which parses back to itself."""
    found = parse_measure(data.decode("utf-8", "replace"))
    assert parse_measure(str(found)) == found


def specification(data: bytes, folder: Path) -> None:
    """A saved specification."""
    decode(data)


def exported_run(data: bytes, folder: Path) -> None:
    """An exported run, compared with itself and written again."""
    run = decode_recorded(data, "run.json")
    compare(run, run)
    csv_table(run)
    escaped_run(run, escape=True)


def baseline(data: bytes, folder: Path) -> None:
    """A baseline as reviewable text, written again and read back."""
    run = decode_recorded(data, "main.json")
    again = decode_recorded(baseline_json(run), "again.json")
    assert compare(run, again).verdict == compare(run, run).verdict


def live_journal(data: bytes, folder: Path) -> None:
    """A journal as a viewer follows it, line by line."""
    path = _file(folder, "journal/abc.jsonl", data)
    progress = Progress()
    display = PlainDisplay(write=lambda line: None)
    for event in read_from(path)[0]:
        progress.add(event)
        display.show(event)
    progress.line()
    progress.intervals()
    display.close()


def journal(data: bytes, folder: Path) -> None:
    """A journal that a process left behind."""
    named = re.search(rb'"run_id":"([0-9a-z]{1,20})"', data)
    path = _file(folder, f"journal/{named.group(1).decode() if named else 'abc'}.jsonl", data)
    Store(folder / "runs.duckdb").load_journal(path)


def qrels(data: bytes, folder: Path) -> None:
    """Judgments of any form."""
    read_qrels(_file(folder, "qrels", data))


def trec_run(data: bytes, folder: Path) -> None:
    """A run of any form."""
    read_run(_file(folder, "run", data))


def beir(data: bytes, folder: Path) -> None:
    """A BEIR folder whose three files are parted by a line of `====`."""
    corpus, queries, judged = _parts(data, 3)
    _file(folder, "in/corpus.jsonl", corpus)
    _file(folder, "in/queries.jsonl", queries)
    _file(folder, "in/qrels/test.tsv", judged)
    _import(beir_source(folder / "in"), folder)


def trec(data: bytes, folder: Path) -> None:
    """A TREC folder whose three files are parted by a line of `====`."""
    docs, topics, judged = _parts(data, 3)
    _file(folder, "in/docs", docs)
    _file(folder, "in/topics", topics)
    _file(folder, "in/qrels", judged)
    _import(trec_source(folder / "in"), folder)


def table(data: bytes, folder: Path) -> None:
    """Two CSV files parted by a line of `====`."""
    _table(data, folder, ".csv")


def _table(data: bytes, folder: Path, suffix: str) -> None:
    questions, docs = _parts(data, 2)
    _file(folder, f"in/questions{suffix}", questions)
    _file(folder, f"in/documents{suffix}", docs)
    _import(table_source(folder / "in", None, Columns()), folder)


def table_tabs(data: bytes, folder: Path) -> None:
    """Two TSV files parted by a line of `====`."""
    _table(data, folder, ".tsv")


def table_lines(data: bytes, folder: Path) -> None:
    """Two JSON Lines files parted by a line of `====`."""
    _table(data, folder, ".jsonl")


def table_list(data: bytes, folder: Path) -> None:
    """Two JSON lists parted by a line of `====`."""
    _table(data, folder, ".json")


def squad(data: bytes, folder: Path) -> None:
    """SQuAD-like JSON."""
    _import(squad_source(_file(folder, "squad.json", data)), folder)


def promptfoo(data: bytes, folder: Path) -> None:
    """promptfoo tests as JSON."""
    _import(promptfoo_source(_file(folder, "tests.json", data)), folder)


def promptfoo_yaml(data: bytes, folder: Path) -> None:
    """promptfoo tests as YAML."""
    _import(promptfoo_source(_file(folder, "tests.yaml", data)), folder)


def ragas(data: bytes, folder: Path) -> None:
    """A ragas test set."""
    _import(ragas_source(_file(folder, "rows.jsonl", data)), folder)


def llamaindex(data: bytes, folder: Path) -> None:
    """LlamaIndex data."""
    _import(llamaindex_source(_file(folder, "data.json", data)), folder)


def _parts(data: bytes, count: int) -> list[bytes]:
    parts = data.split(b"\n====\n")
    if len(parts) < count:
        raise InvalidInput("Too few parts.")
    return [*parts[: count - 1], b"\n".join(parts[count - 1 :])]


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        corpus_lines, document, text_document, goldens, pattern, settings, plan_toml, plan_json, plan_python, plan_edit,
        measure, specification, exported_run, baseline, journal, live_journal, qrels, trec_run, beir, trec, table,
        table_tabs, table_lines, table_list, squad, promptfoo, promptfoo_yaml, ragas, llamaindex, servers.refusal,
        servers.wait_header, servers.openai_answer, servers.ollama_answer, servers.model_list, servers.retriever_answer,
        servers.stream, servers.chat_lines, servers.chat_reply, servers.verdict,
    )
}  # fmt: skip
