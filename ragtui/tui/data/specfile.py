"""Writing a specification without running it."""

from __future__ import annotations

import subprocess

from ragtui.errors import RunFailed
from ragtui.settings import Workspace
from ragtui.tui.data.launch import Preview
from ragtui.tui.data.program import program


def save_specification(workspace: Workspace, found: Preview) -> str:
    """Write `plans/<name>.spec.json` as `ragtui spec save` does; a sentence that says where. Raises RunFailed."""
    stem = "".join(
        char if char.isalnum() or char in "-_" else "-"
        for char in (found.form.name or found.form.plan).rpartition("/")[2]
    )
    folder = workspace.root / "plans"
    path = folder / f"{stem.partition('.')[0]}.{found.spec_id.removeprefix('sha256:')[:8]}.spec.json"
    command = [*program(workspace), "spec", "save", "--load", *found.binding, "-o", str(path)]
    try:
        folder.mkdir(exist_ok=True)
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailed(f"{path} cannot be written: {error}.", "Check the folder.") from error
    if done.returncode:
        raise RunFailed(done.stderr.decode("utf-8", "replace").removeprefix("ragtui: ").strip(), "")
    wrote = f"Wrote {path.relative_to(workspace.root)}."
    return f"{wrote} It is a plan too: choose it above, or give it to `ragtui {found.arguments[0]}`."
