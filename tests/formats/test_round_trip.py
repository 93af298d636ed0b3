"""What is exported and imported again gives the same evaluation and the same measures."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragtui.__main__ import main
from ragtui.analysis.foreign import score_run
from ragtui.analysis.recorded import RecordedRun, decode_recorded
from ragtui.analysis.summary import summary
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.inputs.formats.source import Source
from ragtui.inputs.formats.tables import Columns, table_source
from ragtui.inputs.formats.trec import read_qrels, read_run
from ragtui.inputs.formats.trec_collection import trec_source
from ragtui.inputs.formats.writing import write_workspace
from ragtui.lab import Lab
from ragtui.metrics.measure import parse_measure
from ragtui.reports.trec import escaped
from ragtui.settings import open_workspace

WORDS = ["tea", "snow", "kettle", "stove", "radio", "water"]
# A null character makes a file no text to most readers of tables, ours included.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
IDS = st.text(CHARACTERS, min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
PLAN = edit(preset("bm25"), ['metrics.measures=["nDCG@10","R@5","RR","AP","P@5(level=doc)"]'])


@st.composite
def collections(draw: st.DrawFn) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Documents and goldens, with ids of any script and with spaces."""
    docs = sorted(draw(st.sets(IDS, min_size=1, max_size=8)))
    texts = {doc: " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))) for doc in docs}
    queries = sorted(draw(st.sets(IDS, min_size=1, max_size=5)))
    names = ("0_IRRELEVANT", "1_TANGENTIAL", "2_SUBSTANTIAL", "3_AUTHORITATIVE")
    goldens = []
    for query in queries:
        refusal = draw(st.booleans()) and draw(st.booleans())
        judged = draw(st.lists(st.sampled_from(docs), min_size=0 if refusal else 1, max_size=4, unique=True))
        golden: dict[str, Any] = {
            "id": query,
            "query": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
            "judgments": [
                {"doc": doc, "grade": names[0] if refusal else draw(st.sampled_from(names))} for doc in judged
            ],
            "expectRefusal": refusal,
            "tags": sorted(draw(st.sets(st.sampled_from(["numeric", "near-miss"])))),
        }
        if draw(st.booleans()):
            golden["turns"] = [{"role": "user", "content": draw(IDS)}]
        goldens.append(golden)
    if not any(golden["judgments"] for golden in goldens):
        goldens[0]["judgments"] = [{"doc": docs[0], "grade": names[0]}]
    return texts, goldens


def lines(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def run_in(folder: Path) -> RecordedRun:
    lab = Lab(open_workspace(folder), "allow_runs")
    return lab.run(lab.bind(PLAN))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(collections())
def test_trec_files_and_tables_carry_an_evaluation(collection: tuple[dict[str, str], list[dict[str, Any]]]) -> None:
    texts, goldens = collection
    with tempfile.TemporaryDirectory() as name:
        first, out = Path(name) / "first", Path(name) / "out"
        lines(first / "corpus" / "d.jsonl", [{"id": key, "text": text} for key, text in texts.items()])
        lines(first / "goldens" / "core.jsonl", goldens)
        run = run_in(first)
        command = ["-w", str(first), "export", "latest", "--format"]
        assert main([*command, "trec", "-o", str(out), "--escape"]) == 0
        assert main([*command, "csv", "-o", str(out / "table" / "run.csv")]) == 0
        assert main([*command, "json", "-o", str(out / "run.json")]) == 0
        assert decode_recorded((out / "run.json").read_bytes(), "run.json").traces == run.traces
        for source in (
            trec_source(out, use_existing=True, escaped=True),
            table_source(out / "table" / "run.csv", None, Columns()),
        ):
            again = imported_again(source, first / "corpus", Path(name))
            assert again.specification.evaluation_id == run.specification.evaluation_id
            assert again.spec_id == run.spec_id
            assert {trace.case: trace.scores for trace in again.traces} == {
                trace.case: trace.scores for trace in run.traces
            }
            assert summary(again).by_tag == summary(run).by_tag

        # Anybody's evaluator sees our order: the exported files score as the run does.
        measures = [parse_measure(text) for text in PLAN.metrics.measures]
        qrels = read_qrels(out / "qrels.txt")
        exported = read_run(out / "run.trec") if (out / "run.trec").stat().st_size else {}
        scored = score_run(qrels, exported, measures).per_query(measures)
        judged = {case.id for case in run.cases if case.grades}
        for trace in run.traces:
            for key, value in scored[escaped(trace.case)].items() if trace.case in judged else ():
                ours = trace.scores[key]
                assert value == pytest.approx(0.0 if ours is None else ours, abs=1e-12)


def imported_again(source: Source, corpus: Path, folder: Path) -> RecordedRun:
    """A new workspace over the same corpus, with what the source holds as goldens, and its run."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        shutil.copytree(corpus, Path(name) / "corpus")
        write_workspace(source, Path(name) / "corpus", Path(name) / "goldens")
        return run_in(Path(name))


def test_what_an_evaluation_loses_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(tmp_path / "corpus" / "d.jsonl", [{"id": "a", "text": "hot tea"}, {"id": "b", "text": "snow"}])
    judgment = {"doc": "a", "quote": "hot tea"}
    lines(tmp_path / "goldens" / "core.jsonl", [{"id": "x", "query": "tea", "judgments": [judgment]}])
    run_in(tmp_path)
    assert main(["-w", str(tmp_path), "export", "latest", "--format", "trec", "-o", str(tmp_path / "new" / "out")]) == 0
    said = capsys.readouterr().err
    assert "the judged spans of 1 question became judgments of their documents" in said
    assert f"ragtui import trec {tmp_path / 'new' / 'out'} --existing-corpus" in said
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == [
        "qrels.txt", "run.trec", "topics.jsonl",
    ]  # fmt: skip
    assert main(["-w", str(tmp_path), "import", "trec", str(tmp_path / "new" / "out"), "--force"]) == 2
    assert "--existing-corpus" in capsys.readouterr().err


def test_a_generation_run_gives_each_question_once(tmp_path: Path) -> None:
    lines(tmp_path / "corpus" / "d.jsonl", [{"id": "a", "text": "hot tea"}, {"id": "b", "text": "snow"}])
    golden = {"id": "x", "query": "tea", "relevantDocIds": ["a"], "mustInclude": ["hot"]}
    refusal = {"id": "y", "query": "moon", "expectRefusal": True, "mustNotInclude": ["cheese"]}
    lines(tmp_path / "goldens" / "core.jsonl", [golden, refusal])
    command = ["-w", str(tmp_path)]
    asked = ["generate", "bm25", "--model", "mock", "--mode", "e2e,oracle", "--display", "none"]
    assert main([*command, *asked]) == 0
    assert main([*command, "export", "latest", "--format", "trec", "-o", str(tmp_path / "out")]) == 0
    assert list(read_qrels(tmp_path / "out" / "qrels.txt")) == ["x"]
    assert read_run(tmp_path / "out" / "run.trec")["x"].keys() == {"a"}
    before = Lab(open_workspace(tmp_path)).recorded("latest").specification
    assert main([*command, "import", "trec", str(tmp_path / "out"), "--existing-corpus", "--force"]) == 0
    assert main([*command, *asked]) == 0
    again = Lab(open_workspace(tmp_path)).recorded("latest").specification
    assert again.evaluation_id == before.evaluation_id


def test_scores_fall_strictly_as_32_bit_floats(tmp_path: Path) -> None:
    texts = [{"id": f"d{number:02d}", "text": "the same words about tea"} for number in range(30)]
    lines(tmp_path / "corpus" / "d.jsonl", texts)
    lines(tmp_path / "goldens" / "core.jsonl", [{"id": "q", "query": "tea", "relevantDocIds": ["d07"]}])
    run = run_in(tmp_path)
    assert main(["-w", str(tmp_path), "export", "latest", "--format", "trec", "-o", str(tmp_path / "run.trec")]) == 0
    import numpy as np

    rows = [line.split() for line in (tmp_path / "run.trec").read_text().splitlines()]
    scores = np.array([row[4] for row in rows], np.float32)
    assert (np.diff(scores) < 0).all()
    assert [row[2] for row in rows] == [run.chunk_of[chunk].doc for chunk in run.traces[0].results.chunks]


def test_an_id_with_a_space_is_refused_or_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(tmp_path / "corpus" / "d.jsonl", [{"id": "my doc", "text": "tea"}, {"id": "50%", "text": "snow"}])
    lines(tmp_path / "goldens" / "core.jsonl", [{"id": "#1", "query": "tea snow", "relevantDocIds": ["my doc"]}])
    run_in(tmp_path)
    command = ["-w", str(tmp_path), "export", "latest", "--format"]
    for form in ("trec", "qrels", "topics"):
        assert main([*command, form]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "'#1'" in err
        assert "--escape" in err
    assert main([*command, "trec", "--escape"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert {row[2] for row in rows} == {"my%20doc", "50%25"}
    assert all(len(row) == 6 and row[0] == "%231" for row in rows)


def test_json_csv_and_parquet(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lines(tmp_path / "corpus" / "d.jsonl", [{"id": "a,b", "text": "tea"}, {"id": 'q"', "text": "snow"}])
    lines(tmp_path / "goldens" / "core.jsonl", [{"id": "x", "query": 'tea, "hot"\nplease', "relevantDocIds": ["a,b"]}])
    run = run_in(tmp_path)
    command = ["-w", str(tmp_path), "export", "latest", "--format"]
    assert main([*command, "json"]) == 0
    again = decode_recorded(capsysbinary.readouterr().out, "export")
    assert (again.cases, again.traces, again.spec_id) == (run.cases, run.traces, run.spec_id)
    assert main([*command, "csv"]) == 0
    import csv
    import io

    table = list(csv.DictReader(io.StringIO(capsysbinary.readouterr().out.decode(), newline="")))
    assert table[0]["query"] == 'tea, "hot"\nplease'
    assert table[0]["relevant"] == '{"a,b":3}'
    assert float(table[0]["RR"]) == run.traces[0].scores["RR"]
    assert main([*command, "parquet"]) == 2
    assert main([*command, "parquet", "-o", str(tmp_path / "run.parquet")]) == 0
    assert (tmp_path / "run.parquet").read_bytes()[:4] == b"PAR1"
    assert main([*command, "docx"]) == 2
