"""Every way in which ragtui says no.

    RagtuiError
    ├── InvalidInput          2   a file, a plan, a golden or an option is wrong
    │   └── InvalidFiles      2   the same, with every problem found, each at its file and line
    ├── ComparisonRefused     3   two runs that must not be compared
    ├── ProviderUnavailable   4   an embedder, a generator or a server cannot be used
    ├── IsolationLeak         5   a retriever returned something that is not in the snapshot
    ├── RunFailed             7   a run could not be executed or is incomplete
    │   ├── StoreUnavailable  7   the store is locked, newer, damaged or cannot be written
    │   └── ArtifactDamaged   7   a stored artifact does not match its own record
    └── Interrupted         130   the user stopped it

Gate failures (exit 1) and inconclusive comparisons (exit 6) are results, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

EXIT_OK = 0
EXIT_GATE_FAILED = 1
EXIT_INCONCLUSIVE = 6
EXIT_INTERNAL = 70


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust came upon a fault of its own: what it raises then is no Exception."""
    return type(error).__name__ == "PanicException"


class RagtuiError(Exception):
    """A failure with one sentence for the user and one that says what to do.

    `kind` is the stable name under which the error appears in JSON; `exit_code` is the process's.
    """

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 7
    #: What was reached before it; `--json` prints it beside the error, as part of the one object.
    result: dict[str, Any] | None = None

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, object]:
        """The object that `--json` prints under the key `error`."""
        return {"kind": self.kind, "message": self.message, "hint": self.hint, "exit_code": self.exit_code}


class InvalidInput(RagtuiError):
    """Something the user wrote cannot be used as it is."""

    kind = "invalid_input"
    exit_code = 2


class Problem(msgspec.Struct, frozen=True, order=True):
    """One thing that is wrong in one place. `line` counts from 1; 0 means the file as a whole."""

    file: str
    line: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}" + (f" {self.hint}" if self.hint else "")


class InvalidFiles(InvalidInput):
    """Files with problems, by default the workspace's corpus and goldens; carries all of them."""

    kind = "invalid_files"

    def __init__(self, problems: Sequence[Problem], hint: str = "", where: str = "corpus and goldens") -> None:
        self.problems = tuple(sorted(set(problems)))
        count = len(self.problems)
        headline = f"{count} problem{'' if count == 1 else 's'} in {where}."
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{headline}\n{lines}", hint or "Fix the places named above and run `ragtui corpus check`.")

    def as_dict(self) -> dict[str, object]:
        """The error with all its problems."""
        return super().as_dict() | {"problems": [msgspec.to_builtins(problem) for problem in self.problems]}


class ComparisonRefused(RagtuiError):
    """Two runs whose numbers do not mean the same thing."""

    kind = "comparison_refused"
    exit_code = 3


class ProviderUnavailable(RagtuiError):
    """A model, a server or a callable cannot be used, or is not the one the specification names."""

    kind = "provider_unavailable"
    exit_code = 4


class IsolationLeak(RagtuiError):
    """A hit that does not resolve to a document of the snapshot."""

    kind = "isolation_leak"
    exit_code = 5


class RunFailed(RagtuiError):
    """A run that could not be executed, or did not complete."""

    kind = "run_failed"
    exit_code = 7


class StoreUnavailable(RunFailed):
    """The store cannot be opened or written."""

    kind = "store_unavailable"


class ArtifactDamaged(RunFailed):
    """An artifact on disk is not what its record says."""

    kind = "artifact_damaged"


class Interrupted(RagtuiError):
    """Stopped by the user; what was reported is kept."""

    kind = "interrupted"
    exit_code = 130
