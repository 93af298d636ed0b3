"""One plan, four ways to write it; every field of it editable; everything that is wrong with it told at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragtui
from ragtui.analysis.gates import gating_measures
from ragtui.analysis.summary import decisive_measure
from ragtui.artifacts.bm25 import text_analyzer
from ragtui.artifacts.recipes import Lexical, canonical
from ragtui.cli.outcomes import parse_floors
from ragtui.errors import InvalidInput
from ragtui.experiment.editing import edit, plan_from, read_plan
from ragtui.experiment.plan import Channel, Floor, Plan, Provenance
from ragtui.experiment.presets import PRESETS, preset
from ragtui.experiment.specification import bind, decode, differences, encode
from ragtui.experiment.validate import (
    LANGUAGES,
    WITHOUT_STOP_WORDS,
    InvalidPlan,
    check_plan,
    measure_names,
    measures_of,
)
from ragtui.ids import content_id
from ragtui.inputs.corpus import document, snapshot
from ragtui.inputs.evaluation import evaluation_set, freeze
from ragtui.inputs.goldens import Golden, PlacedGolden
from ragtui.providers.protocols import EmbedderIdentity

TOML = """
preset = "hybrid-weighted"

[chunking]
strategy = "markdown"
size = 800
overlap = 80

[retrieval]
collapse = "document"
results = 10
[retrieval.channels.lexical]
kind = "bm25"
depth = 50
[retrieval.channels.semantic]
kind = "vector"
depth = 50
[retrieval.fusion]
method = "rrf"
rank_constant = 60
weights = { semantic = 2 }

[metrics]
relevance = 2
measures = ["R@1", "R@5", "R@10", "RR", "nDCG@10"]

[provenance]
name = "hybrid-weighted"
note = "why I try this"
tags = ["fusion"]
fragments = ["…"]
"""

PYTHON = """
import ragtui

plan = (ragtui.experiment("hybrid-weighted")
        .chunking(lambda c: c.markdown(size=800, overlap=80))
        .retrieval(lambda r: r
            .channel("lexical", lambda c: c.bm25().top_k(50))
            .channel("semantic", lambda c: c.vector().top_k(50))
            .fuse(lambda f: f.rrf().rank_constant(60).weight("semantic", 2))
            .collapse("document").results(10))
        .metrics(lambda m: m.relevance_at("2_SUBSTANTIAL").recall_at(1, 5, 10).mrr().ndcg_at(10))
        .provenance(note="why I try this", tags=["fusion"], fragments=["…"]))
"""

SETTINGS = ["chunking.overlap=80", 'metrics.measures=["R@1", "R@5", "R@10", "RR", "nDCG@10"]']
IDENTITY = EmbedderIdentity(model="wordllama", digest="sha256:1", dimensions=256)
CORPUS = snapshot([document("a", "# A\n\nAlpha."), document("b", "Beta.")])
EVALUATION = evaluation_set(
    freeze([PlacedGolden(Golden(id="g", query="Alpha?", relevant_doc_ids=("a",)), "core", "core.jsonl", 1)], CORPUS)[0]
)


def test_every_way_to_write_a_plan_gives_one_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(TOML)
    (tmp_path / "plan.py").write_text(PYTHON)
    from_toml, toml_provenance = read_plan(tmp_path / "plan.toml")
    from_python, python_provenance = read_plan(tmp_path / "plan.py")
    (tmp_path / "plan.json").write_text(json.dumps(canonical(from_toml) | {"provenance": canonical(toml_provenance)}))
    from_json, json_provenance = read_plan(tmp_path / "plan.json")
    edited = edit(preset("hybrid-weighted"), SETTINGS)
    assert from_toml == from_python == from_json == edited
    assert toml_provenance == python_provenance == json_provenance
    assert python_provenance.note == "why I try this"
    specifications = [bind(plan, CORPUS, EVALUATION, IDENTITY) for plan in (from_toml, from_python, from_json, edited)]
    assert len({specification.spec_id for specification in specifications}) == 1
    # A saved specification is a plan file too.
    (tmp_path / "saved.json").write_bytes(encode(specifications[0], toml_provenance))
    again, provenance = read_plan(tmp_path / "saved.json")
    assert bind(again, CORPUS, EVALUATION, IDENTITY).spec_id == specifications[0].spec_id
    assert provenance == toml_provenance


def test_provenance_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(TOML)
    (tmp_path / "two.toml").write_text(TOML[: TOML.index("[provenance]")])
    one, two = (read_plan(tmp_path / name)[0] for name in ("one.toml", "two.toml"))
    assert bind(one, CORPUS, EVALUATION, IDENTITY).spec_id == bind(two, CORPUS, EVALUATION, IDENTITY).spec_id


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


FULL = edit(
    preset("hybrid"),
    ['retrieval.floor={"score": "fused", "minimum": 0.01}', "retrieval.fusion.weights.vector=2", "evaluation.limit=5"],
)
OTHER: dict[str, str] = {
    "chunking.strategy": "document", "lexical.bigrams": "on", "lexical.language": "french", "embedding.model": "mine",
    "retrieval.collapse": "document", "retrieval.floor.score": "bm25", "metrics.primary": "RR",
    "embedding.dimensions": "64", "retrieval.channels.bm25.min_score": "1.5",
    "retrieval.channels.vector.min_score": "0.1",
    "retrieval.channels.bm25.representation": "summary", "retrieval.channels.vector.representation": "questions",
    "retrieval.channels.bm25.kind": "vector", "retrieval.channels.vector.kind": "bm25", "chunking.overlap": "7",
    "retrieval.channels.bm25.source": '"own"', "retrieval.channels.vector.source": '"own"', "generation": "skip",
    "retrieval.fusion.method": "skip", "schema": "skip",
}  # fmt: skip
EDITABLE = [(path, value) for path, value in leaves(canonical(FULL)) if OTHER.get(path) != "skip"]


@pytest.mark.parametrize(("path", "value"), EDITABLE, ids=[path for path, _ in EDITABLE])
def test_set_edits_any_field_and_only_that(path: str, value: Any) -> None:
    if path in OTHER:
        raw = OTHER[path]
    elif isinstance(value, bool):
        raw = json.dumps(not value)
    elif isinstance(value, (int, float)):
        raw = str(value + 1)
    elif isinstance(value, str):
        raw = value + "x"
    else:
        raw = json.dumps([*value, "R@2"] if value else ["x"])
    edited = edit(FULL, [f"{path}={raw}"])
    changed = differences(canonical(FULL), canonical(edited))
    assert [name for name, _, _ in changed] == [path]
    back = edit(edited, [f"{path}={json.dumps(value)}"])
    assert back == FULL
    assert content_id(canonical(back)) == content_id(canonical(FULL))


def test_set_in_order_and_with_spaces() -> None:
    plan = edit(
        preset("hybrid"),
        ["chunking.size=400", " chunking.size = 500 ", "retrieval.floor.score=bm25", "retrieval.floor.minimum=2"],
    )
    assert plan.chunking.size == 500
    assert plan.retrieval.floor == Floor(score="bm25", minimum=2.0)
    assert edit(plan, ["retrieval.floor=null"]).retrieval.floor is None
    added = edit(plan, ["retrieval.channels.own.kind=python", "retrieval.channels.own.source=a:b"])
    assert added.retrieval.channels["own"] == Channel(kind="python", source="a:b")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("chunking.size", "--set 'chunking.size' is not of the form path=value."),
        ("=4", "--set '=4' is not of the form path=value."),
        ("chunking.sise=4", "--set: unknown field chunking.sise (did you mean chunking.size?)."),
        ("chunkng.size=4", "--set: unknown field chunkng (did you mean chunking?)."),
        ("chunking.size.more=4", "--set chunking.size.more: 'size' holds a value, not fields."),
        ("chunking.size=big", "--set: Expected `int`, got `str` at `chunking.size`."),
        ("chunking.strategy=lines", "--set: Invalid enum value 'lines' at `chunking.strategy`."),
        (
            "retrieval.channels.bm25.deph=4",
            "--set: unknown field retrieval.channels.bm25.deph (did you mean retrieval.channels.bm25.depth?).",
        ),
    ],
)  # fmt: skip
def test_a_bad_setting(setting: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        edit(preset("hybrid"), [setting])
    assert caught.value.message == message


def test_wrong_types_are_told_all_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        plan_from(
            {
                "preset": "hybrid",
                "chunking": {"size": "big", "headings": 3},
                "lexical": {"bigrams": "maybe"},
                "extra": 1,
            },
            "plan.toml",
        )
    for part in ("unknown field extra", "`chunking.size`", "`chunking.headings`", "`lexical.bigrams`"):
        assert part in caught.value.message


def test_all_faults_at_once() -> None:
    plan = edit(
        preset("hybrid-weighted"),
        [
            "chunking.size=10", "chunking.overlap=900", "lexical.language=inglish", "embedding.dimensions=0",
            "context.top_n=-1",
            "evaluation.suites=[]", "evaluation.limit=0", "retrieval.channels.lexical.depth=0",
            "retrieval.channels.semantic.min_score=NaN", "retrieval.channels.own.kind=python",
            "retrieval.channels.lexical.source=x",
            "retrieval.channels.fused.kind=bm25", "retrieval.fusion.weights.dense=2",
            "retrieval.fusion.weights.semantic=-1",
            "retrieval.fusion.rank_constant=-3", "retrieval.floor.score=rrf", "retrieval.floor.minimum=Infinity",
            'metrics.measures=["R@20", "nDCG@10", "Recal@5", "P@100"]', "metrics.primary=foo",
        ],
    )  # fmt: skip
    with pytest.raises(InvalidPlan) as caught:
        check_plan(plan)
    assert [fault.split(": ")[0] for fault in caught.value.faults] == [
        "chunking.size", "chunking.overlap", "lexical.language", "embedding.dimensions", "context.top_n",
        "evaluation.suites", "evaluation.limit", "retrieval.channels.lexical.depth",
        "retrieval.channels.lexical.source",
        "retrieval.channels.semantic.min_score", "retrieval.channels.own.source", "retrieval.channels.fused",
        "retrieval.fusion.weights.semantic", "retrieval.fusion.weights.dense", "retrieval.fusion.rank_constant",
        "retrieval.floor.score", "retrieval.floor.minimum", "metrics.measures", "metrics.measures", "metrics.measures",
        "metrics.primary",
    ]  # fmt: skip
    text = caught.value.message
    assert text.startswith("The plan has 21 faults:\n")
    assert (
        "retrieval.fusion.weights.dense: there is no channel 'dense' (channels: lexical, semantic, own, fused)." in text
    )
    assert "metrics.measures: R@20 looks at 20 results, but retrieval.results is 10." in text
    assert "lexical.language: 'inglish' has no stemmer. Did you mean 'english'?" in text
    assert "retrieval.floor.score: 'rrf' is no score here (scores: fused, lexical, semantic, own, fused)." in text
    assert caught.value.as_dict()["faults"] == caught.value.faults


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_a_stemmer_and_stop_words_or_a_plan_fault(language: str) -> None:
    text_analyzer(Lexical(language=language, bigrams="off"))
    plan = edit(preset("bm25"), [f"lexical.language={language}", "lexical.stop_words=true"])
    if language in WITHOUT_STOP_WORDS:
        with pytest.raises(InvalidPlan, match=f"no list of stop words for '{language}'"):
            check_plan(plan)
        with pytest.raises(ValueError, match="stop word list"):
            text_analyzer(Lexical(language=language, stop_words=True, bigrams="off"))
    else:
        check_plan(plan)
        text_analyzer(Lexical(language=language, stop_words=True, bigrams="off"))


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (["retrieval.channels={}"], "retrieval.channels: there is no channel."),
        (
            ["retrieval.fusion.weights.bm25=0", "retrieval.fusion.weights.vector=0"],
            "retrieval.fusion.weights: no channel has a weight above 0.",
        ),
        (["retrieval.results=0", "metrics.measures=[\"RR\"]"], "retrieval.results: 0 is below 1."),
        (
            ["retrieval.results=5", 'metrics.measures=["R@5"]'],
            "metrics.primary: nDCG@10 looks at 10 results, but retrieval.results is 5.",
        ),
        (
            ["retrieval.results=5", 'metrics.measures=["R@5"]', "metrics.primary=R@5", 'metrics.guards=["R@10"]'],
            "metrics.guards: R@10 looks at 10 results, but retrieval.results is 5.",
        ),
        (["metrics.relevance=4"], "metrics.relevance: 4 is not a grade from 1 to 3."),
        (["metrics.measures=[]"], "metrics.measures: names no measure."),
        (["schema=2"], "schema: 2 is not known to this version, which reads schema 1."),
    ],
)  # fmt: skip
def test_a_fault(settings: list[str], fault: str) -> None:
    with pytest.raises(InvalidPlan) as caught:
        check_plan(edit(preset("hybrid"), settings))
    assert fault in caught.value.faults


def test_every_language_has_a_stemmer() -> None:
    from ragtui.artifacts.bm25 import text_analyzer
    from ragtui.artifacts.recipes import Lexical

    for language in LANGUAGES:
        assert text_analyzer(Lexical(language=language, bigrams="off")).analyze("x") == ["x"]


def test_measures_that_say_their_relevance_keep_it() -> None:
    settings = ['metrics.measures=["R@5", "R@5(rel=1)"]', "metrics.primary=R@5(rel=1)"]
    plan = edit(preset("hybrid-weighted"), settings)
    assert list(map(str, measures_of(plan)))[:2] == ["R@5(rel=2)", "R@5"]
    assert [str(measure) for measure in gating_measures(plan)][:2] == ["R@5", "R@5(rel=2)"]
    assert decisive_measure(measure_names(plan), plan.metrics.primary) == "R@5"
    assert parse_floors(["R@5(rel=1)=0.5", "R@5(rel=2)=0.6"], plan) == {"R@5": 0.5, "R@5(rel=2)": 0.6}
    assert parse_floors(["R@5=0.5"], preset("hybrid-weighted")) == {"R@5(rel=2)": 0.5}
    with pytest.raises(InvalidInput, match=r"the plan does not report R@5\(rel=1\)"):
        parse_floors(["R@5(rel=1)=0.5"], preset("hybrid-weighted"))


def test_measures_take_the_plans_relevance() -> None:
    plan = edit(preset("hybrid-weighted"), ['metrics.measures=["R@5", "R@5(rel=3)", "recall@5", "nDCG@10"]'])
    assert list(map(str, measures_of(plan))) == [
        "R@5(rel=2)", "R@5(rel=3)", "nDCG@10", "emptyRateOnAnswerable", "nonEmptyRateOnRefusal",
    ]  # fmt: skip


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.toml", None, "{path} cannot be read: No such file or directory."),
        ("gone.py", None, "{path} cannot be read: no such file."),
        ("bad.toml", 'preset = "hybrid"\nsize = =', "{path}:2: is not TOML: Invalid value (at line 2, column 8)."),
        ("bad.json", '{"preset": "hybrid",\n]', "{path}:2: is not JSON: "),
        ("list.json", "[]", "{path} does not hold an object."),
        ("latin.toml", b'preset = "\xe9"', "{path} is not UTF-8."),
        ("none.py", "x = 1", "{path} defines no `plan`."),
        ("raise.py", "1 / 0", "{path} raised ZeroDivisionError: division by zero."),
        ("said.py", "raise ValueError('It ends.')", "{path} raised ValueError: It ends."),
        ("exit.py", "import sys\nsys.exit(0)", "{path} raised SystemExit: 0."),
        ("typo.toml", 'preset = "hybird"', "There is no preset 'hybird'. Did you mean 'hybrid'?"),
        ("number.toml", "preset = 3", "{path}: preset is not a name."),
        ("empty.toml", "", "{path}: Object missing required field `retrieval`."),
        (
            "stray.toml",
            'preset = "hybrid"\n[provenance]\nnot = "x"',
            "{path}: unknown field provenance.not (did you mean provenance.note?).",
        ),
    ],
)
def test_a_bad_plan_file(tmp_path: Path, name: str, content: str | bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput) as caught:
        read_plan(path)
    assert caught.value.message.startswith(message.format(path=path))
    assert caught.value.hint


def test_what_a_plan_file_prints_is_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.py").write_text(
        "import ragtui\nprint('hello')\n"
        "plan = ragtui.experiment('x').retrieval(lambda r: r.channel('bm25', lambda c: c.bm25().top_k(9))).to_plan()\n"
    )
    assert read_plan(tmp_path / "plan.py")[0].retrieval.channels["bm25"].depth == 9
    assert capsys.readouterr() == ("", "hello\n")


def test_bom_and_crlf_in_a_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_bytes(b'\xef\xbb\xbfpreset = "hybrid"\r\n[chunking]\r\nsize = 400\r\n')
    assert read_plan(tmp_path / "plan.toml")[0].chunking.size == 400


# -- fingerprints -----------------------------------------------------------------------------------------------------

# The ids below must never change: a stored run, a baseline and a committed record name them. They are taken over
# invented artifact and corpus ids, so that a new version of an index or a splitter leaves them alone.
GOLDEN = {
    "bm25": "sha256:d9b15a02cfeb2b2b76541d3f2d7167646d58b14b6cc35a7ea509b9c336361e5f",
    "vector": "sha256:93c282ade8e300408b2ba2f97cbf38736f37dd080a3a8361dfe794e253c0d373",
    "hybrid": "sha256:3b145c29c73e5b5c93c39a9425a36e9a059abe1c367e7bbd4a287bdd23e52d84",
    "hybrid-weighted": "sha256:d49efea879d981f6fb100e110bee335835cc03563f2c2c92dc7f2169906896c8",
}


def pinned(plan: Plan) -> str:
    """The fingerprint over fixed content ids instead of those that library versions enter."""
    import msgspec

    specification = bind(plan, CORPUS, EVALUATION, IDENTITY)
    fixed = {
        name: None if getattr(specification, name) is None else f"sha256:{name}"
        for name in ("corpus_id", "chunk_set_id", "bm25_id", "embedding_set_id", "evaluation_id")
    }
    return msgspec.structs.replace(specification, **fixed).spec_id


@pytest.mark.parametrize("name", PRESETS)
def test_the_fingerprint_of_a_preset_is_pinned(name: str) -> None:
    assert pinned(preset(name)) == GOLDEN[name]


def test_the_evaluation_id_is_pinned() -> None:
    assert EVALUATION.evaluation_id == "sha256:06ce88b9f7b0b009c1edec45eabedb6b3e0a7f09e874bf3d65d7df15aaa5df02"


def test_each_field_of_a_plan_changes_the_fingerprint() -> None:
    base = pinned(FULL)
    seen = {base}
    for path, value in EDITABLE:
        if isinstance(value, bool):
            raw = json.dumps(not value)
        elif isinstance(value, (int, float)):
            raw = str(value + 1)
        else:
            continue
        seen.add(pinned(edit(FULL, [f"{path}={raw}"])))
    assert len(seen) == 1 + sum(isinstance(value, (bool, int, float)) for _, value in EDITABLE)


@given(st.permutations(list(canonical(FULL).items())))
def test_the_order_of_fields_does_not_matter(items: list[tuple[str, Any]]) -> None:
    assert plan_from(dict(items))[0] == FULL


def test_channels_in_another_order_are_the_same_specification() -> None:
    swapped = edit(preset("hybrid"), ['retrieval.channels={"vector": {"kind": "vector"}, "bm25": {"kind": "bm25"}}'])
    assert pinned(swapped) == pinned(preset("hybrid"))


def test_a_saved_specification_reads_back() -> None:
    specification = bind(preset("hybrid"), CORPUS, EVALUATION, IDENTITY)
    data = encode(specification, Provenance(name="n"))
    saved = decode(data)
    assert saved.specification == specification
    assert saved.provenance.name == "n"
    with pytest.raises(InvalidInput, match=r"the fingerprint sha256:.* is not that of the content"):
        decode(data.replace(b'"size":800', b'"size":801'))
    with pytest.raises(InvalidInput, match="is not a saved specification"):
        decode(b"{}")


def test_nothing_of_this_machine_is_in_a_specification() -> None:
    text = encode(bind(preset("hybrid"), CORPUS, EVALUATION, IDENTITY), Provenance()).decode()
    assert str(Path.cwd()) not in text
    assert str(Path.home()) not in text


def test_differences() -> None:
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}, "d": None}) == [("a.c", 2, 3)]
    assert differences({"a": 1}, {"b": 2}) == [("a", 1, None), ("b", None, 2)]


def test_a_plan_can_be_started_whatever_was_imported_before() -> None:
    """`ragtui.experiment` is a package and a public name; it must not depend on the order of imports."""
    for first in ("", "import ragtui.experiment.plan;", "ragtui.open('.');", "from ragtui import experiment;"):
        code = f"import ragtui; {first} print(ragtui.experiment('bm25').to_plan() == ragtui.preset('bm25'))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stdout == "True\n", done.stderr


def test_the_public_names_exist() -> None:
    assert sorted(ragtui.__all__) == list(ragtui.__all__)
    for name in ragtui.__all__:
        assert getattr(ragtui, name) is not None
    with pytest.raises(AttributeError):
        _ = ragtui.nothing
