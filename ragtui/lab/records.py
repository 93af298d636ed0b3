"""The recorded half of a workspace: its stores, its runs by name, its baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.analysis.stored import outlined_run, recorded_case, recorded_run, run_slices
from ragtui.errors import InvalidInput, RunFailed
from ragtui.experiment.plan import tier_of
from ragtui.inputs.text import checked_name
from ragtui.inputs.whole import write_whole
from ragtui.settings import Workspace
from ragtui.store.journal import DamagedJournal, abandoned, live
from ragtui.store.runs import one_of

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.specification import Specification
    from ragtui.store.rows import Baseline, RunRecord
    from ragtui.store.store import Store

FILE_NAME_BYTES = 240


class Records:
    """What happened in a workspace. A run is named by its id, a unique prefix of it, `latest` or `baseline`."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

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

    def recover(self, set_aside: Callable[[DamagedJournal, Path], None] | None = None) -> list[str]:
        """Load the journals of processes that died; gives the ids of their runs.

        `set_aside` is told of a damaged journal and of the path under which it is kept.
        """
        if not abandoned(self.workspace.journals):
            return []
        return self.store.recover(self.workspace.journals, set_aside)

    def resolve(self, name: str, like: Specification | None = None) -> tuple[Store, str]:
        """The store and the run id that a prefix, `latest` or `baseline` means; the working store comes first.

        `baseline` is the newest promoted one; `like` is what it is to be compared with, so that it is of that tier,
        and of that corpus and those suites where there is one.
        """
        stores = [self.store] + ([self.reference] if self.reference is not None else [])
        if name == "baseline":
            return self._baseline([(store, promoted) for store in stores for promoted in store.baselines()], like)
        if name == "latest":
            store = next((store for store in stores if store.count_runs()), self.store)
            return store, store.resolve(name)
        return self._only(name, stores)

    def _only(self, name: str, stores: Sequence[Store]) -> tuple[Store, str]:
        """The one run of this id or prefix, wherever it is: in a store, or with nothing but a journal yet."""
        prefix = name.strip().lower()
        found: dict[str, str] = {}
        held: dict[str, Store] = {}
        for store in stores:
            candidates = store.named(name)
            if prefix in candidates:
                return store, prefix
            found |= {run_id: told for run_id, told in candidates.items() if run_id not in found}
            held |= {run_id: store for run_id in candidates if run_id not in held}
        under_way = [path.stem for path in live(self.workspace.journals) if prefix and path.stem.startswith(prefix)]
        found |= {run_id: "running" for run_id in under_way if run_id not in found}
        run_id = prefix if prefix in found else one_of(name, found)
        if run_id not in held:
            raise RunFailed(f"Run {run_id} is still running.", f"Follow it with `ragtui watch {run_id}`.")
        return held[run_id], run_id

    def _baseline(self, promoted: Sequence[tuple[Store, Baseline]], like: Specification | None) -> tuple[Store, str]:
        hint = "Promote a run with `ragtui baseline promote RUN`."
        if not promoted:
            raise InvalidInput("There is no baseline.", hint)
        if like is not None:
            tier, suites = tier_of(like.plan), tuple(sorted(set(like.plan.evaluation.suites)))
            promoted = [(store, item) for store, item in promoted if item.tier == tier]
            if not promoted:
                raise InvalidInput(f"There is no baseline of the {tier} tier.", hint)
            same = [pair for pair in promoted if (pair[1].corpus_id, pair[1].suites) == (like.corpus_id, suites)]
            promoted = same or promoted
        store, baseline = promoted[0]
        return store, baseline.run_id

    def recorded(self, name: str) -> RecordedRun:
        """A run, whole, by any name that `resolve` takes."""
        store, run_id = self.resolve(name)
        return recorded_run(store, run_id)

    def outlined(self, name: str) -> RecordedRun:
        """A run with what its summary and its misses need: a large one takes a tenth of the memory of `recorded`."""
        return outlined_run(*self.resolve(name))

    def slices(self, name: str) -> Iterator[RecordedRun]:
        """A run as several of up to a thousand finished cases, for what looks at one case after another."""
        return run_slices(*self.resolve(name))

    def recorded_case(self, name: str, case_id: str) -> RecordedRun:
        """A run as if it had this case only; in the generation tier its golden in every mode and repeat."""
        store, run_id = self.resolve(name)
        return recorded_case(store, run_id, case_id)

    def recorded_or_file(self, name: str, like: Specification | None = None) -> RecordedRun:
        """A run by name, or an exported run by the path of its `.json` file; `baseline` may be a committed file.

        `like` as in `resolve`.
        """
        from ragtui.analysis.recorded import decode_recorded

        path = Path(name)
        if path.suffix == ".json" and path.is_file():
            return decode_recorded(path.read_bytes(), name)
        if name == "baseline":
            try:
                return recorded_run(*self.resolve(name, like))
            except InvalidInput:
                # A committed baseline's file begins with its tier; a kept matrix lies beside them.
                tiers = ("retrieval", "generation") if like is None else (tier_of(like.plan),)
                files = sorted(path for tier in tiers for path in self.baselines_folder.glob(f"{tier}-*.json"))
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

        checked_name(baseline, "baseline")
        store, run_id = self.resolve(name)
        path = None
        if to_reference:
            if self.workspace.reference is None:
                raise InvalidInput("The workspace names no reference store.", 'Add reference = "…" to ragtui.toml.')
            path = self._baseline_path(store.run(run_id), baseline)
        if store is not self.store:
            store.copy_run(run_id, self.store)
        promoted = self.store.promote(run_id, baseline, why)
        if path is None or self.workspace.reference is None:
            return promoted, None
        reference = Store(self.workspace.reference)
        self.store.copy_run(run_id, reference)
        reference.promote(run_id, baseline, why)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, baseline_json(self.recorded(run_id)))
        return promoted, path

    def _baseline_path(self, run: RunRecord, baseline: str) -> Path:
        """The baseline's file. A store may come from somebody else, so its suites are checked as the user's words."""
        suites = "+".join(checked_name(suite, "suite") for suite in sorted(set(run.suites)))
        path = self.baselines_folder / f"{checked_name(run.tier, 'tier')}-{suites}-{baseline}.json"
        if len(path.name.encode()) > FILE_NAME_BYTES:
            raise InvalidInput(
                f"The baseline's file would have a name of more than {FILE_NAME_BYTES} bytes.", "Use a shorter --name."
            )
        if not path.resolve().is_relative_to(self.baselines_folder.resolve()):
            raise InvalidInput(f"{path} leads out of {self.baselines_folder}.", "Remove the link that stands there.")
        return path
