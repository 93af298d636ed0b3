"""A retriever of one's own, over real HTTP and from the import path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ragtui
from ragtui.errors import InvalidInput, IsolationLeak, ProviderUnavailable
from ragtui.experiment.editing import plan_from
from ragtui.lab import Lab, plan_retrievers
from ragtui.settings import Profile, Workspace, open_workspace
from tests.providers.scripted_server import Reply, Request, ScriptedServer

PLAN = {
    "retrieval": {"channels": {"mine": {"kind": "http", "source": "search", "depth": 5}}, "results": 5},
    "metrics": {"measures": ["R@1", "RR"], "primary": "RR", "guards": []},
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "goldens").mkdir()
    for name in ("stove", "tent"):
        (tmp_path / "corpus" / f"{name}.md").write_text(f"# {name}\n\nAbout the {name}.\n")
    (tmp_path / "goldens" / "core.jsonl").write_text('{"id": "q", "query": "stove?", "relevantDocIds": ["stove"]}\n')
    return tmp_path


def lab_for(root: Path, url: str, revision: str = "2031-04") -> tuple[Lab, ragtui.Plan]:
    plan, _ = plan_from(PLAN)
    opened: Workspace = open_workspace(root)
    profile = Profile(kind="retriever", url=url, revision=revision, retries=0, deadline=5)
    workspace = Workspace(
        root=opened.root, corpus=opened.corpus, goldens=opened.goldens, store=opened.store, reference=None,
        state=opened.state, profiles={"search": profile},
    )  # fmt: skip
    return Lab(workspace, "allow_runs", retrievers=plan_retrievers(plan, workspace)), plan


def test_a_service_is_measured_as_a_channel(workspace: Path) -> None:
    def answer(request: Request) -> Reply:
        assert request.body == {"query": "stove?", "depth": 5}
        return Reply.json({"hits": [{"doc": "tent", "score": 2.0}, {"doc": "stove", "score": 1.0}]})

    with ScriptedServer(answer) as server:
        lab, plan = lab_for(workspace, server.url)
        run = lab.run(lab.bind(plan))

    assert run.traces[0].scores["RR"] == 0.5
    assert run.specification.sources == {"search": {"retriever": "search", "revision": "2031-04"}}
    assert server.url not in str(run.specification)


def test_a_document_of_another_collection_ends_the_run(workspace: Path) -> None:
    with ScriptedServer([Reply.json({"hits": [{"doc": "elsewhere", "score": 1.0}]})]) as server:
        lab, plan = lab_for(workspace, server.url)
        with pytest.raises(IsolationLeak, match="'elsewhere'"):
            lab.run(lab.bind(plan))


def test_an_answer_of_another_shape_is_told(workspace: Path) -> None:
    with ScriptedServer([Reply.json({"results": []})]) as server:
        lab, plan = lab_for(workspace, server.url)
        with pytest.raises(ProviderUnavailable, match="search"):
            lab.run(lab.bind(plan))


def test_a_service_without_a_revision_is_refused(workspace: Path) -> None:
    with pytest.raises(InvalidInput, match="declares no revision"):
        lab_for(workspace, "http://127.0.0.1:9", revision="")


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("nowhere", InvalidInput, "module:attribute"),
        ("no_such_module_here:retrieve", ProviderUnavailable, "cannot be loaded"),
        ("json:dumps", InvalidInput, "No identity is declared"),
        ("json:decoder", InvalidInput, "not callable"),
    ],
)
def test_a_callable_that_cannot_be_used_is_told(
    workspace: Path, source: str, error: type[Exception], message: str
) -> None:
    data = {**PLAN, "retrieval": {"channels": {"mine": {"kind": "python", "source": source}}}}
    plan, _ = plan_from(data)
    opened = open_workspace(workspace)
    with pytest.raises(error, match=message):
        Lab(opened, retrievers=plan_retrievers(plan, opened)).bind(plan)


def test_a_callable_beside_the_corpus_is_found(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "my_search.py").write_text(
        "def retrieve(query, depth):\n    return [('stove', 1.0)]\nretrieve.identity = 'v1'\n"
    )
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(sys, "path", list(sys.path))
    data = {
        **PLAN,
        "retrieval": {"channels": {"mine": {"kind": "python", "source": "my_search:retrieve"}}, "results": 5},
    }
    plan, _ = plan_from(data)
    opened = open_workspace(workspace)
    lab = Lab(opened, "allow_runs", retrievers=plan_retrievers(plan, opened))
    assert lab.run(lab.bind(plan)).traces[0].scores["RR"] == 1.0
