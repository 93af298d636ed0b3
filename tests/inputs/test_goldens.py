"""Golden files: what they may hold, and the exact words for everything that is wrong with them."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.analysis.inputs_report import check_inputs
from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.corpus import CorpusSnapshot, document, snapshot
from ragtui.inputs.evaluation import EvaluationCase, Selection, Span, find_quote, freeze, load_evaluation, select
from ragtui.inputs.goldens import read_suites
from ragtui.inputs.patterns import CheckedFiles, compile_pattern, matches

CORPUS = snapshot(
    [
        document("water-boiling", "Boil for one minute,\nor three minutes\nabove 2,000 m."),
        document("two words/水", "A document under an odd id."),
    ]
)


def suite(folder: Path, *lines: str | dict[str, Any], name: str = "core") -> Path:
    folder.mkdir(exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (folder / f"{name}.jsonl").write_text("\n".join(texts), "utf-8")
    return folder


def golden(**fields: Any) -> dict[str, Any]:
    return {"id": "g", "query": "How long?", "relevantDocIds": ["water-boiling"]} | fields


def loaded(folder: Path, **selection: Any) -> tuple[EvaluationCase, ...]:
    return load_evaluation(folder, CORPUS, Selection(**selection)).cases


def faults(folder: Path, corpus: CorpusSnapshot = CORPUS) -> list[str]:
    with pytest.raises(InvalidFiles) as caught:
        load_evaluation(folder, corpus, Selection())
    return [str(problem) for problem in caught.value.problems]


def test_goldens_that_measure_nothing_and_tags_that_look_alike_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for name in ("water-boiling", "tea"):
        (tmp_path / "corpus" / f"{name}.md").write_text("Boil.")
    folder = suite(
        tmp_path / "goldens",
        golden(tags=["numeric"]),
        golden(id="bare", relevantDocIds=[], tags=["numeric ", "Numeric"]),
        golden(id="bare-2", relevantDocIds=[]),
        golden(id="no", relevantDocIds=[], expectRefusal=True, tags=["other"]),
        golden(id="words", relevantDocIds=[], mustInclude=["boil"]),
    )
    found = check_inputs(tmp_path / "corpus", folder)
    assert not found.problems
    empty, alike = found.warnings
    assert (empty.file, empty.line) == ("core.jsonl", 2)
    assert empty.message.startswith("golden 'bare' names no document, no pattern and no refusal, nor does 1 more")
    assert (alike.line, alike.message) == (
        2, "the tags 'numeric', 'numeric ', 'Numeric' differ only by case or outer spaces.",
    )  # fmt: skip


def test_the_whole_form(tmp_path: Path) -> None:
    folder = suite(
        tmp_path / "goldens",
        "// a comment, then a blank line",
        "",
        golden(
            id="water-boil-altitude-01",
            turns=[{"role": "user", "content": "I am in the Alps."}, {"role": "assistant", "content": "Noted."}],
            judgments=[
                {"doc": "water-boiling", "grade": "2_SUBSTANTIAL", "quote": "three minutes above 2,000 m"},
                {"doc": "two words/水", "grade": "0_IRRELEVANT"},
            ],
            mustInclude=["\\b(3|three) minutes?"],
            mustNotInclude=["distill"],
            expectRefusal=False,
            tags=["single-hop", "numeric"],
        ),
    )
    [case] = loaded(folder)
    assert case.id == "water-boil-altitude-01"
    assert case.suite == "core"
    assert case.grades == {"water-boiling": 3, "two words/水": 0}
    text = CORPUS.document("water-boiling").text
    [span] = case.spans
    assert text[span.start : span.end] == "three minutes\nabove 2,000 m"
    assert span.grade == 2
    assert [turn.role for turn in case.turns] == ["user", "assistant"]
    assert case.answerable


def test_bom_and_crlf_are_accepted(tmp_path: Path) -> None:
    plain = loaded(suite(tmp_path / "plain", golden(), golden(id="h")))
    (tmp_path / "dressed").mkdir()
    data = "\ufeff" + "\r\n".join(json.dumps(golden(id=name)) for name in ("g", "h")) + "\r\n"
    (tmp_path / "dressed" / "core.jsonl").write_bytes(data.encode())
    assert loaded(tmp_path / "dressed") == plain


@pytest.mark.parametrize("name", ["two words", "水-01", "a/b", "<b>x</b>", "[red]", "007", "x\ty", "#", "a'\"b"])
def test_ids_are_opaque(tmp_path: Path, name: str) -> None:
    [case] = loaded(suite(tmp_path / "goldens", golden(id=name, relevantDocIds=["two words/水"])))
    assert case.id == name
    assert case.grades == {"two words/水": 3}


EXAMPLE = 'E.g. {"id": "boil-01", "query": "How long?", "relevantDocIds": ["water-boiling"], "tags": ["numeric"]}.'
FIELDS_HINT = "Fields: id, query, turns, relevantDocIds, judgments, mustInclude, mustNotInclude, expectRefusal, tags."
BAD_LINES: list[tuple[str | dict[str, Any], str]] = [
    ("{", "core.jsonl:1: is not JSON: Input data was truncated. Write one JSON object on each line."),
    ("[1]", 'core.jsonl:1: is not a JSON object. Write {"id": "…", "query": "…"} on each line.'),
    (
        golden(relevantDocs=["water-boiling"]),
        "core.jsonl:1: unknown field relevantDocs (did you mean relevantDocIds?). Fields: id, query, turns, "
        "relevantDocIds, judgments, mustInclude, mustNotInclude, expectRefusal, tags.",
    ),
    (
        golden(relevantDocIds="water-boiling"),
        "core.jsonl:1: Expected `array`, got `str` at `relevantDocIds`. " + EXAMPLE,
    ),
    (
        golden(judgments=[{"doc": "water-boiling", "grade": "5_PERFECT"}]),
        "core.jsonl:1: Invalid enum value '5_PERFECT' at `judgments[0].grade`. Grades: 0_IRRELEVANT, 1_TANGENTIAL, "
        "2_SUBSTANTIAL, 3_AUTHORITATIVE.",
    ),
    ({"id": "g"}, "core.jsonl:1: Object missing required field `query`. " + FIELDS_HINT),
    (golden(id=" "), "core.jsonl:1: has an empty id. Give every golden an id."),
    (golden(query=" "), "core.jsonl:1: golden 'g' has an empty query. Write the question."),
    (
        golden(expectRefusal=True),
        "core.jsonl:1: golden 'g' expects a refusal but names relevant documents. Remove the documents or set "
        "expectRefusal to false.",
    ),
    (
        golden(mustInclude=["(three"]),
        "core.jsonl:1: golden 'g': pattern '(three' does not compile: missing ) at position 6. Mend the regular "
        "expression.",
    ),
    (
        golden(relevantDocIds=["water-boilin"]),
        "core.jsonl:1: golden 'g' names the document 'water-boilin', which is not in the corpus. Did you mean "
        "'water-boiling'? Correct the id or add the document.",
    ),
    (
        golden(relevantDocIds=["water-boiling.md"]),
        "core.jsonl:1: golden 'g' names the document 'water-boiling.md', which is not in the corpus. An id has no "
        "suffix: write 'water-boiling'.",
    ),
    (
        golden(relevantDocIds=["zebra"]),
        "core.jsonl:1: golden 'g' names the document 'zebra', which is not in the corpus. Correct the id or add the "
        "document.",
    ),
    (
        golden(judgments=[{"doc": "water-boiling", "quote": "four minutes"}]),
        "core.jsonl:1: golden 'g': the quote 'four minutes' is not in document 'water-boiling'. Copy the words from "
        "the "
        "document.",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES, ids=[text.split(":", 2)[2][:30] for _, text in BAD_LINES])
def test_a_bad_line(tmp_path: Path, line: str | dict[str, Any], message: str) -> None:
    assert faults(suite(tmp_path / "goldens", line)) == [message]


def test_all_problems_at_once(tmp_path: Path) -> None:
    lines = [
        line if isinstance(line, str) else {**line, "id": f"g{place}"} for place, (line, _) in enumerate(BAD_LINES)
    ]
    lines[next(place for place, (_, text) in enumerate(BAD_LINES) if "empty id" in text)] = golden(id="")
    found = faults(suite(tmp_path / "goldens", *lines))
    assert [line.split(":")[1] for line in found] == [str(place + 1) for place in range(len(BAD_LINES))]


def test_repeated_ids_within_and_across_suites(tmp_path: Path) -> None:
    folder = suite(tmp_path / "goldens", golden(), golden())
    assert faults(folder) == ["core.jsonl:2: repeats the id 'g' of core.jsonl:1. Ids are unique across suites."]
    suite(folder, golden(), name="core")
    suite(folder, golden(), name="extra")
    _, problems = read_suites(folder)
    assert list(map(str, problems)) == [
        "extra.jsonl:1: repeats the id 'g' of core.jsonl:1. Ids are unique across suites."
    ]
    assert [case.id for case in loaded(folder)] == ["g"]


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    folder = suite(tmp_path / "goldens")
    (folder / "core.jsonl").write_bytes(json.dumps(golden()).encode() + b'\n{"id": "\xff"}\n')
    assert faults(folder) == ["core.jsonl:2: is not UTF-8 (byte 0xFF). Save the file as UTF-8."]


@pytest.mark.parametrize("content", ["", "\n\n", "// nothing yet\n"])
def test_no_golden(tmp_path: Path, content: str) -> None:
    assert faults(suite(tmp_path / "goldens", content)) == [
        "core.jsonl: holds no golden. Add a question a line, or delete the file."
    ]


def test_missing_suites(tmp_path: Path) -> None:
    folder = suite(tmp_path / "goldens", golden(), name="extra")
    assert faults(folder) == [f"{folder / 'core.jsonl'}: suite 'core' does not exist. Suites in {folder}: extra."]
    nowhere = tmp_path / "nowhere"
    assert faults(nowhere) == [f"{nowhere / 'core.jsonl'}: suite 'core' does not exist. Suites in {nowhere}: none."]


def test_only_core_by_default(tmp_path: Path) -> None:
    folder = suite(tmp_path / "goldens", golden())
    suite(folder, "broken", name="extra")
    assert [case.id for case in loaded(folder)] == ["g"]
    with pytest.raises(InvalidFiles, match=r"extra\.jsonl:1"):
        loaded(folder, suites=("core", "extra"))


def test_an_endless_pattern_is_told_by_check_and_never_hangs(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("a" * 60 + "b")
    (tmp_path / "corpus" / "b.md").write_text("other")
    folder = suite(tmp_path / "goldens", golden(relevantDocIds=["a"], mustInclude=["(a|aa)+$"]))
    began = time.monotonic()
    report = check_inputs(tmp_path / "corpus", folder)
    assert time.monotonic() - began < 10
    assert report.problems == ()
    assert list(map(str, report.warnings)) == [
        "core.jsonl:1: golden 'g': pattern '(a|aa)+$' took longer than 0.5 s on a text of 61 characters. Correct the "
        "pattern or the document."
    ]
    with pytest.raises(InvalidInput, match=r"took longer than 0\.05 s"):
        matches("(a|aa)+$", "a" * 60 + "b", seconds=0.05)


def test_patterns_fold_space_and_case() -> None:
    assert matches("16 drops", "Use 16\n   DROPS a litre.")
    assert not matches("16 drops", "Use 16drops.")


def test_check_warns_of_what_is_probably_not_meant(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "water-boiling.md").write_text("Boil for one minute.")
    folder = suite(tmp_path / "goldens", golden(mustInclude=["two minutes"]))
    report = check_inputs(tmp_path / "corpus", folder)
    assert report.problems == ()
    assert list(map(str, report.warnings)) == [
        "corpus: has one document: every question finds it, so nothing is measured.",
        "core.jsonl:1: golden 'g': the pattern 'two minutes' matches none of its documents. Correct the pattern or the "
        "document.",
    ]


def test_check_tells_corpus_and_all_suites_together(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "bad.md").write_bytes(b"\xff")
    folder = suite(tmp_path / "goldens", "nonsense", name="extra")
    report = check_inputs(tmp_path / "corpus", folder)
    assert report.corpus_id is None
    assert [str(problem).split(" ")[0] for problem in report.problems] == [
        "bad.md:1:", "extra.jsonl:1:", "goldens/core.jsonl:",
    ]  # fmt: skip
    assert str(report.problems[2]) == (
        "goldens/core.jsonl: is missing. Runs use it by default: write it, or run with --suite."
    )


# -- identity ---------------------------------------------------------------------------------------------------------


def case_of(tmp_path: Path, **fields: Any) -> EvaluationCase:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    return loaded(suite(folder, golden(**fields)))[0]


def test_hashes_part_retrieval_from_answers(tmp_path: Path) -> None:
    base = case_of(tmp_path)
    pattern = case_of(tmp_path, mustInclude=["one minute"])
    assert pattern.retrieval_hash == base.retrieval_hash
    assert pattern.answer_hash != base.answer_hash
    for changed in (
        {"query": "How long now?"},
        {"turns": [{"role": "user", "content": "Hello."}]},
        {"relevantDocIds": ["two words/水"]},
        {"judgments": [{"doc": "water-boiling", "grade": "1_TANGENTIAL"}]},
    ):
        other = case_of(tmp_path, **changed)
        assert other.retrieval_hash != base.retrieval_hash, changed
        assert other.answer_hash == base.answer_hash
    tagged = case_of(tmp_path, tags=["new"], id="renamed")
    assert (tagged.retrieval_hash, tagged.answer_hash) == (base.retrieval_hash, base.answer_hash)


def test_short_and_long_form_are_one(tmp_path: Path) -> None:
    long = case_of(tmp_path, relevantDocIds=[], judgments=[{"doc": "water-boiling", "grade": "3_AUTHORITATIVE"}])
    assert long.retrieval_hash == case_of(tmp_path).retrieval_hash


def test_the_order_of_judgments_does_not_matter(tmp_path: Path) -> None:
    judgments = [{"doc": "water-boiling"}, {"doc": "two words/水", "grade": "1_TANGENTIAL"}]
    one = case_of(tmp_path, relevantDocIds=[], judgments=judgments)
    other = case_of(tmp_path, relevantDocIds=[], judgments=judgments[::-1])
    assert one.retrieval_hash == other.retrieval_hash


def test_a_documents_grade_is_its_highest(tmp_path: Path) -> None:
    judgments = [
        {"doc": "water-boiling", "grade": "1_TANGENTIAL", "quote": "one minute"},
        {"doc": "water-boiling", "grade": "2_SUBSTANTIAL", "quote": "three minutes"},
    ]
    case = case_of(tmp_path, relevantDocIds=[], judgments=judgments)
    assert case.grades == {"water-boiling": 2}
    assert case.spans == (Span("water-boiling", 9, 19, 1), Span("water-boiling", 24, 37, 2))


def test_patterns_of_a_file_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compiling(pattern: str) -> None:
        compiled.append(pattern)
        compile_pattern(pattern)

    monkeypatch.setattr("ragtui.inputs.goldens.compile_pattern", compiling)
    memory = tmp_path / "state" / "checked"
    good, bad = golden(mustInclude=["two minutes"]), golden(mustInclude=["(two"])
    folder = suite(tmp_path / "goldens", good)
    for _ in range(3):
        assert len(read_suites(folder, None, CheckedFiles(memory))[0]) == 1
    assert compiled == ["two minutes"]
    # Another text is another file, and one with a problem is looked at each time.
    suite(tmp_path / "goldens", bad)
    for _ in range(2):
        assert len(read_suites(folder, None, CheckedFiles(memory))[1]) == 1
    assert compiled == ["two minutes", "(two", "(two"]
    # Where nothing can be remembered, everything is compiled.
    memory.unlink()
    memory.mkdir()
    suite(tmp_path / "goldens", good)
    for _ in range(2):
        assert read_suites(folder, None, CheckedFiles(memory))[1] == []
    assert compiled[3:] == ["two minutes"] * 2


def test_a_quote_judged_twice_is_one_span_with_its_highest_grade(tmp_path: Path) -> None:
    grades = ("1_TANGENTIAL", "3_AUTHORITATIVE", "2_SUBSTANTIAL")
    judgments = [{"doc": "water-boiling", "grade": grade, "quote": "one minute"} for grade in grades]
    assert case_of(tmp_path, relevantDocIds=[], judgments=judgments).spans == (Span("water-boiling", 9, 19, 3),)


def test_a_quote_is_found_in_time_that_grows_with_the_text() -> None:
    began = time.perf_counter()
    assert find_quote("a " * 20_000 + "b", "boil " + "a " * 60_000) is None
    assert time.perf_counter() - began < 2


@given(st.text("ab \n\t\u2003", max_size=14), st.text("ab \n", max_size=5))
def test_a_quote_stands_where_its_words_do(text: str, quote: str) -> None:
    words = quote.split()
    expected = re.search(r"\s+".join(words), text) if words else None
    assert find_quote(quote, text) == (expected.span() if expected else None)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:(?:(?:(?:a{100}){100}){100}){100})", "(?x) (?:(?:a {100} #)\n) {1 0 0}) {100}", "a{1000000}",
        "a{10000}" * 200, "|".join(f"w{number}" for number in range(200_000)),
    ],
)  # fmt: skip
def test_a_pattern_that_takes_much_memory_or_time_to_compile_is_refused(pattern: str) -> None:
    began = time.perf_counter()
    with pytest.raises(InvalidInput, match="is too large") as caught:
        compile_pattern(pattern)
    assert time.perf_counter() - began < 2
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("pattern", [r"\b\d{4}-\d{2}-\d{2}\b.{0,80}" * 12, "(?:ab){20}", "a{10000}", "(?x) a{3} # x"])
def test_a_pattern_of_usual_size_compiles(pattern: str) -> None:
    assert compile_pattern(pattern) is not None


def test_find_quote() -> None:
    assert find_quote("b  c", "a b\n\tc d") == (2, 6)
    assert find_quote("(.*)", "a (.*) b") == (2, 6)
    assert find_quote("  ", "a b") is None
    assert find_quote("x", "a b") is None


# -- selection --------------------------------------------------------------------------------------------------------


def many(tmp_path: Path, shares: dict[str, int]) -> tuple[EvaluationCase, ...]:
    goldens = [golden(id=f"{tag}-{n}", tags=[tag, "all"]) for tag, count in shares.items() for n in range(count)]
    return loaded(suite(tmp_path / "many", *goldens))


def test_a_limit_keeps_the_shares_of_tags(tmp_path: Path) -> None:
    cases = many(tmp_path, {"a": 60, "b": 30, "c": 10})
    chosen = select(cases, Selection(limit=20))
    assert [sum(case.tags[0] == tag for case in chosen) for tag in "abc"] == [12, 6, 2]
    assert [case.id for case in chosen] == [case.id for case in cases if case in chosen]
    assert select(cases, Selection(limit=20)) == chosen
    assert select(cases, Selection(limit=20, seed=1)) != chosen
    assert len(select(cases, Selection(limit=7))) == 7
    assert select(cases, Selection(limit=1000)) == list(cases)


def test_the_sample_does_not_depend_on_the_order_of_lines(tmp_path: Path) -> None:
    cases = many(tmp_path, {"a": 20, "b": 20})
    one, other = (select(order, Selection(limit=9)) for order in (cases, cases[::-1]))
    assert {case.id for case in one} == {case.id for case in other}


def test_tags_select_any(tmp_path: Path) -> None:
    cases = many(tmp_path, {"a": 3, "b": 2, "c": 1})
    assert len(select(cases, Selection(tags=("b", "c")))) == 3
    with pytest.raises(InvalidInput) as caught:
        select(cases, Selection(tags=("zebra",)))
    assert caught.value.message == "No golden has any of the tags zebra."
    assert caught.value.hint == "Tags in use: a, all, b, c."


def test_freeze_gives_no_case_for_a_golden_with_a_problem(tmp_path: Path) -> None:
    folder = suite(tmp_path / "goldens", golden(), golden(id="h", relevantDocIds=["nope", "nor this"]))
    placed, _ = read_suites(folder)
    cases, problems = freeze(placed, CORPUS)
    assert [case.id for case in cases] == ["g"]
    assert len(problems) == 2


def test_all_faults_of_a_line_at_once(tmp_path: Path) -> None:
    line = {"id": 7, "querry": "?", "judgments": [{"doc": "a", "qoute": "x"}, {"grade": "9"}], "tags": "numeric"}
    suite(tmp_path / "goldens", line)
    _, problems = read_suites(tmp_path / "goldens")
    assert [problem.message for problem in problems] == [
        "Expected `str`, got `int` at `id`.",
        "unknown field querry (did you mean query?).",
        "unknown field judgments[0].qoute (did you mean judgments[0].quote?).",
        "Invalid enum value '9' at `judgments[1].grade`.",
        "Object missing required field `judgments[1].doc`.",
        "Expected `array`, got `str` at `tags`.",
        "Object missing required field `query`.",
    ]
    assert {problem.line for problem in problems} == {1}
