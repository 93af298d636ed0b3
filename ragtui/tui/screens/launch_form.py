"""The rows of the launch form, from a plan's fields."""

from __future__ import annotations

from pathlib import Path

from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from ragtui.analysis.inputs_report import CORE
from ragtui.experiment.plan import Plan
from ragtui.inputs.goldens import suite_files
from ragtui.settings import Workspace
from ragtui.tui.data.form import Field, plan_choices
from ragtui.tui.data.launch_answers import GENERATION, MODE_CHOICES, RETRIEVAL, TIERS, model_choices
from ragtui.tui.memory import Memory
from ragtui.tui.widgets.fields import Choice, TextField

# (id and label, what an empty field means, what it is for)
_TEXTS = (
    ("name", "as the plan", "A name for the run; it changes nothing."),
    ("suites", CORE, "Suites, separated by commas; core if empty."),
    ("tags", "all", "Only goldens with any of these tags, separated by commas."),
    ("limit", "no limit", "At most this many cases, stratified by tag."),
)
REMEMBERED = ("suites", "tags", "limit", "tier", "model", "modes", "repeats")
_GROUPS = {"retrieval.fusion.rank_constant": "then", "chunking.strategy": "artifacts", "metrics.measures": "measures"}


def first_rows(workspace: Workspace, memory: Memory) -> tuple[str, list[Widget]]:
    """The plan that is chosen, and the rows of plan, name, suites, tags and limit, as they were left."""
    choices = plan_choices(workspace)
    known = memory.get("launch.plan", "hybrid")
    plan = Choice(
        choices, known if known in dict(choices) else "hybrid", id="plan", help_text="A preset or a plan file."
    )
    rows: list[Widget] = [_row("plan", plan)]
    for name, empty, words in _TEXTS:
        text = memory.get(f"launch.{name}", "") if name in REMEMBERED else ""
        hint = _suites_here(workspace.goldens) if name == "suites" else empty
        rows.append(_row(name, TextField(text, id=name, placeholder=hint, help_text=words)))
    known_tier = memory.get("launch.tier", RETRIEVAL)
    tier = known_tier if known_tier in dict(TIERS) else RETRIEVAL
    rows.append(_row("tier", Choice(TIERS, tier, id="tier", help_text="Rank documents only, or let a model answer.")))
    return plan.value, [*rows, _answer_rows(workspace, memory, tier)]


def _answer_rows(workspace: Workspace, memory: Memory, tier: str) -> Vertical:
    """Model, modes and repeats, as they were left; seen in the tier `generation` only."""
    rows: list[Widget] = []
    for name, choices, words in (
        ("model", model_choices(workspace), "Who answers: the echo, or a profile of the workspace."),
        ("modes", MODE_CHOICES, "Which context the model is given; all of them tell retriever from model."),
    ):
        known = memory.get(f"launch.{name}", "")
        value = known if known in dict(choices) else choices[0][0]
        rows.append(_row(name, Choice(choices, value, id=name, help_text=words)))
    text = TextField(
        memory.get("launch.repeats", ""), id="repeats", placeholder="3; mock 1",
        help_text="How often each question is asked in each mode.",
    )  # fmt: skip
    box = Vertical(*rows, _row("repeats", text), id="answers")
    box.display = tier == GENERATION
    return box


def last_row() -> Widget:
    """Any other field of a plan."""
    words = "Any other field, e.g. lexical.stop_words=true; semicolons separate several."
    return _row("also", TextField("", id="extra", placeholder="field=value; field=value", help_text=words))


def plan_rows(plan: Plan, fields: dict[str, Field]) -> list[Widget]:
    """Channels, a row each, then the other fields in groups. `fields` is keyed by `widget_id`."""
    heads = [Static("read", classes="read", markup=False)]
    heads += [Static(word, classes="head", markup=False) for word in ("depth", "weight", "min")]
    rows: list[Widget] = [_row("channel", *heads, classes="row channel heads")]
    for name in plan.retrieval.channels:
        where = f"retrieval.channels.{name}"
        paths = (where, f"{where}.depth", f"retrieval.fusion.weights.{name}", f"{where}.min_score")
        rows.append(_row(name, *(_control(fields[widget_id(path)]) for path in paths), classes="row channel"))
    for field in fields.values():
        if field.path.startswith(("retrieval.channels.", "retrieval.fusion.weights.")):
            continue
        if field.path in _GROUPS:
            rows.append(Static(_GROUPS[field.path], classes="group", markup=False))
        rows.append(_row(field.label, _control(field)))
    return rows


def widget_id(path: str) -> str:
    """A widget's id for a path: channel names may hold any character."""
    return "f-" + "".join(char if char.isalnum() and char.isascii() else f"_{ord(char):x}_" for char in path)


def _suites_here(folder: Path) -> str:
    """`core · also graded, off_topic`."""
    others = ", ".join(name for name in suite_files(folder) if name != CORE)
    return CORE + (f" · also {others}" if others else "")


def _row(label: str, *controls: Widget, classes: str = "row") -> Horizontal:
    return Horizontal(Static(label, classes="label", markup=False), *controls, classes=classes)


def _control(field: Field) -> Widget:
    if field.choices:
        names = [(name, name) for name in field.choices]
        return Choice(names, field.text, id=widget_id(field.path), help_text=field.help)
    return TextField(field.text, id=widget_id(field.path), help_text=field.help)
