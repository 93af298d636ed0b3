"""The kept inputs, and a few hundred damaged ones, of every parser."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.mutate import mutated
from tests.fuzz.run import attempt, seeds_of
from tests.fuzz.targets import TARGETS

MUTATIONS = 40


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_no_input_does_more_than_be_refused(target: str, tmp_path: Path) -> None:
    seeds = seeds_of(target)
    assert seeds, "every target has an input to begin from"
    outcomes = [attempt(target, data, tmp_path / "work") for data in seeds]
    assert "accepted" in outcomes, "an input that is never accepted tests little"
    source = random.Random(f"{target} 1")
    for _ in range(MUTATIONS):
        attempt(target, mutated(source.choice(seeds), source, seeds), tmp_path / "work")
