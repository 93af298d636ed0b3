"""The artifact cache: built aside, renamed, checked, rebuilt, shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ragtui.artifacts.cache import RECORD_NAME, ArtifactCache
from ragtui.errors import ArtifactDamaged, RunFailed
from ragtui.ids import content_id
from tests.workshop import make_workspace, ragtui

ID = content_id("an artifact")


def build(folder: Path) -> None:
    (folder / "data.bin").write_bytes(b"0123456789")
    (folder / "sub").mkdir()
    (folder / "sub" / "more.bin").write_bytes(b"abc")


def test_built_once_and_found_again(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path / "artifacts")
    assert cache.find("kind", ID) is None
    first = cache.get("kind", ID, {"recipe": 1}, build)
    assert cache.get("kind", ID, {"recipe": 1}, _never) == first
    [stored] = cache.stored()
    assert stored.record is not None
    assert (stored.record.id, stored.record.kind, stored.record.size, stored.damage) == (ID, "kind", 13, "")
    assert set(stored.record.files) == {"data.bin", "sub/more.bin"}
    assert stored.record.built_at.endswith("Z")


def _never(folder: Path) -> None:
    raise AssertionError("built again")


DAMAGE = {
    "changed": lambda folder: (folder / "data.bin").write_bytes(b"012345678X"),
    "cut": lambda folder: (folder / "data.bin").write_bytes(b"0123"),
    "gone": lambda folder: (folder / "sub" / "more.bin").unlink(),
    "no record": lambda folder: (folder / RECORD_NAME).unlink(),
    "torn record": lambda folder: (folder / RECORD_NAME).write_bytes(b'{"id": "sha'),
    "another's record": lambda folder: (folder / RECORD_NAME).write_bytes(
        (folder / RECORD_NAME).read_bytes().replace(ID.encode(), content_id("other").encode())
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_told_and_mended(tmp_path: Path, name: str) -> None:
    cache = ArtifactCache(tmp_path)
    folder = cache.get("kind", ID, {}, build)
    DAMAGE[name](folder)
    with pytest.raises(ArtifactDamaged, match=f"Artifact {folder.name} is damaged: "):
        cache.find("kind", ID)
    told: list[str] = []
    assert cache.get("kind", ID, {}, build, notify=told.append) == folder
    assert len(told) == 1
    assert told[0].startswith(f"Artifact {folder.name} is damaged: ")
    assert told[0].endswith(". It is rebuilt.")
    assert cache.find("kind", ID) == folder
    assert (folder / "data.bin").read_bytes() == b"0123456789"


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path)

    def fails(folder: Path) -> None:
        build(folder)
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        cache.get("kind", ID, {}, fails)
    assert list(tmp_path.iterdir()) == []


def test_two_builders_end_with_one_artifact(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path)
    together = threading.Barrier(4)

    def slowly(folder: Path) -> None:
        together.wait(10)
        build(folder)

    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get("kind", ID, {}, slowly))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cache.folder("kind", ID)] * 4
    assert [path.name for path in tmp_path.iterdir()] == [cache.folder("kind", ID).name]


def test_abandoned_folders_are_found_when_old(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path)
    half = tmp_path / ".building-abc"
    half.mkdir()
    assert cache.abandoned() == []
    assert cache.stored() == []
    os.utime(half, (time.time() - 7200,) * 2)
    assert cache.abandoned() == [half]


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunFailed) as caught:
        ArtifactCache(tmp_path / "file").get("kind", ID, {}, build)
    assert caught.value.message == f"The kind artifact cannot be written to {tmp_path / 'file'}: File exists."
    assert caught.value.hint == "Free some space or make the folder writable, then run again."


_FILLS_DISK = """
import resource, sys
# Python would leave a cut bytecode file where it may not write all of it.
sys.dont_write_bytecode = True
from pathlib import Path
from ragtui.artifacts.cache import ArtifactCache
from ragtui.errors import RunFailed
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
def build(folder):
    (folder / "big").write_bytes(b"x" * 5000)
try:
    ArtifactCache(Path(sys.argv[1])).get("kind", "sha256:1", {}, build)
except RunFailed as error:
    print(error.message)
"""


def test_no_room_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "artifacts"
    done = subprocess.run([sys.executable, "-c", _FILLS_DISK, str(root)], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"The kind artifact cannot be written to {root}: File too large.\n", done.stderr
    assert list(root.iterdir()) == []


def test_a_run_over_damaged_artifacts_says_so_and_gives_the_same(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "ws")
    first = ragtui(folder, "run", "hybrid", "--display", "plain", "--json")
    artifacts = sorted((folder / ".ragtui" / "artifacts").iterdir())
    assert [path.name.split("-")[0] for path in artifacts] == ["bm25", "chunks", "vectors"]
    for artifact in artifacts:
        largest = max((path for path in artifact.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        data = bytearray(largest.read_bytes())
        data[len(data) // 2] ^= 0xFF
        largest.write_bytes(data)
    second = ragtui(folder, "run", "hybrid", "--display", "plain", "--json")
    assert (first.returncode, second.returncode) == (0, 0)
    for artifact in artifacts:
        assert f"Artifact {artifact.name} is damaged: " in second.stderr
    assert second.stderr.count("It is rebuilt.") == 3
    assert _measures(first.stdout) == _measures(second.stdout)
    third = ragtui(folder, "run", "hybrid", "--display", "plain", "--json")
    assert "damaged" not in third.stderr


def _measures(text: str) -> object:
    return json.loads(text)["measures"]
