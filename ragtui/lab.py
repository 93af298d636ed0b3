"""One workspace, opened: what the command line, the app and Python callers use.

    lab = ragtui.open(".", execution="allow_runs", query_embedder=BuiltinEmbedder())
    spec = lab.bind(plan)
    run = lab.run(spec)                # or: async for event in lab.events(spec)

Reading inputs, binding and validating need no database and no network. Executing needs `execution="allow_runs"`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.cache import ArtifactCache
from ragtui.errors import InvalidInput, RagtuiError, RunFailed
from ragtui.events import RunEvent, RunFinished, RunStatus
from ragtui.experiment.binding import Binding
from ragtui.experiment.plan import Plan, Provenance, uses
from ragtui.experiment.specification import Specification, bind
from ragtui.experiment.validate import check_plan
from ragtui.ids import new_run_id
from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationSet, Selection, load_evaluation
from ragtui.providers.protocols import Embedder, EmbedderIdentity
from ragtui.settings import Workspace, open_workspace
from ragtui.store.journal import JournalWriter, abandoned, cancel_requested, clear_cancel, journal_path

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.store.store import Store

Execution = Literal["read_only", "allow_runs"]


def open_lab(
    root: str | Path | None = None,
    *,
    execution: Execution = "read_only",
    query_embedder: Embedder | None = None,
    retrievers: Mapping[str, Callable[..., Any]] | None = None,
    store: str | Path | None = None,
) -> Lab:
    """Open the workspace in `root` (the current folder by default). Creates nothing.

    `retrievers` maps the source of a `python` channel to a callable with a declared `identity`.
    """
    workspace = open_workspace(Path(root) if root is not None else None, Path(store) if store is not None else None)
    return Lab(workspace, execution, query_embedder, dict(retrievers or {}))


class Lab:
    """A workspace and what may be done in it."""

    def __init__(
        self,
        workspace: Workspace,
        execution: Execution = "read_only",
        query_embedder: Embedder | None = None,
        retrievers: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.workspace = workspace
        self.execution = execution
        self.query_embedder = query_embedder
        self.retrievers = dict(retrievers or {})
        self.cache = ArtifactCache(workspace.artifacts)

    # -- frozen inputs ------------------------------------------------------------------------------------------------

    @cached_property
    def snapshot(self) -> CorpusSnapshot:
        """The corpus, frozen when first asked for."""
        return load_corpus(self.workspace.corpus)

    def evaluation(self, selection: Selection) -> EvaluationSet:
        """The selected goldens, frozen against the corpus; refuses a suite that is bound to the generation tier."""
        for suite in selection.suites:
            tier = self.workspace.suites[suite].tier if suite in self.workspace.suites else None
            if tier not in (None, "retrieval"):
                raise InvalidInput(
                    f"Suite {suite!r} is bound to the {tier} tier.", f"Run it with `ragtui generate --suite {suite}`."
                )
        return load_evaluation(self.workspace.goldens, self.snapshot, selection)

    # -- intent -------------------------------------------------------------------------------------------------------

    def bind(self, plan: Plan) -> Specification:
        """The plan bound to this workspace's corpus and goldens. Builds and runs nothing."""
        embedder = self._embedder_for(plan)
        return bind(
            plan,
            self.snapshot,
            self.evaluation(plan.evaluation),
            embedder.identity if embedder is not None else None,
            {name: getattr(call, "identity", None) for name, call in self.retrievers.items()},
        )

    def binding(self, plan: Plan) -> Binding:
        """Bind a plan to artifacts at hand: `.corpus(…).chunks(…).bm25(…).embeddings(…).evaluation(…)`."""
        return Binding(plan=plan)

    def _embedder_for(self, plan: Plan) -> Embedder | None:
        if not uses(plan, "vector") or self.query_embedder is None:
            return None
        _refuse_other_embedder(plan, self.query_embedder.identity)
        return self.query_embedder

    def ingest(self, plan: Plan, notify: Callable[[str], None] = lambda message: None) -> dict[str, str]:
        """Build the artifacts that the plan needs, or find them; gives kind → artifact id."""
        from ragtui.artifacts.bm25 import bm25_index
        from ragtui.artifacts.chunking import chunk_set
        from ragtui.artifacts.vectors import embedding_set

        plan = check_plan(plan)
        chunks = chunk_set(self.snapshot, plan.chunking, self.cache, notify=notify)
        built = {"chunks": chunks.id}
        if uses(plan, "bm25"):
            built["bm25"] = bm25_index(chunks, resolve(plan.lexical, self.snapshot), self.cache, notify=notify).id
        embedder = self._embedder_for(plan)
        if embedder is not None:
            built["vectors"] = embedding_set(chunks, embedder, self.cache, notify=notify).id
        return built

    # -- execution ----------------------------------------------------------------------------------------------------

    async def events(
        self,
        specification: Specification,
        *,
        provenance: Provenance = Provenance(),
        stop: Callable[[], RunStatus | None] = lambda: None,
        run_id: str | None = None,
        resume: bool = False,
    ) -> AsyncGenerator[RunEvent, None]:
        """Execute and record; yields what happens, each event already on disk.

        When the iterator ends, the run is in the store. If it is closed early or the process dies, the journal is an
        interrupted run, which the next command recovers.
        """
        from ragtui.engine import Attempt, Dependencies, run_experiment

        if self.execution != "allow_runs":
            raise InvalidInput("This workspace was opened for reading.", 'Open it with execution="allow_runs".')
        run_id = run_id or new_run_id()
        evaluation = self._evaluation_of(specification)
        attempt = self._resumed(run_id, specification) if resume else Attempt(run_id=run_id, provenance=provenance)
        journals = self.workspace.journals

        def stop_or_cancel() -> RunStatus | None:
            return stop() or ("cancelled" if cancel_requested(journals, run_id) else None)

        finished = False
        with JournalWriter.open(journals, run_id) as journal:
            clear_cancel(journals, run_id)
            dependencies = Dependencies(
                corpus=self.snapshot,
                evaluation=evaluation,
                cache=self.cache,
                journal=journal,
                embedder=self._embedder_for(specification.plan),
                sources=self.retrievers,
                stop=stop_or_cancel,
            )
            failure: RagtuiError | None = None
            try:
                async with aclosing(run_experiment(specification, dependencies, attempt)) as events:
                    async for event in events:
                        finished = finished or isinstance(event, RunFinished)
                        yield event
            except RagtuiError as error:
                failure = error
        if finished:
            await asyncio.to_thread(self.store.load_journal, journal_path(journals, run_id))
        if failure is not None:
            raise failure

    def run(self, specification: Specification, *, provenance: Provenance = Provenance()) -> RecordedRun:
        """Execute, record, and give the recorded run. For scripts; inside an event loop use `events`."""
        run_id = new_run_id()

        async def drain() -> None:
            async for _ in self.events(specification, provenance=provenance, run_id=run_id):
                pass

        asyncio.run(drain())
        return self.recorded(run_id)

    def _evaluation_of(self, specification: Specification) -> EvaluationSet:
        return self.evaluation(specification.plan.evaluation)

    def _resumed(self, run_id: str, specification: Specification) -> Any:
        """The next attempt of a stored run, over the cases that have no result yet."""
        from ragtui.engine import Attempt

        row = self.store.run(run_id)
        if row.spec_id != specification.spec_id:
            raise RunFailed(
                f"Run {run_id} cannot be resumed: its corpus, goldens or embedder cannot be reproduced here.",
                "Start a new run with `ragtui run`.",
            )
        total = len(self.store.cases_of(run_id))
        done = self.store.finished_indexes(run_id, including_errors=False)
        pending = tuple(index for index in range(total) if index not in done)
        return Attempt(run_id=run_id, number=row.attempts + 1, pending=pending, provenance=row.provenance)

    # -- what happened ------------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        """The working store; opened only for the moment of each operation."""
        from ragtui.store.store import Store

        return Store(self.workspace.store)

    @cached_property
    def reference(self) -> Store | None:
        """The read-only store that the workspace names besides, if it does."""
        from ragtui.store.store import Store

        return Store(self.workspace.reference, read_only=True) if self.workspace.reference else None

    def recover(self) -> list[str]:
        """Load the journals of processes that died; gives the ids of their runs."""
        if not abandoned(self.workspace.journals):
            return []
        return self.store.recover(self.workspace.journals)

    def resolve(self, name: str) -> tuple[Store, str]:
        """The store and the run id that a prefix, `latest` or `baseline` means; the working store comes first."""
        stores = [self.store] + ([self.reference] if self.reference is not None else [])
        if name == "baseline":
            for store in stores:
                promoted = store.baselines()
                if promoted:
                    return store, promoted[0].run_id
            raise InvalidInput("There is no baseline.", "Promote a run with `ragtui baseline promote RUN`.")
        failure: InvalidInput | None = None
        for store in stores:
            try:
                return store, store.resolve(name)
            except InvalidInput as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def recorded(self, name: str) -> RecordedRun:
        """A run, whole, by any name that `resolve` takes."""
        store, run_id = self.resolve(name)
        return recorded_run(store, run_id)


def plan_embedder(plan: Plan, workspace: Workspace) -> Embedder | None:
    """The embedder that the plan names, made from the workspace's profiles; None without a vector channel."""
    from ragtui.providers.select import embedder_named

    if not uses(plan, "vector"):
        return None
    recipe = plan.embedding
    return embedder_named(
        recipe.model,
        workspace.profiles,
        query_prefix=recipe.query_prefix,
        document_prefix=recipe.document_prefix,
        dimensions=recipe.dimensions,
        normalize=recipe.normalize,
    )


def recorded_run(store: Store, run_id: str) -> RecordedRun:
    """Read one run from a store."""
    from ragtui.analysis.recorded import RecordedRun

    row = store.run(run_id)
    traces = tuple(store.traces(run_id))
    ordinals = {
        chunk for trace in traces for hits in (*trace.channels.values(), trace.results) for chunk in hits.chunks
    }
    return RecordedRun(
        run_id=row.run_id,
        spec_id=row.spec_id,
        status=row.status,
        tier=row.tier,
        specification=row.specification,
        provenance=row.provenance,
        measures=tuple(row.measure_names),
        cases=store.cases_of(run_id),
        traces=traces,
        chunks=tuple(store.chunks(run_id, sorted(ordinals)).values()),
        environments=tuple(row.environments),
        started_at=row.started_at,
        elapsed_s=row.elapsed_s,
    )


def _refuse_other_embedder(plan: Plan, identity: EmbedderIdentity) -> None:
    """Raise ProviderUnavailable where the embedder cannot be the one that the plan's recipe means."""
    from ragtui.errors import ProviderUnavailable
    from ragtui.providers.builtin import MODEL

    recipe = plan.embedding
    faults = []
    if recipe.model == "builtin" and identity.model != MODEL:
        faults.append(f"the plan wants the built-in embedder, the one given is {identity}")
    if recipe.dimensions not in (None, identity.dimensions):
        faults.append(f"the plan wants {recipe.dimensions} dimensions, the embedder has {identity.dimensions}")
    for field in ("query_prefix", "document_prefix", "normalize"):
        wanted, given = getattr(recipe, field), getattr(identity, field)
        if wanted != given:
            faults.append(f"the plan wants {field} {wanted!r}, the embedder has {given!r}")
    if faults:
        raise ProviderUnavailable(
            "The embedder is not the plan's: " + "; ".join(faults) + ".", "Give another or edit the plan."
        )
