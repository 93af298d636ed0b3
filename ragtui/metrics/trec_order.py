"""The order in which trec_eval reads a foreign run.

trec_eval ignores the rank column and the order of lines. It sorts by score, descending, and equal scores by document
id, descending in byte order (`comp_sim_docno` in form_res_rels.c). Releases up to 9.0.8, and pytrec_eval which wraps
them, hold a score as a 32-bit float (`float sim` in trec_format.h), so scores that differ by less than about one part
in 17 million are ties; release 10.0 holds a 64-bit double. The 32-bit rule is the default: it is what published
numbers were made with.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ragtui.errors import InvalidInput


def trec_order(scores: Mapping[str, float], *, single_precision: bool = True) -> list[str]:
    """Document ids, best first, by trec_eval's rule; `single_precision=False` is the rule of release 10.

    Code point order of Python strings is the byte order of their UTF-8. Raises `InvalidInput` for a score that is not
    a number, for which trec_eval's order is undefined.
    """
    ids = list(scores)
    values = score_array(scores, single_precision=single_precision)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    names = [ids[index] for index in order.tolist()]
    same_as_next = ranked[1:] == ranked[:-1]
    if same_as_next.any():
        edges = np.flatnonzero(np.diff(same_as_next, prepend=False, append=False)).tolist()
        for start, last in zip(edges[::2], edges[1::2], strict=True):
            names[start : last + 1] = sorted(names[start : last + 1], reverse=True)
    return names


def score_array(scores: Mapping[str, float], *, single_precision: bool = True) -> NDArray[np.float32 | np.float64]:
    """The scores at the precision at which trec_eval compares them, in the order of the mapping: shape (hits,).

    Raises `InvalidInput` for a score that is not a number.
    """
    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    undefined = np.isnan(values)
    if undefined.any():
        name = list(scores)[int(undefined.argmax())]
        raise InvalidInput(f"The score of {name!r} is not a number.", "Give every hit of a run a score that is one.")
    if not single_precision:
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
