"""Comparing runs with repeats: what flips, what is unstable, what gates, and what was answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as Xml

import msgspec
import pytest
from rich.console import Console

from ragtui.analysis.answer_flips import ANSWER_CHARACTERS
from ragtui.analysis.compare import Comparison, compare
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.verdict import Verdict
from ragtui.cli.comparing import comparison_report
from ragtui.providers.protocols import ChatRequest
from ragtui.providers.scripted import ScriptedGenerator
from ragtui.reports.html import comparison_html
from ragtui.reports.junit import comparison_junit, run_junit
from ragtui.reports.markdown import comparison_markdown
from ragtui.reports.schemas import json_schema
from tests.generation.station import TANKS, generating, lab_with, ran, reads, station
from tests.workshop import ragtui

WRONG = "It holds 9999 [bold]litres\x1b[31m | <b>@all</b>."
REPEATS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return station(tmp_path_factory.mktemp("flips") / "ws")


def model(name: str, right: Mapping[str, int], wrong: str = WRONG) -> ScriptedGenerator:
    """The honest model, which answers a tank's own question rightly in that many of its repeats only, the first ones.

    `refusals` counts the questions that nothing answers.
    """
    asked: dict[str, int] = {}

    def script(request: ChatRequest) -> str:
        question = request.messages[-1].content
        key = next((tank for tank in TANKS if f"the {tank} tank" in question), "refusals" if "?" in question else "")
        if key == "refusals" and "oil" in question:
            return reads(request)
        asked[question] = asked.get(question, 0) + 1
        return reads(request) if asked[question] <= right.get(key, REPEATS) else wrong

    return ScriptedGenerator(script, digest=f"sha256:{name}", concurrency=1)


def answered(folder: Path, name: str, right: Mapping[str, int] | None = None, repeats: int = REPEATS) -> RecordedRun:
    """A run of such a model."""
    return ran(lab_with(folder, model(name, right or {})), generating("e2e", repeats=repeats, rewrite=False))


def text_of(found: Comparison, width: int = 120) -> str:
    """What `compare` prints."""
    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(comparison_report(found))
    return capture.get()


def junit_lost(found: Comparison, new: RecordedRun) -> dict[str, str]:
    """The questions that were lost, with their details; a CI server calls them broken only under a FAIL."""
    root = Xml.fromstring(comparison_junit(found, new))
    lost = {}
    for test in root.iter("testcase"):
        red, told = test.find("failure"), test.find("system-out")
        assert red is None or (told is None and found.verdict is Verdict.FAIL)
        if told is not None:
            lost[str(test.get("name"))] = (told.text or "").removeprefix("lost: ")
        elif red is not None and red.get("type") == "lost":
            lost[str(test.get("name"))] = red.text or ""
    return lost


# -- unstable answers -------------------------------------------------------------------------------------------------


def test_three_of_three_becoming_one_of_three_is_shown_and_is_no_flip(folder: Path) -> None:
    base, new = answered(folder, "steady"), answered(folder, "one-of-three", {"diesel": 1})
    found = compare(base, new)
    assert found.flips == ()
    assert [
        (row.case, row.base_passed, row.base_repeats, row.new_passed, row.new_repeats) for row in found.unstable
    ] == [("diesel-litres", 3, 3, 1, 3)]
    assert found.measures["unstableRate"].losses == 1
    assert found.measures["unstableRate"].role == "guard"
    assert found.verdict is not Verdict.PASS, "a question that became unstable does not vanish"
    assert "1 question is answered rightly in some repeats and wrongly in others: unstable, and no flip." in found.notes
    assert junit_lost(found, new) == {}
    shown = text_of(found)
    assert "3 of 3" in shown
    assert "1 of 3" in shown
    assert "diesel-litres" in comparison_markdown(found)
    threshold = compare(base, new, mode="threshold")
    assert threshold.verdict is Verdict.FAIL
    assert any(reason.startswith("unstableRate lost 0.05") for reason in threshold.reasons)


def test_many_goldens_that_become_unstable_fail_the_gate(folder: Path) -> None:
    shaky = dict.fromkeys(TANKS, 2)
    found = compare(answered(folder, "steady"), answered(folder, "shaky", shaky))
    assert found.verdict is Verdict.FAIL
    assert any(reason.startswith("unstableRate lost 0.6000") for reason in found.reasons)
    assert len(found.unstable) == 12
    assert found.flips == ()


def test_a_wobble_of_the_unstable_flips_nothing_and_gates_nothing(folder: Path) -> None:
    """2 of 3 becoming 1 of 3 for half of the tanks, and the other way for the others: nothing has changed."""
    halves = [
        dict.fromkeys(list(TANKS)[start::2], 1) | dict.fromkeys(list(TANKS)[1 - start :: 2], 2) for start in (0, 1)
    ]
    base, new = (answered(folder, f"wobble-{place}", half) for place, half in enumerate(halves))
    found = compare(base, new)
    assert found.flips == ()
    assert len(found.unstable) == 12
    assert found.measures["correctness"].delta == pytest.approx(0)
    assert found.measures["unstableRate"].delta == 0
    assert found.verdict is not Verdict.FAIL
    assert junit_lost(found, new) == {}
    assert compare(base, new, mode="threshold").verdict is Verdict.PASS
    assert [row.change > 0 for row in found.unstable] == [False] * 6 + [True] * 6, "the losses come first"


def test_what_was_unstable_and_now_always_fails_is_no_flip_but_counts_in_the_mean(folder: Path) -> None:
    base, new = answered(folder, "two", {"diesel": 2}), answered(folder, "none", {"diesel": 0})
    found = compare(base, new)
    assert found.flips == ()
    assert found.measures["correctness"].losses == 1
    assert found.measures["unstableRate"].wins == 1
    row = found.unstable[0]
    assert row.base_answer is not None
    assert row.new_answer is not None
    assert (row.base_answer.passed, row.new_answer.passed) == (True, False)
    assert row.failed == row.new_answer


def test_a_steady_flip_gates_in_both_directions(folder: Path) -> None:
    base, new = answered(folder, "steady"), answered(folder, "none-of-two", {"diesel": 0, "engine": 0})
    found = compare(base, new)
    assert [(flip.case, flip.direction, flip.base, flip.new) for flip in found.flips] == [
        ("diesel-litres", "lost", 1, 0), ("engine-litres", "lost", 1, 0),
    ]  # fmt: skip
    assert found.unstable == ()
    assert set(junit_lost(found, new)) == {"diesel-litres", "engine-litres"}
    back = compare(new, base)
    assert {flip.direction for flip in back.flips} == {"found"}
    assert junit_lost(back, base) == {}


def test_a_refusal_that_is_answered_is_a_flip_too(folder: Path) -> None:
    base, new = answered(folder, "steady"), answered(folder, "knows-all", {"refusals": 0})
    found = compare(base, new)
    lost = {flip.case: flip for flip in found.flips}
    assert set(lost) == {"no-0", "no-1", "no-2", "no-3"}
    assert {flip.measure for flip in lost.values()} == {"refusalCorrectness"}
    told = lost["no-0"].new_answer
    assert told is not None
    assert told.faults == ("does not decline",)
    assert junit_lost(found, new)["no-0"].startswith(
        "Who sang at dusk?\nrefusalCorrectness went from 1.0000 to 0.0000\nbefore: I do not know.\nnow: It holds 9999"
    )


def test_once_against_three_times_says_that_instability_cannot_be_compared(folder: Path) -> None:
    base, new = answered(folder, "steady", repeats=1), answered(folder, "one-of-three", {"diesel": 1})
    found = compare(base, new)
    assert (
        f"{base.run_id} asked each question once, so unstableRate cannot be compared and does not gate." in found.notes
    )
    assert [(row.base_repeats, row.new_repeats) for row in found.unstable] == [(1, 3)]
    assert found.flips == ()


def test_an_error_in_every_repeat_is_no_flip(folder: Path) -> None:
    silent = ran(
        lab_with(folder, model("silent", {"diesel": 0}, wrong="")), generating("e2e", repeats=REPEATS, rewrite=False)
    )
    assert sum(trace.error is not None for trace in silent.traces) == REPEATS
    found = compare(answered(folder, "steady"), silent)
    assert (found.flips, found.unstable) == ((), ())
    assert found.verdict is Verdict.INCONCLUSIVE


# -- what was answered ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flipped(folder: Path) -> tuple[RecordedRun, RecordedRun, Comparison]:
    """A lost question, one that became unstable, and one that stayed as it was."""
    base, new = answered(folder, "steady"), answered(folder, "mixed", {"diesel": 0, "engine": 1})
    return base, new, compare(base, new)


def test_the_comparison_carries_both_answers_with_their_faults(
    flipped: tuple[RecordedRun, RecordedRun, Comparison],
) -> None:
    found = flipped[2]
    plain = json.loads(msgspec.json.encode(found))
    flip = plain["flips"][0]
    assert flip["measure"] == "correctness"
    assert flip["base_answer"] == {
        "case": "diesel-litres@e2e#1", "text": "The diesel tank holds 61 litres of oil.", "cut": False,
        "passed": True, "missing": [], "violated": [], "error": "",
    }  # fmt: skip
    assert flip["new_answer"]["text"] == WRONG
    assert flip["new_answer"]["missing"] == [r"\b61 litres"]
    assert flip["new_answer"]["violated"] == [r"\b9999\b"]
    unstable = plain["unstable"][0]
    assert (unstable["case"], unstable["new_answer"]["passed"]) == ("engine-litres", False)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_them_inert(flipped: tuple[RecordedRun, RecordedRun, Comparison], width: int) -> None:
    shown = text_of(flipped[2], width)
    assert "before  The diesel tank holds 61 litres of oil." in shown
    assert "now     It holds 9999 [bold]litres\\x1b[31m | <b>@all</b>." in shown
    assert "✗ lacks \\b61 litres" in shown
    assert "✗ holds \\b9999\\b" in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= width


def test_markdown_and_html_show_them_inert(flipped: tuple[RecordedRun, RecordedRun, Comparison]) -> None:
    base, new, found = flipped
    text = comparison_markdown(found)
    assert "<summary>Answers that flipped</summary>" in text
    line = next(line for line in text.splitlines() if line.startswith("| lost | diesel-litres | The diesel"))
    assert "lacks \\\\b61 litres; holds \\\\b9999\\\\b" in line
    assert "<b>" not in line
    assert "@all" not in line, "nobody is mentioned"
    page = comparison_html(found, base, new)
    assert "<h2>Answers that flipped</h2>" in page
    assert "The diesel tank holds 61 litres of oil." in page
    assert "&lt;b&gt;@all&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "\x1b" not in page + text
    assert "3 of 3" in page
    assert "1 of 3" in page


def test_long_answers_are_cut_everywhere(folder: Path) -> None:
    long = "litres and " * 40_000
    new = ran(lab_with(folder, model("long", {"diesel": 0}, wrong=long)), generating("e2e", rewrite=False))
    base = answered(folder, "steady", repeats=1)
    found = compare(base, new)
    told = found.flips[0].new_answer
    assert told is not None
    assert (len(told.text), told.cut) == (ANSWER_CHARACTERS, True)
    assert len(msgspec.json.encode(found)) < 60_000
    assert len(text_of(found)) < 20_000
    assert len(comparison_markdown(found)) < 20_000
    page = comparison_html(found, base, new)
    assert page.count("litres and") < 200


def test_compare_as_a_command_prints_the_answers(
    folder: Path, flipped: tuple[RecordedRun, RecordedRun, Comparison]
) -> None:
    base, new, _ = flipped
    done = ragtui(folder, "compare", base.run_id, new.run_id)
    assert "Answers that flipped" in done.stdout
    assert "✗ lacks \\b61 litres" in done.stdout
    assert "Unstable" in done.stdout
    plain = json.loads(ragtui(folder, "compare", base.run_id, new.run_id, "--json").stdout)
    assert plain["flips"][0]["new_answer"]["missing"] == [r"\b61 litres"]
    assert [row["case"] for row in plain["unstable"]] == ["engine-litres"]


def test_the_published_schema_has_every_key(flipped: tuple[RecordedRun, RecordedRun, Comparison]) -> None:
    kinds = json_schema("comparison")["$defs"]
    plain = json.loads(msgspec.json.encode(flipped[2]))
    assert set(plain) == set(kinds["Comparison"]["properties"])
    assert set(plain["flips"][0]) == set(kinds["Flip"]["properties"])
    assert set(plain["unstable"][0]) == set(kinds["Unstable"]["properties"])
    assert set(plain["flips"][0]["new_answer"]) == set(kinds["Told"]["properties"])


def test_junit_of_a_run_fails_the_goldens_that_no_repeat_answers(folder: Path) -> None:
    run = ran(
        lab_with(folder, model("all-kinds", {"diesel": 0, "engine": 1, "refusals": 0})),
        generating("oracle", "e2e", "noretrieval", repeats=1, rewrite=False),
    )
    root = Xml.fromstring(run_junit(answered(folder, "all-kinds", {"diesel": 0, "engine": 1, "refusals": 0})))
    failures = {str(test.get("name")): failure for test in root.iter("testcase") for failure in test.iter("failure")}
    assert set(failures) == {"diesel-litres", "no-0", "no-1", "no-2", "no-3"}, "engine is unstable"
    assert failures["diesel-litres"].get("message") == r"wrong: lacks \b61 litres; holds \b9999\b"
    assert failures["no-0"].get("message") == "wrong: does not decline"
    assert (failures["no-0"].text or "").startswith("It holds 9999 [bold]litres")
    names = [str(test.get("name")) for test in Xml.fromstring(run_junit(run)).iter("testcase")]
    assert len(names) == len(set(names)) == 20, "a test case is a golden"
