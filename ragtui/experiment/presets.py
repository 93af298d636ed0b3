"""The plans that ship with ragtui. A default changes only in a new preset."""

from __future__ import annotations

import difflib

from ragtui.errors import InvalidInput
from ragtui.experiment.plan import Channel, Fusion, Metrics, Plan, Retrieval

_BM25 = Channel(kind="bm25", depth=100)
_VECTOR = Channel(kind="vector", depth=100)

PRESETS: dict[str, Plan] = {
    "bm25": Plan(retrieval=Retrieval(channels={"bm25": _BM25})),
    "vector": Plan(retrieval=Retrieval(channels={"vector": _VECTOR})),
    "hybrid": Plan(retrieval=Retrieval(channels={"bm25": _BM25, "vector": _VECTOR})),
    "hybrid-weighted": Plan(
        retrieval=Retrieval(
            channels={"lexical": Channel(kind="bm25", depth=50), "semantic": Channel(kind="vector", depth=50)},
            fusion=Fusion(rank_constant=60.0, weights={"semantic": 2.0}),
            collapse="document",
            results=10,
        ),
        metrics=Metrics(relevance=2),
    ),
}

SUMMARIES: dict[str, str] = {
    "bm25": "keywords only: BM25 over Markdown chunks",
    "vector": "meaning only: the built-in embedder, exact search",
    "hybrid": "both channels, reciprocal rank fusion with equal weights",
    "hybrid-weighted": "both channels, meaning weighs 2, one result a document, relevant from grade 2",
}


def preset(name: str) -> Plan:
    """The preset of this name; InvalidInput names the nearest one."""
    if name in PRESETS:
        return PRESETS[name]
    near = difflib.get_close_matches(name, PRESETS, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(f"There is no preset {name!r}.{guess}", f"Presets: {', '.join(PRESETS)}.")
