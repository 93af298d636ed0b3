"""Opening other people's files: plain, gzip or lz4, as lines in bounded memory."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import math
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from ragtui.errors import InvalidFiles, InvalidInput, Problem

LINE_LIMIT = 64 * 1024 * 1024
WHOLE_LIMIT = 1024 * 1024 * 1024
EMPTY_LIMIT = 1_000_000
UNPACKED_TIMES = 500
UNPACKED_LEAST = 64 * 1024 * 1024
SHOWN_PROBLEMS = 100
_BOM = b"\xef\xbb\xbf"
_GZIP, _LZ4, _ZIP = b"\x1f\x8b", b"\x04\x22\x4d\x18", b"PK\x03\x04"


class Problems:
    """Collects problems, keeps the first hundred and counts the rest."""

    def __init__(self) -> None:
        self._kept: list[Problem] = []
        self.count = 0

    def add(self, file: str, line: int, message: str, hint: str = "") -> None:
        """One more."""
        self.count += 1
        if len(self._kept) < SHOWN_PROBLEMS:
            self._kept.append(Problem(file, line, message, hint))

    def refuse(self, hint: str) -> None:
        """Raise InvalidFiles if there is any."""
        if not self.count:
            return
        more = self.count - len(self._kept)
        if more:
            last = self._kept[-1]
            self._kept.append(Problem(last.file, last.line, f"and {more:,} more problems after this line.", ""))
        raise InvalidFiles(self._kept, hint, ", ".join(dict.fromkeys(problem.file for problem in self._kept)))


def byte_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and line without its end or a BOM, for every line that is not blank (or every one).

    Raises InvalidInput where the file cannot be read to its end, a line is longer than LINE_LIMIT, EMPTY_LIMIT lines
    in a row are empty, or a packed file unpacks to so much that it can only be meant to.
    """
    with opened(path) as file, readable(path):
        number = unpacked = empty = 0
        most = _most(path)
        while line := file.readline(LINE_LIMIT + 1):
            number += 1
            unpacked += len(line)
            if unpacked > most:
                message = f"{path.name} unpacks to more than {UNPACKED_TIMES} times its size."
                raise InvalidInput(message, "Unpack it yourself, if that is right.")
            if len(line) > LINE_LIMIT:
                hint = "Is it a line-based file at all?"
                raise InvalidInput(f"{path.name}:{number}: is longer than {LINE_LIMIT >> 20} MiB.", hint)
            if number == 1:
                line = line.removeprefix(_BOM)
            line = line.rstrip(b"\r\n")
            if line and not line.isspace():
                empty = 0
                yield number, line
                continue
            empty += 1
            if empty > EMPTY_LIMIT:
                hint = "Is it the right file?"
                raise InvalidInput(f"{path.name}:{number}: more than {EMPTY_LIMIT:,} lines in a row are empty.", hint)
            if blank:
                yield number, line


def _most(path: Path) -> int | float:
    """How many bytes a file's lines may have: packed text is a fifth or a fiftieth of itself, never a thousandth."""
    with path.open("rb") as file:
        magic = file.read(4)
    packed = magic.startswith(_GZIP) or magic == _LZ4
    return max(UNPACKED_LEAST, UNPACKED_TIMES * path.stat().st_size) if packed else math.inf


def text_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """`byte_lines` as UTF-8 text; InvalidInput names the line of a byte that is not."""
    for number, line in byte_lines(path, blank=blank):
        yield number, decoded(line, path, number)


def decoded(data: bytes, path: Path, line: int) -> str:
    """The bytes as UTF-8; InvalidInput names file and line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path.name}:{line}: is not UTF-8 (byte 0x{data[error.start]:02X})."
        raise InvalidInput(message, "Save the file as UTF-8.") from None


def read_json(path: Path, kind: Any = Any) -> Any:
    """A whole JSON file as type `kind`; InvalidInput where it is none or larger than WHOLE_LIMIT unpacked."""
    with opened(path) as file, readable(path):
        data = file.read(WHOLE_LIMIT + 1)
    if len(data) > WHOLE_LIMIT:
        raise InvalidInput(f"{path.name} is larger than {WHOLE_LIMIT >> 20} MiB.", "Write it as JSON Lines.")
    try:
        return msgspec.json.decode(data.removeprefix(_BOM), type=kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{path.name}: {error}.", "Correct the field named.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is not JSON: {error}.", "Check the file.") from None


def starts_like_json(path: Path) -> bool:
    """Whether the first character that is no white space opens a JSON object or array."""
    with opened(path) as file, readable(path):
        return file.read(4096).removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


@contextlib.contextmanager
def seekable(path: Path) -> Iterator[Path]:
    """The path, or for a pipe (`<(…)`, `/dev/stdin`), which can be read only once, that of a temporary copy."""
    if not path.exists() or path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ragtui-") as folder:
        copy = Path(folder) / path.name
        with readable(path), path.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked where its first bytes say so. Raises InvalidInput where that cannot be done."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from None
    with raw:
        with readable(path):
            magic = raw.read(4)
            raw.seek(0)
        if magic.startswith(_GZIP):
            with gzip.open(raw, "rb") as packed:
                yield cast("IO[bytes]", packed)
        elif magic == _LZ4:
            with _lz4(path).open(raw, "rb") as packed:
                yield packed
        elif magic == _ZIP:
            raise InvalidInput(f"{path.name} is a zip archive.", "Unpack it first.")
        else:
            yield raw


def _lz4(path: Path) -> Any:
    try:
        return importlib.import_module("lz4.frame")
    except ImportError:
        message = f"{path.name} is packed with lz4, and the package lz4 is not installed."
        raise InvalidInput(message, "Install it (pip install lz4) or unpack the file.") from None


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Failures of reading and unpacking inside become InvalidInput."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, RuntimeError) as error:
        raise InvalidInput(f"{path.name} is damaged: {error}.", "Fetch the file again.") from None
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be read: {error.strerror or error}.", "Check the file.") from None
