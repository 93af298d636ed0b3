"""Where a workspace keeps its capability tables: the newest one in its state, a promoted one beside the goldens."""

from __future__ import annotations

from pathlib import Path

from ragtui.analysis.matrix import Matrix, write_matrix
from ragtui.errors import RunFailed
from ragtui.settings import Workspace

_NAME = "matrix.json"


def latest_matrix(workspace: Workspace) -> Path:
    """The file of the newest table."""
    return workspace.state / _NAME


def promoted_matrix(workspace: Workspace) -> Path:
    """The file of the table that was kept."""
    return workspace.goldens / "baselines" / _NAME


def matrices_folder(workspace: Workspace) -> Path:
    """Where matrices under way tell their rows."""
    return workspace.state / "matrix"


def promote_matrix(workspace: Workspace, found: Matrix) -> Path:
    """Keep a table for look-ups; gives its file. RunFailed where a row has errors."""
    if any(row.error or row.errors for row in found.rows):
        raise RunFailed(
            "A row has errors; the table was not promoted.", "Repeat them: ragtui generate --retry-errors RUN"
        )
    path = promoted_matrix(workspace)
    write_matrix(path, found)
    return path
