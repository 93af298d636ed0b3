"""What if: a recorded run under other knobs, as immutable values. Nothing here knows a screen.

The state of the knobs is a plan; `ragtui.analysis.replay` says what the run would have given under it.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput, RunFailed
from ragtui.experiment.plan import Plan, Provenance
from ragtui.settings import Workspace
from ragtui.tui.data.knobs import Range, Ranges
from ragtui.tui.data.trace import Label, store_named

if TYPE_CHECKING:
    from ragtui.analysis.contrast import MeasureChange
    from ragtui.analysis.flips import Flip
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab

MOST_CASES = 20_000
_NAME = re.compile(r"\w[\w .-]{0,79}")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the run would have given under `plan`.

    `changes` are untested and in the plan's order; `reasons` say why there is no answer, in which case `changes` and
    `flips` are empty.
    """

    plan: Plan
    changes: dict[str, MeasureChange] = {}
    flip_measure: str = ""
    flips: tuple[Flip, ...] = ()
    reasons: tuple[str, ...] = ()


class WhatIf:
    """A recorded run in columns, asked many times; one caller at a time. InvalidInput if no case ever finished."""

    def __init__(self, run: RecordedRun) -> None:
        from ragtui.analysis.recording import Recording

        if not run.traces:
            raise InvalidInput(f"Run {run.run_id} has no finished case.", "Resume it first, or choose another run.")
        self.run = run
        self.plan = run.specification.plan
        self.recording = Recording(run)
        self.ranges = Ranges(
            scores={
                name: Range(float(columns.scores.min()), float(columns.scores.max()))
                for name, columns in self.recording.channels.items()
                if len(columns.scores)
            }
        )
        self._known: dict[tuple[str, ...], Any] = {}

    def answer(self, plan: Plan) -> Answer:
        """The measures and flips of the recorded run under this plan, against itself at the plan's relevance."""
        from ragtui.analysis.contrast import applies, contrast, score_columns
        from ragtui.analysis.flips import find_flips, flip_measure_of
        from ragtui.analysis.gates import gating_measures, roles_of
        from ragtui.analysis.replay import BeyondRecording, replay
        from ragtui.experiment.validate import InvalidPlan
        from ragtui.metrics.measure import parse_measure

        try:
            found = replay(self.recording, plan)
        except BeyondRecording as error:
            return Answer(plan=plan, reasons=error.reasons)
        except InvalidPlan as error:
            return Answer(plan=plan, reasons=tuple(error.faults))
        cases, names = found.cases, found.measures
        if names not in self._known:
            self._known[names] = (score_columns(self.run, cases, names), applies(cases, names))
        recorded, applicable = self._known[names]
        table = contrast(names, recorded, found.scores, applicable, tested=False)
        gating = gating_measures(plan)
        roles = roles_of(gating, table)
        measure = flip_measure_of(gating, names)
        flips: tuple[Flip, ...] = ()
        if measure in names:
            column = names.index(measure)
            upwards = parse_measure(measure).higher_is_better
            flips = find_flips(cases, recorded[:, column], found.scores[:, column], higher_is_better=upwards)
        return Answer(
            plan=plan,
            changes={name: msgspec.structs.replace(table[name], role=roles.get(name, "")) for name in names},
            flip_measure=measure,
            flips=flips,
        )


def open_whatif(lab: Lab, run_id: str, label: Label) -> WhatIf:
    """The run, read whole. InvalidInput for a generation run, and for one too large to be held in memory."""
    from ragtui.analysis.stored import recorded_run

    store = store_named(lab, label)
    row = store.run(run_id)
    refuse_generation(row.tier)
    if row.cases > MOST_CASES:
        raise InvalidInput(
            f"Run {run_id} has {row.cases:,} cases; a what-if holds all their hits in memory, at most {MOST_CASES:,}.",
            "Make a run over fewer questions (limit), or use `ragtui replay`.",
        )
    return WhatIf(recorded_run(store, run_id))


def refuse_generation(tier: str) -> None:
    """InvalidInput for the generation tier."""
    if tier == "generation":
        raise InvalidInput(
            "There is no what-if for a generation run: other results need other answers, which takes the model.",
            "Choose a retrieval run, or launch this plan again with the change.",
        )


def settings_of(old: Plan, new: Plan) -> list[str]:
    """The `--set` texts that make `new` of `old`, as far as the knobs go."""
    settings = []
    before, after = canonical(old), canonical(new)
    was, now = before["retrieval"], after["retrieval"]
    # A dot in a name would end a step of the path, so such a table is set whole.
    if was["channels"] != now["channels"] and any("." in name for name in now["channels"]):
        settings.append(_setting("retrieval.channels", now["channels"]))
    else:
        for name, channel in now["channels"].items():
            settings += [
                _setting(f"retrieval.channels.{name}.{field}", channel[field])
                for field in ("depth", "min_score")
                if channel.get(field) != was["channels"][name].get(field)
            ]
    weights = now["fusion"]["weights"]
    if weights != was["fusion"]["weights"]:
        if any("." in name for name in weights):
            settings.append(_setting("retrieval.fusion.weights", weights))
        else:
            changed = [name for name in weights if weights[name] != was["fusion"]["weights"].get(name)]
            settings += [_setting(f"retrieval.fusion.weights.{name}", weights[name]) for name in changed]
    if was["fusion"]["rank_constant"] != now["fusion"]["rank_constant"]:
        settings.append(_setting("retrieval.fusion.rank_constant", now["fusion"]["rank_constant"]))
    for field in ("floor", "collapse", "results"):
        if was.get(field) != now.get(field):
            settings.append(_setting(f"retrieval.{field}", now.get(field)))
    if before["metrics"]["relevance"] != after["metrics"]["relevance"]:
        settings.append(_setting("metrics.relevance", after["metrics"]["relevance"]))
    return settings


def _setting(path: str, value: Any) -> str:
    return f"{path}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"


def command_line(found: WhatIf, plan: Plan) -> str:
    """The command that prints this what-if with statistics; empty where nothing is changed."""
    settings = settings_of(found.plan, plan)
    words = [word for setting in settings for word in ("--set", setting)]
    return shlex.join(["ragtui", "replay", found.run.run_id, *words]) if settings else ""


def save_plan(workspace: Workspace, found: WhatIf, plan: Plan, name: str) -> str:
    """Write `plans/<name>.json` for `ragtui run`; a sentence that says where.

    InvalidInput for a name that is none or is taken, RunFailed where the file cannot be written.
    """
    stem = name.strip().removesuffix(".json").strip()
    if not _NAME.fullmatch(stem):
        raise InvalidInput(
            f"{stem!r} is no name for a plan." if stem else "A plan needs a name.",
            "Letters, digits, spaces, dots, dashes and underscores, e.g. more-vector.",
        )
    path = workspace.root / "plans" / f"{stem}.json"
    note = f"what-if plan over run {found.run.run_id}: {' '.join(settings_of(found.plan, plan)) or 'unchanged'}"
    data = canonical(plan) | {"provenance": canonical(Provenance(name=stem, note=note))}
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
    except FileExistsError:
        raise InvalidInput(f"There is a plan plans/{path.name} already.", "Choose another name.") from None
    except OSError as error:
        raise RunFailed(f"{path} cannot be written: {error.strerror or error}.", "Check the folder.") from error
    return f"Wrote plans/{path.name}. Run it: {shlex.join(['ragtui', 'run', f'plans/{path.name}'])}"
