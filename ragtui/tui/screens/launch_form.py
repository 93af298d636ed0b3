"""The rows of the launch form, from a plan's fields."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from ragtui.analysis.inputs_report import CORE
from ragtui.experiment.plan import Plan
from ragtui.inputs.goldens import suite_files
from ragtui.settings import Workspace
from ragtui.tui.data.form import Field, Form, plan_choices
from ragtui.tui.data.launch_answers import (
    FRESH_CHOICES,
    GENERATION,
    MATRIX,
    MODE_CHOICES,
    RETRIEVAL,
    TIERS,
    judge_choices,
    model_choices,
)
from ragtui.tui.memory import Memory
from ragtui.tui.widgets.field_rows import FieldRow, FieldRows
from ragtui.tui.widgets.fields import Choice, TextField

# (id and label, what an empty field means, what it is for)
_TEXTS = (
    ("name", "as the plan", "A name for the run; it changes nothing."),
    ("suites", CORE, "Suites, separated by commas; core if empty."),
    ("tags", "all", "Only goldens with any of these tags, separated by commas."),
    ("limit", "no limit", "At most this many cases, stratified by tag."),
)
_ANSWERS = {
    "one-model": ("model", "judge"),
    "many-models": ("models", "plans"),
    "asking": ("modes", "repeats", "fresh", "max_calls", "max_cost"),
}
_WRITTEN = ("name", "suites", "tags", "limit", "repeats", "max_calls", "max_cost", "models", "plans", "extra")
_CHOSEN = ("plan", "tier", "model", "modes", "judge", "fresh")
_ONLY: dict[str | None, str] = {"one-model": GENERATION, "many-models": MATRIX}
REMEMBERED = (
    "suites", "tags", "limit", "tier", "model", "modes", "repeats", "judge", "max_calls", "max_cost", "models", "plans",
)  # fmt: skip
_HEADS = ("channel", "read", "depth", "weight", "min")
_GROUPS = {"retrieval.fusion.rank_constant": "then", "chunking.strategy": "artifacts", "metrics.measures": "measures"}


def first_rows(workspace: Workspace, memory: Memory) -> tuple[str, FieldRows]:
    """The plan that is chosen, and the rows of plan, name, suites, tags, limit and tier, as they were left."""
    choices = plan_choices(workspace)
    known = memory.get("launch.plan", "hybrid")
    plan = Choice(
        choices, known if known in dict(choices) else "hybrid", id="plan", help_text="A preset or a plan file."
    )
    rows = [FieldRow("plan", plan)]
    for name, empty, words in _TEXTS:
        text = memory.get(f"launch.{name}", "") if name in REMEMBERED else ""
        hint = _suites_here(workspace.goldens) if name == "suites" else empty
        rows.append(FieldRow(name, TextField(text, id=name, placeholder=hint, help_text=words)))
    tier = Choice(TIERS, remembered_tier(memory), id="tier", help_text="Rank documents only, or let a model answer.")
    return plan.value, FieldRows([*rows, FieldRow("tier", tier)])


def remembered_tier(memory: Memory) -> str:
    """The tier as it was left."""
    known = memory.get("launch.tier", RETRIEVAL)
    return known if known in dict(TIERS) else RETRIEVAL


def answer_rows(workspace: Workspace, memory: Memory) -> Vertical:
    """Who answers and judges, in which modes, how often, what may be spent; as they were left, but for `fresh`."""
    choices = {
        "model": (model_choices(workspace), "Who answers: the echo, or a profile of the workspace."),
        "judge": (judge_choices(workspace), "Who judges the answers, apart from all gates."),
        "modes": (MODE_CHOICES, "Which context the model is given; all of them tell retriever from model."),
        "fresh": (FRESH_CHOICES, "Whether answers that an earlier run paid for are asked again."),
    }
    servers = ",".join(name for name, _ in model_choices(workspace))
    texts = {
        "models": ("models", servers, "The matrix's rows: models, separated by commas."),
        "plans": ("more plans", "the plan above", "More presets or plan files, separated by commas."),
        "repeats": ("repeats", "3; mock 1", "How often each question is asked in each mode."),
        "max_calls": ("max calls", "no limit", "Stop before more calls than this; the run can be resumed."),
        "max_cost": ("max cost", "no limit", "Stop before it costs more; in the unit of the profile's prices."),
    }

    def row(name: str) -> FieldRow:
        known = memory.get(f"launch.{name}", "") if name in REMEMBERED else ""
        if name in texts:
            label, empty, words = texts[name]
            return FieldRow(label, TextField(known, id=name, placeholder=empty, help_text=words))
        values, words = choices[name]
        value = known if known in dict(values) else values[0][0]
        return FieldRow(name, Choice(values, value, id=name, help_text=words))

    parts = [FieldRows([row(name) for name in names], id=part) for part, names in _ANSWERS.items()]
    box = Vertical(*parts, id="answers")
    show_tier(box, parts, remembered_tier(memory))
    return box


def show_tier(box: Widget, parts: Iterable[Widget], tier: str) -> None:
    """Show the parts of the box that count in a tier; nothing in the tier `retrieval`."""
    box.display = tier != RETRIEVAL
    for part in parts:
        part.display = part.id not in _ONLY or _ONLY[part.id] == tier


def last_row() -> FieldRows:
    """Any other field of a plan."""
    words = "Any other field, e.g. lexical.stop_words=true; semicolons separate several."
    return FieldRows(
        [FieldRow("also", TextField("", id="extra", placeholder="field=value; field=value", help_text=words))]
    )


def plan_rows(plan: Plan, fields: dict[str, Field]) -> list[Widget]:
    """Channels, a row each, then the other fields in groups. `fields` is keyed by `widget_id`."""
    channels: list[FieldRow] = []
    for name in plan.retrieval.channels:
        where = f"retrieval.channels.{name}"
        paths = (where, f"{where}.depth", f"retrieval.fusion.weights.{name}", f"{where}.min_score")
        row = Horizontal(*(_control(fields[widget_id(path)]) for path in paths), classes="channel")
        channels.append(FieldRow(name, row, () if channels else _HEADS))
    rest: list[FieldRow] = []
    for field in fields.values():
        if not field.path.startswith(("retrieval.channels.", "retrieval.fusion.weights.")):
            head = (_GROUPS[field.path],) if field.path in _GROUPS else ()
            rest.append(FieldRow(field.label, _control(field), head))
    return [FieldRows(channels), FieldRows(rest)]


def written(holder: Widget, fields: dict[str, Field]) -> Form:
    """What is written in the form's controls, which stand below `holder`; `fields` are the plan's own, by widget id."""
    texts = {name: holder.query_one(f"#{name}", TextField).value for name in _WRITTEN}
    texts |= {name: holder.query_one(f"#{name}", Choice).value for name in _CHOSEN}
    changed = {}
    for name, field in fields.items():
        for widget in holder.query(f"#{name}"):
            text = widget.value if isinstance(widget, (Choice, TextField)) else field.text
            if text.strip() != field.text:
                changed[field.path] = text
    return Form(fields=changed, **texts)


def widget_id(path: str) -> str:
    """A widget's id for a path: channel names may hold any character."""
    return "f-" + "".join(char if char.isalnum() and char.isascii() else f"_{ord(char):x}_" for char in path)


def _suites_here(folder: Path) -> str:
    """`core · also graded, off_topic`."""
    others = ", ".join(name for name in suite_files(folder) if name != CORE)
    return CORE + (f" · also {others}" if others else "")


def _control(field: Field) -> Widget:
    if field.choices:
        names = [(name, name) for name in field.choices]
        return Choice(names, field.text, id=widget_id(field.path), help_text=field.help)
    return TextField(field.text, id=widget_id(field.path), help_text=field.help)
