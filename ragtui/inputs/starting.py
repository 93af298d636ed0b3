"""The beginning of a workspace: where the documents are, the first settings, three questions to edit."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from ragtui.errors import InvalidInput, RunFailed
from ragtui.inputs.corpus import TEXT_SUFFIXES, Document
from ragtui.inputs.text import fold_space
from ragtui.inputs.whole import write_whole
from ragtui.settings import CONFIG_NAME

USUAL_FOLDERS = ("corpus", "docs", "documents", "doc", "content", "notes", "wiki", "knowledge")
GOLDENS = "goldens"
FIRST_QUESTIONS = 3
BUILT = ".ragtui/"
# What stands after the title is cut off in Python: a pattern for it would take the cube of a line of spaces.
_HEADING = re.compile(r"^#{1,6}[ \t](.*)$", re.MULTILINE)

_SETTINGS = """\
# ragtui: where things are. Paths are relative to this file. A line that begins with # is a comment.

corpus = {corpus}
goldens = "goldens"

# Runs are recorded here. (.ragtui/ holds what can be built again; leave it out of version control.)
store = "runs.duckdb"

# A second, read-only store: a team's committed record, for `ragtui compare baseline latest`.
# reference = "team/runs.duckdb"

# An embedding server. A plan uses it with embedding.model = "local"; `ragtui doctor` asks whether it answers.
# [profiles.local]
# kind = "ollama"                       # or "openai" for any server with /v1/embeddings
# model = "nomic-embed-text"
# url = "http://127.0.0.1:11434"
# key_env = "EMBEDDINGS_KEY"            # the NAME of the variable that holds a key; never the key
# concurrency = 4
# batch = 64
"""

_GOLDENS = """\
// What is asked, and what is known to be right about it: one question a line. Replace these {count} by real ones:
//   query           as a user would ask it, not in the document's own words
//   relevantDocIds  the documents that answer it: paths below the corpus without their suffix
//   mustInclude     words of a right answer, as regular expressions (only generation reads them)
// Twenty questions of several kinds, with tags, begin to tell plans apart. `ragtui help goldens` tells more.
"""


def find_documents(root: Path) -> Path:
    """The usual folder below `root` that holds documents, or the only one; InvalidInput names what is there instead."""
    other = sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = [root / name for name in other if name != GOLDENS and has_documents(root / name)]
    usual = [root / name for name in USUAL_FOLDERS if root / name in found]
    if usual or len(found) == 1:
        return (usual or found)[0]
    here = f" Folders here: {', '.join(other[:8])}." if other else ""
    raise InvalidInput(
        f"No folder of {', '.join(TEXT_SUFFIXES)} files was found here.",
        f"Name it: ragtui init FOLDER. Or try the example: ragtui init --example.{here}",
    )


def has_documents(folder: Path) -> bool:
    """Whether any document lies below a folder."""
    return any(
        name.lower().endswith((*TEXT_SUFFIXES, ".jsonl")) and not name.startswith(".")
        for _, _, names in os.walk(folder)
        for name in names
    )


def settings_text(root: Path, corpus: Path) -> str:
    """The commented `ragtui.toml` of a workspace in `root` whose documents are in `corpus`."""
    try:
        shown = Path(os.path.relpath(corpus.resolve(), root.resolve())).as_posix()
    except ValueError:
        # Another drive has no relative path.
        shown = corpus.resolve().as_posix()
    return _SETTINGS.format(corpus=json.dumps(shown, ensure_ascii=False))


def first_goldens(documents: Sequence[Document]) -> str:
    """A golden file with three questions to edit, about documents spread over the corpus."""
    step = max(1, len(documents) // FIRST_QUESTIONS)
    chosen = documents[::step][:FIRST_QUESTIONS]
    lines = []
    for number, document in enumerate(chosen, 1):
        golden = {
            "id": f"first-{number:02d}",
            "query": f"What is said about {_subject(document)}?",
            "relevantDocIds": [document.id],
            "tags": ["to-edit"],
        }
        lines.append(json.dumps(golden, ensure_ascii=False))
    return _GOLDENS.format(count=len(lines)) + "".join(line + "\n" for line in lines)


def _subject(document: Document) -> str:
    titles = (fold_space(found[1].rstrip().rstrip("#")) for found in _HEADING.finditer(document.text))
    subject = next(filter(None, titles), "")
    return subject[:80] or document.id.rsplit("/", 1)[-1].replace("-", " ").replace("_", " ")


def write_new(path: Path, text: str, force: bool = False) -> bool:
    """Write a file unless it is there, or a link that leads nowhere is; whether it was written."""
    if os.path.lexists(path) and not force:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    except OSError as error:
        raise RunFailed(f"{path.name} cannot be written: {error.strerror or error}.", "Check the folder.") from error
    return True


def ignores_built(path: Path) -> bool:
    """Whether a `.gitignore` names the folder of what can be built again."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(line.strip().strip("/") == BUILT.strip("/") for line in lines)


def copy_example(root: Path) -> list[str]:
    """Copy the bundled corpus, goldens and settings into an empty workspace; the names of what was written."""
    taken = [name for name in ("corpus", "goldens", CONFIG_NAME) if (root / name).exists()]
    if taken:
        raise InvalidInput(f"{taken[0]} is here already.", "Choose an empty folder: ragtui -w NEW init --example")
    source = _example_folder()
    try:
        for name in ("corpus", "goldens"):
            shutil.copytree(source / name, root / name, ignore=shutil.ignore_patterns("baselines", "__pycache__"))
        write_new(root / CONFIG_NAME, settings_text(root, root / "corpus"))
    except OSError as error:
        raise RunFailed(f"The example cannot be written: {error.strerror or error}.", "Check the folder.") from error
    return ["corpus", "goldens", CONFIG_NAME]


def _example_folder() -> Path:
    """Where the example is: in an installed package, or beside it in a checkout."""
    package = Path(str(importlib.resources.files("ragtui")))
    for folder in (package / "example", package.parent):
        if (folder / "corpus").is_dir() and (folder / "goldens").is_dir():
            return folder
    raise RunFailed("The example is not part of this installation.", "Install ragtui from its wheel.")
