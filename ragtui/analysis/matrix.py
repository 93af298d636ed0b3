"""The capability table: which model, with which plan, answers how well. A support question is looked up in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ragtui.analysis.modes import mode_summaries
from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import InvalidInput, RunFailed
from ragtui.inputs.whole import write_whole
from ragtui.metrics.aggregate import Estimate
from ragtui.metrics.measure import parse_measure
from ragtui.providers.protocols import GeneratorIdentity

MATRIX_SCHEMA = 1
COLUMNS: tuple[str, ...] = ("correctness", "refusalCorrectness", "groundedness", "leakageRate", "unstableRate")


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One model with one plan. `cells` has mode → measure → estimate; with an `error` there are none."""

    model: str
    plan: str
    identity: GeneratorIdentity | None = None
    run_id: str = ""
    spec_id: str = ""
    cases: int = 0
    errors: int = 0
    cells: dict[str, dict[str, Estimate]] = {}
    error: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The table, over which goldens it was made, and when (UTC). Cells are over goldens, repeats averaged."""

    schema: int = MATRIX_SCHEMA
    corpus_id: str
    evaluation_id: str
    suites: tuple[str, ...]
    limit: int | None
    seed: int
    made_at: str
    rows: tuple[MatrixRow, ...]

    @property
    def modes(self) -> list[str]:
        """The modes of any row, in the order of the first that has them."""
        return list(dict.fromkeys(mode for row in self.rows for mode in row.cells))


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reported number stands against a model's row."""

    model: str
    plan: str
    mode: str
    measure: str
    reported: float
    expected: Estimate
    verdict: Literal["at its ceiling", "above its row", "well below its row", "not told apart"]
    advice: str


def matrix_row(run: RecordedRun, model: str, plan: str) -> MatrixRow:
    """The row that a run makes."""
    cells = {
        str(mode): {name: found.overall[name] for name in COLUMNS if name in found.overall}
        for mode, found in mode_summaries(run).items()
    }
    return MatrixRow(
        model=model,
        plan=plan,
        identity=run.specification.generator,
        run_id=run.run_id,
        spec_id=run.spec_id,
        cases=len(run.cases),
        errors=sum(trace.error is not None for trace in run.traces),
        cells=cells,
    )


def lookup(matrix: Matrix, model: str, measure: str, reported: float, mode: str = "e2e") -> list[Lookup]:
    """What a support case's number says, against every row of the model; InvalidInput where there is none."""
    name = str(parse_measure(measure))
    rows = [row for row in matrix.rows if model in (row.model, row.identity.model if row.identity else "")]
    if not rows:
        known = ", ".join(dict.fromkeys(row.model for row in matrix.rows)) or "none"
        raise InvalidInput(f"The matrix has no model {model!r}.", f"It has: {known}.")
    found = [_told(row, mode, name, reported, row.cells[mode][name]) for row in rows if name in row.cells.get(mode, {})]
    if not found:
        raise InvalidInput(
            f"The matrix has no {name} in the mode {mode} for {model!r}.",
            f"It has the modes {', '.join(matrix.modes) or 'none'} and the measures {', '.join(COLUMNS)}.",
        )
    return found


def read_matrix(path: Path) -> Matrix:
    """A table that was kept; InvalidInput if there is none or it cannot be read."""
    try:
        matrix = msgspec.json.decode(path.read_bytes(), type=Matrix)
    except FileNotFoundError as error:
        raise InvalidInput("There is no matrix yet.", "Make one with `ragtui matrix --models a,b`.") from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is not a matrix: {error}.", "Make a new one with `ragtui matrix`.") from error
    if matrix.schema != MATRIX_SCHEMA:
        raise InvalidInput(
            f"{path.name} has schema {matrix.schema}; this version reads {MATRIX_SCHEMA}.", "Update ragtui."
        )
    return matrix


def write_matrix(path: Path, matrix: Matrix) -> None:
    """Keep a table as reviewable JSON text."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.format(msgspec.json.encode(matrix), indent=2) + b"\n")
    except OSError as error:
        raise RunFailed(f"{path} cannot be written: {error.strerror or error}.", "Check its permissions.") from error


def _told(row: MatrixRow, mode: str, measure: str, reported: float, expected: Estimate) -> Lookup:
    verdict: Literal["at its ceiling", "above its row", "well below its row", "not told apart"]
    better = 1 if parse_measure(measure).higher_is_better else -1
    if expected.value is None:
        verdict, advice = "not told apart", "The row has no scored golden."
    elif expected.low <= reported <= expected.high:
        verdict = "at its ceiling"
        advice = (
            "That is what this model does here: a better model, or easier questions, would help; the set-up is fine."
        )
    elif better * (reported - expected.value) > 0:
        verdict, advice = (
            "above its row",
            "Better than measured here: other questions, or another model under this name.",
        )
    else:
        verdict = "well below its row"
        advice = "The model can do better: look at retrieval, prompt, context window and quantisation."
    return Lookup(
        model=row.model, plan=row.plan, mode=mode, measure=measure, reported=reported, expected=expected,
        verdict=verdict, advice=advice,
    )  # fmt: skip
