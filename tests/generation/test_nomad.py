"""NOMAD's own files, unchanged: `mock` runs them, and the two ways of losing a conversation are told apart."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from ragtui.analysis.history import history_faults
from ragtui.analysis.modes import mode_summary
from ragtui.execution import answering
from ragtui.experiment.generation import Budget
from ragtui.experiment.plan import Plan
from ragtui.inputs.evaluation import Selection
from ragtui.lab import Lab
from ragtui.pipeline import prompt
from ragtui.providers.protocols import ChatRequest
from tests.generation.station import generating, lab_with, levels, ran

NOMAD = Path(__file__).resolve().parents[3] / "shared" / "datasets" / "nomad"
pytestmark = pytest.mark.skipif(not NOMAD.is_dir(), reason="NOMAD's files are not here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("nomad") / "ws"
    place.mkdir()
    shutil.copytree(NOMAD / "corpus", place / "corpus")
    shutil.copytree(NOMAD / "goldens", place / "goldens")
    return place


def suite(plan: Plan, *names: str) -> Plan:
    return msgspec.structs.replace(plan, evaluation=Selection(suites=names))


def remembers(request: ChatRequest) -> str:
    """Knows its corpus, and of the conversation the newest figure that it is shown."""
    said = [message.content for message in request.messages]
    if said[0].startswith("Rewrite"):
        return said[-1].rpartition("Last question: ")[2].partition("\n")[0]
    shown = "\n".join(said[1:-1])
    question = said[-1]
    if "gallon" in question or "how much water" in question:
        people = re.findall(r"(\d+) people", shown)
        return f"That makes {int(people[-1]) * 14} gallons." if people else "I do not know how many you are."
    height = re.findall(r"([\d,]+) feet", shown)
    return "Boil for 3 minutes." if height and int(height[-1].replace(",", "")) > 6500 else "Boil for 1 minute."


def by_tag(lab: Lab, plan: Plan) -> tuple[dict[str, float | None], set[str], list[str]]:
    """Correctness of the two classes, the kinds of fault, and the cases that have one."""
    run = ran(lab, suite(plan, "long_context"), fresh=True)
    found = mode_summary(run, "e2e").by_tag
    faults = history_faults(run)
    values = {tag: found[tag]["correctness"].value for tag in ("history-retention", "eviction")}
    return values, {fault.kind for fault in faults}, [fault.case for fault in faults]


def test_mock_runs_the_suites_as_they_are(folder: Path) -> None:
    run = ran(lab_with(folder), suite(generating("oracle", "e2e", "noretrieval", model="mock"), "core", "long_context"))
    assert run.status == "completed"
    assert not any(trace.error for trace in run.traces)
    oracle, e2e, nothing = (levels(run, mode)["mustIncludeRate"] for mode in ("oracle", "e2e", "noretrieval"))
    assert oracle is not None
    assert e2e is not None
    assert oracle >= e2e > 0.7
    assert nothing == 0
    assert mode_summary(run, "noretrieval").by_tag["fictional"]["mustIncludeRate"].value == 0


def test_a_sound_budget_keeps_both_ends(folder: Path) -> None:
    values, kinds, _ = by_tag(lab_with(folder, remembers), generating())
    assert values == {"history-retention": 1.0, "eviction": 1.0}
    assert not kinds


def test_a_fact_that_fitted_was_trimmed(folder: Path) -> None:
    plan = generating(budget=Budget(characters_per_token=0.8))
    values, kinds, cases = by_tag(lab_with(folder, remembers), plan)
    assert values == {"history-retention": 0.0, "eviction": 1.0}
    assert kinds == {"trimmed_though_it_fitted"}
    assert {case.partition("-fact")[0] for case in cases} >= {"longctx-early"}


def test_the_newest_turn_was_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = prompt.compose

    def keeps_the_oldest(template: object, question: str, turns: Sequence[object], parts: Sequence[str]) -> object:
        return whole(template, question, turns[:-2] if len(turns) > 62 else turns, parts)  # type: ignore[arg-type]

    monkeypatch.setattr(answering, "compose", keeps_the_oldest)
    values, kinds, cases = by_tag(lab_with(folder, remembers), generating())
    assert values == {"history-retention": 1.0, "eviction": 0.0}
    assert kinds == {"newest_turn_lost"}
    assert all(case.startswith("longctx-recent") for case in cases)
