"""A baseline as text that can be reviewed: a recorded run without its candidates, one case a line."""

from __future__ import annotations

import msgspec

from ragtui.analysis.recorded import RecordedRun


def baseline_json(run: RecordedRun) -> bytes:
    """An exported run reduced to what `compare` needs: results, scores and judgments, no texts, no channel hits.

    Cases, traces and chunks stand one a line, so that a review shows which questions changed.
    """
    traces = tuple(
        msgspec.structs.replace(trace, channels={}, fused=None, floor=None, collapse=None, timings={})
        for trace in run.traces
    )
    kept = {chunk for trace in traces for chunk in trace.results.chunks}
    chunks = tuple(msgspec.structs.replace(chunk, text="") for chunk in run.chunks if chunk.ordinal in kept)
    reduced = msgspec.structs.replace(run, traces=traces, chunks=chunks, environments=())
    fields = []
    for name in type(reduced).__struct_fields__:
        value = getattr(reduced, name)
        if name in ("cases", "traces", "chunks"):
            rows = b",\n".join(msgspec.json.encode(item) for item in value)
            fields.append(b'"%s":[\n%s\n]' % (name.encode(), rows))
        else:
            fields.append(b'"%s":%s' % (name.encode(), msgspec.json.encode(value)))
    return b"{\n" + b",\n".join(fields) + b"\n}\n"
