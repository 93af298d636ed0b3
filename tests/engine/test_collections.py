"""Public collections through the whole product, where they are at hand; every number here is one that a user sees."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ragtui.analysis.summary import summarise_cases
from ragtui.artifacts.cache import ArtifactCache
from ragtui.engine import Attempt, Dependencies, run_experiment
from ragtui.errors import InvalidFiles
from ragtui.events import CaseFinished, RunEvent, RunStarted
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.experiment.specification import bind
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationSet, Selection
from ragtui.lab import Lab, open_lab
from ragtui.metrics.cases import Hits as JudgedHits
from ragtui.metrics.cases import Judgment, score_cases
from ragtui.metrics.measure import parse_measure
from ragtui.providers.builtin import BuiltinEmbedder
from tests.benchmarks.public_collections import datasets_folder, scifact, xquad

FOLDER = datasets_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="the public collections are not here")

DISTRACTORS = (
    "distractor-python-tutorial", "distractor-mdn-javascript-guide", "distractor-mdn-css-flexbox",
    "distractor-gutenberg-walden", "distractor-gutenberg-sherlock-holmes", "distractor-gutenberg-pride-and-prejudice",
)  # fmt: skip


@pytest.fixture(scope="module")
def collections() -> Path:
    assert FOLDER is not None
    return FOLDER


@pytest.fixture(scope="module")
def nomad(collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The NOMAD files as they are, opened as a workspace."""
    folder = tmp_path_factory.mktemp("nomad")
    for part in ("corpus", "goldens"):
        shutil.copytree(collections / "nomad" / part, folder / part)
    return open_lab(folder, execution="allow_runs", query_embedder=BuiltinEmbedder())


def test_nomad_hybrid(nomad: Lab) -> None:
    run = nomad.run(nomad.bind(preset("hybrid")))
    assert run.status == "completed"
    assert len(run.cases) == len(run.traces) == 99
    overall = summarise_cases(run.measures, run.cases, run.trace_of).overall
    assert overall["R@5"].n == 94
    assert (overall["R@5"].value or 0) >= 0.975
    assert (overall["RR"].value or 0) >= 0.96
    assert overall["nonEmptyRateOnRefusal"].n == 5


def test_nomad_recorded_aggregates_are_recomputed(nomad: Lab, collections: Path) -> None:
    """Its own recorded rankings, scored here, give its own recorded document-level values."""
    recorded = json.loads((collections / "nomad" / "baseline-metrics.json").read_text())
    rankings = {case["id"]: case["retrievedDocIds"] for case in recorded["cases"]}
    cases = nomad.evaluation(Selection()).cases
    assert {case.id for case in cases} == set(rankings)
    documents = {doc: place for place, doc in enumerate(sorted({d for docs in rankings.values() for d in docs}))}
    for case in cases:
        for doc in case.grades:
            documents.setdefault(doc, len(documents))
    names = {
        **{f"recall@{k}": f"R@{k}" for k in (1, 3, 5, 10)},
        **{f"hitRate@{k}": f"Success@{k}" for k in (1, 3, 5, 10)},
        **{f"ndcg@{k}": f"nDCG@{k}" for k in (1, 3, 5, 10)},
        "mrr": "RR",
        "emptyRateOnAnswerable": "emptyRateOnAnswerable",
        "nonEmptyRateOnRefusal": "nonEmptyRateOnRefusal",
    }
    rows = [np.array([documents[doc] for doc in rankings[case.id]], np.int64) for case in cases]
    hits = [JudgedHits(row, np.zeros_like(row), np.ones_like(row)) for row in rows]
    judgments = [
        Judgment({documents[d]: g for d, g in case.grades.items()}, [], answerable=not case.expect_refusal)
        for case in cases
    ]
    measures = [parse_measure(name) for name in names.values()]
    scores = score_cases(measures, hits, judgments)
    for column, theirs in enumerate(names):
        values = scores[:, column]
        mean = float(values[values == values].mean())
        assert mean == pytest.approx(recorded["metrics"][theirs], abs=1e-12), theirs


def test_nomad_off_topic_is_refused_naming_its_documents(nomad: Lab) -> None:
    with pytest.raises(InvalidFiles) as caught:
        nomad.evaluation(Selection(suites=("off_topic",)))
    for name in DISTRACTORS:
        assert f"names the document '{name}', which is not in the corpus." in caught.value.message
    assert len(caught.value.problems) == 7
    assert all(problem.file == "off_topic.jsonl" and problem.line > 0 for problem in caught.value.problems)


class _Nowhere:
    """Keeps no event; these runs are only looked at."""

    def write(self, events: object) -> None:
        """Drop them."""


def measured(corpus: CorpusSnapshot, evaluation: EvaluationSet, folder: Path, settings: list[str]) -> dict[str, float]:
    """Means of a bm25 run over an evaluation set at hand."""
    plan = edit(preset("bm25"), settings)
    specification = bind(plan, corpus, evaluation)
    needed = Dependencies(corpus=corpus, evaluation=evaluation, cache=ArtifactCache(folder), journal=_Nowhere())

    async def drain() -> list[RunEvent]:
        return [event async for event in run_experiment(specification, needed, Attempt(run_id="r"))]

    events = asyncio.run(drain())
    assert isinstance(events[0], RunStarted)
    traces = {event.trace.case: event.trace for event in events if isinstance(event, CaseFinished)}
    overall = summarise_cases(events[0].measures, evaluation.cases, traces).overall
    assert overall["R@1"].n == len(evaluation.cases)
    return {name: estimate.value or 0.0 for name, estimate in overall.items()}


def test_scifact_bm25_over_whole_documents(collections: Path, tmp_path: Path) -> None:
    corpus, evaluation = scifact(collections / "scifact")
    assert (len(corpus.documents), len(evaluation.cases)) == (5183, 300)
    found = measured(
        corpus, evaluation, tmp_path, ["chunking.strategy=document", 'metrics.measures=["R@1", "nDCG@10", "R@100"]']
    )
    assert found["nDCG@10"] >= 0.68
    assert found["R@100"] >= 0.92


def test_xquad_chinese_bm25(collections: Path, tmp_path: Path) -> None:
    corpus, evaluation = xquad(collections / "xquad", "zh")
    assert (len(corpus.documents), len(evaluation.cases)) == (240, 1190)
    assert measured(corpus, evaluation, tmp_path, [])["R@5"] >= 0.95
