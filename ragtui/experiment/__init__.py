"""What is intended: plans (recipes only) and specifications (recipes bound to frozen inputs)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragtui.experiment.builder import Experiment


class _CallableModule(ModuleType):
    """`ragtui.experiment("hybrid")` starts a plan: the public name and this package are one attribute of `ragtui`."""

    def __call__(self, name: str = "hybrid") -> Experiment:
        from ragtui.experiment.builder import experiment

        return experiment(name)


sys.modules[__name__].__class__ = _CallableModule
