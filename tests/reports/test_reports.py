"""Reports say what analysis says, and obey nothing that comes from corpora or goldens."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import msgspec
import pytest
from markdown_it import MarkdownIt

from ragtui.analysis.compare import compare
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.verdict import Verdict
from ragtui.experiment.plan import Provenance
from ragtui.reports.cells import number
from ragtui.reports.html import comparison_html, run_html
from ragtui.reports.junit import comparison_junit, run_junit
from ragtui.reports.markdown import comparison_markdown, run_markdown
from ragtui.trace import CaseError
from tests.analysis.factory import Found, make_case, make_chunks, make_run, ranks_run

HOSTILE = "<script>alert(1)</script> | **b** [x](http://evil.example) @team `c` &amp; \x1b[31m \u202e &#x3c; ]]> $x$"


def hostile_run(run_id: str = "base", rank: int = 1) -> RecordedRun:
    chunks = make_chunks({HOSTILE: 1, "b": 1})
    cases = [
        make_case(HOSTILE, {HOSTILE: 1}, tags=[HOSTILE], query=HOSTILE, suite=HOSTILE),
        make_case("errored", {"b": 1}), make_case("unfinished", {"b": 1}), make_case("refusal"),
    ]  # fmt: skip
    hits = [(0, 2.0), (1, 1.0)] if rank == 1 else [(1, 1.0)]
    found: list[Found | CaseError | None] = [
        {"bm25": hits, "vector": hits}, CaseError("timeout", HOSTILE), None, {"bm25": [], "vector": []},
    ]  # fmt: skip
    run = make_run(cases, found, chunks, run_id=run_id, status="interrupted")
    return msgspec.structs.replace(run, provenance=Provenance(name=HOSTILE))


class Reader(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick", "onload"}

    def handle_data(self, data: str) -> None:
        self.text += data


def unsafe(text: str) -> set[str]:
    return {char for char in text if (ord(char) < 32 and char not in "\n\t") or char in "\x1b\u202e"}


def test_html_obeys_nothing_and_needs_nothing() -> None:
    base, new = hostile_run(), hostile_run("new", rank=2)
    for page in (run_html(base), comparison_html(compare(base, new), base, new)):
        assert not unsafe(page)
        page.encode()
        reader = Reader(page)
        assert reader.tags <= {
            "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li", "table", "thead",
            "tbody", "tr", "th", "td", "details", "summary", "div",
        }  # fmt: skip
        assert "<script>alert(1)</script>" in reader.text
        assert "\\x1b[31m" in reader.text
        assert "url(" not in page


def test_html_of_a_run_shows_tables_and_rankings() -> None:
    page = run_html(ranks_run([1, 12, None]))
    text = Reader(page).text
    assert "Where the gold was lost: 2 of 3 judgments, cut-off 10" in text
    assert "missed: d20 (grade 1): below the cut-off; ranks: bm25 12, vector 12, fused 12, results 12" in text
    assert page.count("<details>") == 3
    assert "relevant, grade 1" in text


def test_html_of_a_comparison_shows_where_the_gold_moved() -> None:
    base, new = ranks_run([1, 12, None, 1]), ranks_run([12, 1, 11, 12], run_id="new")
    text = Reader(comparison_html(compare(base, new), base, new)).text
    assert "Where the gold movedlost beforelost nowjudgmentscountfoundbelow the cut-offq0000: d20, q0003: d202" in text
    assert "INCONCLUSIVE" in text


def test_markdown_shows_hostile_text_as_text() -> None:
    base, new = hostile_run(), hostile_run("new", rank=2)
    reader = MarkdownIt("gfm-like", {"linkify": False, "html": True})
    for text in (run_markdown(base), comparison_markdown(compare(base, new))):
        assert not unsafe(text)
        html = reader.render(text)
        shown = Reader(html)
        assert shown.tags <= {
            "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
        }  # fmt: skip
        assert "<script>alert(1)</script> | **b** [x](http://evil.example)" in shown.text
        assert "@team" not in text


def test_markdown_of_a_comparison_tells_the_whole_story() -> None:
    base, new = ranks_run([1] * 40), ranks_run([6] * 40, run_id="new", chunk_set_id="sha256:finer")
    text = comparison_markdown(compare(base, new))
    shown = Reader(MarkdownIt("gfm-like", {"linkify": False}).render(text)).text
    assert text.startswith("## ❌ FAIL: new against base\n\n- nDCG@10 lost 0.6438, more than the tolerance of 0.02")
    order = ["What was changed", "chunk_set_id", "Measures", "P@5 is not compared", "By tag", "Flips at R@5", "q0000"]
    places = [shown.index(part) for part in order]
    assert places == sorted(places)
    assert "| nDCG@10 | 1.0000 | 0.3562 | -0.6438 |" in text.replace("\\", "")
    long = comparison_markdown(compare(ranks_run([1] * 60), ranks_run([None] * 60, run_id="new")))
    assert "… and 10 more rows." in long
    same = comparison_markdown(compare(base, base))
    assert "The specifications are equal." in same
    assert "No question flipped at R@5." in same


def test_markdown_of_a_run() -> None:
    text = run_markdown(ranks_run([1, None]))
    shown = Reader(MarkdownIt("gfm-like", {"linkify": False}).render(text)).text
    assert "completed, 2 of 2 cases finished, 0 with an error" in shown
    assert "Where the gold was lost: 1 of 2 judgments, cut-off 10" in shown


def test_junit_counts_no_time_twice() -> None:
    """The answer is part of its case, the first token of the answer, a wait of what it waited for."""
    run = ranks_run([1])
    spent = {"bm25": 10.0, "stages": 2.0, "generate": 400.0, "first_token": 100.0, "case": 500.0, "retry_wait": 50.0}
    for timings, seconds in ((spent, 0.512), ({"bm25": 10.0, "stages": 2.0}, 0.012), ({"generate": 400.0}, 0.4)):
        timed = msgspec.structs.replace(run, traces=(msgspec.structs.replace(run.traces[0], timings=timings),))
        root = Xml.fromstring(run_junit(timed))
        times = [float(element.get("time", "nan")) for element in (root, root[0], root[0][0])]
        assert times == pytest.approx([seconds] * 3)


def test_junit_of_a_run_has_a_case_for_each_golden() -> None:
    root = Xml.fromstring(run_junit(hostile_run(rank=2)))
    tests = list(root.iter("testcase"))
    assert [test.get("name") for test in tests][1:] == ["errored", "unfinished", "refusal"]
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert tests[0].find("failure") is not None
    assert "below every channel's depth" in (tests[0].findtext("failure") or "")
    error = tests[1].find("error")
    assert error is not None
    assert error.get("type") == "timeout"
    properties = {p.get("name"): p.get("value") for p in tests[0].iter("property")}
    assert properties["nDCG@10"] == "0.000000"
    assert "<script>" in (properties["query"] or "")
    assert tests[0].get("time") == "0.001100"


@pytest.mark.parametrize(("rank", "failures", "skipped"), [(6, 41, 0), (1, 0, 0)])
def test_junit_of_a_comparison_fails_what_was_lost(rank: int, failures: int, skipped: int) -> None:
    base, new = ranks_run([1] * 40), ranks_run([rank] * 40, run_id="new")
    root = Xml.fromstring(comparison_junit(compare(base, new), new))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("41", str(failures), str(skipped))
    gate = next(root.iter("testcase"))
    assert gate.get("name") == "verdict"
    assert (gate.find("failure") is not None) == bool(failures)


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.INCONCLUSIVE])
def test_junit_is_not_red_where_the_gate_is_not(verdict: Verdict) -> None:
    new = ranks_run([6] * 40, run_id="new")
    lost = msgspec.structs.replace(compare(ranks_run([1] * 40), new), verdict=verdict)
    root = Xml.fromstring(comparison_junit(lost, new))
    assert root.get("failures") == "0"
    told = [test.find("system-out") for test in root.iter("testcase")]
    assert [(out.text or "").partition(":")[0] for out in told if out is not None] == ["lost"] * 40
    assert len(root.findall(".//property[@name='flip']")) == 40


def test_an_inconclusive_gate_is_skipped_in_junit() -> None:
    base, new = hostile_run(), hostile_run("new", rank=2)
    gate = next(Xml.fromstring(comparison_junit(compare(base, new), new)).iter("testcase"))
    skipped = gate.find("skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("inconclusive: ")


def test_numbers() -> None:
    assert number(None) == "–"
    assert number(-0.00001, signed=True) == "0.0000"
    assert number(0.5, signed=True) == "+0.5000"
    assert number(-0.5) == "-0.5000"
