"""Small damages to bytes, repeatable from a seed."""

from __future__ import annotations

import random
import re

_TOKENS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\t", b" ", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"#",
    b"<DOC>", b"</DOC>", b"<top>", b"null", b"NaN", b"1e999", b"-1", b"99999999999999999999", b"0.5", b"true",
    b"\\ud800", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xc2\xa0", b"\x1b[31m", b"//", b"====", b"(a+)+$",
    b"[" * 300, b"{\"a\":" * 200, b"\x1f\x8b", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\n",
)  # fmt: skip

# A value keeps the grammar around it whole, so that what lies behind a decoder is reached too.
_VALUE = re.compile(rb'"(?:[^"\\\n]|\\.)*"|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])|\b(?:true|false|null)\b')
_VALUES = (
    b'""', b'" "', b'"\\u0000"', b'"\\ud800"', b'"/../x"', b'"a"', b"null", b"true", b"0", b"-1", b"1.5", b"1e308",
    b"2147483648", b"9223372036854775808", b"[]", b"{}", b"[null]", b'["a", "a"]', b'{"a": 1}', b'"2031-01-01"',
)  # fmt: skip


def mutated(data: bytes, source: random.Random, others: list[bytes]) -> bytes:
    """The data after one to eight random damages; `others` are spliced in."""
    result = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        at = source.randint(0, len(result))
        end = min(len(result), at + source.choice((1, 1, 2, 8, 64)))
        kind = source.randrange(10)
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
        elif kind > 7 and (values := list(_VALUE.finditer(result))):
            place = source.choice(values)
            others_here = [found.group() for found in source.sample(values, min(3, len(values)))]
            result[place.start() : place.end()] = source.choice((*_VALUES, *others_here))
        else:
            result = result[:at]
    return bytes(result)
