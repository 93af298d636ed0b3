"""One workspace, opened: what the command line, the app and Python callers use.

    lab = ragtui.open(".", execution="allow_runs", query_embedder=BuiltinEmbedder())
    spec = lab.bind(plan)
    run = lab.run(spec)                # or: async for event in lab.events(spec)

Reading inputs, binding and validating need no database and no network. Executing needs `execution="allow_runs"`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ragtui.analysis.stored import outlined_run, recorded_case, run_slices
from ragtui.analysis.stored import recorded_run as recorded_run
from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.cache import ArtifactCache
from ragtui.errors import InvalidInput, RagtuiError, RunFailed, StoreUnavailable
from ragtui.events import RunEvent, RunFinished, RunStatus
from ragtui.experiment.binding import Binding
from ragtui.experiment.generation import MOCK
from ragtui.experiment.plan import Plan, Provenance, judges, tier_of, uses
from ragtui.experiment.specification import MOCK_IDENTITY, Specification, bind
from ragtui.experiment.validate import check_plan
from ragtui.ids import new_run_id
from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationSet, Selection, load_evaluation
from ragtui.pipeline.budget import check_window
from ragtui.pipeline.calibration import calibrated
from ragtui.providers.protocols import Embedder, EmbedderIdentity, Generator, GeneratorIdentity
from ragtui.settings import Workspace, open_workspace
from ragtui.store.journal import JournalWriter, abandoned, cancel_requested, clear_cancel, journal_path, live

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.estimate import EstimateRow
    from ragtui.execution.dependencies import Dependencies, EventSink, PaidReplies
    from ragtui.store.rows import Baseline
    from ragtui.store.store import Store

Execution = Literal["read_only", "allow_runs"]
Tier = Literal["retrieval", "generation"]


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What the generation tier may ask anew: `fresh` replays nothing; the limits end an attempt, which can be resumed."""

    fresh: bool = False
    max_calls: int | None = None
    max_cost: float | None = None


def open_lab(
    root: str | Path | None = None,
    *,
    execution: Execution = "read_only",
    query_embedder: Embedder | None = None,
    retrievers: Mapping[str, Callable[..., Any]] | None = None,
    store: str | Path | None = None,
    generator: Generator | None = None,
    judge: Generator | None = None,
) -> Lab:
    """Open the workspace in `root` (the current folder by default). Creates nothing.

    `retrievers` maps the source of a `python` channel to a callable with a declared `identity`. `generator` is the
    model of the generation tier, `judge` one that judges its answers; both grant the power to ask it.
    """
    workspace = open_workspace(Path(root) if root is not None else None, Path(store) if store is not None else None)
    return Lab(workspace, execution, query_embedder, dict(retrievers or {}), generator, judge)


class Lab:
    """A workspace and what may be done in it."""

    def __init__(
        self,
        workspace: Workspace,
        execution: Execution = "read_only",
        query_embedder: Embedder | None = None,
        retrievers: Mapping[str, Callable[..., Any]] | None = None,
        generator: Generator | None = None,
        judge: Generator | None = None,
    ) -> None:
        self.workspace = workspace
        self.execution = execution
        self.query_embedder = query_embedder
        self.retrievers = dict(retrievers or {})
        self.generator, self.judge = generator, judge
        self.generator = generator
        self.cache = ArtifactCache(workspace.artifacts)
        self._evaluations: dict[Selection, EvaluationSet] = {}

    # -- frozen inputs ------------------------------------------------------------------------------------------------

    @cached_property
    def snapshot(self) -> CorpusSnapshot:
        """The corpus, frozen when first asked for."""
        return load_corpus(self.workspace.corpus)

    def evaluation(self, selection: Selection, tier: Tier = "retrieval") -> EvaluationSet:
        """The selected goldens, frozen against the corpus; refuses a suite that is bound to the other tier."""
        for suite in selection.suites:
            bound = self.workspace.suites[suite].tier if suite in self.workspace.suites else None
            if bound not in (None, tier):
                command = "run" if bound == "retrieval" else "generate"
                raise InvalidInput(
                    f"Suite {suite!r} is bound to the {bound} tier.", f"Run it with `ragtui {command} --suite {suite}`."
                )
        if selection not in self._evaluations:
            self._evaluations[selection] = load_evaluation(self.workspace.goldens, self.snapshot, selection)
        return self._evaluations[selection]

    # -- intent -------------------------------------------------------------------------------------------------------

    def bind(self, plan: Plan) -> Specification:
        """The plan bound to this workspace's corpus and goldens. Builds and runs nothing."""
        embedder = self._embedder_for(plan)
        evaluation = self.evaluation(plan.evaluation, tier_of(plan))
        bound = bind(
            calibrated(plan, self.workspace.state, self._generator_identity(plan)),
            self.snapshot,
            evaluation,
            embedder.identity if embedder is not None else None,
            {name: getattr(call, "identity", None) for name, call in self.retrievers.items()},
            self._generator_identity(plan),
            self.judge.identity if self.judge is not None and judges(plan) else None,
        )
        recipe = bound.plan.generation
        if recipe is not None:
            check_window(recipe.prompt, recipe.budget, {case.id: case.query for case in evaluation.cases})
        return bound

    def _generator_identity(self, plan: Plan) -> GeneratorIdentity | None:
        if plan.generation is None:
            return None
        if plan.generation.model == MOCK:
            return MOCK_IDENTITY
        return self.generator.identity if self.generator is not None else None

    def binding(self, plan: Plan) -> Binding:
        """Bind a plan to artifacts at hand: `.corpus(…).chunks(…).bm25(…).embeddings(…).evaluation(…)`."""
        return Binding(plan=plan)

    def _embedder_for(self, plan: Plan) -> Embedder | None:
        if not uses(plan, "vector") or self.query_embedder is None:
            return None
        _refuse_other_embedder(plan, self.query_embedder.identity)
        return self.query_embedder

    def ingest(
        self,
        plan: Plan,
        notify: Callable[[str], None] = lambda message: None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> dict[str, str]:
        """Build the artifacts that the plan needs, or find them; gives kind → artifact id.

        `progress(done, total)` counts the chunks that are embedded.
        """
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
            built["vectors"] = embedding_set(chunks, embedder, self.cache, progress, notify=notify).id
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
        only_errors: bool = False,
        spending: Spending = Spending(),
    ) -> AsyncGenerator[RunEvent, None]:
        """Execute and record; yields what happens, each event already on disk.

        `resume` adds an attempt over the cases without a result, with `only_errors` over those that failed.

        When the iterator ends, the run is in the store. If it is closed early or the process dies, the journal is an
        interrupted run, which the next command recovers.
        """
        from ragtui.engine import Attempt, run_experiment

        if self.execution != "allow_runs":
            raise InvalidInput("This workspace was opened for reading.", 'Open it with execution="allow_runs".')
        run_id = run_id or new_run_id()
        attempt = self._resumed(run_id, specification, only_errors) if resume else Attempt(run_id=run_id, provenance=provenance)
        journals = self.workspace.journals

        def stop_or_cancel() -> RunStatus | None:
            return stop() or ("cancelled" if cancel_requested(journals, run_id) else None)

        finished = False
        with JournalWriter.open(journals, run_id) as journal:
            clear_cancel(journals, run_id)
            dependencies = self._dependencies(specification, spending, journal, stop_or_cancel)
            failure: RagtuiError | None = None
            try:
                async with aclosing(run_experiment(specification, dependencies, attempt)) as events:
                    async for event in events:
                        finished = finished or isinstance(event, RunFinished)
                        yield event
            except RagtuiError as error:
                failure = error
        if finished:
            try:
                await asyncio.to_thread(self.store.load_journal, journal_path(journals, run_id))
            except StoreUnavailable:
                # A full disk fails both; the first failure is the one to tell, and the journal keeps everything.
                if failure is None:
                    raise
        if failure is not None:
            raise failure

    def _dependencies(
        self, specification: Specification, spending: Spending, journal: EventSink, stop: Callable[[], RunStatus | None]
    ) -> Dependencies:
        from ragtui.execution.dependencies import Dependencies

        plan = specification.plan
        return Dependencies(
            corpus=self.snapshot,
            evaluation=self.evaluation(plan.evaluation, tier_of(plan)),
            cache=self.cache,
            journal=journal,
            embedder=self._embedder_for(plan),
            sources=self.retrievers,
            generator=self._generator_for(plan),
            judge=self.judge if judges(plan) else None,
            paid=self._paid(specification.generator, spending),
            paid_judge=self._paid(specification.judge, spending),
            max_calls=spending.max_calls,
            max_cost=spending.max_cost,
            stop=stop,
        )

    def estimate(self, specification: Specification, spending: Spending = Spending()) -> list[EstimateRow]:
        """What a run of the generation tier would take, by mode; asks no model and records nothing."""
        from ragtui.analysis.estimate import Nowhere, estimate

        return asyncio.run(estimate(specification, self._dependencies(specification, spending, Nowhere(), lambda: None)))

    def run(
        self, specification: Specification, *, provenance: Provenance = Provenance(), spending: Spending = Spending()
    ) -> RecordedRun:
        """Execute, record, and give the recorded run. For scripts; inside an event loop use `events`."""
        run_id = new_run_id()

        async def drain() -> None:
            async for _ in self.events(specification, provenance=provenance, run_id=run_id, spending=spending):
                pass

        asyncio.run(drain())
        return self.recorded(run_id)

    def _generator_for(self, plan: Plan) -> Generator | None:
        return self.generator if plan.generation is not None and plan.generation.model != MOCK else None

    def _paid(self, identity: GeneratorIdentity | None, spending: Spending) -> PaidReplies | None:
        """What earlier runs paid for, unless everything is asked anew."""
        return None if spending.fresh or identity is None or identity == MOCK_IDENTITY else self.store.paid(identity)

    def _resumed(self, run_id: str, specification: Specification, only_errors: bool = False) -> Any:
        """The next attempt of a stored run, over the cases that have no result yet, or over those that failed."""
        from ragtui.engine import Attempt

        row = self.store.run(run_id)
        if row.spec_id != specification.spec_id:
            raise RunFailed(
                f"Run {run_id} cannot be resumed: its corpus, goldens or embedder cannot be reproduced here.",
                "Start a new run with `ragtui run`.",
            )
        total = len(self.store.cases_of(run_id))
        done = self.store.finished_indexes(run_id, including_errors=False)
        tried = self.store.finished_indexes(run_id) if only_errors else set(range(total))
        pending = tuple(index for index in range(total) if index not in done and index in tried)
        chunks = recorded_run(self.store, run_id).chunks if specification.sources else ()
        return Attempt(
            run_id=run_id, number=row.attempts + 1, pending=pending, chunks=chunks, provenance=row.provenance
        )

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
        running = [path.stem for path in live(self.workspace.journals) if path.stem.startswith(name)]
        if running:
            raise RunFailed(f"Run {running[0]} is still running.", f"Follow it with `ragtui watch {running[0]}`.")
        assert failure is not None
        raise failure

    def recorded(self, name: str) -> RecordedRun:
        """A run, whole, by any name that `resolve` takes."""
        store, run_id = self.resolve(name)
        return recorded_run(store, run_id)

    def outlined(self, name: str) -> RecordedRun:
        """A run with what its summary and its misses need: a large one takes a tenth of the memory of `recorded`.

        Of the generation tier it is whole: what its reports show is in the answers.
        """
        store, run_id = self.resolve(name)
        whole = store.run(run_id).tier == "generation"
        return recorded_run(store, run_id) if whole else outlined_run(store, run_id)

    def slices(self, name: str) -> Iterator[RecordedRun]:
        """A run as several of up to a thousand finished cases, for what looks at one case after another."""
        return run_slices(*self.resolve(name))

    def recorded_case(self, name: str, case_id: str) -> RecordedRun:
        """A run as if it had this case only."""
        store, run_id = self.resolve(name)
        return recorded_case(store, run_id, case_id)

    def recorded_or_file(self, name: str) -> RecordedRun:
        """A run by name, or an exported run by the path of its `.json` file; `baseline` may be a committed file."""
        from ragtui.analysis.recorded import decode_recorded

        path = Path(name)
        if path.suffix == ".json" and path.is_file():
            return decode_recorded(path.read_bytes(), name)
        if name == "baseline":
            try:
                return self.recorded(name)
            except InvalidInput:
                files = sorted(self.baselines_folder.glob("*.json"))
                if len(files) == 1:
                    return decode_recorded(files[0].read_bytes(), files[0].name)
                raise
        return self.recorded(name)

    def recent(self, count: int) -> list[RecordedRun]:
        """The newest finished retrieval runs over the corpus and suites of the newest one, oldest first.

        The reference store's runs count where the working store has too few.
        """
        stores = [self.store] + ([self.reference] if self.reference is not None else [])
        rows = [(store, row) for store in stores for row in store.runs() if row.status == "completed"]
        rows = [(store, row) for store, row in rows if row.tier == "retrieval"]
        if not rows:
            return []
        newest = rows[0][1]
        same = [(s, row) for s, row in rows if (row.corpus_id, row.suites) == (newest.corpus_id, newest.suites)]
        distinct = {row.spec_id: (store, row) for store, row in reversed(same)}
        return [recorded_run(store, row.run_id) for store, row in list(distinct.values())[-count:]]

    # -- baselines ----------------------------------------------------------------------------------------------------

    @property
    def baselines_folder(self) -> Path:
        """Where promoted baselines are written as text that can be reviewed."""
        return self.workspace.goldens / "baselines"

    def promote(self, name: str, baseline: str, why: str, to_reference: bool = False) -> tuple[Baseline, Path | None]:
        """Make a run the baseline of its corpus, suites and tier; with `to_reference`, in the committed record too.

        Gives the baseline and the path of the JSON text that was written, if it was.
        """
        from ragtui.reports.baseline import baseline_json
        from ragtui.store.store import Store

        store, run_id = self.resolve(name)
        if store is not self.store:
            store.copy_run(run_id, self.store)
        promoted = self.store.promote(run_id, baseline, why)
        if not to_reference:
            return promoted, None
        if self.workspace.reference is None:
            raise InvalidInput("The workspace names no reference store.", 'Add reference = "…" to ragtui.toml.')
        reference = Store(self.workspace.reference)
        self.store.copy_run(run_id, reference)
        reference.promote(run_id, baseline, why)
        path = self.baselines_folder / f"{promoted.tier}-{'+'.join(promoted.suites)}-{baseline}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(baseline_json(self.recorded(run_id)))
        return promoted, path


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
        cache=workspace.embeddings,
    )


def plan_retrievers(plan: Plan, workspace: Workspace) -> dict[str, Callable[..., Any]]:
    """The retrievers that the plan's python and http channels name, by their source."""
    from ragtui.providers.retrieval import http_retriever, imported_retriever

    found: dict[str, Callable[..., Any]] = {}
    for channel in plan.retrieval.channels.values():
        if channel.kind == "python" and channel.source:
            found[channel.source] = imported_retriever(channel.source)
        elif channel.kind == "http" and channel.source:
            found[channel.source] = http_retriever(channel.source, workspace.profiles)
    return found


def plan_generator(plan: Plan, workspace: Workspace) -> Generator | None:
    """The model that the plan names, made from the workspace's profiles; None in the retrieval tier and for `mock`."""
    from ragtui.providers.select import generator_named

    if plan.generation is None or plan.generation.model == MOCK:
        return None
    return generator_named(plan.generation.model, workspace.profiles)


def plan_judge(plan: Plan, workspace: Workspace) -> Generator | None:
    """The model that judges answers, made from the workspace's profiles; None where the plan has no judge."""
    from ragtui.providers.select import generator_named

    if plan.generation is None or plan.generation.judge is None:
        return None
    return generator_named(plan.generation.judge.model, workspace.profiles)


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
