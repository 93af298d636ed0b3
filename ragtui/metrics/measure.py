"""A measure as a value: `nDCG@10`, `R@10(rel=2)`, `R@10(level=span)`.

The canonical name carries the cut-off and only what differs from the kind's default, and parses back to the
same value. The names that people type elsewhere (`recall@10`, `mrr`, trec_eval's `ndcg_cut_10`) are accepted.
"""

from __future__ import annotations

import difflib
import re
from typing import NoReturn, TypeVar, cast, get_args

import msgspec

from ragtui.errors import InvalidInput
from ragtui.metrics.kinds import DESCRIPTION, KIND_OF_ALIAS, RULES, Gain, Kind, KindRules, Level

__all__ = ["DESCRIPTION", "Gain", "Kind", "Level", "Measure", "measure_at", "parse_measure", "with_relevance"]

_NAME = re.compile(r"(?P<alias>[a-z][a-z_-]*?)(?:[@_.](?P<cutoff>[0-9]+))?(?:\s*\((?P<options>[^()]*)\))?")
_OPTION = re.compile(r"\s*(?P<key>[a-z]+)\s*=\s*(?P<value>[a-z0-9]+)\s*")
_OWN_RELEVANCE = re.compile(r"[(,]\s*rel\s*=", re.IGNORECASE)
_LEVELS: dict[str, Level] = {"doc": "doc", "document": "doc", "chunk": "chunk", "span": "span"}
_GAINS: dict[str, Gain] = {"linear": "linear", "exp": "exp", "exponential": "exp"}
_OPTIONS = ("gain", "level", "rel")
_LONGEST_NUMBER = 9
_Choice = TypeVar("_Choice", bound=str)


class Measure(msgspec.Struct, frozen=True):
    """What is measured: immutable, hashable, equal where the canonical names are equal.

    `cutoff` is the number of hits looked at (None: all of them), `rel` the lowest grade that counts as relevant,
    `gain` how nDCG turns a grade into a gain, `level` what a hit is judged as; a level that is not given is the kind's
    default (`chunk` for P, `doc` for all others). Raises `InvalidInput` for a combination that has no meaning.
    """

    kind: Kind
    cutoff: int | None = None
    rel: int = 1
    gain: Gain = "linear"
    level: Level = cast(Level, "")

    def __post_init__(self) -> None:
        rules = RULES.get(self.kind)
        if rules is None:
            _refuse_name(str(self.kind), None)
        if not self.level:
            msgspec.structs.force_setattr(self, "level", rules.levels[0])
        _validate(self, rules)

    def __str__(self) -> str:
        name = self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"
        options = []
        if self.gain != "linear":
            options.append(f"gain={self.gain}")
        if self.level != RULES[self.kind].levels[0]:
            options.append(f"level={self.level}")
        if self.rel != 1:
            options.append(f"rel={self.rel}")
        return f"{name}({','.join(options)})" if options else name

    @property
    def is_rate(self) -> bool:
        """Whether it counts empty and non-empty result lists, which takes no ranking."""
        return RULES[self.kind].is_rate

    @property
    def higher_is_better(self) -> bool:
        """The direction of an improvement: ranking measures go up, both rates of empty results go down."""
        return not RULES[self.kind].lower_is_better

    @property
    def of_answers(self) -> bool:
        """Whether it looks at an answer (the generation tier's) and not at a ranking."""
        return RULES[self.kind].of_answers


def parse_measure(text: str) -> Measure:
    """The measure that a name stands for; the inverse of `str`, case-insensitive, aliases accepted.

    `nDCG@10`, `ndcg_cut_10`, `ndcg_cut.10`, `recall@10`, `p_5`, `mrr`, `map`, `hit@5`, `r-precision`,
    `R@10(level=span,rel=2)`. Raises `InvalidInput`, naming the nearest known measure.
    """
    match = _NAME.fullmatch(text.strip().lower())
    if match is None:
        stem = re.match(r"[a-z_-]*", text.strip().lower())
        _refuse_name(text, stem.group() if stem else "")
    kind = KIND_OF_ALIAS.get(match["alias"])
    if kind is None:
        _refuse_name(text, match["alias"], match["cutoff"])
    cutoff = None if match["cutoff"] is None else _number(text, "cut-off", match["cutoff"])
    options = _parse_options(text, match["options"])
    rel = _number(text, "grade", options["rel"]) if "rel" in options else 1
    gain = _choice(text, "gain", _GAINS, options.get("gain", "linear"))
    level = _choice(text, "level", _LEVELS, options["level"]) if "level" in options else RULES[kind].levels[0]
    return Measure(kind, cutoff, rel, gain, level)


def with_relevance(measure: Measure, rel: int) -> Measure:
    """The same measure with `rel` as the lowest relevant grade; unchanged where the kind has no threshold.

    nDCG weighs every grade by its gain and the rates look at no grade, so neither has a threshold, as in trec_eval.
    """
    return msgspec.structs.replace(measure, rel=rel) if RULES[measure.kind].has_threshold else measure


def measure_at(text: str, rel: int) -> Measure:
    """The measure that a name stands for where `rel` is the lowest relevant grade, unless the name says its own.

    `R@5` at 2 is `R@5(rel=2)`; `R@5(rel=1)` stays what it says, though its canonical name is `R@5`.
    """
    measure = parse_measure(text)
    return measure if _OWN_RELEVANCE.search(text) else with_relevance(measure, rel)


def is_rate(name: str) -> bool:
    """Whether a measure of this name says how often something happens, and so has a value where nothing is to be found.

    A case that has values of such measures only is not a scored one.
    """
    return "Rate" in name


def _validate(measure: Measure, rules: KindRules) -> None:
    kind, cutoff = measure.kind, measure.cutoff
    example = _example(kind)
    if rules.cutoff == "required" and cutoff is None:
        raise InvalidInput(f"{kind} needs a cut-off.", f"Write for example {example}.")
    if rules.cutoff == "none" and cutoff is not None:
        raise InvalidInput(f"{kind} takes no cut-off, but got @{cutoff}.", f"Write {example}.")
    if cutoff is not None and cutoff < 1:
        raise InvalidInput(f"The cut-off of {kind} is {cutoff}; ranks count from 1.", f"Write for example {example}.")
    if measure.rel < 1:
        raise InvalidInput(f"{kind} cannot count grade {measure.rel} as relevant.", "The lowest relevant grade is 1.")
    if measure.rel != 1 and not rules.has_threshold:
        raise InvalidInput(f"{kind} has no relevance threshold, but got rel={measure.rel}.", f"Write {example}.")
    if measure.gain not in get_args(Gain):
        raise InvalidInput(f"Unknown gain {measure.gain!r}.", "Known are linear and exp.")
    if measure.gain != "linear" and not rules.has_gain:
        raise InvalidInput(f"{kind} has no gain, only nDCG has.", f"Write {example}, or nDCG@10(gain=exp).")
    if measure.level not in rules.levels:
        raise InvalidInput(
            f"{kind} has no level {measure.level!r}.",
            f"Known for {kind}: {', '.join(rules.levels)}. Nearest: {example}.",
        )


def _parse_options(text: str, options: str | None) -> dict[str, str]:
    if options is None:
        return {}
    found: dict[str, str] = {}
    for part in options.split(","):
        match = _OPTION.fullmatch(part)
        if match is None:
            raise InvalidInput(
                f"Cannot read the option {part.strip()!r} of the measure {text!r}.",
                "Options are written as in R@10(level=span,rel=2).",
            )
        key = match["key"]
        if key not in _OPTIONS:
            nearest = difflib.get_close_matches(key, _OPTIONS, 1, 0.0)[0]
            raise InvalidInput(
                f"Unknown option {key!r} of the measure {text!r}; the nearest is {nearest!r}.",
                f"Known options: {', '.join(_OPTIONS)}.",
            )
        if key in found:
            raise InvalidInput(f"The measure {text!r} gives {key!r} twice.", "Give each option once.")
        found[key] = match["value"]
    return found


def _number(text: str, what: str, digits: str) -> int:
    if not digits.isdecimal():
        raise InvalidInput(f"The {what} {digits!r} of the measure {text!r} is not a whole number.", "Write 1 or more.")
    if len(digits) > _LONGEST_NUMBER:
        raise InvalidInput(f"The {what} {digits} of the measure {text!r} is too large.", "Write at most 9 digits.")
    return int(digits)


def _choice(text: str, what: str, known: dict[str, _Choice], value: str) -> _Choice:
    if value not in known:
        nearest = difflib.get_close_matches(value, known, 1, 0.0)[0]
        raise InvalidInput(
            f"Unknown {what} {value!r} of the measure {text!r}; the nearest is {nearest!r}.",
            f"Known: {', '.join(dict.fromkeys(known.values()))}.",
        )
    return known[value]


def _refuse_name(text: str, alias: str | None, cutoff: str | None = None) -> NoReturn:
    """Name the nearest known measure, with the cut-off that was asked for where it can have one."""
    stem = (alias if alias is not None else text).lower()
    completions = [name for name in KIND_OF_ALIAS if len(stem) > 1 and name.startswith(stem)]
    nearest = KIND_OF_ALIAS[(completions or difflib.get_close_matches(stem, KIND_OF_ALIAS, 1, 0.0))[0]]
    suggestion = f"{nearest}@{cutoff}" if cutoff and RULES[nearest].cutoff != "none" else _example(nearest)
    known = ", ".join(_example(kind) for kind in RULES)
    raise InvalidInput(f"Unknown measure {text!r}; the nearest is {suggestion}.", f"Known: {known}.")


def _example(kind: Kind) -> str:
    cutoff = RULES[kind].example_cutoff
    return kind if cutoff is None else f"{kind}@{cutoff}"
