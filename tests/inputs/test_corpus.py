"""The corpus as it is read: what its id depends on, what an id may be, and all that is wrong with it at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.corpus import CorpusSnapshot, document, load_corpus, read_corpus, snapshot
from ragtui.inputs.text import checked_name, normalize_text


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def problems(folder: Path) -> list[str]:
    return [str(problem) for problem in sorted(read_corpus(folder)[1])]


def test_ids_are_paths_without_suffix_in_order(tmp_path: Path) -> None:
    write(tmp_path, {"b.md": "B", "a/z.txt": "Z", "a.markdown": "A", "notes.pdf": "no", "Up.MD": "U"})
    corpus = load_corpus(tmp_path)
    assert [item.id for item in corpus.documents] == ["Up", "a", "a/z", "b"]
    assert corpus.document("a/z").text == "Z"
    assert "notes" not in corpus
    assert corpus.characters == 4


ODD_IDS = (
    "two words",
    "水/煮沸",
    "<b>bold</b>",
    "007",
    "a.b.c",
    "emoji 🏔",
    "[red]x[/red]",
    "quote'\"",
    "#1-2",
    "-x",
    "x..",
)


def test_ids_of_files_are_opaque(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}.md": f"text of {name}" for name in ODD_IDS})
    corpus = load_corpus(tmp_path)
    assert {item.id for item in corpus.documents} == set(ODD_IDS)
    assert all(corpus.document(name).text == f"text of {name}" for name in ODD_IDS)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=8, unique=True))
def test_ids_of_lines_are_opaque(ids: list[str]) -> None:
    corpus = snapshot([document(name, "text") for name in ids])
    assert [item.id for item in corpus.documents] == sorted(ids)


def test_lines_hold_documents(tmp_path: Path) -> None:
    lines = [{"id": "007", "text": "seven"}, {"id": "7", "text": "body", "title": "Head"}]
    write(tmp_path, {"all.jsonl": "\n".join(map(json.dumps, lines)) + "\n\n"})
    corpus = load_corpus(tmp_path)
    assert [(item.id, item.text) for item in corpus.documents] == [("007", "seven"), ("7", "Head\n\nbody")]


def test_the_id_depends_on_ids_and_texts_only(tmp_path: Path) -> None:
    plain = load_corpus(write(tmp_path / "plain", {"a.md": "one\ntwo\n", "b.md": "three"}))
    dressed = load_corpus(write(tmp_path / "dressed", {"a.txt": b"\xef\xbb\xbfone\r\ntwo\r\n", "b.markdown": "three"}))
    assert dressed.corpus_id == plain.corpus_id
    assert [item.revision for item in dressed.documents] == [item.revision for item in plain.documents]
    old_mac = load_corpus(write(tmp_path / "mac", {"a.md": "one\rtwo\r", "b.md": "three"}))
    assert old_mac.corpus_id == plain.corpus_id
    other = load_corpus(write(tmp_path / "other", {"a.md": "one\ntwo", "b.md": "three"}))
    assert other.corpus_id != plain.corpus_id
    assert other.document("b").revision == plain.document("b").revision
    renamed = load_corpus(write(tmp_path / "renamed", {"A.md": "one\ntwo\n", "b.md": "three"}))
    assert renamed.corpus_id != plain.corpus_id


def test_the_id_is_pinned() -> None:
    """A content id must never change for the same content: runs, baselines and caches hang on it."""
    corpus = snapshot([document("b", "two\r\nlines"), document("a", "\ufeffone")])
    assert corpus.corpus_id == "sha256:f2d590a89c098f471bd6fd5a651e84fa9cbe3295eb25e09177a42c173efc90d5"


@given(st.text(alphabet=st.characters(exclude_characters="\r")), st.sampled_from(["\r\n", "\r"]))
def test_line_ends_fold(text: str, end: str) -> None:
    assert normalize_text(text.replace("\n", end)) == normalize_text(text)
    assert normalize_text("\ufeff" + text) == text


def test_every_problem_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "good.md": "fine",
            "bytes.md": b"line one\nline \xe9 two\n",
            "empty.md": "",
            "blank.txt": " \n\t\n",
            "twice.md": "one",
            "twice.txt": "two",
            "lines.jsonl": '{"id": "x", "text": "t"}\n{"id": "x", "text": "u"}\nnot json\n{"id": " ", "text": "t"}\n'
            '{"id": "y", "text": " "}\n{"id": "z", "text": "t", "colour": "red"}\n{"id": "good", "text": "t"}\n',
        },
    )
    found = problems(tmp_path)
    assert found == [
        "blank.txt: is empty. Write the document or delete the file.",
        "bytes.md:2: is not UTF-8 (byte 0xE9). Save the file as UTF-8.",
        "empty.md: is empty. Write the document or delete the file.",
        "lines.jsonl:2: repeats the document id 'x' of lines.jsonl:1. Rename one.",
        "lines.jsonl:3: is not a document: JSON is malformed: invalid character (byte 4). Write "
        '{"id": "…", "text": "…"} '
        "on each line.",
        "lines.jsonl:4: has an empty id. Give every document an id.",
        "lines.jsonl:5: document 'y' is empty. Write its text or delete the line.",
        "lines.jsonl:6: is not a document: Object contains unknown field `colour`. Write "
        '{"id": "…", "text": "…"} on each '
        "line.",
        "lines.jsonl:7: repeats the document id 'good' of good.md. Rename one.",
        "twice.txt: repeats the document id 'twice' of twice.md. Rename one.",
    ]
    with pytest.raises(InvalidFiles) as caught:
        load_corpus(tmp_path)
    assert caught.value.message.startswith("10 problems in corpus and goldens.\n")
    assert caught.value.exit_code == 2


def test_a_repeated_id_of_files_with_colons(tmp_path: Path) -> None:
    write(tmp_path, {"a:b.md": "one", "a:b.txt": "two"})
    assert problems(tmp_path) == ["a:b.txt: repeats the document id 'a:b' of a:b.md. Rename one."]


def test_no_folder_and_no_document(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert problems(nowhere) == [f"{nowhere}: is not a folder. Put the documents there, or run `ragtui init`."]
    (tmp_path / "pictures").mkdir()
    write(tmp_path / "pictures", {"a.png": b"\x89PNG"})
    assert problems(tmp_path / "pictures") == [
        f"{tmp_path / 'pictures'}: holds no document. Add at least one .md, .markdown, .txt or .jsonl file."
    ]


def test_hidden_files_and_links_are_not_the_corpus(tmp_path: Path) -> None:
    write(tmp_path, {"in/a.md": "a", "in/.hidden.md": "h", "in/.git/x.md": "x", "outside.md": "o"})
    (tmp_path / "in" / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "in" / "broken.md").symlink_to(tmp_path / "gone.md")
    assert [item.id for item in load_corpus(tmp_path / "in").documents] == ["a"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux file names are arbitrary bytes")
def test_a_folder_that_may_not_be_read_is_a_problem_and_no_smaller_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text("text")
    scandir = os.scandir

    def refusing(path: str) -> Any:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    # Permissions would not stop a test that root runs.
    monkeypatch.setattr(os, "scandir", refusing)
    _, problems = read_corpus(tmp_path)
    assert [problem.message for problem in problems] == ["cannot be read: Permission denied."]
    assert problems[0].file == str(tmp_path / "sub")


def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("text")
    (tmp_path / "fine.md").write_text("text")
    found = problems(tmp_path)
    assert found == ["caf\\xe9.md: has a name that is not UTF-8. Rename the file."]


def test_repeated_ids_in_memory() -> None:
    with pytest.raises(InvalidInput, match="Two documents have the id 'a'"):
        snapshot([document("a", "x"), document("a", "y")])


def test_membership_and_lookup() -> None:
    corpus = snapshot([document("a", "x")])
    assert isinstance(corpus, CorpusSnapshot)
    assert "a" in corpus
    with pytest.raises(KeyError):
        corpus.document("b")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is empty"), (" ", "is empty"), ("../x", "separator"), ("a\\b", "separator"), ("a\x1b[31m", "control"),
        ("\udcff", "control"), (".", "dot"), ("..", "dot"), (".hidden", "dot"), ("x ", "space"), ("NUL", "device"),
        ("com1.x", "device"), ("é" * 51, "100 bytes"),
    ],
)  # fmt: skip
def test_a_name_that_no_file_may_bear(name: str, fault: str) -> None:
    with pytest.raises(InvalidInput, match=f"The suite name .*{fault}"):
        checked_name(name, "suite")


@pytest.mark.parametrize("name", ["core", "v1.2", "auxiliary", "main run", "é" * 50])
def test_a_name_that_a_file_may_bear(name: str) -> None:
    assert checked_name(name, "suite") == name
