"""How text becomes search terms: the analyzer's recipe, resolved for a corpus."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec
import regex

from ragtui.artifacts.recipes import Lexical, canonical
from ragtui.inputs.corpus import CorpusSnapshot

_SCRIPTS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
_SPACELESS = "".join(rf"\p{{Script={name}}}" for name in _SCRIPTS)
_TOKENS = regex.compile(rf"[{_SPACELESS}]+|[^\W{_SPACELESS}](?:[\w\p{{M}}--[{_SPACELESS}]])*", regex.V1)
_SPACELESS_CHAR = regex.compile(rf"[{_SPACELESS}]")
_SPACELESS_SHARE = 0.01


def resolve(lexical: Lexical, corpus: CorpusSnapshot) -> Lexical:
    """The recipe with `bigrams="auto"` decided: on where at least 1 % of the letters are of a script without spaces."""
    if lexical.bigrams != "auto":
        return lexical
    return msgspec.structs.replace(lexical, bigrams="on" if _share(corpus) >= _SPACELESS_SHARE else "off")


def _share(corpus: CorpusSnapshot) -> float:
    spaceless = letters = 0
    for document in corpus.documents:
        letters += len(document.text)
        if not document.text.isascii():
            spaceless += len(_SPACELESS_CHAR.findall(document.text))
    return spaceless / max(letters, 1)


def analyzer_recipe(lexical: Lexical) -> dict[str, Any]:
    """The resolved recipe with the engine's version; equal recipes give equal terms."""
    return canonical(lexical) | {"algorithm": f"tantivy-{version('tantivy')}/analyzer-v1"}


def bigrams(text: str) -> str:
    """Words as they are and runs of a script without spaces as overlapping pairs, separated by blanks.

    北京大学 gives 北京 京大 大学; a run of one character stays.
    """
    if text.isascii():
        return " ".join(_TOKENS.findall(text))
    terms: list[str] = []
    for token in _TOKENS.findall(text):
        if _SPACELESS_CHAR.match(token) and len(token) > 1:
            terms.extend(token[start : start + 2] for start in range(len(token) - 1))
        else:
            terms.append(token)
    return " ".join(terms)
