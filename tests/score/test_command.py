from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from ragtui.__main__ import main

QRELS = "q1 0 a 1\nq1 0 b 0\nq2\t0\tc\t2\nq3 0 d 1\nq4 0 e 0\n"
RUN = "q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.5 x\nq2 Q0 c 1 3 x\nq4 Q0 e 1 1 x\nq9 Q0 a 1 1 x\n"
BETTER = "# made today\nq1 Q0 a 1 2.0 x\nq2 Q0 c 1 3 x\nq3 Q0 d 1 9 x\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(BETTER)
    return tmp_path


def scored(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(["score", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_the_documented_keys(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(files / "a.run")
    found = scored(capsys, files / "qrels", run, "-m", "mrr", "--per-query")
    assert found["runs"] == {run: {"RR": 0.375}}
    assert found["per_query"][run] == {"q1": {"RR": 0.5}, "q2": {"RR": 1.0}, "q3": {"RR": 0.0}, "q4": {"RR": 0.0}}
    assert found["queries"][run] == {"scored": 4, "lacking": 1, "unjudged": 1, "nothing_to_find": 1}
    assert found["complete"] is True


def test_files_in_the_wrong_order_are_told_as_that(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(files / "a.run"), str(files / "qrels")]) == 2
    told = capsys.readouterr().err
    assert "a.run is a run, not a file of judgments." in told
    assert "ragtui score QRELS RUN" in told
    (files / "graded").write_text("q1 0 a 1\n")
    assert main(["score", str(files / "qrels"), str(files / "graded")]) == 2
    assert "graded holds judgments, it is not a run." in capsys.readouterr().err


def test_only_retrieved_leaves_out_what_the_run_lacks(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(files / "a.run")
    assert scored(capsys, files / "qrels", run, "-m", "mrr", "--only-retrieved")["runs"][run]["RR"] == 0.5


def test_runs_side_by_side_have_paired_differences(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = str(files / "a.run"), str(files / "b.run")
    found = scored(capsys, files / "qrels", old, new, "-m", "recip_rank", "-m", "P_1")
    change = found["changes"][new]["RR"]
    assert found["base"] == old
    assert (change["delta"], change["wins"], change["ties"], change["losses"]) == (0.375, 2, 2, 0)
    assert change["p"] <= change["p_adjusted"] <= 1


def test_the_default_is_said_on_stderr_and_results_go_to_stdout(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(files / "qrels"), str(files / "a.run")]) == 0
    out, err = capsys.readouterr()
    assert "1 that the run lacks count as 0 (--only-retrieved leaves them out)" in err
    assert "1 with nothing to find count as 0, as in trec_eval" in err
    assert "left out, being unjudged: 1 query of the run" in err
    assert "nDCG@10" in out
    assert "lacks" not in out


@pytest.mark.parametrize(("name", "text", "message"), [
    ("run", "q1 Q0 a 1 high x\n", "run:1: the score 'high' is not a number"),
    ("run", "q1 Q0 a 1 nan x\n", "the score 'nan' is not a number"),
    ("run", "q1 Q0 a 1 1.0\n", "has 5 columns instead of 6"),
    ("run", "q1 Q0 my doc 1 2.5 x\n", "the rank 'doc' is no number"),
    ("run", "q1 Q0 a 1 1 x\nq1 Q0 a 2 1 x\n", "run:2: gives the document 'a' to query 'q1' again"),
    ("run", "", "holds no hit"),
    ("run", "q7 Q0 a 1 1 x\n", "of its queries (1) none is among the judged ones (4)"),
    ("run", "{\"q1\": {\"a\": \"x\"}}", "the score of 'a' for 'q1' is not a number"),
    ("run", "{\"q1\": [1]}", "query 'q1' has no object of documents"),
    ("run", "[[1]]", "is no object of queries"),
    ("run", "{\"run_id\": \"a\", \"spec_id\": \"b\"}", "is a whole run of ragtui, not a table of scores"),
    ("qrels", "{\"q1\": {\"a\": true}}", "the grade of 'a' for 'q1' is not a number"),
    ("run", "{", "is not JSON"),
    ("qrels", "q1 0 a high\nq1 0 b 1.5\n", "qrels:2: the grade '1.5' is not a whole number"),
    ("qrels", "q1 a\n", "has 2 columns"),
    ("qrels", "q1 0 a high\nq1 0 b 1\n", "qrels:1: the grade 'high' is not a whole number"),
    ("qrels", "q1\ta\t1.5\nq1\tb\t1\n", "qrels:1: the grade '1.5' is not a whole number"),
    ("qrels", "q1\ta\tnan\nq1\tb\t1\n", "qrels:1: the grade 'nan' is not a whole number"),
    ("qrels", "q1 0 a 1\nq1 0 a 2\n", "qrels:2: judges 'a' for 'q1' as 2, before as 1"),
    ("qrels", "", "holds no judgment"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (files / name).write_text(text)
    assert main(["score", str(files / "qrels"), str(files / ("run" if name == "run" else "a.run"))]) == 2
    assert message in capsys.readouterr().err


def test_bytes_that_are_not_text_and_files_that_are_not_there(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "bad").write_bytes(b"q1 Q0 a\xff 1 1 x\n")
    (files / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00")
    (files / "box").write_bytes(b"PK\x03\x04....")
    for name, message in (("bad", "bad:1: is not UTF-8"), ("cut.gz", "is damaged"), ("box", "zip archive"),
                          ("none", "cannot be read")):  # fmt: skip
        assert main(["score", str(files / "qrels"), str(files / name)]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_read_as_files_are(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = files / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(RUN))
    writer.start()
    found = scored(capsys, files / "qrels", pipe, "-m", "mrr")
    writer.join()
    assert found["runs"] == {str(pipe): {"RR": 0.375}}
    assert main(["score", str(files / "qrels"), str(files)]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_beir_judgments_with_a_header_and_ids_with_spaces(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\tdoc one\t2\n")
    (files / "run.json").write_text('{"q 1": {"doc two": 0.9, "doc one": 0.5}}')
    run = str(files / "run.json")
    assert scored(capsys, files / "test.tsv", run, "-m", "mrr")["runs"][run] == {"RR": 0.5}


def test_a_span_measure_and_a_run_given_twice_are_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(files / "qrels"), str(files / "a.run"), "-m", "R@5(level=span)"]) == 2
    assert main(["score", str(files / "qrels"), str(files / "a.run"), str(files / "a.run")]) == 2
    assert "given twice" in capsys.readouterr().err
