"""The fluent builder and binding to artifacts at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import ragtui
from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.bm25 import bm25_index
from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.recipes import Chunking
from ragtui.artifacts.vectors import embedding_set
from ragtui.errors import InvalidInput, ProviderUnavailable, RunFailed
from ragtui.experiment.plan import Channel, Fusion, Plan, Provenance
from ragtui.experiment.presets import preset
from ragtui.experiment.specification import decode, encode
from ragtui.experiment.validate import InvalidPlan
from ragtui.inputs.evaluation import Selection
from ragtui.lab import Lab
from ragtui.providers.protocols import EmbedderIdentity, Role, Vectors
from tests.workshop import make_workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("builder") / "ws")


@pytest.fixture
def lab(workspace: Path) -> Lab:
    return ragtui.open(workspace, execution="allow_runs", query_embedder=ragtui.BuiltinEmbedder())


def test_steps_share_nothing() -> None:
    base = ragtui.experiment("hybrid")
    small = base.chunking(lambda c: c.markdown(size=100))
    big = base.chunking(lambda c: c.markdown(size=900))
    assert base.to_plan() == preset("hybrid")
    assert (small.to_plan().chunking.size, big.to_plan().chunking.size) == (100, 900)


def test_the_first_channel_replaces_the_presets() -> None:
    plan = (
        ragtui.experiment("hybrid-weighted")
        .retrieval(lambda r: r.channel("only", lambda c: c.bm25().min_score(2)))
        .to_plan()
    )
    assert plan.retrieval.channels == {"only": Channel(kind="bm25", min_score=2)}
    assert plan.retrieval.fusion == Fusion()
    assert plan.retrieval.results == 10


def test_equal_plans_have_one_fingerprint_whether_numbers_are_whole_or_not(lab: Lab) -> None:
    def made(one: float) -> Plan:
        return (
            ragtui.experiment("bm25")
            .retrieval(lambda r: r.channel("bm25", lambda c: c.bm25().min_score(one)).floor("bm25", one))
            .to_plan()
        )

    def by_hand(one: float) -> Plan:
        plan = made(one)
        fusion = Fusion(rank_constant=60 * one, weights={"bm25": one})
        return replace(plan, retrieval=replace(plan.retrieval, fusion=fusion))

    for make in (made, by_hand):
        whole, fraction = lab.bind(make(1)), lab.bind(make(1.0))
        assert whole == fraction
        assert whole.spec_id == fraction.spec_id
        assert decode(encode(whole, Provenance())).specification.spec_id == whole.spec_id


def test_every_step() -> None:
    plan = (
        ragtui.experiment("mine")
        .chunking(lambda c: c.document())
        .lexical(lambda x: x.language("german").stemming(False).stop_words().bigrams("off"))
        .embedding("builtin", query_prefix="q: ", normalize=False)
        .retrieval(
            lambda r: (
                r.channel("own", lambda c: c.python("a:b").top_k(7).representation("raw"))
                .channel("far", lambda c: c.http("server"))
                .floor("own", 0.5)
                .collapse("none")
                .results(30)
            )
        )
        .context(3)
        .metrics(lambda m: m.measure("AP").precision_at(5).success_at(1, 3).map().gate("AP", "P@5"))
        .evaluate("core", "extra", tags=["t"], limit=9, seed=4)
        .to_plan()
    )
    assert plan.chunking.strategy == "document"
    assert plan.lexical.language == "german"
    assert (plan.lexical.stemming, plan.lexical.stop_words, plan.lexical.bigrams) == (False, True, "off")
    assert plan.embedding.query_prefix == "q: "
    assert plan.retrieval.channels["own"] == Channel(kind="python", source="a:b", depth=7)
    assert plan.retrieval.channels["far"] == Channel(kind="http", source="server")
    assert plan.context.top_n == 3
    assert plan.metrics.measures == ("AP", "P@5", "Success@1", "Success@3", "AP")
    assert (plan.metrics.primary, plan.metrics.guards) == ("AP", ("P@5",))
    assert plan.evaluation == Selection(suites=("core", "extra"), tags=("t",), limit=9, seed=4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda e: e.retrieval(lambda r: r.channel("a", lambda c: c)), "A channel has no kind."),
        (lambda e: e.retrieval(lambda r: r.channel("a", lambda c: c.top_k(5))), "A channel has no kind."),
        (
            lambda e: e.retrieval(lambda r: r.channel("a", lambda c: c.bm25()).channel("a", lambda c: c.vector())),
            "The channel 'a' is defined twice.",
        ),
        (lambda e: e.metrics(lambda m: m.relevance_at("5_PERFECT")), "'5_PERFECT' is no grade."),
    ],
)
def test_a_bad_step(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput) as caught:
        build(ragtui.experiment("hybrid"))
    assert caught.value.message == message


def test_faults_are_told_when_the_plan_is_made() -> None:
    experiment = ragtui.experiment("hybrid").retrieval(lambda r: r.fuse(lambda f: f.weight("semantic", 2)).results(3))
    with pytest.raises(InvalidPlan) as caught:
        experiment.to_plan()
    assert caught.value.faults == [
        "retrieval.fusion.weights.semantic: there is no channel 'semantic' (channels: bm25, vector).",
        "metrics.measures: R@5 looks at 5 results, but retrieval.results is 3.",
        "metrics.measures: R@10 looks at 10 results, but retrieval.results is 3.",
        "metrics.measures: Success@5 looks at 5 results, but retrieval.results is 3.",
        "metrics.measures: P@5 looks at 5 results, but retrieval.results is 3.",
        "metrics.measures: nDCG@10 looks at 10 results, but retrieval.results is 3.",
        "metrics.primary: nDCG@10 looks at 10 results, but retrieval.results is 3.",
        "metrics.guards: R@5 looks at 5 results, but retrieval.results is 3.",
    ]


# -- capability -------------------------------------------------------------------------------------------------------


def test_reading_needs_no_execution_and_execution_says_so(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "ws")
    reader = ragtui.open(workspace, query_embedder=ragtui.BuiltinEmbedder())
    specification = reader.bind(preset("hybrid"))
    assert specification.spec_id.startswith("sha256:")
    assert not (workspace / "runs.duckdb").exists()
    with pytest.raises(InvalidInput) as caught:
        reader.run(specification)
    assert caught.value.message == "This workspace was opened for reading."
    assert not (workspace / "runs.duckdb").exists()
    assert not (workspace / ".ragtui").exists()


def test_a_vector_channel_needs_an_embedder(workspace: Path) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        ragtui.open(workspace, execution="allow_runs").bind(preset("hybrid"))
    assert caught.value.message == "The plan has a vector channel, but no embedder was given."
    assert ragtui.open(workspace).bind(preset("bm25")).embedder is None


class Other:
    """An embedder that is not the built-in one."""

    identity = EmbedderIdentity(model="other", digest="d", dimensions=4)

    def embed(self, texts: list[str], role: Role) -> Vectors:
        raise AssertionError("never asked")


def test_another_embedder_than_the_plans_is_refused(workspace: Path, lab: Lab) -> None:
    other = ragtui.open(workspace, execution="allow_runs", query_embedder=Other())  # type: ignore[arg-type]
    with pytest.raises(ProviderUnavailable) as caught:
        other.bind(preset("hybrid"))
    assert "the plan wants the built-in embedder, the one given is other (4 dimensions, d)" in caught.value.message
    specification = lab.bind(preset("hybrid"))
    with pytest.raises(ProviderUnavailable) as caught:
        other.run(specification)


def test_a_callable_needs_an_identity(workspace: Path) -> None:
    plan = ragtui.experiment("bm25").retrieval(lambda r: r.channel("own", lambda c: c.python("mine"))).to_plan()
    lab = ragtui.open(workspace, execution="allow_runs", retrievers={"mine": lambda query, depth: []})
    with pytest.raises(InvalidInput) as caught:
        lab.bind(plan)
    assert caught.value.message == "No identity is declared for 'mine'."
    assert 'mine.identity = "v1"' in caught.value.hint
    with pytest.raises(InvalidInput, match="No identity is declared for 'mine'"):
        ragtui.open(workspace).bind(plan)


def test_a_representation_is_accepted_in_a_plan_and_refused_at_execution(lab: Lab) -> None:
    plan = (
        ragtui.experiment("bm25")
        .retrieval(lambda r: r.channel("bm25", lambda c: c.bm25().representation("summary")))
        .to_plan()
    )
    specification = lab.bind(plan)
    with pytest.raises(RunFailed) as caught:
        lab.run(specification)
    assert caught.value.message == "Channel 'bm25' reads the representation 'summary', which is not materialised."


def test_changed_inputs_are_refused(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    specification = ragtui.open(folder).bind(preset("bm25"))
    (folder / "corpus" / "anchor-notes.md").write_text("# Changed\n\nall of it")
    with pytest.raises(RunFailed) as caught:
        ragtui.open(folder, execution="allow_runs").run(specification)
    assert caught.value.message == "The corpus is not the one that the specification names."


# -- artifacts at hand ------------------------------------------------------------------------------------------------


def test_artifacts_at_hand_give_the_same_specification(lab: Lab, tmp_path: Path) -> None:
    plan, cache = preset("hybrid"), ArtifactCache(tmp_path)
    chunks = chunk_set(lab.snapshot, plan.chunking, cache)
    index = bm25_index(chunks, resolve(plan.lexical, lab.snapshot), cache)
    vectors = embedding_set(chunks, ragtui.BuiltinEmbedder(), cache)
    evaluation = lab.evaluation(Selection())
    bound = lab.binding(plan).corpus(lab.snapshot).chunks(chunks).bm25(index).embeddings(vectors).evaluation(evaluation)
    assert bound.to_specification() == lab.bind(plan)


def test_mixed_lineage_is_refused_all_at_once(lab: Lab, tmp_path: Path) -> None:
    plan, cache = preset("hybrid"), ArtifactCache(tmp_path)
    other = chunk_set(lab.snapshot, Chunking(size=100), cache)
    index = bm25_index(other, resolve(plan.lexical, lab.snapshot), cache)
    vectors = embedding_set(other, ragtui.BuiltinEmbedder(), cache)
    evaluation = lab.evaluation(Selection())
    binding = lab.binding(plan).corpus(lab.snapshot).evaluation(evaluation)
    with pytest.raises(InvalidInput) as caught:
        binding.chunks(other).bm25(index).embeddings(vectors).to_specification()
    assert caught.value.message.startswith("Artifacts of different lineage:\n")
    for kind in ("chunks", "bm25", "embeddings"):
        assert f"\n  {kind}: " in caught.value.message


def test_missing_parts_are_told_together(lab: Lab) -> None:
    with pytest.raises(InvalidInput) as caught:
        lab.binding(preset("bm25")).to_specification()
    assert caught.value.message == "Nothing is bound as corpus and evaluation."
    assert caught.value.hint == "Call .corpus(…).evaluation(…)."
