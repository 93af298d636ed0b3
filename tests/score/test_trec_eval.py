"""trec_eval's own test data and outputs; skipped where the folder of public collections is absent."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ragtui.analysis.foreign import score_run
from ragtui.errors import InvalidInput
from ragtui.inputs.formats.trec import read_qrels, read_run
from ragtui.metrics.measure import parse_measure, with_relevance

DATA = Path(__file__).parents[3] / "shared" / "datasets" / "trec_eval-test"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public collections are not here")
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
ALL_TREC = (
    "map", "Rprec", "recip_rank", "ndcg", "success_1", "success_5", "success_10",
    *(f"{name}_{cutoff}" for name in ("P", "recall", "ndcg_cut", "map_cut") for cutoff in CUTOFFS),
)  # fmt: skip


def published(name: str) -> dict[str, dict[str, float]]:
    """Query (or `all`) → measure → value as printed."""
    table: dict[str, dict[str, float]] = {}
    for line in (DATA / name).read_text().splitlines():
        measure, query, value = line.split("\t", 2)
        if re.fullmatch(r"-?[0-9.]+", value):
            table.setdefault(query.strip(), {})[measure.strip()] = float(value)
    return table


def compare(found: Mapping[str, float | None], printed: Mapping[str, float], names: Mapping[str, str]) -> int:
    compared = 0
    for trec_name, ours in names.items():
        if trec_name in printed:
            value = found[ours]
            assert value is not None
            assert f"{value:.4f}" == f"{printed[trec_name]:.4f}", trec_name
            compared += 1
    return compared


@needs_data
@pytest.mark.parametrize(("output", "qrels", "run", "relevance", "complete"), [
    ("out.test.a", "qrels.test", "results.test", 1, False),
    ("out.test.a", "qrels.test.with-comments", "results.test", 1, False),
    ("out.test.aq", "qrels.test", "results.test", 1, False),
    ("out.test.aqc", "qrels.test", "results.trunc", 1, True),
    ("out.test.aql", "qrels.rel_level", "results.test", 2, False),
    ("out.test.meas_params", "qrels.test", "results.test", 1, False),
])  # fmt: skip
def test_every_measure_equals_trec_evals(output: str, qrels: str, run: str, relevance: int, complete: bool) -> None:
    printed = published(output)
    extra = ("P_3", "P_7", "recall_2000", "ndcg_cut_23", "success_2", "success_20")
    measures = {name: with_relevance(parse_measure(name), relevance) for name in (*ALL_TREC, *extra)}
    unique = list(dict.fromkeys(measures.values()))
    scored = score_run(read_qrels(DATA / qrels), read_run(DATA / run), unique, complete=complete)
    names = {name: str(measure) for name, measure in measures.items()}
    means = {name: mean.value for name, mean in scored.means(unique).items()}
    compared = compare(means, printed["all"], names)
    assert compared >= (8 if output == "out.test.meas_params" else 30)
    per_query = scored.per_query(unique)
    for query in printed.keys() - {"all"}:
        compare(per_query[query], printed[query], names)
    if not output.endswith(".a"):
        assert len(printed) >= 3


@needs_data
def test_packed_and_json_forms_score_the_same(tmp_path: Path) -> None:
    lz4: Any = pytest.importorskip("lz4.frame")
    plain = read_run(DATA / "results.test")
    packed = gzip.compress((DATA / "results.test").read_bytes())
    (tmp_path / "run.gz").write_bytes(packed)
    (tmp_path / "run.json").write_text(json.dumps(plain))
    (tmp_path / "run.lz4").write_bytes(lz4.compress(json.dumps(plain).encode()))
    for name in ("run.gz", "run.json", "run.lz4"):
        assert read_run(tmp_path / name) == plain
    qrels = read_qrels(DATA / "qrels.test")
    (tmp_path / "qrels.json").write_text(json.dumps(qrels))
    assert read_qrels(tmp_path / "qrels.json") == qrels


def test_a_missing_lz4_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.lz4").write_bytes(b"\x04\x22\x4d\x18 and more")
    monkeypatch.setitem(__import__("sys").modules, "lz4.frame", None)
    with pytest.raises(InvalidInput, match="the package lz4 is not installed"):
        read_run(tmp_path / "run.lz4")


@pytest.mark.parametrize("seed", range(5))
def test_random_runs_against_pytrec_eval(seed: int) -> None:
    """Ties, negative grades, queries with nothing to find, queries that a side lacks."""
    oracle: Any = pytest.importorskip("pytrec_eval")
    source = random.Random(seed)
    docs = [f"d{index}" for index in range(40)]
    qrels = {
        f"q{number}": {doc: source.choice([-1, 0, 0, 1, 2, 3]) for doc in source.sample(docs, source.randint(1, 20))}
        for number in range(20)
    }
    qrels["q0"] = {"d1": 0}
    run = {
        f"q{number}": {doc: source.randint(0, 9) / 4 for doc in source.sample(docs, source.randint(1, 30))}
        for number in range(5, 25)
    } | {"q0": {"d1": 1.0}}
    names = {"map", "Rprec", "recip_rank", "ndcg", "P_5", "recall_5", "ndcg_cut_5", "success_5"}
    measures = {name: parse_measure(name) for name in names}
    expected = oracle.RelevanceEvaluator(qrels, {name.rsplit("_", 1)[0] if name[-1].isdigit() else name
                                                 for name in names}).evaluate(run)  # fmt: skip
    scored = score_run(qrels, run, list(measures.values()), complete=False)
    found = scored.per_query(list(measures.values()))
    assert found.keys() == expected.keys()
    assert "q0" in found
    for query, row in found.items():
        for name, measure in measures.items():
            assert row[str(measure)] == pytest.approx(expected[query][name], abs=1e-12), (query, name)
    everything = score_run(qrels, run, list(measures.values()))
    means = scored.means(list(measures.values()))
    for name, mean in everything.means(list(measures.values())).items():
        part = means[name].value
        assert mean.value is not None
        assert part is not None
        assert mean.value == pytest.approx(part * len(found) / len(qrels))
