"""Reading text files the one way that content ids rely on."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from ragtui.errors import InvalidInput, Problem

BOM = "\ufeff"
NAME_BYTES = 100
# Windows opens a device for these, whatever suffix they have.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789")}


def read_text(path: Path, name: str) -> str | Problem:
    """The file as UTF-8 text without a BOM and with `\\n` line ends, or the problem with it.

    `name` is how messages call the file. A byte that is not UTF-8 is reported at its line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        return Problem(name, 0, f"cannot be read: {error.strerror or error}.", "Check the file and its permissions.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        return Problem(name, line, f"is not UTF-8 (byte 0x{byte:02X}).", "Save the file as UTF-8.")
    return normalize_text(text)


def normalize_text(text: str) -> str:
    """Drop a leading BOM and turn CRLF and CR into LF."""
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def fold_space(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    return " ".join(text.split())


# Typography that models and editors put for what people type.
_TYPED = (("’", "'"), ("‘", "'"), ("‐", "-"), ("‑", "-"))
BOLD = "**"


def fold_answer(text: str) -> str:
    """Text as answer patterns see it: white space folded, marks of bold dropped, apostrophes and hyphens as typed."""
    text = fold_space(text.replace(BOLD, ""))
    for character, typed in _TYPED:
        text = text.replace(character, typed)
    return text


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 case`, `2 cases`; `many` for a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def checked_name(name: str, what: str) -> str:
    """The name, if a file may bear it on every system; `what` is how the message calls it, e.g. `baseline`.

    Raises InvalidInput for separators, control characters, `.` at an end, a device's name, and over NAME_BYTES bytes.
    """
    fault = ""
    if not name.strip():
        fault = "is empty"
    elif any(char in "/\\" or is_unsafe(char) for char in name):
        fault = "holds a separator or a control character"
    elif name[0] == "." or name[-1] == "." or name != name.strip():
        fault = "begins or ends with a dot or a space"
    elif name.split(".")[0].rstrip().lower() in _DEVICES:
        fault = "is a device's name on Windows"
    elif len(name.encode()) > NAME_BYTES:
        fault = f"is longer than {NAME_BYTES} bytes"
    if fault:
        shown = printable(name if len(name) <= 40 else f"{name[:40]}…")
        raise InvalidInput(f"The {what} name {shown!r} {fault}.", "Use letters, digits, - and _.")
    return name


def printable(text: str) -> str:
    """Text of unknown origin, made inert for a terminal: control and format characters become visible escapes.

    Covers C0 and C1 controls, bidirectional overrides, zero-width characters, line and paragraph separators,
    lone surrogates, noncharacters and private-use characters. A new line and a tab are kept.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in "\n\t" or not is_unsafe(char) else _escape(char) for char in text)


def is_unsafe(char: str) -> bool:
    """Whether a terminal or a reader could be misled by the character: see `printable`."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or _is_noncharacter(ord(char))


def _is_noncharacter(code: int) -> bool:
    """The 66 code points that are no characters (Unicode 23.7); XML cannot hold them."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
