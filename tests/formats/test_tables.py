from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ragtui.__main__ import main
from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.formats.files import byte_lines
from ragtui.inputs.formats.tables import Columns, table_source
from tests.formats.helpers import Imported

DOCS = 'id,title,text\nd1,Tea,"Hot, in a\n""cup""."\nd 2,,Snow.\n'


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "documents.csv"
    path.write_text(DOCS)
    return path


def test_csv_with_usual_names(docs: Path, tmp_path: Path) -> None:
    rows = "q1,tea?,d1,3\nq1,tea?,d 2,1\nq2,snow?,d 2,2\n"
    (tmp_path / "questions.csv").write_text(f"\ufeffid,question,doc_id,grade\n{rows}")
    found = Imported(table_source(tmp_path, None, Columns()), tmp_path / "out")
    assert found.grades() == {"q1": {"d1": 3, "d 2": 1}, "q2": {"d 2": 2}}
    assert found.corpus.document("d1").text == 'Tea\n\nHot, in a\n"cup".'


@pytest.mark.parametrize("cell", ["d1|d 2", '["d1", "d 2"]'])
def test_several_ids_in_a_cell_and_questions_without_ids(docs: Path, tmp_path: Path, cell: str) -> None:
    table = tmp_path / "q.tsv"
    table.write_text(f"Frage\tWo\ntea?\t{cell}\ntea?\td1\nsnow?\td 2\n")
    found = Imported(table_source(table, docs, Columns(question="Frage", relevant="Wo")), tmp_path / "out")
    assert found.grades() == {"q0001": {"d1": 3, "d 2": 3}, "q0002": {"d 2": 3}}


def test_json_and_json_lines(docs: Path, tmp_path: Path) -> None:
    rows = [{"id": 5, "question": "tea?", "relevant": ["d1"]}, {"id": 6, "question": "snow?", "relevant": "d 2"}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("q.json", "q.jsonl"):
        found = Imported(table_source(tmp_path / name, docs, Columns()), tmp_path / name.replace(".", "-"))
        assert found.grades() == {"5": {"d1": 3}, "6": {"d 2": 3}}


def test_semicolons_are_seen(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("query;doc_id\ntea, hot?;d1\n")
    assert Imported(table_source(tmp_path / "q.csv", docs, Columns()), tmp_path / "out").report.written == 1


@pytest.mark.parametrize(("text", "columns", "message"), [
    ("a,b\n1,2\n", Columns(), "no column for the question"),
    ("query,b\n1,2\n", Columns(), "no column for the relevant documents"),
    ("query,doc_id\n1,2\n", Columns(question="quer"), "no column 'quer'. Did you mean 'query'"),
    ("query,query\n1,2\n", Columns(), "two columns named 'query'"),
    ("query,doc_id\n", Columns(), "holds no row"),
    ("", Columns(), "holds no row"),
])  # fmt: skip
def test_wrong_columns(docs: Path, tmp_path: Path, text: str, columns: Columns, message: str) -> None:
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        table_source(tmp_path / "q.csv", docs, columns)


def test_bad_rows_are_all_named(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,query,doc_id,grade\n1,a,d1,x\n2,b\n1,other,d1,2\n3,c,d1,1.5\n")
    with pytest.raises(InvalidFiles) as caught:
        table_source(tmp_path / "q.csv", docs, Columns())
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5]


def test_the_command_judges_documents_that_are_there(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "ws" / "corpus").mkdir(parents=True)
    (tmp_path / "ws" / "corpus" / "guide.md").write_text("# Tea")
    (tmp_path / "q.csv").write_text("query,doc_id\ntea?,guide\n")
    assert main(["-w", str(tmp_path / "ws"), "import", "csv", str(tmp_path / "q.csv"), "--suite", "mine"]) == 0
    golden = json.loads((tmp_path / "ws" / "goldens" / "mine.jsonl").read_text())
    assert golden == {"id": "q0001", "query": "tea?", "judgments": [{"doc": "guide", "grade": "3_AUTHORITATIVE"}]}


@pytest.mark.parametrize("suite", ["../../evil", "/tmp/evil", "..", "x" * 300])
def test_a_suite_never_leads_out_of_the_goldens(tmp_path: Path, capsys: pytest.CaptureFixture[str], suite: str) -> None:
    (tmp_path / "ws" / "corpus").mkdir(parents=True)
    (tmp_path / "ws" / "corpus" / "guide.md").write_text("# Tea")
    (tmp_path / "q.csv").write_text("query,doc_id\ntea?,guide\n")
    before = sorted(tmp_path.rglob("*"))
    command = ["-w", str(tmp_path / "ws"), "import", "csv", str(tmp_path / "q.csv"), "--suite", suite, "--force"]
    assert main(command) == 2
    assert "The suite name" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_without_documents_needs_a_target_that_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.csv").write_text("query,doc_id\ntea?,guide\n")
    assert main(["import", "csv", str(tmp_path / "q.csv"), "--into", str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err
    assert "brings no documents" in said
    assert "--documents" in said
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("line", "count", "message"),
    [(b"\n", 2_000_000, "lines in a row are empty"), (b"x" * 1_000_000 + b"\n", 80, "unpacks to more than 500 times")],
    ids=["empty", "lines"],
)
def test_a_packed_file_that_unpacks_without_end(tmp_path: Path, line: bytes, count: int, message: str) -> None:
    path = tmp_path / "q.jsonl.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(4):
            file.write(line * (count // 4))
    with pytest.raises(InvalidInput, match=message):
        for _ in byte_lines(path):
            pass


def test_a_packed_file_of_usual_size_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"one line\n" * 100_000)
    assert sum(1 for _ in byte_lines(path)) == 100_000


def test_cells_that_hold_grades_turns_and_tags(docs: Path, tmp_path: Path) -> None:
    turns = json.dumps([{"role": "user", "content": "hello"}]).replace('"', '""')
    (tmp_path / "q.csv").write_text(
        "case,query,relevant,turns,tags,expectRefusal\n"
        f'a,tea?,"{{""d1"":2,""d 2"":0}}","{turns}","hot, numeric",\n'
        "b,why?,{},not turns,[],true\n"
    )
    found = Imported(table_source(tmp_path / "q.csv", docs, Columns()), tmp_path / "out")
    assert found.grades() == {"a": {"d1": 2, "d 2": 0}, "b": {}}
    first, second = found.evaluation().cases
    assert [turn.content for turn in first.turns] == ["hello"]
    assert first.tags == ("hot", "numeric")
    assert (second.turns, second.tags, second.expect_refusal) == ((), (), True)
