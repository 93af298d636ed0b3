"""Names of measures: canonical form, aliases, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.errors import InvalidInput
from ragtui.metrics.kinds import RULES
from ragtui.metrics.measure import DESCRIPTION, Measure, measure_at, parse_measure, with_relevance


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    kind = draw(st.sampled_from(sorted(RULES)))
    rules = RULES[kind]
    numbers = st.integers(1, 10**6)
    cutoff = {"none": st.none(), "required": numbers, "optional": st.none() | numbers}[rules.cutoff]
    return Measure(
        kind,
        draw(cutoff),
        draw(st.integers(1, 9)) if rules.has_threshold else 1,
        draw(st.sampled_from(["linear", "exp"])) if rules.has_gain else "linear",
        draw(st.sampled_from(rules.levels)),
    )


@given(measures())
def test_every_measure_parses_back_from_its_name(measure: Measure) -> None:
    assert parse_measure(str(measure)) == measure
    assert parse_measure(str(measure).upper()) == measure
    assert hash(parse_measure(str(measure))) == hash(measure)


@pytest.mark.parametrize(
    ("canonical", "aliases"),
    [
        ("nDCG@10", "ndcg@10 NDCG@10 ndcg_cut_10 ndcg_cut.10 ndcg_10"),
        ("nDCG", "ndcg NDCG"),
        ("R@10", "recall@10 recall_10 recall.10 r@10"),
        ("P@5", "precision@5 p_5 P.5 p@5 P@5(level=chunk)"),
        ("RR", "mrr recip_rank rr MRR RR(level=doc)"),
        ("RR@10", "mrr@10 recip_rank_10"),
        ("AP", "map ap"),
        ("AP@10", "map_cut_10 map_cut.10 map@10"),
        ("Success@5", "hit@5 hitrate@5 hit_rate@5 success_5 success@5"),
        ("Rprec", "rprec r-precision R-Precision"),
        ("emptyRateOnAnswerable", "emptyrateonanswerable"),
        ("nonEmptyRateOnRefusal", "NONEMPTYRATEONREFUSAL"),
        ("R@10(rel=2)", "recall@10(rel=2) R@10(REL=2)"),
        ("nDCG@10(gain=exp)", "ndcg@10( gain = exp )"),
        ("R@10(level=span)", "R@10(level=span,rel=1)"),
        ("P@5(level=doc)", "p_5(level=document)"),
        ("Success@5(level=chunk,rel=3)", "hit@5(rel=3,level=chunk)"),
    ],
)
def test_aliases(canonical: str, aliases: str) -> None:
    assert str(parse_measure(canonical)) == canonical
    names = [aliases] if " = " in aliases else aliases.split()
    assert {str(parse_measure(name)) for name in names} == {canonical}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "nearest is nDCG@10"),
        ("recal@7", "nearest is R@7"),
        ("rprek@7", "nearest is Rprec"),
        ("emptyRate", "nearest is emptyRateOnAnswerable"),
        ("", "nearest is"),
        ("R@-1", "Unknown measure"),
        ("R@10(rel=2", "nearest is R@10"),
        ("P", "P needs a cut-off"),
        ("recall", "R needs a cut-off"),
        ("hit", "Success needs a cut-off"),
        ("Rprec@5", "Rprec takes no cut-off"),
        ("nonEmptyRateOnRefusal@5", "takes no cut-off"),
        ("R@0", "ranks count from 1"),
        ("R@99999999999", "too large"),
        ("R@10(level=chunk)", "R has no level 'chunk'"),
        ("nDCG(level=chunk)", "nDCG has no level"),
        ("P@5(level=span)", "P has no level"),
        ("AP(level=span)", "AP has no level"),
        ("R@10(level=spam)", "nearest is 'span'"),
        ("R@10(lvel=span)", "nearest is 'level'"),
        ("R@10(rel=0)", "cannot count grade 0"),
        ("R@10(rel=high)", "'high'"),
        ("R@10(gain=exp)", "R has no gain"),
        ("nDCG@10(gain=log)", "Unknown gain"),
        ("nDCG@10(rel=2)", "no relevance threshold"),
        ("R@10(rel=2,rel=3)", "twice"),
        ("R@10(rel)", "Cannot read the option 'rel'"),
        ("R@10()", "Cannot read the option ''"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace("(", r"\(")) as error:
        parse_measure(text)
    assert error.value.hint


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        measure = parse_measure(text)
    except InvalidInput:
        return
    assert parse_measure(str(measure)) == measure


def test_construction_validates() -> None:
    with pytest.raises(InvalidInput, match="needs a cut-off"):
        Measure("P")
    with pytest.raises(InvalidInput, match="Unknown measure"):
        Measure("F1")  # type: ignore[arg-type]
    assert Measure("P", 5).level == "chunk"
    assert Measure("R", 5).level == "doc"
    assert msgspec.json.decode(msgspec.json.encode(Measure("P", 5)), type=Measure) == Measure("P", 5)


def test_a_name_that_says_its_relevance_keeps_it() -> None:
    assert str(measure_at("R@5", 2)) == "R@5(rel=2)"
    assert str(measure_at("recall@5( REL = 1 )", 2)) == "R@5"
    assert str(measure_at("R@5(level=span,rel=1)", 3)) == "R@5(level=span)"
    assert str(measure_at("R@5(rel=3)", 2)) == "R@5(rel=3)"
    assert str(measure_at("nDCG@10", 2)) == "nDCG@10"


def test_relevance_applies_where_there_is_a_threshold() -> None:
    assert str(with_relevance(parse_measure("recall@5"), 2)) == "R@5(rel=2)"
    assert str(with_relevance(parse_measure("ndcg@10"), 2)) == "nDCG@10"
    assert str(with_relevance(parse_measure("emptyRateOnAnswerable"), 2)) == "emptyRateOnAnswerable"


def test_every_kind_is_described_in_one_line() -> None:
    assert set(DESCRIPTION) == set(RULES)
    assert all(text.endswith(".") and "\n" not in text for text in DESCRIPTION.values())
    assert parse_measure("RR").higher_is_better
    assert not parse_measure("nonEmptyRateOnRefusal").higher_is_better
