"""Refusals, near-refusals, hedges and talk of the context: sentences as models write them."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.patterns import compile_pattern
from ragtui.metrics.answer_patterns import CONTRASTS, DECLINES, HEDGES, LEAKS, NO_LEAK, REDIRECTS, THINK_TAGS
from ragtui.metrics.answers import Answered, declines, hedges, leaks, score_answer, thinks_aloud, ungrounded
from ragtui.metrics.numbers import all_readings, numbers_in

REFUSALS = [
    "I don't know.",
    "I do not know the answer to that.",
    "I don’t know.",
    "We don't know when it was built.",
    "I'm sorry, but I don't have any information about that.",
    "I am sorry, but I cannot answer this question based on the given context.",
    "I cannot answer that.",
    "I can't help with that question.",
    "Unfortunately, I could not find any information on the price of the Cardan A2.",
    "I couldn't find specific information about lasers.",
    "I was unable to find any mention of a dentist.",
    "I'm unable to provide an answer to that.",
    "I am not able to answer that question.",
    "Sorry, I wasn't able to find specific context for that.",
    "The provided context does not contain information about the capital of France.",
    "The context doesn't mention a fax number.",
    "The handbook does not say.",
    "The manual does not specify the colour of the hull.",
    "The given documents do not include any details on that.",
    "The context provided does not explicitly state the year.",
    "The provided passages discuss tanks, but they do not mention who built them; there is no information on that.",
    "There is no information about this in the handbook.",
    "There's no mention of a swimming pool in the text.",
    "There isn't any information on that topic.",
    "No information is available on this.",
    "That is not mentioned in the provided context.",
    "The price is not specified in the document.",
    "The author's name is not mentioned.",
    "It is not stated.",
    "There is not enough information to answer this question.",
    "Insufficient information to determine the date.",
    "I don't have enough information to answer that question.",
    "I do not have access to real-time data about flights.",
    "I have no information about that.",
    "I have no idea.",
    "That is outside the scope of this handbook.",
    "This is beyond my knowledge.",
    "Unknown.",
    "N/A",
    "No context was given.",
    "I don't know, but you could ask the station leader.",
    "I do not know, but I can help with the stove.",
    "I do not know. Please consult the manufacturer.",
    "I'm sorry, I can't say. If you tell me more, I am happy to help.",
    "I can not determine the height from the data.",
    "The documents have no details on that model.",
    "We have no records of such a visit.",
    "I see no information on prices.",
    "I found no mention of it.",
    "Nothing in the handbook covers flights to the coast in winter.",
    "Nothing is said about a dentist.",
    "The price isn't given in its sheet.",
    "No price per minute is stated.",
    "No serial number is given in the equipment sheet.",
    "I can't find anything in the handbook about a swimming pool.",
    "There is no price for the Cardan A2 in the handbook.",
    "The sheet gives no price.",
    "The colour wasn't mentioned.",
]

ANSWERS = [
    "I could not find the valve, but turning the red tap stops the flow.",
    "If you cannot find the valve, close the red tap.",
    "You cannot answer the radio while the beacon transmits; wait ten minutes.",
    "Boil for three minutes; you do not know how clean the ice was.",
    "The crew does not know the depth, so sound the ice every 20 m.",
    "The tank holds 24 litres. There is no heater in it.",
    "Batteries are not included.",
    "The sledge does not have brakes.",
    "There is no fuel in depot 7 after March.",
    "The stove is not provided with a lid; take one from the galley.",
    "No. The VX12 cannot be charged below −10 °C.",
    "It was not found until the spring of 2031.",
    "The notes say that Aud did not have the key.",
    "Never say that the signal is unknown: log it as code 9.",
    "Nobody has an answer from the aircraft until it lands; keep the lights on.",
    "The G40 does not need preheating above −15 °C.",
    "If the patient does not answer, open the airway.",
    "Do not give aspirin when the weight is unknown and below 30 kg.",
    "We have no spare filter before June, so wash the old one.",
    "Information on the loads is painted on the door: 400 kg.",
    "The answer is 42 litres.",
    "I know of two depots: Cairn 7 and Tarn.",
    "Twelve hours, because data are sent every six.",
    "Record the context of the find in the log and bag it.",
    "The document must be signed by two people before 18:00.",
    "It holds 158 litres, more than any other tank.",
    "The person on watch cannot tell ice from cloud by eye, so use the radar.",
    "They could not see the flag, but heard the horn.",
    "No details of the patient leave the surgery.",
    "Insufficient oil pressure shows as code 61.",
    "No alarm is given before 18:45.",
    "Nothing in the tent may touch the wall.",
    "There is no fuel in the galley.",
    "The all-clear was not given until 06:00.",
    "Nothing is said on channel 3 during the round.",
]

HEDGED = [
    "I'm not sure, but it holds 24 litres.",
    "I am not entirely certain; probably 24 litres.",
    "I can't be sure, but I'd say 24 litres.",
    "It might be 24 litres, though I may be wrong.",
    "There is no information on this. Based on general knowledge, 24 litres.",
    "I don't know exactly, but it could be 24 litres.",
    "The context does not say this directly. However, the tank holds 24 litres.",
    "It is unclear, but 24 litres seems right.",
    "My best guess is 24 litres.",
    "24 litres. Please verify this with the station leader.",
    "I would only be guessing: 24 litres.",
    "Take this with a grain of salt: 24 litres.",
    "I think it might be 24 litres.",
]

LEAKING = [
    "According to the context, it holds 24 litres.",
    "Based on the provided context, the tank holds 24 litres.",
    "The context says that it holds 24 litres.",
    "According to Document 1, it holds 24 litres.",
    "As stated in document #2, 24 litres.",
    "Passage 3 gives 24 litres.",
    "It holds 24 litres [1].",
    "It holds 24 litres [Source 2].",
    "The knowledge base lists 24 litres.",
    "According to the documents, 24 litres.",
    "The provided documents state 24 litres.",
    "The information provided says 24 litres.",
    "From the retrieved passages: 24 litres.",
    "The search results show 24 litres.",
    "The retrieved chunks agree on 24 litres.",
    "This context gives 24 litres.",
]

CLEAN = [
    "It holds 24 litres.",
    "In the context of a whiteout, stay at the rope.",
    "Sign the document and keep a copy.",
    "Read the text on the drum: 3 kg.",
    "The source of the leak is the pump.",
    "Carry documents in a dry bag.",
    "A passage of ice 3 m wide stays open.",
    "The chunk of ice weighs 40 kg.",
    "No context was given.",
    "Bring your own knowledge and a base layer.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_one(text: str) -> None:
    assert declines(text)
    assert hedges(text), "a refusal of an answerable question is as bad as a hedge"


@pytest.mark.parametrize("text", ANSWERS)
def test_a_near_refusal_is_none(text: str) -> None:
    assert not declines(text)
    assert not hedges(text)


@pytest.mark.parametrize("text", HEDGED)
def test_a_hedge_is_an_answer_that_doubts_itself(text: str) -> None:
    assert hedges(text)
    assert not declines(text)


@pytest.mark.parametrize("text", LEAKING)
def test_talk_of_the_context(text: str) -> None:
    assert leaks(text)


@pytest.mark.parametrize("text", CLEAN)
def test_talk_of_the_subject(text: str) -> None:
    assert not leaks(text)


@pytest.mark.parametrize(
    ("text", "leaked"),
    [
        ("24 litres.", False),
        ("Let me see.</think> 24 litres.", True),
        ("24 <thinking>or 25?</thinking> litres.", True),
        ("<|channel|>final 24 litres.", True),
        ("[THINK] 24 litres.", True),
        ("I think 24 litres.", False),
        ("Keep a < b > c in mind.", False),
    ],
)
def test_marks_of_reasoning(text: str, leaked: bool) -> None:
    assert thinks_aloud(text) is leaked


def test_every_pattern_is_needed_by_an_example() -> None:
    examples = [text.replace("’", "'") for text in (*REFUSALS, *HEDGED, *LEAKING, *CLEAN)]
    examples += ["Let me see.</think>", "<|thinking|>", "[THINK]"]
    for pattern in (*DECLINES, *CONTRASTS, *REDIRECTS, *HEDGES, *LEAKS, *NO_LEAK, *THINK_TAGS):
        assert any(compile_pattern(pattern).search(text) for text in examples), pattern


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("6,500 ft, or 2 000 m", [6500, 2000]),
        ("1.5 kg and 2,5 l", ["1.5", "2.5"]),
        ("−34°C to +37 °C, 120V", [34, 37, 120]),
        ("1.234,56 € is $1,234.56", ["1234.56", "1234.56"]),
        ("1. Fill it.\n2. Wait 15 minutes.", [15]),
        ("The VX12 on channel 16", [16]),
        ("12'000 m", [12000]),
        ("18:30", [18, 30]),
        ("none at all", []),
        ("37–39 °C, 10-15 min", [37, 39, 10, 15]),
    ],
)
def test_numbers_in_one_form(text: str, numbers: list[float | str]) -> None:
    assert numbers_in(text) == [Decimal(str(number)) for number in numbers]


ANY_CASE = EvaluationCase("q", "core", "How?", (), {"doc": 3}, (), ("boil",), ("x+y",), False, (), "r", "a")


@pytest.mark.parametrize(
    "text",
    ["-" * 60_000, "\n" * 60_000 + "x", "9" * 1_100_000, " " * 60_000 + "1", "1 000" * 20_000, "1,000." * 20_000],
    ids=["dashes", "line ends", "digits", "spaces", "groups", "separators"],
)
def test_an_answer_never_takes_long_to_measure(text: str) -> None:
    began = time.perf_counter()
    numbers_in(text)
    all_readings(text)
    score_answer(ANY_CASE, Answered(text=f"boil {text}", context=(text,)))
    assert time.perf_counter() - began < 4


def test_a_number_is_grounded_in_any_reading_of_what_was_given() -> None:
    assert all_readings("1.500 m") == {Decimal("1.5"), Decimal("1500")}
    assert ungrounded("It is 1500 m, or 1,500 m, at 12 °C.", ["1.500 m high", "12°C"]) == ([], 3)
    assert ungrounded("About 6,500 feet.", ["6500ft"]) == ([], 1)
    assert ungrounded("Take 3 of 17.", ["3 pieces"]) == ([Decimal(17)], 1), "numbers up to 10 are no claims"
