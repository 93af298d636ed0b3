"""The folder of artifacts: content-addressed, built aside and renamed, checked when opened.

<root>/<kind>-<first 16 digits of the id>/
    record.json   id, kind, recipe, built_at, seconds, and each file's size and SHA-256
    …             the artifact's own files
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ragtui.errors import ArtifactDamaged, RunFailed
from ragtui.ids import canonical_json, short

RECORD_NAME = "record.json"
_TEMPORARY = ".building-"
_HASH_BYTES_LIMIT = 256 * 1024 * 1024


class FileRecord(msgspec.Struct, frozen=True):
    """A file's size in bytes and its SHA-256 in hexadecimal."""

    size: int
    sha256: str


class ArtifactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an artifact says of itself."""

    id: str
    kind: str
    recipe: Any
    built_at: str
    seconds: float
    files: dict[str, FileRecord]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())


class StoredArtifact(msgspec.Struct, frozen=True):
    """A folder of the cache, its record if it can be read, and what is wrong with it if anything is."""

    folder: Path
    record: ArtifactRecord | None
    damage: str = ""


class ArtifactCache:
    """Artifacts below one folder. Safe to use from several processes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, kind: str, artifact_id: str) -> Path:
        """Where the artifact is or would be."""
        return self.root / f"{kind}-{short(artifact_id, 16)}"

    def find(self, kind: str, artifact_id: str) -> Path | None:
        """The folder of an intact artifact, None if there is none; ArtifactDamaged if it is not intact."""
        folder = self.folder(kind, artifact_id)
        if not folder.is_dir():
            return None
        record, damage = check(folder)
        if damage or record is None or record.id != artifact_id:
            raise ArtifactDamaged(
                f"Artifact {folder.name} is damaged: {damage or 'it has another id'}.", "It is rebuilt."
            )
        return folder

    def get(
        self, kind: str, artifact_id: str, recipe: Any, build: Callable[[Path], None],
        notify: Callable[[str], None] = lambda message: None,
    ) -> Path:  # fmt: skip
        """The folder of the artifact, built by `build(folder)` if it is missing or damaged.

        `notify` gets a sentence when a damaged artifact is replaced.
        """
        try:
            found = self.find(kind, artifact_id)
        except ArtifactDamaged as error:
            notify(f"{error.message} {error.hint}")
            shutil.rmtree(self.folder(kind, artifact_id), ignore_errors=True)
            found = None
        return found or self._build(kind, artifact_id, recipe, build)

    def _build(self, kind: str, artifact_id: str, recipe: Any, build: Callable[[Path], None]) -> Path:
        final = self.folder(kind, artifact_id)
        temporary: Path | None = None
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self.root))
            started = time.perf_counter()
            build(temporary)
            record = ArtifactRecord(
                id=artifact_id,
                kind=kind,
                recipe=recipe,
                built_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                seconds=round(time.perf_counter() - started, 6),
                files={name: FileRecord(path.stat().st_size, _sha256(path)) for name, path in _files(temporary)},
            )
            (temporary / RECORD_NAME).write_bytes(canonical_json(record))
            try:
                os.rename(temporary, final)
            except OSError:
                # Another process was faster; its artifact has the same id and so the same content.
                if not final.is_dir():
                    raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunFailed(f"The {kind} artifact cannot be written to {self.root}: {reason}.",
                            "Free some space or make the folder writable, then run again.") from error  # fmt: skip
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
        return final

    def stored(self) -> list[StoredArtifact]:
        """Every artifact in the cache, intact or not, ordered by name."""
        if not self.root.is_dir():
            return []
        folders = sorted(path for path in self.root.iterdir() if path.is_dir() and not path.name.startswith("."))
        return [StoredArtifact(folder, *check(folder)) for folder in folders]

    def abandoned(self, older_than_seconds: float = 3600.0) -> list[Path]:
        """Half-built folders that a killed process left behind."""
        if not self.root.is_dir():
            return []
        limit = time.time() - older_than_seconds
        return sorted(path for path in self.root.glob(f"{_TEMPORARY}*") if path.stat().st_mtime < limit)


def check(folder: Path) -> tuple[ArtifactRecord | None, str]:
    """The record of an artifact's folder and what is wrong with it (empty when nothing is).

    Every size is compared, and the hash of every file up to 256 MiB.
    """
    try:
        record = msgspec.json.decode((folder / RECORD_NAME).read_bytes(), type=ArtifactRecord)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, f"its record cannot be read ({error})"
    for name, expected in record.files.items():
        path = folder / name
        try:
            size = path.stat().st_size
            same = size == expected.size and (size > _HASH_BYTES_LIMIT or _sha256(path) == expected.sha256)
        except OSError as error:
            return record, f"{name} cannot be read ({error.strerror})"
        if not same:
            return record, f"{name} is not as it was built"
    return record, ""


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        # Lock files are the index library's own business and may come and go.
        if path.is_file() and path.suffix != ".lock":
            yield path.relative_to(folder).as_posix(), path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
