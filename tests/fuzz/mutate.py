"""Small damages to bytes, repeatable from a seed."""

from __future__ import annotations

import random

_TOKENS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\t", b" ", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"#",
    b"<DOC>", b"</DOC>", b"<top>", b"null", b"NaN", b"1e999", b"-1", b"99999999999999999999", b"0.5", b"true",
    b"\\ud800", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xc2\xa0", b"\x1b[31m", b"//", b"====", b"(a+)+$",
    b"[" * 300, b"{\"a\":" * 200, b"\x1f\x8b", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\n",
)  # fmt: skip


def mutated(data: bytes, source: random.Random, others: list[bytes]) -> bytes:
    """The data after one to eight random damages; `others` are spliced in."""
    result = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        at = source.randint(0, len(result))
        end = min(len(result), at + source.choice((1, 1, 2, 8, 64)))
        kind = source.randrange(8)
        if kind == 0 and at < len(result):
            result[at] = source.randrange(256)
        elif kind == 1:
            del result[at:end]
        elif kind == 2:
            result[at:at] = source.choice(_TOKENS)
        elif kind == 3:
            result[at:end] = source.choice(_TOKENS)
        elif kind == 4:
            result[at:at] = result[at:end] * source.choice((1, 2, 20))
        elif kind == 5:
            lines = bytes(result).split(b"\n")
            source.shuffle(lines)
            result = bytearray(b"\n".join(lines))
        elif kind == 6 and others:
            other = source.choice(others)
            cut = source.randint(0, len(other))
            result[at:] = other[cut:]
        else:
            result = result[:at]
    return bytes(result)
