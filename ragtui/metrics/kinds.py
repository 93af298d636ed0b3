"""The table of measure kinds: what each may be asked for, its other names, and its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal[
    "nDCG", "R", "P", "RR", "AP", "Success", "Rprec", "emptyRateOnAnswerable", "nonEmptyRateOnRefusal",
    "correctness", "mustIncludeRate", "mustNotIncludeRate", "refusalCorrectness", "groundedness", "leakageRate",
    "thinkTagLeakRate", "historyElidedRate", "chunksDroppedRate", "promptTokenError", "unstableRate",
]  # fmt: skip
Level = Literal["doc", "chunk", "span"]
Gain = Literal["linear", "exp"]
CutoffRule = Literal["required", "optional", "none"]


class KindRules(msgspec.Struct, frozen=True):
    """What a kind of measure accepts. The first of `levels` is its default; aliases are lower case.

    `of_answers` marks the generation tier's, which look at an answer instead of a ranking.
    """

    aliases: tuple[str, ...]
    cutoff: CutoffRule
    levels: tuple[Level, ...]
    description: str
    has_threshold: bool = True
    has_gain: bool = False
    is_rate: bool = False
    of_answers: bool = False
    lower_is_better: bool = False
    example_cutoff: int | None = None


def _of_answers(kind: str, description: str, lower_is_better: bool = False) -> KindRules:
    return KindRules(
        aliases=(kind.lower(),),
        cutoff="none",
        levels=("doc",),
        description=description + ("; lower is better." if lower_is_better else "."),
        has_threshold=False,
        of_answers=True,
        lower_is_better=lower_is_better,
    )


_ANSWERS: Mapping[Kind, tuple[str, bool]] = {
    "correctness": ("Share of answers with every required pattern and no forbidden one", False),
    "mustIncludeRate": ("Share of answers with every required pattern", False),
    "mustNotIncludeRate": ("Share of answers without any forbidden pattern", False),
    "refusalCorrectness": ("Share of answers that decline what cannot be answered and do not hedge on what can", False),
    "groundedness": (
        "Share of an answer's numbers above 10 that occur in what it was given, units and separators folded",
        False,
    ),
    "leakageRate": ("Share of answers that talk about the context, documents or the knowledge base", True),
    "thinkTagLeakRate": ("Share of answers with marks of reasoning left in them", True),
    "historyElidedRate": ("Share of multi-turn cases in which a turn was left out for lack of room", True),
    "chunksDroppedRate": ("Share of cases in which a part of the context was left out for lack of room", True),
    "promptTokenError": ("How far the estimate of a prompt's tokens is from the server's count, over that count", True),
    "unstableRate": ("Share of goldens that pass in some repeats and fail in others", True),
}

RULES: Mapping[Kind, KindRules] = {
    "nDCG": KindRules(
        aliases=("ndcg", "ndcg_cut"),
        cutoff="optional",
        levels=("doc",),
        description="Discounted gain of the ranking, log2(rank + 1), over that of the best possible ranking of the "
        "judgments (Järvelin and Kekäläinen, ACM TOIS 20, 2002; gain=exp: 2^grade - 1, Burges et al., ICML 2005).",
        has_threshold=False,
        has_gain=True,
        example_cutoff=10,
    ),
    "R": KindRules(
        aliases=("r", "recall"),
        cutoff="required",
        levels=("doc", "span"),
        description="Share of everything relevant that the first k hits hold (trec_eval: recall_k).",
        example_cutoff=10,
    ),
    "P": KindRules(
        aliases=("p", "precision", "prec"),
        cutoff="required",
        levels=("chunk", "doc"),
        description="Relevant hits among the first k, divided by k even where fewer came back (trec_eval: P_k).",
        example_cutoff=5,
    ),
    "RR": KindRules(
        aliases=("rr", "mrr", "recip_rank", "reciprocal_rank"),
        cutoff="optional",
        levels=("doc", "chunk", "span"),
        description="One divided by the rank of the first relevant hit, 0 without one; its mean is MRR "
        "(Voorhees, TREC-8 question answering track, 1999; trec_eval: recip_rank).",
    ),
    "AP": KindRules(
        aliases=("ap", "map", "map_cut"),
        cutoff="optional",
        levels=("doc",),
        description="Precision at the rank of each relevant hit, summed, divided by the number of relevant documents; "
        "its mean is MAP (Buckley and Voorhees, in TREC: Experiment and Evaluation, 2005; trec_eval: map, map_cut_k).",
    ),
    "Success": KindRules(
        aliases=("success", "hit", "hitrate", "hit_rate"),
        cutoff="required",
        levels=("doc", "chunk", "span"),
        description="1 where the first k hits hold anything relevant, else 0; its mean is the hit rate "
        "(Tomlinson; trec_eval: success_k).",
        example_cutoff=5,
    ),
    "Rprec": KindRules(
        aliases=("rprec", "r-precision", "r_precision", "rprecision"),
        cutoff="none",
        levels=("doc",),
        description="Precision after as many hits as there are relevant documents "
        "(Buckley and Voorhees, in TREC: Experiment and Evaluation, 2005; trec_eval: Rprec).",
    ),
    "emptyRateOnAnswerable": KindRules(
        aliases=("emptyrateonanswerable",),
        cutoff="none",
        levels=("doc",),
        description="Share of answerable cases for which nothing was returned; lower is better.",
        has_threshold=False,
        is_rate=True,
        lower_is_better=True,
    ),
    "nonEmptyRateOnRefusal": KindRules(
        aliases=("nonemptyrateonrefusal",),
        cutoff="none",
        levels=("doc",),
        description="Share of refusals (nothing to find) for which something was returned; lower is better.",
        has_threshold=False,
        is_rate=True,
        lower_is_better=True,
    ),
    **{kind: _of_answers(kind, *told) for kind, told in _ANSWERS.items()},
}

DESCRIPTION: Mapping[Kind, str] = {kind: rules.description for kind, rules in RULES.items()}
"""One line a kind, with where the definition comes from."""

KIND_OF_ALIAS: Mapping[str, Kind] = {alias: kind for kind, rules in RULES.items() for alias in rules.aliases}
"""Every accepted name, in lower case."""
