"""What the stores know of a specification before it runs: how long it takes, how it differs from the baseline."""

from __future__ import annotations

import json
from typing import Any

from ragtui.artifacts.recipes import canonical
from ragtui.experiment.plan import tier_of
from ragtui.experiment.specification import Specification, differences
from ragtui.lab import Lab
from ragtui.store.rows import RunRow

_LOOKED_AT = 8


def time_of(lab: Lab, specification: Specification, same: list[RunRow], cases: int) -> tuple[float | None, str]:
    """Seconds that the run may take, by the newest completed run that is most like it, and which that is."""
    done = [row for row in same if row.status == "completed" and row.cases and not row.errors]
    if done:
        return done[0].elapsed_s, f"as run {done[0].run_id}"
    wanted = _kinds(specification)
    for row in lab.store.runs(limit=_LOOKED_AT):
        if row.status == "completed" and row.cases and _kinds(lab.store.run(row.run_id).specification) == wanted:
            return row.elapsed_s / row.cases * cases, f"at the pace of run {row.run_id}"
    return None, ""


def _kinds(specification: Specification) -> list[tuple[str, str | None]]:
    plan = specification.plan
    kinds = sorted((channel.kind, channel.source) for channel in plan.retrieval.channels.values())
    return kinds + ([("model", plan.generation.model)] if plan.generation is not None else [])


def against_baseline(lab: Lab, specification: Specification) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The baseline's run id, empty where there is none, and (field, its value, this one's) of what differs."""
    suites, tier = tuple(sorted(specification.plan.evaluation.suites)), tier_of(specification.plan)
    for store in (lab.store, lab.reference):
        for item in store.baselines() if store is not None else []:
            if (item.corpus_id, item.suites, item.tier) == (specification.corpus_id, suites, tier):
                assert store is not None
                old = canonical(store.run(item.run_id).specification)
                found = differences(old, canonical(specification))
                return item.run_id, tuple((path, shown(a), shown(b)) for path, a, b in found)
    return "", ()


def shown(value: Any) -> str:
    """A manifest's value on one line."""
    return (
        "–"
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    )


def leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    """(path, value) of every field of a manifest, in order."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{path}.{key}" if path else str(key))]
    return [(path, shown(value))]
