"""Vectors as they come from a model: scaled, and checked against what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragtui.inputs.text import plural
from ragtui.providers.protocols import Vectors


def unit(vectors: Vectors) -> Vectors:
    """Each row of shape (n, dimensions) scaled to length 1; a row of zeros stays."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    np.divide(wide, lengths, out=wide, where=lengths > 0)
    return wide.astype(np.float32)


def cosine(left: Vectors, right: Vectors) -> float:
    """The cosine of two vectors of shape (dimensions,), from -1 to 1; 0 where one is zeros."""
    return float(unit(left[None])[0] @ unit(right[None])[0])


def answer_fault(vectors: Sequence[Sequence[float]], texts: int, dimensions: int | None) -> str:
    """What is wrong with an answer of vectors, to follow `The server …`; empty where nothing is.

    There must be one vector a text, all of the given number of dimensions (any common number where None), finite as
    32-bit floats, and not all zeros.
    """
    if len(vectors) != texts:
        return f"answers with {plural(len(vectors), 'vector')} for {plural(texts, 'text')}"
    expected = dimensions if dimensions is not None else len(vectors[0])
    if not expected or any(len(vector) != expected for vector in vectors):
        sizes = ", ".join(map(str, sorted({len(vector) for vector in vectors})))
        return f"answers with vectors of {sizes} dimensions instead of {expected or 'any'}"
    matrix = np.asarray(vectors, np.float64)
    if not np.isfinite(matrix).all() or (np.abs(matrix) > np.finfo(np.float32).max).any():
        return "answers with a vector that is not finite"
    if not matrix.astype(np.float32).any(axis=1).all():
        return "answers with a vector of zeros"
    return ""
