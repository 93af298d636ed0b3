"""A small station: documents with one fact each, goldens about them, and a model that reads its context honestly."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.generation import Budget, Generation, Mode, Prompt
from ragtui.experiment.plan import Metrics, Plan
from ragtui.experiment.presets import preset
from ragtui.lab import Lab, Spending, open_lab
from ragtui.providers.protocols import ChatRequest, Reply
from ragtui.providers.scripted import ScriptedGenerator
from tests.workshop import make_workspace, write_suite

TANKS = {
    "anchor": 24, "beacon": 37, "compass": 58, "diesel": 61, "engine": 73, "filter": 86, "glacier": 94, "harness": 112,
    "igloo": 135, "jacket": 158, "kerosene": 171, "lantern": 199,
}  # fmt: skip
UNKNOWN = "I do not know."
Script = Callable[[ChatRequest], str | Reply]


def documents() -> dict[str, str]:
    """A document a tank: what it holds, who checks it, and where it stands."""
    return {
        f"{name}-tank": (
            f"# The {name} tank\n\nThe {name} tank holds {litres} litres of oil. It is dipped on each round.\n\n"
            f"## Place\n\nThe {name} tank stands in the yard behind hut {place + 1}, away from the wind.\n"
        )
        for place, (name, litres) in enumerate(TANKS.items())
    }


def goldens() -> list[dict[str, Any]]:
    """A question a tank, four that nothing answers, and four in which an earlier turn names the tank."""
    asked: list[dict[str, Any]] = [
        {
            "id": f"{name}-litres", "query": f"How much oil does the {name} tank hold?",
            "relevantDocIds": [f"{name}-tank"], "mustInclude": [rf"\b{litres} litres"],
            "mustNotInclude": [r"\b9999\b"], "tags": ["fictional", "single-hop"],
        }
        for name, litres in TANKS.items()
    ]  # fmt: skip
    asked += [
        {"id": f"no-{place}", "query": query, "expectRefusal": True, "tags": ["refusal"]}
        for place, query in enumerate(("Who sang at dusk?", "Why do cats purr?", "Is chess fun?", "What is jazz?"))
    ]
    asked += [
        {
            "id": f"{name}-turn", "query": "How much oil does it hold?",
            "turns": [
                {"role": "user", "content": f"Tell me about the {name} tank."},
                {"role": "assistant", "content": "It stands in the yard."},
            ],
            "relevantDocIds": [f"{name}-tank"], "mustInclude": [rf"\b{TANKS[name]} litres"],
            "tags": ["fictional", "multi-turn"],
        }
        for name in list(TANKS)[:4]
    ]  # fmt: skip
    return asked


def reads(request: ChatRequest) -> str:
    """The honest model: answers from its context alone, says when it cannot, and rewrites a question when asked."""
    said = [message.content for message in request.messages]
    if said[0].startswith("Rewrite the last question"):
        name = _tank_in(said[-1])
        return f"How much oil does the {name} tank hold?" if name else "How much oil does it hold?"
    context = said[0].partition("Context:\n")[2]
    name = _tank_in(said[-1]) or next((found for text in reversed(said[1:-1]) if (found := _tank_in(text))), None)
    fact = re.search(rf"The {name} tank holds \d+ litres of oil", context) if name else None
    return f"{fact.group()}." if fact else UNKNOWN


def _tank_in(text: str) -> str | None:
    found = re.search(r"\b(\w+) tank\b", text)
    return found.group(1) if found and found.group(1) in TANKS else None


def station(folder: Path) -> Path:
    """The workspace on disk."""
    make_workspace(folder, documents(), goldens())
    return folder


def generating(
    *modes: Mode, repeats: int = 1, budget: Budget | None = None, prompt: Prompt | None = None, rewrite: bool = True,
    model: str = "scripted", base: Plan | None = None,
) -> Plan:  # fmt: skip
    """A keyword plan of the generation tier."""
    recipe = Generation(
        model=model,
        modes=modes or ("e2e",),
        repeats=repeats,
        budget=budget or Budget(),
        prompt=prompt or Prompt(),
        rewrite=rewrite,
    )
    metrics = Metrics(primary="correctness", guards=("refusalCorrectness",))
    return msgspec.structs.replace(base or preset("bm25"), generation=recipe, metrics=metrics)


def lab_with(folder: Path, script: Script | ScriptedGenerator | None = None) -> Lab:
    """The workspace, opened to run with a scripted model."""
    lab = open_lab(folder, execution="allow_runs")
    if script is not None:
        lab.generator = script if isinstance(script, ScriptedGenerator) else ScriptedGenerator(script)
    return lab


def ran(lab: Lab, plan: Plan, **spending: Any) -> RecordedRun:
    """Execute and record."""
    return lab.run(lab.bind(plan), spending=Spending(**spending))


def levels(run: RecordedRun, mode: Mode = "e2e") -> dict[str, float | None]:
    """The mean of every measure in a mode."""
    from ragtui.analysis.modes import mode_summary

    return {name: estimate.value for name, estimate in mode_summary(run, mode).overall.items()}


__all__ = ["generating", "goldens", "lab_with", "levels", "ran", "reads", "station", "write_suite"]
