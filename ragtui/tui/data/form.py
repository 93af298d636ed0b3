"""The launch form: what it offers for a plan, and what its texts change in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragtui.artifacts.recipes import canonical
from ragtui.experiment.editing import read_plan
from ragtui.experiment.plan import Plan
from ragtui.experiment.presets import PRESETS, SUMMARIES, preset
from ragtui.settings import Workspace

PLAN_SUFFIXES = (".toml", ".json", ".py")
_COMMA = re.compile(r",(?![^()]*\))")
_OFF = "off"


class Field(msgspec.Struct, frozen=True):
    """A field of a plan in the form: path, label, the plan's own text, and what may be chosen (free if empty)."""

    path: str
    label: str
    text: str
    choices: tuple[str, ...] = ()
    help: str = ""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What is written in the form. `fields` maps paths to texts, only those that differ from the plan's own.

    `modes`, `repeats`, `fresh` and the limits count where models are asked; `model` and `judge` in the tier
    `generation`, `models` and `plans` (both separated by commas) in a matrix.
    """

    plan: str = "hybrid"
    name: str = ""
    suites: str = ""
    tags: str = ""
    limit: str = ""
    tier: str = "retrieval"
    model: str = "mock"
    modes: str = "all"
    repeats: str = ""
    judge: str = ""
    fresh: str = "no"
    max_calls: str = ""
    max_cost: str = ""
    models: str = ""
    plans: str = ""
    fields: dict[str, str] = {}
    extra: str = ""


def plan_choices(workspace: Workspace) -> list[tuple[str, str]]:
    """(value, words) of every preset and of every plan file in the workspace's folder and its `plans` folder."""
    found = [(name, f"{name} · {SUMMARIES[name]}") for name in PRESETS]
    for folder in (workspace.root, workspace.root / "plans"):
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix in PLAN_SUFFIXES and path.is_file())
        except OSError:
            continue
        found += [(str(path), f"{path.relative_to(workspace.root)} · a plan here") for path in paths if _is_plan(path)]
    return found


def _is_plan(path: Path) -> bool:
    if path.suffix == ".toml":
        # The workspace's own settings are no plan.
        return path.name not in ("ragtui.toml", "pyproject.toml")
    try:
        text = path.read_bytes()[:65536]
    except OSError:
        return False
    return b"plan" in text and (path.suffix == ".py" or b'"retrieval"' in text or b'"preset"' in text)


def base_plan(text: str) -> tuple[Plan, str]:
    """The plan that a preset's name or a path means, and its name."""
    path = Path(text).expanduser()
    if path.suffix in PLAN_SUFFIXES:
        plan, provenance = read_plan(path)
        return plan, provenance.name or path.stem
    return preset(text), text


def fields_of(plan: Plan) -> list[Field]:
    """The fields that the form offers for this plan, in its order."""
    retrieval = plan.retrieval
    found: list[Field] = []
    for name, channel in retrieval.channels.items():
        where = f"retrieval.channels.{name}"
        found += [
            Field(where, name, "on", ("on", _OFF), f"Whether the {channel.kind} channel {name} is read."),
            Field(f"{where}.depth", "depth", str(channel.depth), help="How many hits the channel gives."),
            Field(
                f"retrieval.fusion.weights.{name}",
                "weight",
                _text(retrieval.fusion.weights.get(name, 1.0)),
                help="Its weight in the fusion.",
            ),
            Field(
                f"{where}.min_score",
                "least score",
                _text(channel.min_score),
                help="Hits below are not read; empty: all are.",
            ),
        ]
    floor = retrieval.floor
    return [
        *found,
        Field(
            "retrieval.fusion.rank_constant",
            "rank const.",
            _text(retrieval.fusion.rank_constant),
            help="A chunk scores weight / (constant + rank) in each channel.",
        ),
        Field(
            "retrieval.floor.score",
            "floor on",
            floor.score if floor else "none",
            ("none", "fused", *retrieval.channels),
            "Which score the floor reads.",
        ),
        Field(
            "retrieval.floor.minimum",
            "floor at",
            _text(floor.minimum) if floor else "",
            help="Hits whose score is below are dropped.",
        ),
        Field(
            "retrieval.collapse",
            "collapse",
            retrieval.collapse,
            ("none", "document"),
            "Keep the best chunk of each document, or all.",
        ),
        Field("retrieval.results", "results", str(retrieval.results), help="How many results are kept."),
        Field(
            "chunking.strategy",
            "chunks",
            plan.chunking.strategy,
            ("markdown", "document"),
            "Markdown-aware chunks, or one a document.",
        ),
        Field("chunking.size", "size", str(plan.chunking.size), help="Characters of a chunk at most."),
        Field("chunking.overlap", "overlap", str(plan.chunking.overlap), help="Characters that neighbours share."),
        Field(
            "metrics.measures",
            "measures",
            ", ".join(plan.metrics.measures),
            help="Which measures are reported, e.g. R@5, nDCG@10(gain=exp).",
        ),
        Field(
            "metrics.relevance",
            "relevant from",
            str(plan.metrics.relevance),
            ("1", "2", "3"),
            "The lowest grade that counts as relevant.",
        ),
        Field("metrics.primary", "primary", plan.metrics.primary, help="The measure that decides a comparison."),
    ]


def settings_of(plan: Plan, changed: Mapping[str, str]) -> list[tuple[str, str]]:
    """(path of the form's field, `path=value`) of each change, as `--set` takes them."""
    settings: list[tuple[str, str]] = []
    off = [
        path.rpartition(".")[2]
        for path, text in changed.items()
        if path.count(".") == 2 and text == _OFF and path.startswith("retrieval.channels.")
    ]
    if off:
        kept = {name: canonical(channel) for name, channel in plan.retrieval.channels.items() if name not in off}
        weights = {name: weight for name, weight in plan.retrieval.fusion.weights.items() if name not in off}
        settings.append((f"retrieval.channels.{off[0]}", f"retrieval.channels={_json(kept)}"))
        if weights != plan.retrieval.fusion.weights:
            settings.append(("", f"retrieval.fusion.weights={_json(weights)}"))
    floor = {path.rpartition(".")[2]: text for path, text in changed.items() if path.startswith("retrieval.floor.")}
    if floor:
        score = floor.get("score", plan.retrieval.floor.score if plan.retrieval.floor else "none")
        minimum = floor.get("minimum", _text(plan.retrieval.floor.minimum) if plan.retrieval.floor else "")
        if score == "none":
            settings.append(("retrieval.floor.score", "retrieval.floor=null"))
        else:
            value = _number(minimum)
            settings.append(("retrieval.floor.minimum", f"retrieval.floor={_json({'score': score, 'minimum': value})}"))
    for path, text in changed.items():
        name = path.rpartition(".")[2]
        under = path.startswith("retrieval.channels.")
        if path.startswith("retrieval.floor.") or (under and path.count(".") == 2):
            continue
        if (under and path.split(".")[2] in off) or (path.startswith("retrieval.fusion.weights.") and name in off):
            continue
        settings.append((path, f"{path}={_value(path, text)}"))
    return settings


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _number(text: str) -> Any:
    """A number where the text is one, else the text, so that the decoder can name the fault."""
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return text


def _value(path: str, text: str) -> str:
    if path == "metrics.measures":
        return _json([part.strip() for part in _COMMA.split(text) if part.strip()])
    if path.endswith((".min_score",)) and not text.strip():
        return "null"
    return text.strip()


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
