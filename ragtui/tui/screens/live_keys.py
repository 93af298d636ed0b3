"""The keys of the live screen."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding

LIVE_KEYS: list[Any] = [
    Binding(
        "t,enter",
        "open_trace",
        "Trace",
        id="live.trace",
        tooltip="Open the run, or the chosen case, on the trace screen.",
    ),
    Binding(
        "x",
        "cancel",
        "Cancel",
        id="live.cancel",
        tooltip="Ask the run to stop: it finishes what is in flight and keeps everything.",
    ),
    Binding("d", "detach", "Detach", id="live.detach", tooltip="Stop watching this run; it goes on."),
    Binding("a", "attach", "Attach", id="live.attach", tooltip="Watch again the runs that were detached."),
    Binding("r", "resume", "Resume", id="live.resume", tooltip="Continue a run that was interrupted or cancelled."),
    Binding("m", "matrix", "Matrix", id="live.matrix", tooltip="Which model can what: the matrix, as it fills."),
    Binding("right_square_bracket,n", "next_run(1)", "Next run", id="live.next", tooltip="Show the next run."),
    Binding(
        "left_square_bracket",
        "next_run(-1)",
        "Previous run",
        show=False,
        id="live.previous",
        tooltip="Show the previous run.",
    ),
]
