"""The recipes of artifacts, and the canonical form of every recipe.

`canonical()` writes every field out. A field that a later version adds is listed in `LATER` with its legacy meaning
and left out while it holds it, so that old fingerprints never change.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, get_args

import msgspec


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all recipes."""


class Chunking(Recipe, frozen=True, kw_only=True):
    """How documents become chunks. `size` and `overlap` are characters; `document` makes one chunk of each.

    `headings` puts the path of headings above a chunk in front of its text when it is indexed.
    """

    strategy: Literal["markdown", "document"] = "markdown"
    size: int = 800
    overlap: int = 0
    headings: bool = True


class Lexical(Recipe, frozen=True, kw_only=True):
    """The BM25 analyzer. `bigrams` cuts scripts without spaces into pairs; `auto` decides by the corpus."""

    language: str = "english"
    stemming: bool = True
    stop_words: bool = False
    bigrams: Literal["auto", "on", "off"] = "auto"


class Embedding(Recipe, frozen=True, kw_only=True):
    """Which embedding a vector channel reads. `model` is `builtin` or the name of a profile's model."""

    model: str = "builtin"
    query_prefix: str = ""
    document_prefix: str = ""
    dimensions: int | None = None
    normalize: bool = True


# (struct, field) → the value with which the field is left out of the canonical form.
LATER: dict[tuple[type[msgspec.Struct], str], Any] = {}


def canonical(recipe: msgspec.Struct) -> dict[str, Any]:
    """The recipe as plain data, every field written out (but see LATER) and no fraction as a whole number."""
    plain: dict[str, Any] = {}
    fractional = _fractional(type(recipe))
    for name in type(recipe).__struct_fields__:
        value = getattr(recipe, name)
        key = (type(recipe), name)
        if key not in LATER or LATER[key] != value:
            plain[name] = _as_floats(value) if name in fractional else _plain(value)
    return plain


@cache
def _fractional(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The fields that hold fractions: whole numbers in them are equal to floats, but would be written otherwise."""
    fields = msgspec.structs.fields(kind)
    return frozenset(field.name for field in fields if float in (field.type, *get_args(field.type)))


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_floats(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) else value


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return canonical(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value
