"""How the app feels, measured in a real terminal emulator: tmux runs it, and its screen is polled.

    python -m tests.benchmarks.tui [--runs 1000] [--cases 10000] [--long 100000] [--only screens keys]

Every figure is measured the same way, from the moment before the program is started or the key is sent to the first
poll that shows the effect; the last line of each block tells what the polling itself costs. A bare Textual app with
header, table and footer is measured beside ours.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ragtui.store.journal import JournalWriter  # noqa: E402
from ragtui.store.store import Store  # noqa: E402
from tests.store import samples  # noqa: E402
from tests.workshop import make_workspace, ragtui, start  # noqa: E402

STYLES = re.compile(r"\x1b\[[0-9;:]*m")
BARE = """
from textual.app import App
from textual.widgets import DataTable, Footer, Header
class Bare(App):
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield Header(); yield DataTable(); yield Footer()
    def on_mount(self):
        table = self.query_one(DataTable)
        table.cursor_type = "row"
        table.add_columns("first", "second")
        for number in range(100):
            table.add_row(f"row-{number}", "x")
        table.focus()
Bare().run()
"""


class Screen:
    """A program in a tmux of its own, 80×24."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._socket = f"ragtui-bench-{os.getpid()}"
        words = shlex.join(
            [
                "env",
                "-u",
                "PYTHONDONTWRITEBYTECODE",
                f"PYTHONPATH={ROOT}",
                "TERM=tmux-256color",
                "COLORTERM=truecolor",
                *command,
            ]
        )
        self.began = time.perf_counter()
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), words)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=False)
        return done.stdout

    def show(self) -> str:
        """The screen with its styles, so that a cursor that moves is seen."""
        return self._tmux("capture-pane", "-p", "-e")

    def press(self, key: str) -> None:
        """Send one key."""
        self._tmux("send-keys", key)

    def until(self, true: Callable[[str], bool], seconds: float = 60.0) -> float:
        """Poll until the screen is so; the moment."""
        deadline = time.perf_counter() + seconds
        while True:
            text = self.show()
            now = time.perf_counter()
            if true(text):
                return now
            if now > deadline:
                raise SystemExit(f"never shown:\n{self._tmux('capture-pane', '-p')}")

    def pid(self) -> int:
        """The program's process."""
        return int(self._tmux("list-panes", "-F", "#{pane_pid}").split()[0])

    def close(self) -> None:
        """End it."""
        self._tmux("kill-server")
        time.sleep(0.3)


@contextmanager
def opened(folder: Path, command: list[str] | None = None) -> Iterator[Screen]:
    # The app opens where it was left; here always on the list of runs.
    (folder / ".ragtui" / "app.json").unlink(missing_ok=True)
    screen = Screen(folder, command or [sys.executable, "-m", "ragtui"])
    try:
        yield screen
    finally:
        screen.close()


def first(folder: Path, needle: str, command: list[str] | None = None, repeats: int = 5) -> float:
    """Median seconds from start to the first picture that holds the needle."""
    found = []
    for _ in range(repeats):
        with opened(folder, command) as screen:
            found.append(screen.until(lambda text: needle in text) - screen.began)
    return statistics.median(found)


def keys(screen: Screen, presses: list[str]) -> list[float]:
    """Milliseconds from each key to the first screen that differs."""
    found = []
    for key in presses:
        before = screen.show()
        began = time.perf_counter()
        screen.press(key)
        found.append((screen.until(partial(str.__ne__, before), 5) - began) * 1000)
        time.sleep(0.03)
    return found


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"p50 {statistics.median(ordered):6.1f}  p95 {ordered[int(len(ordered) * 0.95)]:6.1f} ms"


def polling(screen: Screen) -> float:
    """Milliseconds of one poll."""
    began = time.perf_counter()
    for _ in range(50):
        screen.show()
    return (time.perf_counter() - began) * 20


def fill(folder: Path, runs: int, cases: int) -> None:
    """A store of many small runs, and a newest one with many cases."""
    store, journals = Store(folder / "runs.duckdb"), folder / ".ragtui" / "journal"
    for number in range(runs - 1):
        at = f"2025-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}T00:00:00Z"
        run_id = f"run{number:06}"
        store.load_journal(samples.write_journal(journals, run_id, samples.whole_run(run_id, 2, at=at)))
    big(store, journals, "bigrun000000", cases)
    (folder / "bare.py").write_text(BARE)


def big(store: Store, journals: Path, run_id: str, cases: int) -> None:
    events = samples.whole_run(run_id, cases, at="2027-01-01T00:00:00Z")
    store.load_journal(samples.write_journal(journals, run_id, events))


def memory(pid: int) -> float:
    """Resident megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def streaming(folder: Path, stop: threading.Event) -> None:
    """Write fifty cases a second to a live journal."""
    with JournalWriter.open(folder / ".ragtui" / "journal", "livestream00") as journal:
        journal.write([samples.started("livestream00", 100_000)])
        number = 0
        while not stop.is_set():
            journal.write([samples.finished(number)])
            number += 1
            stop.wait(0.02)


def _holds(words: tuple[str, ...], text: str) -> bool:
    plain = STYLES.sub("", text)
    return all(word in plain for word in words)


def report(what: str, figure: str) -> None:
    print(f"{what:58} {figure}", flush=True)


def bench_start(folder: Path) -> None:
    bare = [sys.executable, str(folder / "bare.py")]
    report("bare Textual app, first paint", f"{first(folder, 'row-1', bare):.2f} s")
    report("ragtui, first paint (limit 0.40 s)", f"{first(folder, 'commands'):.2f} s")
    report("ragtui, first screen with data (limit 0.80 s)", f"{first(folder, 'bigru'):.2f} s")


def bench_keys(folder: Path) -> None:
    walk = ["Down"] * 60 + ["Up"] * 20 + ["NPage", "PPage"] * 5
    bare = [sys.executable, str(folder / "bare.py")]
    with opened(folder, bare) as screen:
        screen.until(lambda text: "row-1" in text)
        time.sleep(0.5)
        report("bare Textual app, a key's effect", spread(keys(screen, walk)))
    with opened(folder) as screen:
        screen.until(lambda text: "bigru" in text)
        time.sleep(0.5)
        screen.press("Enter")
        screen.until(lambda text: "question" in text.lower() and "q 0/" in text)
        time.sleep(0.5)
        report("a key's effect among the cases (limit p50 30, p95 100)", spread(keys(screen, walk)))
        stop = threading.Event()
        writer = threading.Thread(target=streaming, args=(folder, stop))
        writer.start()
        time.sleep(2)
        report("the same while 50 events a second arrive", spread(keys(screen, walk)))
        screen.press("3")
        screen.until(lambda text: "livestream00" in text)
        time.sleep(1)
        stop.set()
        writer.join()
        report("of which one poll costs", f"{polling(screen):.1f} ms")


# What a screen shows once it is really there: its own panes, controls and words, besides its place in the bar above.
# Then a word that only its data brings.
SCREENS: dict[str, tuple[tuple[str, ...], str]] = {
    "1": (("[1 Corpus]", "Documents", "Snapshot", "Suites and tags", "Artifacts", "Check"), "by name"),
    "2": (("[2 Launch]", "Plan", "hybrid", "suites", "rank const.", "ctrl+r", "This run", "Manifest"), "spec "),
    "3": (("[3 Live]", "Nothing is running here", "choose a plan"), "to open its traces"),
    "5": (("[5 Diff]", "base ", "new bigrun", "What if"), "win/tie/loss"),
}


def bench_screens(folder: Path, repeats: int = 5) -> None:
    opening: dict[str, list[tuple[float, float]]] = {}
    for _ in range(repeats):
        with opened(folder) as screen:
            screen.until(lambda text: "bigru" in text)
            time.sleep(0.5)
            for key, (words, data) in SCREENS.items():
                began = time.perf_counter()
                screen.press(key)
                shown = screen.until(partial(_holds, words))
                whole = screen.until(partial(_holds, (data,)))
                opening.setdefault(key, []).append(((shown - began) * 1000, (whole - began) * 1000))
                time.sleep(0.7)
    for key, values in opening.items():
        frames, wholes = zip(*values, strict=True)
        figures = f"{statistics.median(frames):.0f} ms, at best {min(frames):.0f}"
        data = f"with its data {statistics.median(wholes):.0f}, at best {min(wholes):.0f}"
        report(f"opening screen {key} for the first time (limit 150)", f"{figures}; {data}")
    with opened(folder, [sys.executable, str(folder / "bare.py")]) as screen:
        screen.until(lambda text: "row-1" in text)
        time.sleep(0.5)
        report("bare Textual app, a key's effect at that time", spread(keys(screen, ["Down"] * 40)))


def bench_memory(folder: Path, long: int) -> None:
    with opened(folder) as screen:
        screen.until(lambda text: "bigru" in text)
        report("memory with the list of runs", f"{memory(screen.pid()):.0f} MB")
    big(Store(folder / "runs.duckdb"), folder / ".ragtui" / "journal", "longrun00000", long)
    with opened(folder) as screen:
        screen.until(lambda text: "longru" in text)
        time.sleep(0.5)
        screen.press("Enter")
        screen.until(lambda text: "q 0/" in text)
        for key in ["End", "Home"] + ["NPage"] * 50:
            screen.press(key)
            time.sleep(0.05)
        time.sleep(1)
        report(f"memory after walking through {long:,} cases", f"{memory(screen.pid()):.0f} MB")


def bench_processes(folder: Path) -> None:
    def timed(*arguments: str) -> float:
        began = time.perf_counter()
        ragtui(folder, *arguments)
        return time.perf_counter() - began

    report("ragtui --version (limit 0.15 s)", f"{statistics.median(timed('--version') for _ in range(7)):.2f} s")
    alone = [elapsed(folder, 0) for _ in range(3)]
    watched = [elapsed(folder, 3) for _ in range(3)]
    share = statistics.median(alone) / statistics.median(watched)
    report("a run of 1,000 cases with three viewers, speed (limit 0.9)", f"{share:.2f} of unwatched")
    with start(folder, "run", "own.toml", "--display", "none", SECONDS="0.2"):
        time.sleep(2)
        report("ragtui runs during a run (limit 0.5 s)", f"{timed('runs'):.2f} s")


def elapsed(folder: Path, viewers: int) -> float:
    """Seconds of a run while `viewers` apps watch it."""
    screens = []
    for number in range(viewers):
        screen = Screen.__new__(Screen)
        screen._socket = f"ragtui-bench-{os.getpid()}-{number}"
        words = shlex.join(
            [
                "env",
                "-u",
                "PYTHONDONTWRITEBYTECODE",
                f"PYTHONPATH={ROOT}",
                "TERM=tmux-256color",
                sys.executable,
                "-m",
                "ragtui",
            ]
        )
        screen._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), words)
        screen.until(lambda text: "commands" in text)
        screen.press("3")
        screens.append(screen)
    time.sleep(1)
    done = ragtui(folder, "run", "own.toml", "--display", "none", "--json", SECONDS="0.02")
    for screen in screens:
        screen.close()
    if done.returncode:
        raise SystemExit(done.stderr)
    import json

    return float(json.loads(done.stdout)["elapsed_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", choices=("start", "keys", "screens", "memory", "processes"))
    options = parser.parse_args()
    only = options.only or ("start", "keys", "screens", "memory", "processes")
    if set(only) != {"processes"}:
        with tempfile.TemporaryDirectory() as made:
            folder = make_workspace(Path(made) / "ws")
            fill(folder, options.runs, options.cases)
            for name, bench in (("start", bench_start), ("keys", bench_keys), ("screens", bench_screens)):
                if name in only:
                    bench(folder)
            if "memory" in only:
                bench_memory(folder, options.long)
    if "processes" in only:
        from tests.workshop import sample_goldens

        with tempfile.TemporaryDirectory() as made:
            bench_processes(make_workspace(Path(made) / "ws", goldens=sample_goldens(1000)))


if __name__ == "__main__":
    main()
