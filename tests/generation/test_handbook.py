"""The bundled handbook in `mock`: with the right documents every pattern is met, without any none is."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from ragtui.analysis.modes import mode_summary
from ragtui.analysis.recorded import RecordedRun
from ragtui.inputs.evaluation import Selection
from tests.generation.station import generating, lab_with, levels, ran
from tests.workshop import ROOT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    place = tmp_path_factory.mktemp("handbook") / "ws"
    place.mkdir()
    shutil.copytree(ROOT / "corpus", place / "corpus")
    shutil.copytree(ROOT / "goldens", place / "goldens")
    plan = generating("oracle", "e2e", "noretrieval", model="mock")
    suites = Selection(suites=("core", "graded", "long_context"))
    return ran(lab_with(place), msgspec.structs.replace(plan, evaluation=suites))


def test_the_right_documents_hold_every_answer(run: RecordedRun) -> None:
    wrong = [
        trace.case
        for case, trace in zip(run.cases, run.traces, strict=True)
        if "@oracle#" in case.id and not case.turns and not case.expect_refusal and trace.scores["mustIncludeRate"] == 0
    ]
    assert wrong == []


def test_what_is_found_holds_less_and_nothing_holds_none(run: RecordedRun) -> None:
    oracle, e2e, nothing = (levels(run, mode)["mustIncludeRate"] for mode in ("oracle", "e2e", "noretrieval"))
    assert oracle is not None
    assert e2e is not None
    assert oracle >= e2e > 0.4
    assert nothing == 0
    assert mode_summary(run, "noretrieval").by_tag["fictional"]["mustIncludeRate"].value == 0


def test_nothing_fails(run: RecordedRun) -> None:
    assert run.status == "completed"
    assert not any(trace.error for trace in run.traces)
