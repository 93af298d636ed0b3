"""A workspace and what may be done in it: freeze inputs, bind plans, execute specifications."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ragtui.artifacts.analyzer import resolve
from ragtui.artifacts.cache import ArtifactCache
from ragtui.errors import InvalidInput, RagtuiError, StoreUnavailable
from ragtui.events import RunEvent, RunFinished, RunStatus
from ragtui.experiment.binding import Binding
from ragtui.experiment.generation import MOCK
from ragtui.experiment.plan import Plan, Provenance, judges, tier_of, uses
from ragtui.experiment.specification import MOCK_IDENTITY, Specification, bind
from ragtui.experiment.validate import check_plan
from ragtui.ids import new_run_id
from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationSet, Selection, load_evaluation
from ragtui.inputs.patterns import CheckedFiles
from ragtui.lab.powers import refuse_other_embedder
from ragtui.lab.records import Records
from ragtui.pipeline.budget import check_window
from ragtui.pipeline.calibration import calibrated
from ragtui.providers.protocols import Embedder, Generator, GeneratorIdentity
from ragtui.settings import Workspace, open_workspace
from ragtui.store.journal import JournalWriter, cancel_requested, clear_cancel, journal_path

if TYPE_CHECKING:
    from ragtui.analysis.estimate import EstimateRow
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.execution.dependencies import Dependencies, EventSink, PaidReplies

Execution = Literal["read_only", "allow_runs"]
Tier = Literal["retrieval", "generation"]


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What the generation tier may ask anew: `fresh` replays nothing; a limit ends an attempt, which can be resumed."""

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


class Lab(Records):
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
        super().__init__(workspace)
        self.execution = execution
        self.query_embedder = query_embedder
        self.retrievers = dict(retrievers or {})
        self.generator, self.judge = generator, judge
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
            # A laboratory for reading writes nothing.
            remembers = self.execution == "allow_runs"
            checked = CheckedFiles(self.workspace.state / "checked-goldens") if remembers else None
            self._evaluations[selection] = load_evaluation(self.workspace.goldens, self.snapshot, selection, checked)
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
        refuse_other_embedder(plan, self.query_embedder.identity)
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

        `resume` adds an attempt over the cases without a result, with `only_errors` over those that failed; a run that
        was begun fresh stays so.

        When the iterator ends, the run is in the store. If it is closed early or the process dies, the journal is an
        interrupted run, which the next command recovers.
        """
        from ragtui.engine import Attempt, run_experiment
        from ragtui.execution.asking import refuse_unpriced
        from ragtui.lab.resuming import resumed

        if self.execution != "allow_runs":
            raise InvalidInput("This workspace was opened for reading.", 'Open it with execution="allow_runs".')
        plan = specification.plan
        for model in filter(None, (self._generator_for(plan), self.judge if judges(plan) else None)):
            refuse_unpriced(model, spending.max_cost)
        run_id = run_id or new_run_id()
        evaluation = self.evaluation(plan.evaluation, tier_of(plan))
        attempt = Attempt(run_id=run_id, provenance=provenance)
        if resume:
            attempt, evaluation = resumed(self.store, run_id, specification, evaluation, only_errors)
            spending = msgspec.structs.replace(spending, fresh=spending.fresh or attempt.fresh)
        attempt = msgspec.structs.replace(attempt, fresh=spending.fresh)
        journals = self.workspace.journals

        def stop_or_cancel() -> RunStatus | None:
            return stop() or ("cancelled" if cancel_requested(journals, run_id) else None)

        finished = False
        with JournalWriter.open(journals, run_id) as journal:
            clear_cancel(journals, run_id)
            dependencies = self._dependencies(specification, spending, journal, stop_or_cancel)
            dependencies = msgspec.structs.replace(dependencies, evaluation=evaluation)
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

        return asyncio.run(
            estimate(specification, self._dependencies(specification, spending, Nowhere(), lambda: None))
        )

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
