from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import pytest

from ragtui.__main__ import main
from ragtui.inputs.corpus import document
from ragtui.inputs.starting import first_goldens


def documents(folder: Path, count: int = 9) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"note-{number}.md").write_text(f"# Title {number}\n\nSome text about thing {number}.\n")
    return folder


def goldens(root: Path) -> list[dict[str, object]]:
    lines = (root / "goldens" / "core.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if not line.startswith("//")]


def test_a_folder_of_documents_becomes_a_workspace_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents(tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    out, err = capsys.readouterr()
    assert "Wrote ragtui.toml." in out
    assert "9 documents, 3 goldens." in out
    assert "ragtui run hybrid" in err
    assert [golden["relevantDocIds"] for golden in goldens(tmp_path)] == [["note-0"], ["note-3"], ["note-6"]]
    assert main(["run", "bm25", "--display", "none"]) == 0
    assert main(["corpus", "check"]) == 0


def test_what_can_be_built_again_is_left_out_of_version_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents(tmp_path / "fresh" / "docs")
    assert main(["-w", str(tmp_path / "fresh"), "init"]) == 0
    assert (tmp_path / "fresh" / ".gitignore").read_text() == ".ragtui/\n"
    for text, told in (("dist\n", True), ("/.ragtui\n", False)):
        (tmp_path / "fresh" / ".gitignore").write_text(text)
        capsys.readouterr()
        assert main(["-w", str(tmp_path / "fresh"), "init", "--force"]) == 0
        assert ("Add .ragtui/ to .gitignore" in capsys.readouterr().err) == told
        assert (tmp_path / "fresh" / ".gitignore").read_text() == text


def test_the_only_folder_of_documents_is_found_and_paths_are_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    documents(tmp_path / "my ws" / "Meine Texte")
    (tmp_path / "my ws" / "pictures").mkdir()
    assert main(["-w", "my ws", "init"]) == 0
    assert "ragtui -w 'my ws' run hybrid" in capsys.readouterr().err
    assert tomllib.loads((tmp_path / "my ws" / "ragtui.toml").read_text("utf-8"))["corpus"] == "Meine Texte"
    documents(tmp_path / "other" / "one")
    documents(tmp_path / "other" / "two")
    assert main(["-w", "other", "init"]) == 2
    assert "Folders here: one, two." in capsys.readouterr().err


def test_settings_are_read_back_and_comments_hold_valid_toml(tmp_path: Path) -> None:
    documents(tmp_path / "elsewhere" / 'do"cs')
    root = tmp_path / "ws"
    assert main(["-w", str(root), "init", str(tmp_path / "elsewhere" / 'do"cs')]) == 0
    text = (root / "ragtui.toml").read_text("utf-8")
    assert tomllib.loads(text)["corpus"] == '../elsewhere/do"cs'
    # Every commented setting becomes a valid one when its mark is taken away.
    marks = ("# reference", "# [", "# k", "# m", "# u", "# c", "# b")
    bare = "\n".join(line.removeprefix("# ") if line.startswith(marks) else line for line in text.splitlines())
    (root / "ragtui.toml").write_text(bare)
    assert "[profiles.local]" in bare.splitlines()
    assert main(["-w", str(root), "runs"]) == 0


def test_nothing_is_overwritten_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents(tmp_path / "docs")
    (tmp_path / "goldens").mkdir()
    mine = '{"id": "mine", "query": "q", "relevantDocIds": ["note-1"]}\n'
    (tmp_path / "goldens" / "core.jsonl").write_text(mine)
    assert main(["-w", str(tmp_path), "init"]) == 0
    assert (tmp_path / "goldens" / "core.jsonl").read_text() == mine
    assert "core.jsonl is there; left as it is" in capsys.readouterr().out
    assert main(["-w", str(tmp_path), "init", "--force"]) == 0
    assert len(goldens(tmp_path)) == 3


@pytest.mark.parametrize("force", [False, True])
def test_a_link_that_leads_out_is_never_written_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], force: bool
) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    documents(root / "docs")
    (root / "goldens").mkdir()
    (root / "goldens" / "core.jsonl").symlink_to(outside)
    (root / "ragtui.toml").symlink_to(outside)
    main(["-w", str(root), "init", *(["--force"] if force else [])])
    assert not outside.exists()
    assert (root / "goldens" / "core.jsonl").is_file() is force


def test_a_line_of_spaces_does_not_hold_up_the_first_questions() -> None:
    texts = ["# boil" + " " * 50_000 + "water", "# \n## C#", "# Stoves ##\n", "no heading"]
    began = time.perf_counter()
    written = first_goldens([document(f"some/doc-{number}", text) for number, text in enumerate(texts[1:])])
    first_goldens([document("d", texts[0])])
    assert time.perf_counter() - began < 2
    assert [word for word in ("Stoves", "##") if word in written] == ["Stoves"]


def test_the_check_lists_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents(tmp_path / "docs", 2)
    (tmp_path / "docs" / "bad.txt").write_bytes(b"caf\xe9")
    (tmp_path / "docs" / "empty.md").write_text("")
    assert main(["-w", str(tmp_path), "init"]) == 2
    err = capsys.readouterr().err
    assert "bad.txt:1: is not UTF-8" in err
    assert "empty.md: is empty" in err
    assert len(goldens(tmp_path)) == 2


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "No folder of .md, .markdown, .txt files was found here"),
    (["absent"], "is not a folder"),
    (["empty"], "holds no document"),
    (["--example", "empty"], "brings its own documents"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["init", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "ragtui.toml").exists()


def test_a_workspace_inside_its_corpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(documents(tmp_path / "docs"))
    assert main(["init", "."]) == 2
    assert main(["-w", "../ws", "init", "."]) == 0


def test_the_example_runs_and_is_not_written_over_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "new" / "place"
    assert main(["-w", str(root), "init", "--example"]) == 0
    assert main(["-w", str(root), "run", "bm25", "--limit", "10", "--display", "none"]) == 0
    assert main(["-w", str(root), "init", "--example"]) == 2
    assert "is here already" in capsys.readouterr().err
