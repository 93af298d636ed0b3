"""What the start screen says and does: how far this folder is, and making a workspace of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec

from ragtui.errors import RagtuiError, RunFailed
from ragtui.inputs.corpus import LINES_SUFFIX, TEXT_SUFFIXES
from ragtui.inputs.goldens import suite_files
from ragtui.lab import Lab
from ragtui.settings import CONFIG_NAME, Workspace
from ragtui.tui.data.program import program

_INIT_SECONDS = 120
_ENOUGH = 2000


class Beginning(msgspec.Struct, frozen=True):
    """How far a folder is. `folders` are candidates for a corpus as (path, documents); `runs` counts both stores."""

    corpus: bool
    goldens: bool
    configured: bool
    runs: int
    folders: tuple[tuple[str, int], ...]
    fault: str = ""


def beginning(lab: Lab) -> Beginning:
    """Look at the folder; a store that cannot be read is told, not raised."""
    workspace = lab.workspace
    runs, fault = 0, ""
    for path, store in ((workspace.store, lab.store), (workspace.reference, lab.reference)):
        if path is None or store is None or not path.exists():
            continue
        try:
            runs += store.count_runs()
        except RagtuiError as error:
            fault = f"{error.message} {error.hint}"
    corpus = workspace.corpus.is_dir()
    return Beginning(
        corpus=corpus,
        goldens=bool(suite_files(workspace.goldens)),
        configured=(workspace.root / CONFIG_NAME).exists(),
        runs=runs,
        folders=() if corpus else candidates(workspace.root),
        fault=fault,
    )


def candidates(root: Path) -> tuple[tuple[str, int], ...]:
    """The folder itself and those directly inside it that hold documents, the fullest first."""
    found = []
    try:
        inside = [path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith((".", "_"))]
    except OSError:
        return ()
    for path in (root, *inside):
        count = _documents(path, deep=path != root)
        if count:
            found.append((str(path), count))
    return tuple(sorted(found, key=lambda item: -item[1]))


def _documents(folder: Path, deep: bool) -> int:
    """How many documents a folder holds; counting stops where there are certainly enough."""
    count = 0
    try:
        for path in folder.rglob("*") if deep else folder.iterdir():
            count += path.suffix.lower() in (*TEXT_SUFFIXES, LINES_SUFFIX)
            if count >= _ENOUGH:
                break
    except OSError:
        return count
    return count


def make_workspace(workspace: Workspace, arguments: tuple[str, ...]) -> str:
    """Run `ragtui init …` for this folder, what it says in the end. Raises RunFailed with its words."""
    command = [*program(workspace), "init", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_INIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailed(f"The workspace cannot be made: {error}.", "Try `ragtui init` in a shell.") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").removeprefix("ragtui: ").strip()
        raise RunFailed(words or f"`ragtui init` ended with exit code {done.returncode}.", "")
    return "The workspace is made."
