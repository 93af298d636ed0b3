"""Runs that ask a model, recorded with ids that never change: judged, in all modes, and with hostile words in them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from ragtui.experiment.generation import Judge
from ragtui.experiment.plan import Plan
from ragtui.experiment.presets import preset
from ragtui.lab import Lab
from ragtui.providers.protocols import ChatRequest
from ragtui.providers.scripted import ScriptedGenerator
from tests.generation.station import documents, generating, goldens, lab_with, reads
from tests.generation.test_judge import fair
from tests.tui.trace_samples import HOSTILE
from tests.workshop import make_workspace

JUDGED, PLAIN, UNJUDGED = "k3f9a2b7c1d4", "p8q2r7s1t5v3", "w4x9y2z6a8b1"
HOSTILE_ID = HOSTILE[:60]


def hostile_station(folder: Path) -> Path:
    """The station, with one golden whose id, question and tag would like to be obeyed."""
    more: list[dict[str, Any]] = [
        {"id": HOSTILE_ID, "query": f"{HOSTILE} the anchor tank", "relevantDocIds": ["anchor-tank"],
         "mustInclude": ["24 litres"], "tags": [HOSTILE]},
    ]  # fmt: skip
    return make_workspace(folder, documents(), [*goldens(), *more])


def mixed(request: ChatRequest, words: str = HOSTILE) -> str:
    """Honest but for some tanks: one it never knows, one it knows by heart, one that context confuses."""
    said, asked = reads(request), request.messages[-1].content
    if request.messages[0].content.startswith("Rewrite"):
        return said
    if "diesel" in asked:
        return "Some."
    if "beacon" in asked:
        return "The beacon tank holds 37 litres of oil."
    if "compass" in asked and "compass-tank" not in asked and "Context:\n(none)" in request.messages[0].content:
        return "The compass tank holds 58 litres of oil."
    if "compass" in asked:
        return "Perhaps 9999."
    return f"{said} {words}" if "anchor" in asked else said


def strange_judge(request: ChatRequest, words: str = HOSTILE) -> str:
    """A fair verdict about most; of the anchor tank claims that hold these words; of one nothing but prose."""
    said = request.messages[-1].content
    if "kerosene" in said.partition("\n\nContext:")[0]:
        return f"Looks fine to me. {words}"
    if "anchor" in said.partition("\n\nContext:")[0]:
        claims = [
            {"claim": f"it holds 24 litres {words}".strip(), "supported": True},
            {"claim": words or "it is dipped twice a day", "supported": False},
        ]
        return json.dumps({"claims": claims, "completeness": 4, "relevance": 5}, ensure_ascii=False)
    return fair(request)


def recorded(opened: Lab, plan: Plan, run_id: str) -> str:
    """Execute under this id."""

    async def drain() -> None:
        async for _ in opened.events(opened.bind(plan), run_id=run_id):
            pass

    asyncio.run(drain())
    return run_id


def judged_plan(plan: Plan) -> Plan:
    """The plan with a judge."""
    assert plan.generation is not None
    return msgspec.structs.replace(
        plan, generation=msgspec.structs.replace(plan.generation, judge=Judge(model="judge"))
    )


def scripted_lab(folder: Path, words: str = HOSTILE) -> Lab:
    """The workspace with a model and a judge that say `words` here and there."""
    model = ScriptedGenerator(lambda request: mixed(request, words), model=f"m {words}".strip(), prices=(1.0, 2.0))
    opened = lab_with(folder, model)
    opened.judge = ScriptedGenerator(
        lambda request: strange_judge(request, words), model=f"j {words}".strip(), digest="sha256:judge"
    )
    return opened


def record_all(folder: Path, words: str = HOSTILE) -> Path:
    """A judged run in all modes, twice each; one of `e2e` alone, not judged; one of the retrieval tier."""
    opened = scripted_lab(folder, words)
    recorded(opened, preset("bm25"), PLAIN)
    recorded(opened, generating("e2e"), UNJUDGED)
    recorded(opened, judged_plan(generating("oracle", "e2e", "noretrieval", "mock", repeats=2)), JUDGED)
    return folder
