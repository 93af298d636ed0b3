"""Every command of the tutorial runs, in a workspace of its own, with the exit code that it says."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragtui.__main__ import main
from ragtui.cli.help import TOPICS, topic_text
from ragtui.experiment.editing import read_plan
from ragtui.experiment.plan import Plan
from ragtui.inputs.goldens import Golden
from ragtui.settings import Profile
from tests.providers.scripted_server import ScriptedServer, embedding_service

_BLOCK = re.compile(r"^```(\S+)[ ]*(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"#\s*exit (\d+)\s*$")


def steps(topic: str) -> Iterator[tuple[str, str, str]]:
    """(`file`, path, text) for a file to write, (`run`, command, expected exit code) for a command."""
    for language, path, text in _BLOCK.findall(topic_text(topic)):
        if path:
            yield "file", path, text
        elif language == "console":
            for line in text.splitlines():
                assert line.startswith("$ ragtui"), line
                code = _EXIT.search(line)
                yield "run", _EXIT.sub("", line.removeprefix("$ ")).strip(), code.group(1) if code else "0"


@contextlib.contextmanager
def server_for(topic: str) -> Iterator[str]:
    """What a topic's server address has to be replaced by; only profiles need one."""
    if topic != "profiles":
        yield ""
        return
    with ScriptedServer(embedding_service("nomic-embed-text", dimensions=32)) as server:
        yield server.url


@pytest.mark.parametrize("topic", TOPICS)
def test_every_command_runs(
    topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if topic != "start":
        assert main(["-w", str(tmp_path), "init", "--example"]) == 0
    ran = 0
    with server_for(topic) as url:
        for kind, what, text in steps(topic):
            if kind == "file":
                (tmp_path / what).write_text(text.replace("http://127.0.0.1:11434", url or "none"), "utf-8")
                continue
            capsys.readouterr()
            code = main(shlex.split(what)[1:])
            out, err = capsys.readouterr()
            assert code == int(text), f"{what}\n{out[-500:]}\n{err[-2000:]}"
            assert out.strip() or "--report" in what or "-o " in what, what
            ran += 1
    assert ran >= 3


def leaves(struct: type[msgspec.Struct], path: str = "") -> Iterator[str]:
    """The last name of every field of a recipe, and of the structs inside it."""
    for field in msgspec.structs.fields(struct):
        inner: list[Any] = [option for option in (field.type, *getattr(field.type, "__args__", ()))
                            if isinstance(option, type) and issubclass(option, msgspec.Struct)]  # fmt: skip
        if inner:
            yield from leaves(inner[0], f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}"


def test_the_python_of_plans_makes_a_plan(tmp_path: Path) -> None:
    blocks = [text for language, path, text in _BLOCK.findall(topic_text("plans")) if language == "python" and not path]
    (tmp_path / "p.py").write_text(blocks[0])
    plan, provenance = read_plan(tmp_path / "p.py")
    assert plan.generation is not None
    assert provenance.name == "two modes"


def test_plans_names_every_field() -> None:
    text = topic_text("plans")
    for name in leaves(Plan):
        if name != "schema":
            assert re.search(rf"[`.]{re.escape(name.rsplit('.', 1)[-1])}`", text), name


def test_goldens_and_profiles_name_every_field() -> None:
    for field in msgspec.structs.fields(Golden):
        assert f"`{field.encode_name}`" in topic_text("goldens")
    for field in msgspec.structs.fields(Profile):
        assert f"`{field.name}`" in topic_text("profiles")


def test_topics_are_listed_and_a_near_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == list(TOPICS)
    assert main(["help", "golden"]) == 2
    assert "Did you mean 'goldens'?" in capsys.readouterr().err
