"""The commands in this process, as a person or a script would call them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ragtui.__main__ import main
from tests.workshop import make_workspace


class Told(NamedTuple):
    """The exit code, stdout and stderr of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout, which must be one JSON value and nothing else."""
        return json.loads(self.out)


Call = Callable[..., Told]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """`call(folder, "run", "hybrid")` runs a command in a workspace."""

    def called(folder: Path, *arguments: str) -> Told:
        capsys.readouterr()
        code = main(["-w", str(folder), *arguments])
        captured = capsys.readouterr()
        return Told(code, captured.out, captured.err)

    return called


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run of each of two presets; tests only read it."""
    folder = make_workspace(tmp_path_factory.mktemp("recorded") / "ws")
    for name in ("bm25", "hybrid"):
        assert main(["-w", str(folder), "run", name, "--display", "none", "--json"]) == 0
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh workspace without any run."""
    return make_workspace(tmp_path / "ws")
