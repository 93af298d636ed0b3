"""From a golden to what is asked of the channels."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.inputs.evaluation import EvaluationCase


class Query(msgspec.Struct, frozen=True):
    """A question as the channels see it. `vector` is its embedding, float32 of shape (1, dimensions), or None."""

    text: str
    vector: NDArray[np.float32] | None = None


def query_text(case: EvaluationCase) -> str:
    """The raw last message; earlier turns are not rewritten in the retrieval tier."""
    return case.query
