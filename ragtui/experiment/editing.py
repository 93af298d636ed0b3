"""Plans from files and from `--set`: one strict decoder for TOML, JSON, Python files and edits."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput
from ragtui.experiment.plan import ANSWER_GUARDS, ANSWER_PRIMARY, Plan, Provenance, judged_by_answers
from ragtui.experiment.presets import PRESETS, preset
from ragtui.ids import canonical_json
from ragtui.settings import DEEPEST, field_faults, listed_faults, parse_toml

_GATES = {"primary": ANSWER_PRIMARY, "guards": list(ANSWER_GUARDS)}


def plan_from(data: Mapping[str, Any], source: str = "plan") -> tuple[Plan, Provenance]:
    """A plan and its provenance from plain data.

    `preset = "hybrid"` starts from that preset; every other key replaces a field of it. Raises InvalidInput with
    the path of each unknown field or wrong type.
    """
    if _deeper(data, DEEPEST):
        raise InvalidInput(f"{source}: a field is deeper than any of a plan.", "`ragtui spec show hybrid` lists them.")
    with contextlib.suppress(TypeError):
        try:
            canonical_json(dict(data))
        except UnicodeEncodeError:
            message = f"{source}: a text holds half a character (a lone surrogate), which no file can."
            raise InvalidInput(message, "Type the text anew.") from None
    fields = dict(data)
    provenance = fields.pop("provenance", {})
    base = fields.pop("preset", None)
    if base is not None:
        if not isinstance(base, str):
            raise InvalidInput(f"{source}: preset is not a name.", f"Presets: {', '.join(PRESETS)}.")
        fields = _merge(canonical(preset(base)), fields)
    if fields.get("generation") is not None:
        fields = _judged_by_answers(fields, data.get("metrics"))
    faults = field_faults(fields, Plan)
    if isinstance(provenance, Mapping):
        faults += field_faults(provenance, Provenance, "provenance.")
    if faults:
        raise InvalidInput(f"{source}: {listed_faults(faults)}.", "`ragtui spec show hybrid` lists the fields.")
    try:
        return msgspec.convert(fields, Plan), msgspec.convert(provenance, Provenance)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{source}: {error}.", "`ragtui spec show hybrid` lists the fields.") from error


def read_plan(path: Path) -> tuple[Plan, Provenance]:
    """A plan file: `.toml`, `.json`, or a `.py` that defines `plan`."""
    if path.suffix == ".py":
        return _run_plan_file(path)
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8.", "Save the file as UTF-8.") from error
    if path.suffix == ".json":
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise InvalidInput(f"{path}:{line}: is not JSON: {error}.", "Mend the line.") from error
    else:
        data = parse_toml(text, str(path))
    if not isinstance(data, dict):
        raise InvalidInput(f"{path} does not hold an object.", "Write the fields of a plan.")
    # A saved specification carries its plan; reading it back gives the same plan.
    if "specification" in data and isinstance(data["specification"], dict):
        data = {**data["specification"].get("plan", {}), "provenance": data.get("provenance", {})}
    return plan_from(data, str(path))


def edit(plan: Plan, settings: Sequence[str], option: str = "--set") -> Plan:
    """The plan with `path=value` applied in order, e.g. `retrieval.fusion.rank_constant=20`.

    A value is read as JSON and, if it is none, as a string; `null` clears an optional field. A plan that is given a
    generation recipe is judged by its answers, unless it or a setting names gates. `option` is what a fault is put to.
    """
    data = canonical(plan)
    for setting in settings:
        path, equals, raw = setting.partition("=")
        if not equals or not path.strip():
            raise InvalidInput(f"{option} {setting!r} is not of the form path=value.", "E.g. chunking.size=400.")
        if path.count(".") >= DEEPEST:
            hint = "`ragtui spec show hybrid` lists them."
            raise InvalidInput(f"{option} {path[:40]}…: no field is that deep.", hint)
        _assign(data, path.strip().split("."), _value(raw.strip()))
    ungated = plan.generation is None and judged_by_answers(plan.metrics) != plan.metrics
    if ungated and data.get("generation") is not None:
        paths = {setting.partition("=")[0].strip() for setting in settings}
        whole = data["metrics"] if "metrics" in paths and isinstance(data["metrics"], dict) else {}
        data = _judged_by_answers(data, whole | {name: True for name in _GATES if f"metrics.{name}" in paths})
    return plan_from(data, option)[0]


def _deeper(value: Any, most: int) -> bool:
    """Whether lists and tables are nested more than `most` deep; looks no deeper."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return most == 0 or any(_deeper(item, most - 1) for item in inner)


def _run_plan_file(path: Path) -> tuple[Plan, Provenance]:
    import runpy

    from ragtui.experiment.builder import Experiment
    from ragtui.experiment.made import made_plans

    if not path.is_file():
        raise InvalidInput(f"{path} cannot be read: no such file.", "Check the path.")
    try:
        # What the file prints is no result of ours.
        with contextlib.redirect_stdout(sys.stderr), made_plans() as plans:
            made = runpy.run_path(str(path)).get("plan")
    except (Exception, SystemExit) as error:
        raise InvalidInput(
            f"{path} raised {type(error).__name__}: {str(error).rstrip('.')}.", "Run it with python to see where."
        ) from error
    if isinstance(made, Experiment):
        return made.to_plan(), made.to_provenance()
    if isinstance(made, Plan):
        return made, next((provenance for plan, provenance in plans if plan is made), Provenance())
    raise InvalidInput(f"{path} defines no `plan`.", "End it with plan = ragtui.experiment(…)….to_plan().")


def _judged_by_answers(fields: dict[str, Any], named: Any) -> dict[str, Any]:
    """The fields of a plan with a generation recipe, those gates filled in that `named` (its metrics) leaves open."""
    metrics = fields.get("metrics", {})
    if not isinstance(metrics, Mapping):
        return fields
    told = named if isinstance(named, Mapping) else {}
    gates = {name: value for name, value in _GATES.items() if name not in told}
    return {**fields, "metrics": {**metrics, **gates}}


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _assign(data: dict[str, Any], path: list[str], value: Any) -> None:
    here = data
    for key in path[:-1]:
        inner = here.get(key)
        if inner is None:
            inner = here[key] = {}
        if not isinstance(inner, dict):
            raise InvalidInput(f"--set {'.'.join(path)}: {key!r} holds a value, not fields.", "Shorten the path.")
        here = inner
    here[path[-1]] = value


def _value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw
