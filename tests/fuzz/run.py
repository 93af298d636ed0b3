"""Fuzz every parser for a while: no traceback, no hang.

    python -m tests.fuzz.run [--seconds 60] [--target NAME]… [--seed N]

What fails is written to tests/fuzz/seeds/<target>/, where the tests pick it up.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from ragtui.errors import RagtuiError
from tests.fuzz.mutate import mutated
from tests.fuzz.targets import TARGETS

SEEDS = Path(__file__).parent / "seeds"
# Of the processor, so that a busy machine hangs nobody; and by the clock, for what waits instead of working.
HANG_SECONDS, WAIT_SECONDS = 10, 120


class Hang(BaseException):
    """An input took too long."""


def seeds_of(target: str) -> list[bytes]:
    """The kept inputs of a target, in the order of their names."""
    return [path.read_bytes() for path in sorted((SEEDS / target).glob("*")) if path.is_file()]


def attempt(target: str, data: bytes, folder: Path) -> str:
    """Run one input in a folder that is emptied first: `accepted` or `refused`; anything else is raised."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        TARGETS[target](data, folder)
    except RagtuiError as error:
        if not error.message.strip():
            raise AssertionError("an error without a sentence") from error
        return "refused"
    return "accepted"


def main() -> int:
    """Fuzz until the time is over; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    targets = options.target or sorted(TARGETS)
    source = random.Random(options.seed)
    corpora = {target: seeds_of(target) for target in targets}
    counts: Counter[str] = Counter()
    failures = 0
    slowest = (0.0, "")

    def too_long(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGPROF, too_long)
    print(f"seed {options.seed}, {len(targets)} targets")
    until = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="ragtui-fuzz-") as name:
        while time.monotonic() < until:
            target = source.choice(targets)
            data = mutated(source.choice(corpora[target] or [b""]), source, corpora[target])
            started = time.process_time()
            signal.alarm(WAIT_SECONDS)
            signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
            try:
                outcome = attempt(target, data, Path(name) / "work")
                if outcome == "accepted" and len(corpora[target]) < 200 and source.random() < 0.05:
                    corpora[target].append(data)
            except (Exception, Hang):
                outcome = "failed"
                failures += 1
                kept = SEEDS / target / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
                print(f"{target}: {kept.name}")
                traceback.print_exc(limit=-4)
            finally:
                signal.alarm(0)
                signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, (time.process_time() - started, target))
            counts[f"{target} {outcome}"] += 1
    for key in sorted(counts):
        print(f"{counts[key]:9,}  {key}")
    seconds, target = slowest
    print(f"{sum(counts.values()):,} inputs, {failures} failures, slowest {seconds:.2f} s of processor ({target})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
