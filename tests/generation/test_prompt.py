"""Templates, budget, context, marks: the pure parts."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ragtui.analysis.answer_marks import marks_of
from ragtui.experiment.generation import Budget, Generation, Prompt, generation_faults
from ragtui.inputs.evaluation import EvaluationCase, Span
from ragtui.inputs.goldens import Turn
from ragtui.inputs.patterns import matches
from ragtui.inputs.text import fold_answer
from ragtui.pipeline.budget import characters_per_token, estimated_tokens, fit
from ragtui.pipeline.generate import split_thinking
from ragtui.pipeline.injected import as_they_stand, oracle_chunks, part_texts
from ragtui.pipeline.prompt import compose
from ragtui.pipeline.rewrite import rewrite_messages, rewritten
from ragtui.trace import ChunkRef

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=300)


def case(**changes: object) -> EvaluationCase:
    fields: dict[str, object] = {
        "id": "q", "suite": "core", "query": "How deep?", "turns": (), "grades": {"a": 3}, "spans": (),
        "must_include": (), "must_not_include": (), "expect_refusal": False, "tags": (), "retrieval_hash": "",
        "answer_hash": "",
    }  # fmt: skip
    return EvaluationCase(**(fields | changes))  # type: ignore[arg-type]


def test_texts_are_put_in_once_and_never_taken_for_fields() -> None:
    messages = compose(Prompt(), "What is {context}?", [Turn("user", "{question}")], ["{question} {{x}}"])
    assert [message.role for message in messages] == ["system", "user", "user"]
    assert messages[0].content.endswith("Context:\n{question} {{x}}")
    assert messages[1].content == "{question}"
    assert messages[2].content == "What is {context}?"


def test_context_and_history_stand_where_the_template_says() -> None:
    template = Prompt(system="", user="{{json}} {history}\n{context}\n{question}", numbered=True, empty="nothing")
    turns = [Turn("user", "hi"), Turn("assistant", "ho")]
    assert [m.content for m in compose(template, "why?", turns, ["a", "b"])] == [
        "{json} User: hi\nAssistant: ho\n[1] a\n\n[2] b\nwhy?"
    ]
    assert compose(template, "why?", [], [])[0].content == "{json} \nnothing\nwhy?"


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [
        (Generation(prompt=Prompt(user="{qestion} {context}", system="")), "Did you mean {question}?"),
        (Generation(prompt=Prompt(user="{question")), "write {{ and }} for braces"),
        (Generation(prompt=Prompt(user="{question!r}")), "takes no format"),
        (Generation(prompt=Prompt(system="no context")), "neither system nor user has {context}"),
        (Generation(prompt=Prompt(system="{context}", user="{question} {context}")), "{context} stands 2 times"),
        (Generation(prompt=Prompt(user="{0}")), "unknown field {0}"),
        (Generation(modes=()), "names no mode"),
        (Generation(modes=("e2e", "e2e")), "twice"),
        (Generation(repeats=0), "not between 1 and 100"),
        (Generation(temperature=-1.0), "not between 0 and 2"),
        (Generation(budget=Budget(context_window=10, answer_reserve=10)), "do not hold the answer reserve"),
        (Generation(budget=Budget(characters_per_token=0.0)), "characters_per_token"),
        (Generation(model=" "), "names no model"),
    ],
)
def test_faults_of_a_recipe(recipe: Generation, fault: str) -> None:
    assert any(fault in told for told in generation_faults(recipe))
    assert not list(generation_faults(Generation()))


@given(
    window=st.integers(64, 4000), reserve=st.integers(1, 60), ratio=st.floats(0.5, 8), question=TEXTS,
    turns=st.lists(TEXTS, max_size=12), parts=st.lists(TEXTS, max_size=8),
)  # fmt: skip
def test_what_is_said_to_fit_fits(
    window: int, reserve: int, ratio: float, question: str, turns: list[str], parts: list[str]
) -> None:
    template = Prompt(system="{context}", numbered=True)
    budget = Budget(context_window=window, answer_reserve=reserve, characters_per_token=ratio)
    said = [Turn("user" if place % 2 else "assistant", text) for place, text in enumerate(turns)]
    fitted = fit(template, budget, question, said, parts)
    if fitted.missing:
        assert (fitted.turns, fitted.parts) == (0, 0)
        return
    messages = compose(template, question, said[len(said) - fitted.turns :], parts[: fitted.parts])
    assert estimated_tokens(messages, characters_per_token(budget)) <= window - reserve
    if fitted.turns < len(said) and fitted.parts == 0 and said:
        rest = compose(template, question, said[len(said) - fitted.turns - 1 :], [])
        assert estimated_tokens(rest, ratio) > window - reserve, "no turn is left out that would fit"


def test_the_newest_turn_goes_before_any_part() -> None:
    turns = [Turn("user", "x" * 400), Turn("assistant", "y" * 400)]
    budget = Budget(context_window=160, answer_reserve=10, characters_per_token=4.0)
    fitted = fit(Prompt(system="{context}"), budget, "why?", turns, ["z" * 300])
    assert (fitted.turns, fitted.parts) == (1, 0)
    everything = fit(Prompt(system="{context}"), Budget(), "why?", turns, ["z" * 300])
    assert (everything.turns, everything.parts) == (2, 1)


def test_the_oracle_keeps_what_is_known_to_matter_longest() -> None:
    chunks = [ChunkRef(n, "a", 10 * n, 10 * n + 9, f"part {n} ab") for n in range(4)]
    asked = case(spans=(Span("a", 22, 25, 3),), must_include=("part 3",))
    best = oracle_chunks(asked, 1, lambda doc: chunks if doc == "a" else [])
    assert [chunk.ordinal for chunk in best] == [2, 3, 0, 1]
    assert part_texts(as_they_stand(best), joined=True) == ["part 0 ab\npart 1 ab\npart 2 ab\npart 3 ab"]
    assert part_texts(as_they_stand(best[:3]), joined=True) == ["part 0 ab", "part 2 ab\npart 3 ab"]
    assert oracle_chunks(case(grades={"a": 0}), 1, lambda doc: chunks) == []


def test_overlapping_chunks_are_joined_without_repeating() -> None:
    text = "0123456789abcdef"
    chunks = [
        ChunkRef(n, "a", start, end, text[start:end]) for n, (start, end) in enumerate([(0, 8), (5, 12), (12, 16)])
    ]
    assert part_texts(chunks, joined=True) == [text]


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("<think>a</think>b", "b", "a"),
        (" <Thinking>\na\n</Thinking>\n\nb", "b", "a"),
        ("<think>never ends", "", "never ends"),
        ("a <think>b</think>", "a <think>b</think>", ""),
        ("b</think>c", "b</think>c", ""),
        ("plain", "plain", ""),
    ],
)
def test_only_leading_reasoning_is_taken_apart(text: str, answer: str, thought: str) -> None:
    assert split_thinking(text) == (answer, thought)


def test_a_rewrite_is_a_question_alone() -> None:
    assert rewritten('Rewritten question: "How deep is\nit?"') == "How deep is it?"
    assert rewritten("At 10:30: what?") == "At 10:30: what?"
    messages = rewrite_messages(Budget(), "How deep is it?", [Turn("user", "The {x} well.")])
    assert "User: The {x} well." in messages[-1].content
    assert "Last question: How deep is it?" in messages[-1].content


def test_marks_point_into_the_answer_as_it_is() -> None:
    text = "It takes  16\n drops,\tnever 17 drops."
    found = marks_of(case(must_include=("16 drops", "pint"), must_not_include=("17 DROPS",)), text)
    assert [(text[mark.start : mark.end], mark.kind) for mark in found.marks] == [
        ("16\n drops", "required"), ("17 drops", "forbidden")]  # fmt: skip
    assert found.missing == ("pint",)


def test_marks_and_measures_read_through_bold_and_typography() -> None:
    text = "Don’t: give **16**  drops of OX‑7 **now**"
    required = ("16 drops", "OX-7 now", "don't")
    assert all(matches(pattern, text) for pattern in required)
    found = marks_of(case(must_include=required), text)
    assert [text[mark.start : mark.end] for mark in found.marks] == ["Don’t", "16**  drops", "OX‑7 **now"]


@given(st.text(alphabet="*a1 \n\t’‑\u00a0\u2028", max_size=30))
def test_marks_fold_as_the_measures_do(text: str) -> None:
    folded = fold_answer(text)
    found = marks_of(case(must_include=(regex.escape(folded, literal_spaces=True),)), text)
    assert found.missing == ()
    assert [fold_answer(text[mark.start : mark.end]) for mark in found.marks] == ([folded] if folded else [])
