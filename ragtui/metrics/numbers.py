"""Numbers in text, in one form: thousands separators and units are folded."""

from __future__ import annotations

import re
from decimal import Decimal

_NUMBER = re.compile(
    r"(?<![\w.,])"
    r"(?P<digits>\d{1,3}(?:[,.'’\u00a0\u2009\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?)"
)
_MARKS = re.compile(r"(?m)^[^\S\n]*\d+[.)]\s")
_SEPARATORS = str.maketrans("", "", "'’\u00a0\u2009\u202f ")


# What is longer is no number that anybody claims, and may be too large to be one.
_LONGEST = 1000


def numbers_in(text: str) -> list[Decimal]:
    """Every number in the order of the text, without sign and unit. The marks of a numbered list are no numbers.

    `6,500 ft`, `6 500ft` and `6500-foot` are 6500; `2,5 l` is 2.5. Where `1.500` can be read in both ways, both are
    given: see `readings`.
    """
    return [value for digits in _digits(_MARKS.sub(" ", text)) for value in readings(digits)[:1]]


def all_readings(text: str) -> set[Decimal]:
    """Every value that a number in the text may stand for."""
    return {value for digits in _digits(text) for value in readings(digits)}


def _digits(text: str) -> list[str]:
    found = (match["digits"] for match in _NUMBER.finditer(text))
    return [digits for digits in found if len(digits) <= _LONGEST]


def readings(digits: str) -> list[Decimal]:
    """What the digits may stand for, the usual reading first: `1,500` and `1.500` are a thousand and a half or 1.5."""
    plain = digits.translate(_SEPARATORS)
    if "," in plain and "." in plain:
        last = max(plain.rfind(","), plain.rfind("."))
        whole = plain[:last].replace(",", "").replace(".", "")
        tail = plain[last + 1 :]
        return [_value(whole + tail)] if len(tail) == 3 else [_value(f"{whole}.{tail}")]
    mark = "," if "," in plain else "." if "." in plain else ""
    if not mark:
        return [_value(plain)]
    parts = plain.split(mark)
    if len(parts) > 2:
        return [_value("".join(parts))]
    decimal = _value(f"{parts[0]}.{parts[1]}")
    if len(parts[1]) != 3:
        return [decimal]
    thousands = _value("".join(parts))
    return [thousands, decimal] if mark == "," else [decimal, thousands]


def _value(text: str) -> Decimal:
    # Trailing zeros say nothing: 2.50 is 2.5.
    return Decimal(text).normalize()
