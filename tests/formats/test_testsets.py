from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragtui.errors import InvalidFiles, InvalidInput
from ragtui.inputs.formats.promptfoo import promptfoo_source
from ragtui.inputs.formats.testsets import any_of, llamaindex_source, ragas_source, squad_source
from ragtui.inputs.patterns import matches
from tests.formats.helpers import Imported

DATA = Path(__file__).parents[3] / "shared" / "datasets"


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_squad(tmp_path: Path) -> None:
    answers = [{"text": "308", "answer_start": 0}, {"text": "three (hundred)", "answer_start": 0}]
    squad = {"version": "2.0", "data": [{"title": "Bowl", "paragraphs": [
        {"context": "308 points, three (hundred) and eight.", "qas": [
            {"id": "a", "question": "How many?", "answers": answers},
            {"id": "b", "question": "Why?", "answers": [], "is_impossible": True},
        ]},
    ]}]}  # fmt: skip
    found = Imported(squad_source(written(tmp_path / "s.json", squad)), tmp_path / "out")
    first, second = found.evaluation().cases
    assert first.grades == {"001-Bowl/001": 3}
    assert matches(first.must_include[0], "it was Three\n(hundred)")
    assert not matches(first.must_include[0], "it was three hundred")
    assert second.expect_refusal
    assert any("refusals" in remark for remark in found.report.remarks)


@pytest.mark.skipif(not DATA.is_dir(), reason="the public collections are not here")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_xquad(tmp_path: Path, language: str) -> None:
    found = Imported(squad_source(DATA / "xquad" / f"xquad.{language}.json"), tmp_path / "out")
    assert (found.report.documents, found.report.suites) == (240, {"core": 1190})
    for case in found.evaluation().cases:
        [doc] = case.grades
        assert matches(case.must_include[0], found.corpus.document(doc).text)


def test_promptfoo_assertions_become_patterns(tmp_path: Path) -> None:
    tests = {"tests": [
        {"vars": {"question": "tea?", "context": "Tea is hot."}, "assert": [
            {"type": "icontains", "value": "is hot"}, {"type": "not-contains", "value": "cold (iced)"},
            {"type": "contains-any", "value": ["warm", "hot"]}, {"type": "regex", "value": "h.t"},
            {"type": "llm-rubric", "value": "is kind"}, {"type": "regex", "value": "(?<bad"},
        ]},
        {"vars": {"q": "what is snow?"}, "assert": [{"type": "is-refusal"}]},
    ]}  # fmt: skip
    found = Imported(promptfoo_source(written(tmp_path / "t.json", tests)), tmp_path / "out")
    first, second = found.evaluation().cases
    assert first.must_include == ("is hot", "warm|hot", "h.t")
    assert first.must_not_include == (r"cold \(iced\)",)
    assert (second.expect_refusal, second.query) == (True, "what is snow?")
    assert found.report.remarks == [
        "Left out: 1 assertion of kind 'llm-rubric'; goldens check words by patterns.",
        "Left out: 1 assertion of kind 'regex'; goldens check words by patterns.",
    ]


def test_promptfoo_csv_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "tea.md").write_text("Tea.")
    table = written(tmp_path / "t.csv", "question,correct_chunks,__expected\ntea?,tea,icontains:hot\n,x,\n")
    with pytest.raises(InvalidFiles, match=r"t.csv:3: has no question"):
        promptfoo_source(table)
    table = written(tmp_path / "t.csv", "question,correct_chunks,__expected\ntea?,tea,icontains:hot\n")
    case = Imported(promptfoo_source(table), tmp_path).evaluation().cases[0]
    assert (case.grades, case.must_include) == ({"tea": 3}, ("hot",))
    pytest.importorskip("yaml")
    text = "tests:\n  - vars: {question: 'tea?', relevant: [tea]}\n    assert: [{type: equals, value: hot}]\n"
    case = Imported(promptfoo_source(written(tmp_path / "t.yaml", text)), tmp_path, suite="y").evaluation("y").cases[0]
    assert case.must_include == (r"\Ahot\Z",)
    with pytest.raises(InvalidInput, match="is not YAML"):
        promptfoo_source(written(tmp_path / "t.yaml", "a: [b"))


def test_ids_of_another_suite_are_refused_and_mere_numbers_renamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragtui.__main__ import main

    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "tea.md").write_text("Tea.")
    command = ["-w", str(tmp_path), "import", "csv"]
    named = written(tmp_path / "named.csv", "id,question,relevant\nown,tea?,tea\n")
    plain = written(tmp_path / "plain.csv", "question,relevant\ntea?,tea\n")
    assert main([*command, str(named)]) == 0
    assert main([*command, str(named), "--force"]) == 0
    capsys.readouterr()
    assert main([*command, str(named), "--suite", "back"]) == 2
    told = capsys.readouterr().err
    assert "1 question of the source has an id that the suite core has, e.g. 'own'" in told
    assert "ids of their own" in told
    assert not (tmp_path / "goldens" / "back.jsonl").exists()
    assert main([*command, str(plain), "--suite", "first"]) == 0
    assert "run bm25 --suite first" in capsys.readouterr().err
    assert main([*command, str(plain), "--suite", "second"]) == 0
    assert "'q0001' is taken; here it is 'q0001~second'" in capsys.readouterr().err
    assert main(["-w", str(tmp_path), "corpus", "check"]) == 0


def test_questions_without_a_judgment_are_told_as_what_became_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragtui.__main__ import main

    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "tea.md").write_text("Tea.")
    table = "question,correct_chunks,__expected\ntea?,tea,\nhot?,,icontains:hot\nwhy?,,\n"
    command = ["-w", str(tmp_path), "import"]
    assert main([*command, "promptfoo", str(written(tmp_path / "t.csv", table))]) == 0
    out, err = capsys.readouterr()
    assert "goldens: core 3" in out
    assert "Without any judgment: 2 questions, kept; 1 of them without any pattern too" in err
    assert "--keep-unjudged" not in err
    text = "id,question,relevant\na,tea?,tea\nb,why?,\n"
    table_file = str(written(tmp_path / "u.csv", text))
    assert main([*command, "csv", table_file, "--suite", "u"]) == 0
    out, err = capsys.readouterr()
    assert "goldens: u 1" in out
    assert "1 question, left out (--keep-unjudged keeps" in err


@pytest.mark.skipif(not DATA.is_dir(), reason="the public collections are not here")
def test_the_claude_docs_collection(tmp_path: Path) -> None:
    from ragtui.__main__ import main

    folder = DATA / "claude-docs-qa"
    documents = ["--documents", str(folder / "anthropic_docs.json"), "--doc-id", "chunk_link"]
    evaluations = []
    for form, name in (("csv", "docs_evaluation_dataset.json"), ("promptfoo", "retrieval_dataset.csv")):
        assert main(["import", form, str(folder / name), *documents, "--into", str(tmp_path / form)]) == 0
        lines = (tmp_path / form / "goldens" / "core.jsonl").read_text().splitlines()
        goldens = [json.loads(line) for line in lines]
        assert len(goldens) == 100
        assert sum(len(golden["judgments"]) for golden in goldens) == 192
        evaluations.append(sorted((golden["query"], str(golden["judgments"])) for golden in goldens))
    assert evaluations[0] == evaluations[1]


def test_ragas_contexts_become_documents(tmp_path: Path) -> None:
    rows = [
        {"user_input": "tea?", "reference_contexts": ["Tea is  hot.", "Snow."], "reference": "hot",
         "synthesizer_name": "single_hop"},
        {"user_input": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "yes"},
                        {"type": "human", "content": "and snow?"}], "reference_contexts": ["Snow."]},
        {"question": "old form?", "contexts": ["Tea is hot."], "ground_truth": "hot"},
    ]  # fmt: skip
    path = written(tmp_path / "r.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    found = Imported(ragas_source(path), tmp_path / "out")
    assert found.report.documents == 2
    first, second, third = found.evaluation().cases
    assert first.tags == ("single_hop",)
    assert (second.query, [turn.content for turn in second.turns]) == ("and snow?", ["hi", "yes"])
    assert third.grades.keys() <= first.grades.keys()
    assert "2 reference answers were left out" in found.report.remarks[0]


def test_ragas_ids_need_documents_of_ones_own(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", [{"user_input": "tea?", "reference_context_ids": ["d1"]}])
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "d1.txt").write_text("Tea.")
    assert Imported(ragas_source(path), tmp_path).grades() == {"q0001": {"d1": 3}}
    with pytest.raises(InvalidFiles, match="no user_input"):
        ragas_source(written(tmp_path / "r.json", [{"a": 1}]))


def test_llamaindex_both_shapes(tmp_path: Path) -> None:
    pairs = {"queries": {"q 1": "tea?", "q2": "lost?"}, "corpus": {"n/1": "Tea.", "n/2": "Snow."},
             "relevant_docs": {"q 1": ["n/1"], "q9": ["n/2"]}, "mode": "text"}  # fmt: skip
    found = Imported(llamaindex_source(written(tmp_path / "p.json", pairs)), tmp_path / "a")
    assert found.grades() == {"q 1": {"n/1": 3}}
    assert (found.report.unjudged, found.report.missing_questions.count) == (1, 1)
    examples = {"examples": [{"query": "tea?", "reference_contexts": ["Tea."], "reference_answer": "hot"}]}
    (tmp_path / "set").mkdir()
    written(tmp_path / "set" / "rag_dataset.json", examples)
    assert Imported(llamaindex_source(tmp_path / "set"), tmp_path / "b").report.written == 1
    with pytest.raises(InvalidInput, match="queries"):
        llamaindex_source(written(tmp_path / "x.json", {"a": 1}))


@pytest.mark.parametrize("text", [
    'tests: [{vars: {question: "\\ud800tea?"}}]',
    "a: &a [*a]\ntests: [{vars: {question: *a}}]",
    "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
               "tests: [{vars: {question: q, context: *a11}}]"]),
    "tests: [{vars: {question: !!python/object:os.system x}}]",
])  # fmt: skip
def test_hostile_yaml_is_refused_at_once(tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(InvalidInput):
        promptfoo_source(written(tmp_path / "t.yaml", text))


def test_any_of_escapes_and_keeps_blanks() -> None:
    assert any_of(["a+b", "c  d"]) == r"a\+b|c d"
