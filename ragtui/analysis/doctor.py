"""What is well and what is not: workspace, artifacts, stores, journals, profiles.

Nothing is changed: no journal is recovered, no file made. Each finding says what it means and which command mends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragtui.analysis.inputs_report import check_inputs
from ragtui.artifacts.cache import ArtifactCache, StoredArtifact
from ragtui.artifacts.vectors import KIND as VECTORS
from ragtui.errors import ArtifactDamaged, InvalidInput, ProviderUnavailable, RagtuiError, StoreUnavailable
from ragtui.ids import short
from ragtui.inputs.text import plural
from ragtui.providers.cache import VectorCache
from ragtui.providers.faults import KEY_REFUSED, listed
from ragtui.providers.protocols import EmbedderIdentity
from ragtui.settings import Profile, Workspace
from ragtui.store.journal import abandoned, live
from ragtui.store.store import Store

State = Literal["ok", "warning", "failure"]
PROBE_SECONDS = 15.0
_PROBLEMS_SHOWN = 3


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    `meaning` and `mend` (a command, or what to do) are empty where all is well. `exit_code` is that of a failure.
    """

    area: str
    what: str
    state: State = "ok"
    meaning: str = ""
    mend: str = ""
    exit_code: int = 0


def examine(workspace: Workspace, ask_servers: bool = True) -> Iterator[Finding]:
    """Every finding, in order; the slow ones (servers) last."""
    yield from inputs(workspace)
    yield from artifacts(workspace)
    yield from stores(workspace)
    yield from journals(workspace)
    yield from profiles(workspace) if ask_servers else addresses(workspace)


def failed(area: str, error: RagtuiError, meaning: str) -> Finding:
    """A failure as a finding."""
    lines = error.message.splitlines()
    message = lines[0] if len(lines) == 1 else " ".join(line.strip() for line in lines[: _PROBLEMS_SHOWN + 1])
    return Finding(
        area=area, what=message, state="failure", meaning=meaning, mend=error.hint, exit_code=error.exit_code
    )


def inputs(workspace: Workspace) -> Iterator[Finding]:
    """Corpus and goldens."""
    if not workspace.corpus.is_dir():
        yield Finding(
            area="workspace", what=f"there is no folder {workspace.corpus.name}/", state="failure",
            meaning="Without documents nothing can be measured.", mend="ragtui init", exit_code=InvalidInput.exit_code,
        )  # fmt: skip
        return
    report = check_inputs(workspace.corpus, workspace.goldens)
    if report.problems:
        shown = "; ".join(str(problem) for problem in report.problems[:_PROBLEMS_SHOWN])
        yield Finding(
            area="workspace", what=f"{plural(len(report.problems), 'problem')} in corpus and goldens: {shown}",
            state="failure",
            meaning="No run can start until they are mended.", mend="ragtui corpus check",
            exit_code=InvalidInput.exit_code,
        )  # fmt: skip
        return
    suites = ", ".join(f"{name} {count:,}" for name, count in report.suites.items())
    counted = f"{plural(report.documents, 'document')}, {plural(report.goldens, 'golden')}"
    yield Finding(area="workspace", what=f"{counted} ({suites})")
    if report.warnings:
        yield Finding(
            area="workspace", what=f"{plural(len(report.warnings), 'warning')}, e.g. {report.warnings[0]}",
            state="warning", meaning="Allowed, but probably not meant.", mend="ragtui corpus check",
        )  # fmt: skip


def artifacts(workspace: Workspace) -> Iterator[Finding]:
    """Size, damage and what nobody needs."""
    cache = ArtifactCache(workspace.artifacts)
    stored = cache.stored()
    size = sum(item.record.size for item in stored if item.record is not None)
    yield Finding(area="artifacts", what=f"{plural(len(stored), 'artifact')}, {_size(size)}")
    for item in stored:
        if item.damage:
            yield Finding(
                area="artifacts", what=f"{item.folder.name} is damaged: {item.damage}", state="failure",
                meaning="The next run that needs it builds it anew.", mend="ragtui corpus ingest",
                exit_code=ArtifactDamaged.exit_code,
            )  # fmt: skip
    orphans = _orphans(workspace, stored)
    if orphans:
        freed = sum(item.record.size for item in orphans if item.record is not None)
        yield Finding(
            area="artifacts", what=f"{plural(len(orphans), 'artifact')} that no recorded run names ({_size(freed)})",
            state="warning", meaning="They were built for plans that were not run, or documents that changed since.",
            mend="ragtui corpus reset --yes",
        )  # fmt: skip
    half_built = cache.abandoned()
    if half_built:
        yield Finding(
            area="artifacts", what=f"{len(half_built)} half-built artifacts", state="warning",
            meaning="A process was killed while it built them; nothing reads them.", mend="ragtui prune --yes",
        )  # fmt: skip
    try:
        vectors, bytes_used = VectorCache(workspace.embeddings).size()
    except RagtuiError as error:
        yield failed("artifacts", error, "No server can be asked for vectors.")
        return
    if vectors:
        yield Finding(area="artifacts", what=f"{plural(vectors, 'vector')} from servers kept, {_size(bytes_used)}")


def _orphans(workspace: Workspace, stored: Iterable[StoredArtifact]) -> list[StoredArtifact]:
    """Intact artifacts that no recorded run names; none before the first run and where the store cannot tell."""
    named: set[str | None] = set()
    try:
        store = Store(workspace.store, read_only=True)
        rows = store.runs()
        if not rows:
            return []
        for row in rows:
            specification = store.run(row.run_id).specification
            named |= {specification.chunk_set_id, specification.bm25_id, specification.embedding_set_id}
    except RagtuiError:
        return []
    return [item for item in stored if item.record is not None and not item.damage and item.record.id not in named]


def stores(workspace: Workspace) -> Iterator[Finding]:
    """Whether each store can be read by this version, and who holds it."""
    named = [("store", workspace.store)]
    named += [("reference", workspace.reference)] if workspace.reference is not None else []
    for name, path in named:
        if not path.exists():
            if name == "reference":
                yield Finding(
                    area="stores", what=f"the reference store {path.name} is not there", state="warning",
                    meaning="`baseline` means only runs of the working store.",
                    mend="Correct `reference` in ragtui.toml, or fetch the file.",
                )  # fmt: skip
            else:
                yield Finding(area="stores", what=f"{name}: {path.name} will be made by the first run")
            continue
        try:
            store = Store(path, read_only=True, wait_seconds=1.0)
            count, promoted = store.count_runs(), len(store.baselines())
        except RagtuiError as error:
            yield failed("stores", error, "Runs cannot be recorded or read.")
            continue
        held = f"{plural(count, 'run')}, {plural(promoted, 'baseline')}, {_size(store.size())}"
        yield Finding(area="stores", what=f"{name}: {path.name}, {held}")
        if name == "store" and not _writable(path):
            yield Finding(
                area="stores", what=f"{path.name} cannot be written", state="failure",
                meaning="Runs cannot be recorded.", mend=f"chmod u+w {path.name}",
                exit_code=StoreUnavailable.exit_code,
            )  # fmt: skip


def journals(workspace: Workspace) -> Iterator[Finding]:
    """Runs that go on, runs whose process died, and journals that could not be loaded."""
    going = live(workspace.journals)
    if going:
        names = ", ".join(path.stem for path in going)
        yield Finding(area="journals", what=f"{plural(len(going), 'run')} going on: {names}")
    left = abandoned(workspace.journals)
    if left:
        names = ", ".join(path.stem for path in left)
        yield Finding(
            area="journals", what=f"{plural(len(left), 'interrupted run')}: {names}", state="warning",
            meaning="Their process died; the next command records what they had finished.", mend="ragtui runs",
        )  # fmt: skip
    damaged = sorted(workspace.journals.glob("*.damaged")) if workspace.journals.is_dir() else []
    for path in damaged:
        yield Finding(
            area="journals", what=f"{path.name} could not be loaded whole", state="warning",
            meaning="What stood before its bad line is recorded; the file is kept for you to look at.",
            mend=f"rm {path.name} (in .ragtui/journal), once it is of no use",
        )  # fmt: skip
    if not (going or left or damaged):
        yield Finding(area="journals", what="none left over")


def profiles(workspace: Workspace) -> Iterator[Finding]:
    """Each profile's server or folder: reachable, the model present, and the embedding that stored sets need."""
    for name, profile in workspace.profiles.items():
        yield from _profile(name, profile, workspace)
    if not workspace.profiles:
        yield Finding(area="profiles", what="none; the built-in embedder needs none")


def addresses(workspace: Workspace) -> Iterator[Finding]:
    """What can be said of the profiles of servers without asking one: addresses that no request is sent to."""
    from ragtui.providers.address import base_url
    from ragtui.providers.select import LOCAL

    for name, profile in workspace.profiles.items():
        try:
            if profile.kind not in LOCAL:
                base_url(profile, name)
        except RagtuiError as error:
            yield failed("profiles", error, "Plans that use it cannot run.")


def _profile(name: str, profile: Profile, workspace: Workspace) -> Iterator[Finding]:
    from ragtui.providers.select import LOCAL, SERVERS, embedder_named

    # A diagnosis should not wait as long as a run may.
    quick = msgspec.structs.replace(
        profile, retries=0, timeout=min(profile.timeout, PROBE_SECONDS), deadline=min(profile.deadline, PROBE_SECONDS)
    )
    if profile.kind not in (*SERVERS, *LOCAL):
        yield from _reachable(name, quick)
        return
    try:
        embedder: Any = embedder_named(name, {name: quick}, cache=workspace.embeddings)
        if profile.kind in SERVERS:
            models = embedder.models()
            if models is not None and profile.model not in models:
                yield _unlisted(name, profile, models, embedder)
                return
    except RagtuiError as error:
        yield failed("profiles", error, "Plans that use it cannot run.")
        return
    try:
        identity = embedder.identity
    except RagtuiError as error:
        yield _without_embedding(name, quick, error)
        return
    yield Finding(area="profiles", what=f"{name}: {identity}")
    yield from _other_sets(name, identity, workspace)


def _without_embedding(name: str, profile: Profile, error: RagtuiError) -> Finding:
    """A server that gave no embedding: one that writes answers where it lists the model, otherwise out of use."""
    from ragtui.providers.select import generator_named

    try:
        generator_named(name, {name: profile}).identity  # noqa: B018
    except RagtuiError:
        return failed("profiles", error, "Plans that use it cannot run.")
    if KEY_REFUSED in error.message:
        # Some servers list their models to everybody.
        return failed("profiles", error, "Plans that use it cannot run.")
    return Finding(
        area="profiles", what=f"{name}: has the model, but gives no embedding: {error.message}", state="warning",
        meaning="Right for a model that writes answers; a plan cannot use it as its embedding.", mend=error.hint,
    )  # fmt: skip


def _unlisted(name: str, profile: Profile, models: Sequence[str], embedder: Any) -> Finding:
    """A model that the server does not list: unknown to it, or its only one under another name, as llama.cpp has."""
    try:
        identity = embedder.identity
    except RagtuiError:
        missing = ProviderUnavailable(
            f"The server of profile {name!r} does not have the model {profile.model!r}.",
            f"Give it the model, or correct [profiles.{name}]. It has: {listed(models)}.",
        )
        return failed("profiles", missing, "Plans that use it cannot run.")
    return Finding(
        area="profiles", what=f"{name}: {identity}, a name that its server does not list", state="warning",
        meaning="It embeds with the model it has under any name; were that another one, its vectors would tell.",
        mend=f"Nothing, or name a listed model in [profiles.{name}]: {listed(models)}.",
    )  # fmt: skip


def _reachable(name: str, profile: Profile) -> Iterator[Finding]:
    from ragtui.providers.http import ProviderClient

    try:
        found = ProviderClient(profile, name).is_there()
    except RagtuiError as error:
        yield failed("profiles", error, "Plans that use it cannot run.")
        return
    yield Finding(area="profiles", what=f"{name}: its server answers (HTTP {found})")


def _other_sets(name: str, identity: EmbedderIdentity, workspace: Workspace) -> Iterator[Finding]:
    """Stored embedding sets of the same model that this server could not extend or query."""
    for item in ArtifactCache(workspace.artifacts).stored():
        if item.record is None or item.record.kind != VECTORS:
            continue
        try:
            made_by = msgspec.convert(item.record.recipe, EmbedderIdentity)
        except msgspec.ValidationError:
            continue
        same_model = made_by.model == identity.model and made_by.algorithm == identity.algorithm
        if same_model and made_by.digest != identity.digest:
            yield Finding(
                area="profiles", what=f"{name}: embedding set {short(item.record.id)} was made by {made_by}",
                state="warning", meaning=f"The server now has {identity}; runs build a new set.",
                mend=f"ragtui corpus ingest vector --set embedding.model={name}",
            )  # fmt: skip


def _writable(path: Path) -> bool:
    try:
        with path.open("r+b"):
            return True
    except OSError:
        return False


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
