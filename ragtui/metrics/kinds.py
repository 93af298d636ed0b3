"""The table of measure kinds: what each may be asked for, its other names, and its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal["nDCG", "R", "P", "RR", "AP", "Success", "Rprec", "emptyRateOnAnswerable", "nonEmptyRateOnRefusal"]
Level = Literal["doc", "chunk", "span"]
Gain = Literal["linear", "exp"]
CutoffRule = Literal["required", "optional", "none"]


class KindRules(msgspec.Struct, frozen=True):
    """What a kind of measure accepts. The first of `levels` is its default; aliases are lower case."""

    aliases: tuple[str, ...]
    cutoff: CutoffRule
    levels: tuple[Level, ...]
    description: str
    has_threshold: bool = True
    has_gain: bool = False
    is_rate: bool = False
    example_cutoff: int | None = None


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
    ),
    "nonEmptyRateOnRefusal": KindRules(
        aliases=("nonemptyrateonrefusal",),
        cutoff="none",
        levels=("doc",),
        description="Share of refusals (nothing to find) for which something was returned; lower is better.",
        has_threshold=False,
        is_rate=True,
    ),
}

DESCRIPTION: Mapping[Kind, str] = {kind: rules.description for kind, rules in RULES.items()}
"""One line a kind, with where the definition comes from."""

KIND_OF_ALIAS: Mapping[str, Kind] = {alias: kind for kind, rules in RULES.items() for alias in rules.aliases}
"""Every accepted name, in lower case."""
