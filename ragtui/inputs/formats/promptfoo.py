"""promptfoo test sets: variables and assertions, as JSON, JSON Lines, YAML or CSV."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import regex

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.files import LINE_LIMIT, Problems, opened, readable
from ragtui.inputs.formats.source import Source, SourceQuestion
from ragtui.inputs.formats.tables import cell, first_value, rows, several
from ragtui.inputs.formats.testsets import Gathered, any_of
from ragtui.inputs.patterns import compile_pattern
from ragtui.inputs.text import fold_space, plural

_QUESTION = ("query", "question", "user_input", "input", "prompt", "message", "topic")
_RELEVANT = ("correct_chunks", "relevant_docs", "relevant", "doc_id", "expected_docs", "relevantDocIds")
_CONTEXT = ("context", "contexts")
_YAML = (".yaml", ".yml")
_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")


def promptfoo_source(path: Path, question: str | None = None, relevant: str | None = None) -> Source:
    """The tests of a promptfoo file. `question` and `relevant` name the variables that hold them.

    Assertions about words become patterns; those that need a model or a script are counted and left out.
    """
    found, problems = Gathered(), Problems()
    dropped: dict[str, int] = {}
    for number, test in _tests(path, problems):
        variables = test.get("vars")
        if not isinstance(variables, Mapping):
            problems.add(path.name, number, "has no vars.", "A test is an object with vars and assert.")
            continue
        name = question or next((name for name in _QUESTION if name in variables), None)
        if name is None and len(variables) == 1:
            name = next(iter(variables))
        query = cell(variables, name) if name else ""
        if not query.strip():
            problems.add(path.name, number, f"has no question among the vars {', '.join(map(str, variables))}.",
                         "Name its variable with --question.")  # fmt: skip
            continue
        docs = several(first_value(variables, (relevant,) if relevant else _RELEVANT), "|")
        if not docs:
            contexts = several(first_value(variables, _CONTEXT), "")
            docs = [found.context(text, path.name, number) for text in contexts if text.strip()]
        include, exclude, refusal = _patterns(test.get("assert"), dropped)
        found.judge(
            SourceQuestion(
                id=f"q{len(found.questions) + 1:04d}", query=query, must_include=tuple(include),
                must_not_include=tuple(exclude), expect_refusal=refusal, numbered=True, file=path.name, line=number,
            ),
            () if refusal else docs,
        )  # fmt: skip
    problems.refuse("Correct the tests.")
    if not found.questions:
        raise InvalidInput(f"{path.name} holds no test.", "Tests stand in a list, or under `tests:`.")
    for kind, count in sorted(dropped.items()):
        left = plural(count, "assertion")
        found.remarks.append(f"Left out: {left} of kind {kind!r}; goldens check words by patterns.")
    return found.source()


def _tests(path: Path, problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.suffix in _YAML or path.suffix == ".json":
        content = _structured(path)
        tests = content.get("tests") if isinstance(content, Mapping) else content
        if not isinstance(tests, list):
            raise InvalidInput(f"{path.name} has no list of tests.", "Name the file of tests itself.")
        for number, test in enumerate(tests, 1):
            if isinstance(test, Mapping):
                yield number, test
            else:
                problems.add(path.name, number, "is not a test.", "A test is an object with vars and assert.")
        return
    for number, row in rows(path, problems):
        if "vars" in row:
            yield number, row
            continue
        special = {name: value for name, value in row.items() if name.startswith("__")}
        expected = [_expected(cell(special, name)) for name in special if name.startswith("__expected")]
        asserts = [item for item in expected if item]
        yield number, {"vars": {key: value for key, value in row.items() if key not in special}, "assert": asserts}


def _structured(path: Path) -> Any:
    """JSON or YAML; YAML where a package for it is installed."""
    if path.suffix not in _YAML:
        from ragtui.inputs.formats.files import read_json

        return read_json(path)
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        message = f"{path.name} is YAML, and the package PyYAML is not installed."
        raise InvalidInput(message, "Install it (pip install pyyaml), or give the tests as JSON or CSV.") from None
    with opened(path) as file, readable(path):
        data = file.read()
    try:
        content = yaml.safe_load(data)
        # A few anchors can stand for more than any memory holds.
        if _written_out(content, {}) > LINE_LIMIT:
            raise InvalidInput(f"{path.name} is too large with its anchors written out.", "Write fewer aliases.")
        # What JSON cannot hold (lone surrogates, anchors inside themselves) no golden can.
        return msgspec.json.decode(msgspec.json.encode(content))
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise InvalidInput(f"{path.name} is not YAML: {fold_space(str(error))}.", "Correct the file.") from None


def _written_out(node: Any, known: dict[int, int]) -> int:
    """About how many characters a tree takes with every alias written out; beyond any limit where one holds itself."""
    if isinstance(node, (dict, list, tuple, set)):
        if id(node) not in known:
            known[id(node)] = 2 * LINE_LIMIT
            inner = [*node.keys(), *node.values()] if isinstance(node, dict) else node
            known[id(node)] = 1 + sum(_written_out(item, known) for item in inner)
        return known[id(node)]
    return 1 + (len(node) if isinstance(node, (str, bytes)) else 8)


def _expected(text: str) -> dict[str, Any] | None:
    """A cell of an `__expected` column: `kind: value`, or plain words for equality."""
    text = text.strip()
    if not text:
        return None
    kind, colon, value = text.partition(":")
    if colon and regex.fullmatch(r"(not-)?[a-z][a-z-]*", kind):
        return {"type": kind, "value": value.strip()}
    return {"type": "equals", "value": text}


def _patterns(asserts: Any, dropped: dict[str, int]) -> tuple[list[str], list[str], bool]:
    """Patterns that must and must not be found, and whether a refusal is expected."""
    include: list[str] = []
    exclude: list[str] = []
    refusal = False
    for item in asserts if isinstance(asserts, list) else []:
        kind = str(item.get("type", "")) if isinstance(item, Mapping) else ""
        plain = kind.removeprefix("not-")
        made = _pattern(plain, item.get("value") if isinstance(item, Mapping) else None)
        if plain == "is-refusal" and plain == kind:
            refusal = True
        elif made is None or (kind != plain and plain.endswith("-all")):
            dropped[kind or "unknown"] = dropped.get(kind or "unknown", 0) + 1
        else:
            (include if kind == plain else exclude).extend(made)
    return include, exclude, refusal


def _pattern(kind: str, value: Any) -> list[str] | None:
    """Patterns that must all be found, None for a kind that is not about words or a pattern that does not compile."""
    if kind in _LISTS:
        words = [word for word in several(value, ",") if word.strip()]
        if not words:
            return None
        return [any_of(words)] if kind.endswith("-any") else [any_of([word]) for word in words]
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or not str(value).strip():
        return None
    text = str(value)
    if kind in ("contains", "icontains"):
        return [any_of([text])]
    if kind == "starts-with":
        return [rf"\A{any_of([text])}"]
    if kind == "equals":
        return [rf"\A{any_of([text])}\Z"]
    if kind == "regex":
        try:
            compile_pattern(text)
        except InvalidInput:
            return None
        return [text]
    return None
