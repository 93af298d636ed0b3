"""Canonical JSON and the content ids made from it."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no insignificant space: equal values give equal bytes."""
    return _ENCODER.encode(value)


def content_id(value: Any) -> str:
    """`sha256:` and 64 hexadecimal digits over the canonical JSON of `value`."""
    return bytes_id(canonical_json(value))


def bytes_id(data: bytes | memoryview) -> str:
    """`sha256:` and 64 hexadecimal digits over raw bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def text_id(text: str) -> str:
    """`bytes_id` of a text's UTF-8 form."""
    return bytes_id(text.encode("utf-8", "surrogatepass"))


def short(identifier: str, length: int = 12) -> str:
    """The first characters of an id's digest, for a screen; never for a key."""
    return identifier.removeprefix("sha256:")[:length]


def new_run_id() -> str:
    """Twelve random characters of Crockford's base 32; a prefix of a few is enough to name a run."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(12))
