"""The JSON Schemas of what ragtui reads and writes, derived from the types themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from ragtui.analysis.compare import Comparison
from ragtui.analysis.matrix import Matrix
from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Plan
from ragtui.experiment.specification import SavedSpecification
from ragtui.inputs.goldens import Golden
from ragtui.reports.records import RunRecord

# What people name → the type that is read or written.
TYPES: dict[str, type[msgspec.Struct]] = {
    "golden": Golden,
    "plan": Plan,
    "specification": SavedSpecification,
    "run": RunRecord,
    "comparison": Comparison,
    "matrix": Matrix,
    "export": RecordedRun,
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a type by its name; InvalidInput lists the names.

    `run`, `comparison` and `matrix` are what `--json` prints, `export` is what `export --format json` writes.
    """
    if name not in TYPES:
        raise InvalidInput(f"There is no schema {name!r}.", f"Schemas: {', '.join(TYPES)}.")
    return msgspec.json.schema(TYPES[name])
