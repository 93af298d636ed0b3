"""JUnit XML: a test case for each golden, so that a CI server shows which question broke."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from ragtui.analysis.answer_flips import ANSWER_CHARACTERS, wrong_answers
from ragtui.analysis.attribution import Indexed, Miss, attribute
from ragtui.analysis.compare import Comparison
from ragtui.analysis.flips import Flip
from ragtui.analysis.goldens import by_golden
from ragtui.analysis.modes import headline_mode
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.verdict import Verdict
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.text import plural, printable
from ragtui.reports import cells
from ragtui.trace import time_spent


def run_junit(run: RecordedRun, indexed: Indexed | None = None) -> str:
    """A failure is a judgment that is not within the primary measure's cut-off, with its cause.

    `indexed` as in `attribute`. In the generation tier a test case is a golden in the mode that stands for the run, and
    a failure one that no repeat answers as it should be.
    """
    goldens = by_golden(run)
    failures = _missed(run, indexed) if goldens is run else _wrong(run, goldens)
    root = Xml.Element("testsuites", name="ragtui")
    for suite, cases in _by_suite(goldens).items():
        element = Xml.SubElement(root, "testsuite", name=_safe(suite), timestamp=_safe(run.started_at))
        for case in cases:
            test = _test(element, goldens, case)
            if case.id in failures and test.find("error") is None:
                _outcome(test, "failure", *failures[case.id])
        _count(element)
    _count(root)
    return _text(root)


# What is said of a failure: its message, its kind, and the details.
_Failure = tuple[str, str, str]


def _missed(run: RecordedRun, indexed: Indexed | None) -> dict[str, _Failure]:
    by_case: dict[str, list[Miss]] = {}
    for miss in attribute(run, indexed=indexed):
        by_case.setdefault(miss.case, []).append(miss)
    return {
        case: (f"{plural(len(lost), 'judgment')} missed", "miss", "\n".join(map(cells.missed, lost)))
        for case, lost in by_case.items()
    }


def _wrong(run: RecordedRun, goldens: RecordedRun) -> dict[str, _Failure]:
    found = wrong_answers(run, goldens.cases, headline_mode(run))
    return {
        case: (f"wrong: {cells.faults(told)}", "wrong answer", cells.said(told, ANSWER_CHARACTERS))
        for case, told in found.items()
    }


def comparison_junit(comparison: Comparison, new: RecordedRun) -> str:
    """The verdict is a test case of its own; under a FAIL each question that the new run lost is a failure too.

    Under any other verdict the gate is not red, so a lost question carries its details as output and a property
    `flip`. A golden whose answers change from one repeat to the next is not lost.
    """
    new = by_golden(new, comparison.answer_mode)
    lost = {flip.case: flip for flip in comparison.flips if flip.direction == "lost"}
    shared = set(comparison.cases.shared)
    root = Xml.Element("testsuites", name="ragtui compare")
    gate = Xml.SubElement(root, "testsuite", name="gate", timestamp=_safe(new.started_at))
    verdict = Xml.SubElement(gate, "testcase", classname="gate", name="verdict")
    reasons = "\n".join((*comparison.reasons, *comparison.notes))
    if comparison.verdict is Verdict.FAIL:
        _outcome(verdict, "failure", comparison.reasons[0], "FAIL", reasons)
    elif comparison.verdict is Verdict.INCONCLUSIVE:
        _outcome(verdict, "skipped", f"inconclusive: {comparison.reasons[0]}", "", reasons)
    _count(gate)
    for suite, cases in _by_suite(new).items():
        element = Xml.SubElement(root, "testsuite", name=_safe(suite), timestamp=_safe(new.started_at))
        for case in cases:
            if case.id not in shared:
                continue
            test = _test(element, new, case)
            flip = lost.get(case.id)
            if flip is not None:
                measure = flip.measure or comparison.flip_measure
                change = f"{measure} went from {cells.number(flip.base)} to {cells.number(flip.new)}"
                details = "\n".join([cells.inert(flip.query), change, *_said(flip)])
                if comparison.verdict is Verdict.FAIL:
                    _outcome(test, "failure", change, "lost", details)
                else:
                    Xml.SubElement(test[0], "property", name="flip", value="lost")
                    Xml.SubElement(test, "system-out").text = printable(f"lost: {details}")
        _count(element)
    _count(root)
    return _text(root)


def _said(flip: Flip) -> list[str]:
    """What was answered before and now, and what is wrong with it; nothing in the retrieval tier."""
    if flip.base_answer is None or flip.new_answer is None:
        return []
    both = (("before", flip.base_answer), ("now", flip.new_answer))
    lines = [f"{when}: {cells.said(told, ANSWER_CHARACTERS)}" for when, told in both]
    return [*lines, f"wrong: {cells.faults(flip.new_answer)}"]


def _by_suite(run: RecordedRun) -> dict[str, list[EvaluationCase]]:
    suites: dict[str, list[EvaluationCase]] = {}
    for case in run.cases:
        suites.setdefault(case.suite, []).append(case)
    return suites


def _test(suite: Xml.Element, run: RecordedRun, case: EvaluationCase) -> Xml.Element:
    """The test case with what was measured; an error or a skip where there is nothing to judge."""
    trace = run.trace_of.get(case.id)
    seconds = 0.0 if trace is None else time_spent(trace.timings) / 1000
    test = Xml.SubElement(suite, "testcase", classname=_safe(case.suite), name=_safe(case.id), time=f"{seconds:.6f}")
    properties = Xml.SubElement(test, "properties")
    values = {"query": case.query, "tags": ", ".join(case.tags)}
    if trace is not None:
        values |= {name: f"{value:.6f}" for name, value in trace.scores.items() if value is not None}
    for name, value in values.items():
        Xml.SubElement(properties, "property", name=name, value=_safe(value))
    if trace is None:
        _outcome(test, "skipped", "the case did not finish")
    elif trace.error is not None:
        _outcome(test, "error", trace.error.message, trace.error.kind)
    return test


def _outcome(test: Xml.Element, what: str, message: str, kind: str = "", details: str = "") -> None:
    attributes = {"message": _safe(message)} | ({"type": _safe(kind)} if kind else {})
    Xml.SubElement(test, what, attributes).text = printable(details) or None


def _count(element: Xml.Element) -> None:
    """Write the totals that readers of JUnit XML expect."""
    tests = list(element.iter("testcase"))
    element.set("tests", str(len(tests)))
    for total, what in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(total, str(sum(test.find(what) is not None for test in tests)))
    element.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.6f}")


def _safe(text: str) -> str:
    """XML has no way to write most control characters: they become visible."""
    return cells.inert(text)


def _text(root: Xml.Element) -> str:
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"
