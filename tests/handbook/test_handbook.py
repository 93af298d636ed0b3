"""What a program can assert about the bundled handbook and its goldens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from ragtui.artifacts.chunking import cut
from ragtui.experiment.presets import preset
from ragtui.inputs.corpus import CorpusSnapshot, load_corpus
from ragtui.inputs.evaluation import EvaluationCase, EvaluationSet, Selection, load_evaluation
from ragtui.inputs.patterns import matches
from ragtui.inputs.text import fold_space
from ragtui.metrics.answers import declines

ROOT = Path(__file__).parents[2]
SUITES = ("core", "graded", "off_topic", "long_context")
ANSWERABLE_TAGS = (
    "single-hop", "numeric", "near-miss", "superseded", "distractor", "fictional", "acronym", "acronym-control",
    "chunk-boundary", "table", "multi-hop", "multi-turn", "paraphrase",
)  # fmt: skip
REFUSAL_TAGS = ("out-of-corpus", "adversarial")
REVISION = re.compile(r"^(?P<stem>.+)-rev(?P<number>\d+)$")
NAMES = re.compile(r"[A-Za-z]+(?:-\w+)?")
NO_CONTEXT = "No context was given."
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about after again all also am an and any are as at be because been before being below but by can could
        did do does doing don down each en for from get gets give given go goes going got had has have having he
        her here hers him his how i if in into is it its just let like long make makes many may me might more
        most much must my no not now of off ok on once one only or other our out over own please put same shall
        she should so some soon still such take than that the their them then there these they this those through
        till to too under until up us very was we were what when where which while who whom whose why will with
        without would yes you your ever far often""",
    )
)
SUFFIXES = ("ingly", "edly", "ings", "ing", "ies", "ied", "ed", "es", "ly", "er", "est", "y", "s", "e")


@pytest.fixture(scope="module")
def corpus() -> CorpusSnapshot:
    return load_corpus(ROOT / "corpus")


@pytest.fixture(scope="module")
def cases(corpus: CorpusSnapshot) -> EvaluationSet:
    # Loading resolves every quote, compiles every pattern, and rejects repeated ids and unknown documents.
    return load_evaluation(ROOT / "goldens", corpus, Selection(suites=SUITES))


@pytest.fixture(scope="module")
def folded(corpus: CorpusSnapshot) -> dict[str, str]:
    return {document.id: fold_space(document.text) for document in corpus.documents}


def of_suite(cases: EvaluationSet, suite: str) -> list[EvaluationCase]:
    return [case for case in cases.cases if case.suite == suite]


def tagged(cases: EvaluationSet, tag: str, suite: str = "core") -> list[EvaluationCase]:
    return [case for case in of_suite(cases, suite) if tag in case.tags]


def relevant(case: EvaluationCase, grade: int = 1) -> list[str]:
    return sorted(doc for doc, value in case.grades.items() if value >= grade)


def evidence(case: EvaluationCase, folded: dict[str, str], grade: int = 1) -> str:
    """The relevant documents joined; the conversation where the answer lies in it alone."""
    texts = [folded[doc] for doc in relevant(case, grade)] or [fold_space(turn.content) for turn in case.turns]
    return " ".join(texts)


def stem(word: str) -> str:
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def content_words(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {stem(word) for word in words if word not in STOP_WORDS and len(word) > 1}


def passages(text: str) -> list[str]:
    """Paragraphs, list items and table rows, without the front matter."""
    body = text.split("---", 2)[2]
    return re.split(r"\n\s*\n|\n(?=[-*] |\d+\. |\|)", body)


def answering_passages(case: EvaluationCase, corpus: CorpusSnapshot) -> Iterator[str]:
    for doc in relevant(case):
        for passage in passages(corpus.document(doc).text):
            if any(matches(pattern, passage) for pattern in case.must_include):
                yield passage


def faults(found: Iterable[object]) -> None:
    """Fail with all of them at once."""
    listed = [str(item) for item in found]
    assert not listed, "\n".join(listed)


# -- documents ---------------------------------------------------------------------------------------------------------


def test_corpus_is_large_enough(corpus: CorpusSnapshot) -> None:
    assert len(corpus.documents) >= 72
    assert len(cut(corpus, preset("hybrid").chunking).doc) >= 450


def test_documents_have_front_matter(corpus: CorpusSnapshot) -> None:
    fields = (r'title: "?\S', r"section: [a-z]", r"revision: \d+$", r"date: 20(29|3[0-3])-\d\d-\d\d$")
    for document in corpus.documents:
        opening, front, body = document.text.split("---", 2)
        assert not opening, document.id
        for field in fields:
            assert re.search(f"^{field}", front, re.MULTILINE), (document.id, field)
        assert body.lstrip().startswith("# "), document.id


def test_revisions_say_which_one_is_in_force(corpus: CorpusSnapshot) -> None:
    revisions: dict[str, list[int]] = {}
    for document in corpus.documents:
        if found := REVISION.match(document.id):
            revisions.setdefault(found["stem"], []).append(int(found["number"]))
    assert len(revisions) >= 5
    for family, numbers in revisions.items():
        assert len(numbers) >= 2, family
        for number in numbers:
            text = corpus.document(f"{family}-rev{number}").text
            status = "current" if number == max(numbers) else "superseded"
            assert f"\nstatus: {status}\n" in text.split("---", 2)[1] + "\n", (family, number)
            assert ("superseded" in text.split("---", 2)[2].lower()) == (status == "superseded"), (family, number)


def test_some_text_is_in_another_language_and_in_other_scripts(corpus: CorpusSnapshot) -> None:
    assert any("\nlanguage: nb\n" in document.text for document in corpus.documents)
    everything = "".join(document.text for document in corpus.documents)
    for name in ("佐藤", "Юлия", "Παπαδάκης"):
        assert name in everything


def test_every_document_is_relevant_to_some_golden(corpus: CorpusSnapshot, cases: EvaluationSet) -> None:
    used = {doc for case in cases.cases for doc in relevant(case)}
    faults(document.id for document in corpus.documents if document.id not in used)


# -- counts ------------------------------------------------------------------------------------------------------------


def test_suites_are_large_enough(cases: EvaluationSet) -> None:
    core = of_suite(cases, "core")
    assert sum(case.answerable for case in core) >= 300
    assert sum(case.expect_refusal for case in core) >= 30
    assert len(of_suite(cases, "graded")) >= 60
    assert len(of_suite(cases, "off_topic")) >= 30
    assert len(of_suite(cases, "long_context")) >= 8


def test_every_trap_has_enough_goldens(cases: EvaluationSet) -> None:
    counts = Counter(tag for case in of_suite(cases, "core") for tag in case.tags)
    assert set(counts) == {*ANSWERABLE_TAGS, *REFUSAL_TAGS}
    faults(f"{tag}: {count}" for tag, count in counts.items() if count < 15)


def test_a_core_golden_is_either_answerable_or_a_refusal(cases: EvaluationSet) -> None:
    for case in of_suite(cases, "core"):
        assert case.tags, case.id
        assert case.answerable != case.expect_refusal, case.id
        assert bool(set(case.tags) & set(REFUSAL_TAGS)) == case.expect_refusal, case.id


# -- patterns ----------------------------------------------------------------------------------------------------------


def test_patterns_match_their_own_documents(cases: EvaluationSet, folded: dict[str, str]) -> None:
    for case in cases.cases:
        if case.expect_refusal:
            continue
        assert case.must_include, case.id
        text = evidence(case, folded)
        faults((case.id, pattern) for pattern in case.must_include if not matches(pattern, text))


def test_wrong_answers_are_not_in_the_right_documents(cases: EvaluationSet, folded: dict[str, str]) -> None:
    for case in cases.cases:
        if relevant(case):
            text = evidence(case, folded, grade=2)
            faults((case.id, pattern) for pattern in case.must_not_include if matches(pattern, text))


def test_no_pattern_matches_the_question_or_an_empty_context(cases: EvaluationSet) -> None:
    for case in cases.cases:
        for pattern in case.must_include:
            assert not matches(pattern, case.query), (case.id, pattern)
            assert not matches(pattern, NO_CONTEXT), (case.id, pattern)


TOKEN = re.compile(r"\\.|\[[^]]*\]|\(\?<[!=]|\(\?[!=]|\(\?[-i]*:|\{[\d,]+\}|.")


def bare_numbers(pattern: str) -> list[int]:
    """Where a match may begin with a digit that nothing guards against a longer number: `5 min` in `15 min`."""
    tokens = TOKEN.findall(pattern)
    found: list[int] = []
    opened: list[bool] = []
    guarded = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        optional = tokens[at + 1 : at + 2] in (["?"], ["*"])
        if token in ("(?<!", "(?<=", "(?!", "(?="):
            look, depth = token, 1
            body = ""
            while depth:
                at += 1
                depth += tokens[at].startswith("(") - (tokens[at] == ")")
                body += tokens[at]
            guarded = guarded or (look.startswith("(?<") and bool(re.search(r"\\[dw]", body)))
        elif token.startswith("("):
            opened.append(guarded)
        elif token == "|":
            guarded = bool(opened) and opened[-1]
        elif token == ")":
            before = opened.pop()
            guarded = before if optional else True
        elif token in ("\\b", "^"):
            guarded = True
        elif token not in ("?", "*", "+") and not token.startswith("{"):
            number = token.isdigit() or token == r"\d" or (re.match(r"\[[^^]*\d", token) is not None)
            if number and not guarded:
                found.append(at)
            guarded = guarded or not optional
        at += 1
    return found


@pytest.mark.parametrize(
    "pattern", ["5 min", "a|5 min", "(5|five) min", "(?<!not )5 min", r"\+?5 °", "[23]0 m", r"(an? )?\d"]
)
def test_a_bare_number_is_found(pattern: str) -> None:
    assert bare_numbers(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\b5 min", r"(?<![\d.,])5 min|for 5", r"(?<!\d)(5|five)", "(−|minus) ?5", "level (2|two)"]
)
def test_a_guarded_number_is_not(pattern: str) -> None:
    assert not bare_numbers(pattern)


def test_numbers_in_patterns_do_not_match_inside_longer_ones(cases: EvaluationSet) -> None:
    faults(
        (case.id, pattern)
        for case in cases.cases
        for pattern in (*case.must_include, *case.must_not_include)
        if bare_numbers(pattern)
    )


class Answers(msgspec.Struct, forbid_unknown_fields=True):
    """Answers to a golden in natural words, nearly half of them written before its patterns were looked at."""

    id: str
    right: list[str]
    wrong: list[str]


ANSWERS = msgspec.json.Decoder(Answers).decode_lines((Path(__file__).parent / "answers.jsonl").read_bytes())
NUMBER = re.compile(r"\d[\d.,:]*")


def test_every_answerable_golden_has_answers_to_try(cases: EvaluationSet) -> None:
    core = {case.id for case in cases.cases if case.suite == "core" and case.must_include}
    assert len(ANSWERS) == len({answers.id for answers in ANSWERS})
    assert core <= {answers.id for answers in ANSWERS}
    assert all(len(answers.right) >= 2 and answers.wrong for answers in ANSWERS)


def test_patterns_tell_right_answers_from_wrong_ones(cases: EvaluationSet) -> None:
    by_id = {case.id: case for case in cases.cases}
    found = []
    for answers in ANSWERS:
        case = by_id[answers.id]

        def accepted(answer: str, case: EvaluationCase = case) -> bool:
            included = all(matches(pattern, answer) for pattern in case.must_include)
            return included and not any(matches(pattern, answer) for pattern in case.must_not_include)

        found += [f"{case.id} refuses: {answer}" for answer in answers.right if not accepted(answer)]
        found += [f"{case.id} takes: {answer}" for answer in answers.wrong if accepted(answer)]
        # Models set numbers in bold and write typographic apostrophes.
        dressed = (NUMBER.sub(r"**\g<0>**", answer).replace("'", "’") for answer in answers.right)
        found += [f"{case.id} refuses: {answer}" for answer in dressed if not accepted(answer)]
    faults(found)


def test_right_answers_are_no_refusals() -> None:
    faults(f"{answers.id}: {text}" for answers in ANSWERS for text in answers.right if declines(text))


def test_refusals_have_nothing_to_find(cases: EvaluationSet) -> None:
    for case in cases.cases:
        if case.expect_refusal:
            assert not case.answerable, case.id
            assert not case.must_include, case.id


# -- traps -------------------------------------------------------------------------------------------------------------


def test_acronyms_come_in_pairs(cases: EvaluationSet) -> None:
    pairs: dict[str, dict[str, EvaluationCase]] = {}
    for tag, suffix in (("acronym", "-acr"), ("acronym-control", "-ctl")):
        for case in tagged(cases, tag):
            assert case.id.endswith(suffix), case.id
            pairs.setdefault(case.id.removesuffix(suffix), {})[tag] = case
    for base, pair in pairs.items():
        assert set(pair) == {"acronym", "acronym-control"}, base
        short, spelt = pair["acronym"], pair["acronym-control"]
        assert short.grades == spelt.grades, base
        acronyms = {word for word in NAMES.findall(short.query) if re.match(r"[A-Z]{2}|co-op", word)}
        assert acronyms, base
        assert not acronyms & set(NAMES.findall(spelt.query)), base


def test_near_misses_have_a_sibling_with_the_wrong_answer(cases: EvaluationSet, folded: dict[str, str]) -> None:
    for case in tagged(cases, "near-miss"):
        assert case.must_not_include, case.id
        others = [text for doc, text in folded.items() if case.grades.get(doc, 0) == 0]
        assert any(matches(wrong, text) for wrong in case.must_not_include for text in others), case.id


def test_multi_hop_needs_more_than_one_document(cases: EvaluationSet, folded: dict[str, str]) -> None:
    for case in tagged(cases, "multi-hop"):
        docs = relevant(case)
        assert len(docs) >= 2, case.id
        assert len(case.must_include) >= 2, case.id
        faults((case.id, d) for d in docs if all(matches(pattern, folded[d]) for pattern in case.must_include))
        for doc in docs:
            assert any(matches(pattern, folded[doc]) for pattern in case.must_include), (case.id, doc)


def test_paraphrases_share_no_content_word_with_the_answer(cases: EvaluationSet, corpus: CorpusSnapshot) -> None:
    for case in tagged(cases, "paraphrase"):
        asked = content_words(case.query)
        found = list(answering_passages(case, corpus))
        assert found, case.id
        faults((case.id, word) for passage in found for word in asked & content_words(passage))


def test_superseded_asks_for_the_revision_in_force(cases: EvaluationSet, corpus: CorpusSnapshot) -> None:
    for case in tagged(cases, "superseded"):
        found = [match for doc in relevant(case) if (match := REVISION.match(doc))]
        assert len(found) == 1, case.id
        family, number = found[0]["stem"], int(found[0]["number"])
        numbers = [
            int(other["number"])
            for document in corpus.documents
            if (other := REVISION.match(document.id)) and other["stem"] == family
        ]
        old = "-old" in case.id
        assert (number < max(numbers)) if old else (number == max(numbers) and number > min(numbers)), case.id
        if old:
            asked = case.query.lower() + " ".join(turn.content for turn in case.turns).lower()
            assert re.search(r"first|revision|old|previous|edition", asked), case.id


def test_distractors_are_answered_by_real_documents(cases: EvaluationSet, corpus: CorpusSnapshot) -> None:
    diaries = [content_words(document.text) for document in corpus.documents if document.id.startswith("diary/")]
    for case in tagged(cases, "distractor"):
        assert not any(doc.startswith("diary/") for doc in relevant(case)), case.id
        assert any(content_words(case.query) & diary for diary in diaries), case.id


def test_chunk_boundary_facts_lie_deep_in_long_documents(cases: EvaluationSet, corpus: CorpusSnapshot) -> None:
    for case in tagged(cases, "chunk-boundary"):
        (doc,) = relevant(case)
        text = corpus.document(doc).text
        assert len(text) >= 10_000, case.id
        deepest = max(text.find(passage) for passage in answering_passages(case, corpus))
        assert deepest >= 3_000, case.id


def test_table_answers_are_cells(cases: EvaluationSet, corpus: CorpusSnapshot) -> None:
    for case in tagged(cases, "table"):
        rows = [passage for passage in answering_passages(case, corpus) if passage.lstrip().startswith("|")]
        assert rows, case.id


def test_multi_turn_goldens_have_turns(cases: EvaluationSet) -> None:
    for case in of_suite(cases, "core"):
        assert bool(case.turns) == ("multi-turn" in case.tags), case.id
        if case.turns:
            assert [turn.role for turn in case.turns] == ["user", "assistant"] * (len(case.turns) // 2), case.id


def test_numeric_answers_hold_a_number(cases: EvaluationSet) -> None:
    words = "one|two|three|four|five|six|seven|eight|nine|ten|fifth|third|annenhver"
    for case in tagged(cases, "numeric"):
        assert any(re.search(rf"\d|{words}", pattern) for pattern in case.must_include), case.id


# -- other suites ------------------------------------------------------------------------------------------------------


def test_graded_uses_every_grade_and_quotes_spans(cases: EvaluationSet) -> None:
    graded = of_suite(cases, "graded")
    assert {grade for case in graded for grade in case.grades.values()} == {0, 1, 2, 3}
    assert sum(not case.answerable for case in graded) >= 3
    for case in graded:
        assert bool(case.spans) == case.answerable, case.id


def test_off_topic_goldens_are_refusals_of_both_kinds(cases: EvaluationSet) -> None:
    kinds = Counter(tag for case in of_suite(cases, "off_topic") for tag in case.tags)
    assert kinds["off-topic"] == len(of_suite(cases, "off_topic"))
    assert min(kinds["coherent"], kinds["gibberish"]) >= 8
    assert all(case.expect_refusal for case in of_suite(cases, "off_topic"))


def test_long_conversations_are_long(cases: EvaluationSet) -> None:
    long = of_suite(cases, "long_context")
    for case in long:
        assert len(case.turns) >= 12, case.id
        assert sum(len(turn.content) for turn in case.turns) >= 4_000, case.id
        assert case.must_include, case.id
        kept = case.turns[:4] if "history-retention" in case.tags else case.turns[-4:]
        assert "history-retention" in case.tags or "eviction" in case.tags, case.id
        if not relevant(case):
            said = fold_space(" ".join(turn.content for turn in kept))
            faults((case.id, pattern) for pattern in case.must_include if not matches(pattern, said))
    assert {"history-retention", "eviction"} <= {tag for case in long for tag in case.tags}


def test_nothing_says_who_wrote_it(corpus: CorpusSnapshot) -> None:
    texts = {document.id: document.text for document in corpus.documents}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "goldens").glob("*.jsonl"))}
    banned = re.compile(r"\b(AI|LLM|GPT|language model|chatbot|generated by|written by (a|an) (model|assistant))\b")
    faults((name, found[0]) for name, text in texts.items() if (found := banned.search(text)))
