"""What a sweep tries, before anything runs: the points of a grid, and the questions that have no part in choosing."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence

from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Plan, tier_of
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.measure import parse_measure

_CLOSING = {"[": "]", "{": "}"}
_MOST_POINTS = 10_000


def grid(settings: Sequence[str]) -> list[list[str]]:
    """Every combination of `path=a,b,c` as settings that `edit` takes, the last path varying fastest.

    A comma inside brackets, braces or quotes does not separate. InvalidInput for an empty value or a repeated path.
    """
    axes: dict[str, list[str]] = {}
    for setting in settings:
        path, equals, listed = setting.partition("=")
        path = path.strip()
        values = [value.strip() for value in _split(listed)]
        if not equals or not path or not all(values):
            raise InvalidInput(
                f"--sweep {setting!r} is not of the form path=value,value,….",
                "E.g. --sweep retrieval.fusion.rank_constant=10,20,60.",
            )
        if path in axes:
            raise InvalidInput(f"--sweep names {path} twice.", "Give all its values at once, separated by commas.")
        axes[path] = [f"{path}={value}" for value in dict.fromkeys(values)]
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > _MOST_POINTS:
        raise InvalidInput(f"The grid has {size} points; {_MOST_POINTS} is the most.", "Sweep fewer values at once.")
    return [list(point) for point in itertools.product(*axes.values())] if axes else []


def check_points(plan: Plan, points: Mapping[str, Plan], measure: str) -> None:
    """InvalidInput for a point that could not be compared with the plan by `measure`, once both had run."""
    for name, point in points.items():
        if tier_of(point) != tier_of(plan):
            raise InvalidInput(
                f"{name} is of the {tier_of(point)} tier, the plan of the {tier_of(plan)} tier.",
                "A sweep compares plans of one tier: start from a plan with a generation recipe, or from one without.",
            )
        if point.evaluation != plan.evaluation:
            raise InvalidInput(
                f"{name} asks other questions than the plan.",
                "A sweep compares plans over the same questions: choose them with --suite, --tag or --limit.",
            )
        if point.chunking != plan.chunking and parse_measure(measure).level == "chunk":
            raise InvalidInput(
                f"{name} has other chunks than the plan, and {measure}, which decides, counts chunks.",
                "Let a measure of documents decide, e.g. --set metrics.primary=nDCG@10.",
            )


def holdout(cases: Sequence[EvaluationCase], part: str | float, seed: int = 0) -> tuple[list[str], list[str]]:
    """Ids to choose on and ids to report on: `part` is a tag, or a fraction drawn by id, the same for the same seed.

    What is no number between 0 and 1 is a tag. InvalidInput where one side would have no case.
    """
    fraction = _as_fraction(part)
    if fraction is None:
        tag = str(part).removeprefix("tag:")
        reported = {case.id for case in cases if tag in case.tags}
    else:
        drawn = sorted((case.id for case in cases), key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
        reported = set(drawn[: round(fraction * len(drawn))])
    if not reported or len(reported) == len(cases):
        known = ", ".join(sorted({tag for case in cases for tag in case.tags})) or "none"
        raise InvalidInput(
            f"Holding out {part!r} leaves {len(reported)} of {len(cases)} cases to report on.",
            f"Give a fraction between 0 and 1, or a tag of some cases (tags: {known}).",
        )
    ids = [case.id for case in cases]
    return [name for name in ids if name not in reported], [name for name in ids if name in reported]


def _as_fraction(part: str | float) -> float | None:
    """None for what is no number between 0 and 1."""
    try:
        fraction = float(part)
    except ValueError:
        return None
    return fraction if 0 < fraction < 1 else None


def _split(listed: str) -> list[str]:
    """Cut at commas outside brackets and quotes."""
    values, depth, quoted, current = [], 0, False, ""
    for char in listed:
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in _CLOSING) - (char in _CLOSING.values())
        if char == "," and depth == 0 and not quoted:
            values.append(current)
            current = ""
        else:
            current += char
    return [*values, current]
