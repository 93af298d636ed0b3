from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.formats.trec_collection import trec_source
from tests.formats.helpers import Imported

SGML = """<DOC>
<DOCNO> FT911-3 </DOCNO>
<HEADLINE> Tea &amp;
 kettles </HEADLINE>
<TEXT>
First paragraph with <F P=102>a tag</F>.

Second &lt;paragraph&gt;.
</TEXT>
</DOC>
<doc>
<docno>CR#93E-1</docno>
<text>Snow.</text>
</doc>
"""
TOPICS = """<top>
<num> Number: 301
<title> International Tea

<desc> Description:
What is known of tea?
<narr> Narrative:
Anything.
</top>
<top>
<num> Number: 302 </num>
<title> Snow </title>
</top>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    (made / "docs").mkdir(parents=True)
    (made / "docs" / "part1.sgml").write_text(SGML)
    (made / "topics.txt").write_text(TOPICS)
    (made / "qrels.txt").write_text("# judged by hand\n301 0 FT911-3 2\n302\t0\tCR#93E-1\t-1\n301  0  CR#93E-1  0\n")
    return made


def test_sgml_documents_topics_and_grades(folder: Path, tmp_path: Path) -> None:
    found = Imported(trec_source(folder), tmp_path / "out")
    text = found.corpus.document("FT911-3").text
    assert text == "Tea & kettles\n\nFirst paragraph with a tag.\n\nSecond <paragraph>."
    cases = {case.id: case for case in found.evaluation().cases}
    assert cases["301"].query == "International Tea"
    assert cases["301"].grades == {"FT911-3": 2, "CR#93E-1": 0}
    assert cases["302"].grades == {"CR#93E-1": 0}
    assert found.report.negative == 1


@pytest.mark.parametrize(("field", "query"), [
    ("desc", "What is known of tea?"), ("title+desc", "International Tea What is known of tea?"),
])  # fmt: skip
def test_topic_fields(folder: Path, tmp_path: Path, field: Any, query: str) -> None:
    (folder / "topics.txt").write_text(TOPICS.split("</top>")[0] + "</top>\n")
    found = Imported(trec_source(folder, topic_field=field), tmp_path / "out")
    assert found.evaluation().cases[0].query == query


def test_line_based_documents_and_topics(folder: Path, tmp_path: Path) -> None:
    (folder / "docs" / "part1.sgml").unlink()
    (folder / "docs" / "a.jsonl").write_text('{"docno": "FT911-3", "contents": "Tea."}\n{"id": "x", "body": "B"}\n')
    (folder / "docs" / "b.tsv").write_text("CR#93E-1\tTitle\tSnow.\nY\tonly text\n")
    (folder / "topics.txt").unlink()
    (folder / "topics.tsv").write_text("301\ttea please\n302\tsnow please\n")
    found = Imported(trec_source(folder), tmp_path / "out")
    assert found.corpus.document("CR#93E-1").text == "Title\n\nSnow."
    assert [case.query for case in found.evaluation().cases] == ["tea please", "snow please"]


def test_several_files_of_judgments_are_several_suites(folder: Path, tmp_path: Path) -> None:
    (folder / "qrels.txt").rename(folder / "qrels.test.txt")
    (folder / "qrels.train.txt").write_text("302 0 FT911-3 1\n")
    assert Imported(trec_source(folder), tmp_path / "out").report.suites == {"core": 2, "train": 1}


def test_what_cannot_be_found_says_what_is_there(folder: Path) -> None:
    (folder / "docs").rename(folder / "texts")
    with pytest.raises(InvalidInput, match="nothing named corpus") as caught:
        trec_source(folder)
    assert "--documents" in caught.value.hint
    assert "texts" in caught.value.hint
    (folder / "qrels.txt").unlink()
    with pytest.raises(InvalidInput, match="no file of judgments"):
        trec_source(folder)


def test_broken_documents_and_topics_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "docs" / "part1.sgml").write_text(SGML + "<DOC>\n<TEXT>x</TEXT>\n</DOC>\n<DOC>\n<DOCNO>z</DOCNO>\n")
    with pytest.raises(InvalidFiles) as caught:
        Imported(trec_source(folder), tmp_path / "out")
    assert [(problem.line, problem.message[:24]) for problem in caught.value.problems] == [
        (15, "has a <DOC> without a <D"), (18, "begins a <DOC> that does"),
    ]  # fmt: skip
    (folder / "docs" / "part1.sgml").write_text(SGML)
    (folder / "topics.txt").write_text("<top>\n<title>no number</title>\n</top>\n<top>\n<num>5\n")
    with pytest.raises(InvalidFiles, match="without <num>"):
        Imported(trec_source(folder), tmp_path / "out")


def test_documents_of_the_workspace_can_be_judged(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "corpus").mkdir(parents=True)
    (tmp_path / "out" / "corpus" / "FT911-3.md").write_text("# Tea")
    found = Imported(trec_source(folder, use_existing=True), tmp_path / "out")
    assert found.grades() == {"301": {"FT911-3": 2}}
    assert found.report.missing_documents.count == 2


def test_a_huge_head_without_ends_takes_no_time(folder: Path, tmp_path: Path) -> None:
    body = "<DOC>\n<DOCNO>FT911-3</DOCNO>\n" + "<TITLE> " * 20_000 + "<" * 20_000 + "\n</DOC>\n"
    (folder / "docs" / "part1.sgml").write_text(body)
    assert Imported(trec_source(folder), tmp_path / "out").report.documents == 1
