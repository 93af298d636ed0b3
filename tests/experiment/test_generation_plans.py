"""A generation plan written in four ways is one plan; a Python plan file keeps the name it was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragtui
from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput
from ragtui.experiment.answer_builder import GenerationBuilder, PromptBuilder
from ragtui.experiment.builder import Experiment
from ragtui.experiment.editing import edit, plan_from, read_plan
from ragtui.experiment.generation import MODES, Budget, Generation, Judge, Prompt
from ragtui.experiment.plan import ANSWER_GUARDS, ANSWER_PRIMARY, Plan
from ragtui.experiment.presets import PRESETS, preset
from ragtui.experiment.validate import InvalidPlan
from ragtui.ids import content_id
from ragtui.settings import parse_toml
from tests.workshop import make_workspace
from tests.workshop import ragtui as command

WORDS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="{}"), min_size=1, max_size=12)
RECIPES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("mock") | WORDS.filter(str.strip),
        "modes": st.lists(st.sampled_from(MODES), min_size=1, max_size=4, unique=True),
        "repeats": st.integers(1, 100),
        "prompt": st.fixed_dictionaries(
            {},
            optional={
                "version": WORDS,
                "system": WORDS.map(lambda text: text + "\n{context}"),
                "user": WORDS.map(lambda text: text + ' "{question}" {{}}'),
                "numbered": st.booleans(),
                "empty": WORDS,
            },
        ),
        "budget": st.fixed_dictionaries(
            {"context_window": st.integers(2000, 99999), "answer_reserve": st.integers(1, 1999)},
            optional={"characters_per_token": st.floats(0.1, 20)},
        ),
        "rewrite": st.booleans(),
        "temperature": st.floats(0, 2),
        "seed": st.integers(-5, 2**31),
        "judge": st.fixed_dictionaries(
            {"model": WORDS.filter(lambda text: text.strip() not in ("", "mock"))}, optional={"version": WORDS}
        ),
    },
)


def toml(table: Mapping[str, Any], path: str) -> str:
    """A table with its inner tables; a JSON text or number is one of TOML."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"[{path}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items() if key not in inner]
    return "\n".join(lines) + "\n" + "".join(toml(value, f"{path}.{key}") for key, value in inner.items())


def settings(table: Mapping[str, Any], path: str) -> list[str]:
    """The table as `--set` takes it, a field each; an empty one as a whole."""
    if not table:
        return [f"{path}={{}}"]
    found: list[str] = []
    for key, value in table.items():
        place = f"{path}.{key}"
        found += settings(value, place) if isinstance(value, dict) else [f"{place}={json.dumps(value)}"]
    return found


def built(table: Mapping[str, Any], base: str) -> Plan:
    """The same by steps."""

    def prompt(steps: PromptBuilder) -> PromptBuilder:
        for key, value in table["prompt"].items():
            steps = getattr(steps, key)(value)
        return steps

    def generation(steps: GenerationBuilder) -> GenerationBuilder:
        for key, value in table.items():
            if key == "prompt":
                steps = steps.prompt(prompt)
            elif key == "modes":
                steps = steps.modes(*value)
            elif isinstance(value, dict):
                steps = getattr(steps, key)(**value)
            else:
                steps = getattr(steps, key)(value)
        return steps

    return ragtui.experiment(base).generation(generation).to_plan()


@given(table=RECIPES, base=st.sampled_from(sorted(PRESETS)))
def test_toml_json_builder_and_settings_give_one_fingerprint(table: dict[str, Any], base: str) -> None:
    data = {"preset": base, "generation": table}
    plans = [
        plan_from(parse_toml(f'preset = "{base}"\n' + toml(table, "generation"), "plan.toml"))[0],
        plan_from(json.loads(json.dumps(data)))[0],
        built(table, base),
        edit(preset(base), settings(table, "generation")),
        msgspec.structs.replace(
            preset(base),
            generation=msgspec.convert(table, Generation),
            metrics=msgspec.structs.replace(preset(base).metrics, primary=ANSWER_PRIMARY, guards=ANSWER_GUARDS),
        ),
    ]
    prints = {content_id(canonical(plan)) for plan in plans}
    assert len(prints) == 1, [canonical(plan)["generation"] for plan in plans]
    again = plan_from(json.loads(json.dumps(canonical(plans[0]))))[0]
    assert again == plans[0], "written out and read back"


def test_every_step_of_the_builder() -> None:
    plan = (
        ragtui.experiment("bm25")
        .generation(
            lambda g: (
                g.model("gemma")
                .modes("oracle", "e2e")
                .repeats(2)
                .prompt(lambda p: p.version("2").system("Say: {context}").user("Q: {question}").numbered().empty("-"))
                .budget(4096, 256, 3)
                .rewrite(False)
                .temperature(1)
                .seed(7)
                .judge("other")
            )
        )
        .to_plan()
    )
    assert plan.generation == Generation(
        model="gemma",
        modes=("oracle", "e2e"),
        repeats=2,
        prompt=Prompt(version="2", system="Say: {context}", user="Q: {question}", numbered=True, empty="-"),
        budget=Budget(context_window=4096, answer_reserve=256, characters_per_token=3.0),
        rewrite=False,
        temperature=1.0,
        seed=7,
        judge=Judge(model="other"),
    )
    changed = Experiment(plan).generation(lambda g: g.repeats(5)).to_plan()
    assert changed.generation == msgspec.structs.replace(plan.generation, repeats=5)


def test_gates_of_a_built_plan_whatever_the_order_of_the_steps() -> None:
    base = ragtui.experiment("bm25")
    named = base.metrics(lambda m: m.gate("nDCG@10", "R@5", "RR").measure("AP")).generation(lambda g: g)
    late = base.generation(lambda g: g).metrics(lambda m: m.measure("AP").gate("nDCG@10", "R@5", "RR"))
    for plan in (named.to_plan(), late.provenance(note="x").to_plan()):
        assert (plan.metrics.primary, plan.metrics.guards) == ("nDCG@10", ("R@5", "RR"))
    open_ = base.metrics(lambda m: m.measure("AP")).generation(lambda g: g).to_plan()
    assert (open_.metrics.measures, open_.metrics.primary) == (("AP",), ANSWER_PRIMARY)
    assert base.to_plan() == preset("bm25"), "the other tier is untouched"


def test_faults_of_the_recipe_are_told_when_the_plan_is_made() -> None:
    with pytest.raises(InvalidPlan) as caught:
        ragtui.experiment("bm25").generation(lambda g: g.repeats(0).prompt(lambda p: p.user("{qestion}"))).to_plan()
    assert [fault.partition(":")[0] for fault in caught.value.faults] == [
        "generation.repeats", "generation.prompt.user", "generation.prompt",
    ]  # fmt: skip


# -- names of plan files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('plan = ragtui.experiment("nightly").to_plan()', "nightly"),
        ('plan = ragtui.experiment("nightly")', "nightly"),
        ('other = ragtui.experiment("b").to_plan()\nplan = ragtui.experiment("a").context(3).to_plan()', "a"),
        ('plan = ragtui.experiment("x").provenance(name="y", note="why").to_plan()\nragtui.preset("bm25")', "y"),
        ('plan = ragtui.preset("bm25")', ""),
    ],
)
def test_a_python_plan_keeps_its_name(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "file.py"
    path.write_text("import ragtui\n" + text + "\n")
    assert read_plan(path)[1].name == name
    with pytest.raises(InvalidInput):
        read_plan(tmp_path / "none.py")


def test_its_run_is_named_so(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    (folder / "p.py").write_text(
        'import ragtui\nplan = ragtui.experiment("bm25").provenance(name="nightly").generation(\n'
        '    lambda g: g.model("mock").repeats(1)\n).to_plan()\n'
    )
    done = command(folder, "run", "p.py", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["name"], shown["tier"]) == ("nightly", "generation")
    assert json.loads(command(folder, "run", "p.py", "--name", "mine", "--json").stdout)["name"] == "mine"
