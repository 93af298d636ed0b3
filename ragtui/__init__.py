"""The laboratory for retrieval-augmented generation that lives in a terminal.

A fixed corpus and fixed questions, a fingerprinted specification, a recorded run with a trace for each question, and
measures that agree with trec_eval.

    import ragtui

    plan = ragtui.experiment("hybrid").chunking(lambda c: c.markdown(size=400)).to_plan()
    lab = ragtui.open(".", execution="allow_runs", query_embedder=ragtui.BuiltinEmbedder())
    run = lab.run(lab.bind(plan))

The map of the package follows the data, left to right; nothing imports against that direction:

    inputs      corpus and goldens, read, validated, frozen
    providers   embedders, retrievers and generators, as protocols and built in
    artifacts   chunks, the BM25 index, vectors: content-addressed
    metrics     measures as values, and how they are computed and averaged
    experiment  plans, presets, the builder; specifications and their fingerprint
    pipeline    one stage a module: channels, fuse, floor, collapse, score
    trace, events   what happened to a case; what an execution tells
    store       the journal of a live run, the DuckDB file of recorded ones
    execution   inside an execution: artifacts made ready, cases taken through retrieval, prompt and model
    engine      run_experiment: the only thing that executes a specification
    analysis    what recorded runs mean: summary, compare, verify
    reports     from results to text
    lab         one workspace, opened: what the two front ends call
    cli, tui    the headless commands and the app

`errors` is the tree of everything that can go wrong, `ids` makes content ids, `settings` reads TOML and environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.summary import summary
    from ragtui.errors import RagtuiError
    from ragtui.experiment.builder import Experiment, experiment
    from ragtui.experiment.plan import Plan, Provenance
    from ragtui.experiment.presets import preset
    from ragtui.experiment.specification import Specification
    from ragtui.lab import Lab
    from ragtui.lab import open_lab as open
    from ragtui.providers.builtin import BuiltinEmbedder
    from ragtui.providers.protocols import EmbedderIdentity, RetrieverHit

# Public name → where it is; a module loads when its name is first used, so that `import ragtui` costs nothing.
_PUBLIC = {
    "BuiltinEmbedder": ("ragtui.providers.builtin", "BuiltinEmbedder"),
    "EmbedderIdentity": ("ragtui.providers.protocols", "EmbedderIdentity"),
    "Experiment": ("ragtui.experiment.builder", "Experiment"),
    "Lab": ("ragtui.lab", "Lab"),
    "Plan": ("ragtui.experiment.plan", "Plan"),
    "Provenance": ("ragtui.experiment.plan", "Provenance"),
    "RagtuiError": ("ragtui.errors", "RagtuiError"),
    "RecordedRun": ("ragtui.analysis.recorded", "RecordedRun"),
    "RetrieverHit": ("ragtui.providers.protocols", "RetrieverHit"),
    "Specification": ("ragtui.experiment.specification", "Specification"),
    # The package itself can be called: it takes this name as soon as anything of it is imported.
    "experiment": ("ragtui.experiment", ""),
    "open": ("ragtui.lab", "open_lab"),
    "preset": ("ragtui.experiment.presets", "preset"),
    "summary": ("ragtui.analysis.summary", "summary"),
}

__all__ = [
    "BuiltinEmbedder",
    "EmbedderIdentity",
    "Experiment",
    "Lab",
    "Plan",
    "Provenance",
    "RagtuiError",
    "RecordedRun",
    "RetrieverHit",
    "Specification",
    "experiment",
    "open",
    "preset",
    "summary",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'ragtui' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PUBLIC[name]
    loaded = import_module(module)
    found = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
