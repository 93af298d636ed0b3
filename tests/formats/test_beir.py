from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtui.__main__ import main
from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.formats.beir import beir_source
from tests.formats.helpers import Imported, beir_folder

DOCS = {"d1": "Tea is brewed.", "d/2 x": "Snow falls.", "Straße 3": "Kettles boil."}
QUERIES = {"q1": "how is tea made", "q2": "what falls", "q3": "never judged"}


@pytest.mark.parametrize("header", [True, False])
def test_splits_become_suites_and_ids_stay_as_they_are(tmp_path: Path, header: bool) -> None:
    qrels = {"test": [("q1", "d1", 2), ("q1", "Straße 3", 0)], "train": [("q2", "d/2 x", 1)]}
    source = beir_source(beir_folder(tmp_path / "in", DOCS, QUERIES, qrels, header))
    found = Imported(source, tmp_path / "out")
    assert set(found.corpus.ordinals) == set(DOCS)
    assert found.grades("core") == {"q1": {"d1": 2, "Straße 3": 0}}
    assert found.grades("train") == {"q2": {"d/2 x": 1}}
    assert (found.report.judgments, found.report.written, found.report.unjudged) == (3, 3, 1)


def test_one_split_can_be_chosen_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"dev": [("q1", "d1", 1)], "train": [("q2", "d1", 1)]})
    assert Imported(beir_source(folder, ["train"]), tmp_path / "out").report.suites == {"core": 1}
    with pytest.raises(InvalidInput, match="no split 'test'"):
        beir_source(folder, ["test"])


def test_what_is_missing_is_counted_and_listed(tmp_path: Path) -> None:
    rows = [("q1", "d1", 1), ("q1", "gone", 1), ("q2", "gone too", 1), ("nobody", "d1", 1)]
    report = Imported(beir_source(beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": rows})), tmp_path / "o").report
    assert (report.judgments, report.written) == (4, 1)
    assert report.missing_documents.items == [
        "test.tsv:3: document 'gone' (question 'q1')", "test.tsv:4: document 'gone too' (question 'q2')",
    ]  # fmt: skip
    assert report.missing_questions.items == ["test.tsv:5: question 'nobody' (document 'd1')"]
    assert "none of its documents is here" in report.skipped_questions.items[0]


def test_positions_instead_of_ids_are_said_aloud(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("0", "d1", 1), ("1", "d1", 1)]})
    with pytest.raises(InvalidInput, match="0 of 2 judgments match a query: are these positions instead of ids"):
        Imported(beir_source(folder), tmp_path / "out")
    folder = beir_folder(tmp_path / "in2", DOCS, QUERIES, {"test": [("q1", "0", 1)]})
    with pytest.raises(InvalidInput, match="0 of 1 judgments match a document"):
        Imported(beir_source(folder), tmp_path / "out")
    assert not list(tmp_path.glob("out/*/*"))


def test_grades_beyond_ours_are_mapped_and_counted(tmp_path: Path) -> None:
    docs = {f"d{number}": "text" for number in range(6)}
    rows = [("q1", f"d{number}", grade) for number, grade in enumerate((-2, 0, 1, 3, 4, 9))]
    folder = beir_folder(tmp_path / "in", docs, QUERIES, {"test": rows})
    found = Imported(beir_source(folder), tmp_path / "out")
    assert list(found.grades()["q1"].values()) == [0, 0, 1, 3, 3, 3]
    assert (found.report.above_3, found.report.negative) == (2, 1)
    mapped = Imported(beir_source(folder), tmp_path / "out2", grades={1: 3, 9: 2})
    assert list(mapped.grades()["q1"].values()) == [0, 0, 3, 3, 3, 2]


def test_all_zero_and_binary_grades_are_said_aloud(tmp_path: Path) -> None:
    for grade, remark in ((0, "nothing is relevant"), (1, "--grade 1=3")):
        folder = beir_folder(tmp_path / f"in{grade}", DOCS, QUERIES, {"test": [("q1", "d1", grade)]})
        report = Imported(beir_source(folder), tmp_path / f"out{grade}").report
        assert any(remark in text for text in report.remarks)


def test_repeated_and_empty_documents_are_left_out_and_listed(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1)]})
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d1", "text": "again"}\n\n{"_id": "void", "text": " "}\n')
        file.write('{"_id": 7, "title": "T", "text": ""}\n')
    found = Imported(beir_source(folder), tmp_path / "out")
    assert found.report.skipped_documents.items == [
        "corpus.jsonl:4: 'd1' is given again", "corpus.jsonl:6: 'void' is empty",
    ]  # fmt: skip
    assert found.corpus.document("7").text == "T\n\n"
    assert found.corpus.document("d1").text == DOCS["d1"]


def test_a_question_in_two_splits_is_renamed_in_the_second(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1)], "train": [("q1", "d1", 1)]})
    found = Imported(beir_source(folder), tmp_path / "out")
    assert found.grades("core", "train") == {"q1": {"d1": 1}, "q1~train": {"d1": 1}}
    assert found.report.renamed_questions.count == 1


def test_bad_lines_are_all_named_and_nothing_is_left_behind(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1)]})
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": 1.5}\nnot json\n{"text": "no id"}\n')
    with pytest.raises(InvalidFiles) as caught:
        Imported(beir_source(folder), tmp_path / "out")
    assert [problem.line for problem in caught.value.problems] == [4, 5, 6]
    assert not list(tmp_path.glob("out/*/*"))


def test_packed_files_and_a_missing_part(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1)]})
    packed = gzip.compress((folder / "corpus.jsonl").read_bytes())
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"has no corpus\.jsonl"):
        beir_source(folder)
    (folder / "corpus.jsonl.gz").write_bytes(packed)
    assert Imported(beir_source(folder), tmp_path / "out").report.documents == 3


def test_the_command_writes_once_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1), ("q1", "gone\x1b[31m", 1)]})
    command = ["import", "beir", str(folder), "--into", str(tmp_path / "out")]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == "3 documents, goldens: core 1, 1 of 2 judgments\n"
    assert "1 judgment of a document that is not there" in err
    assert "\x1b" not in err
    assert main(["-w", str(tmp_path / "out"), "corpus", "check"]) == 0
    assert main(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing_documents"]["count"] == 1


def test_a_corpus_of_other_files_is_not_mixed_in_unasked(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", DOCS, QUERIES, {"test": [("q1", "d1", 1)]})
    (tmp_path / "out" / "corpus").mkdir(parents=True)
    (tmp_path / "out" / "corpus" / "mine.md").write_text("# Mine")
    with pytest.raises(InvalidInput, match="already holds 1 file,"):
        Imported(beir_source(folder), tmp_path / "out")
    assert Imported(beir_source(folder), tmp_path / "out", force=True).corpus.ordinals.keys() == {*DOCS, "mine"}


# Everything that a column between tabs can carry.
OPAQUE = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text and bool(text) and not text.startswith("#")
)


@settings(max_examples=40, deadline=None)
@given(st.sets(OPAQUE, min_size=1, max_size=6), st.sets(OPAQUE, min_size=1, max_size=4), st.integers(0, 3))
def test_any_id_survives(docs: set[str], queries: set[str], grade: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [(query, doc, grade) for query in sorted(queries) for doc in sorted(docs)]
        texts = {doc: f"about {number}" for number, doc in enumerate(docs)}
        source = beir_source(beir_folder(folder / "in", texts, dict.fromkeys(queries, "why"), {"test": rows}))
        found = Imported(source, folder / "out")
        assert set(found.corpus.ordinals) == docs
        assert found.grades() == {query: dict.fromkeys(docs, grade) for query in queries}
