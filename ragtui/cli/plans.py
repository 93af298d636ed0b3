"""From a command's arguments to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ragtui.experiment.editing import edit, read_plan
from ragtui.experiment.plan import Plan, Provenance
from ragtui.experiment.presets import PRESETS, preset
from ragtui.experiment.validate import check_plan

PLAN_SUFFIXES = (".toml", ".json", ".py")


def chosen_plan(
    text: str, suite: str | None = None, tags: Sequence[str] = (), limit: int | None = None,
    settings: Sequence[str] = (), name: str | None = None, note: str = "",
) -> tuple[Plan, Provenance]:  # fmt: skip
    """The plan that a preset's name or a file's path means, with the options applied; faults are listed at once."""
    path = Path(text)
    # A folder or file that happens to have a preset's name does not hide the preset.
    if text not in PRESETS and (path.suffix in PLAN_SUFFIXES or path.is_file()):
        plan, provenance = read_plan(path)
        provenance = provenance if provenance.name else msgspec.structs.replace(provenance, name=path.stem)
    else:
        plan, provenance = preset(text), Provenance(name=text)
    selection = plan.evaluation
    if suite is not None:
        suites = tuple(part.strip() for part in suite.split(",") if part.strip())
        selection = msgspec.structs.replace(selection, suites=suites)
    if tags:
        selection = msgspec.structs.replace(selection, tags=tuple(tags))
    if limit is not None:
        selection = msgspec.structs.replace(selection, limit=limit)
    plan = edit(msgspec.structs.replace(plan, evaluation=selection), settings)
    if name is not None:
        provenance = msgspec.structs.replace(provenance, name=name)
    if note:
        provenance = msgspec.structs.replace(provenance, note=note)
    return check_plan(plan), provenance
