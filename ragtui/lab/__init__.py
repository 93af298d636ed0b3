"""One workspace, opened: what the command line, the app and Python callers use.

    lab = ragtui.open(".", execution="allow_runs", query_embedder=BuiltinEmbedder())
    spec = lab.bind(plan)
    run = lab.run(spec)                # or: async for event in lab.events(spec)

Reading inputs, binding and validating need no database and no network. Executing needs `execution="allow_runs"`.
"""

from __future__ import annotations

from ragtui.lab.laboratory import Execution, Lab, Spending, open_lab
from ragtui.lab.powers import named_code, plan_embedder, plan_generator, plan_judge, plan_retrievers

__all__ = [
    "Execution",
    "Lab",
    "Spending",
    "named_code",
    "open_lab",
    "plan_embedder",
    "plan_generator",
    "plan_judge",
    "plan_retrievers",
]
