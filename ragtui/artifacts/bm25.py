"""The BM25 index: the only place that imports tantivy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from ragtui.artifacts.analyzer import analyzer_recipe, bigrams
from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import ChunkSet
from ragtui.artifacts.ranking import Ranking, cut_at_depth
from ragtui.artifacts.recipes import Lexical
from ragtui.ids import content_id

KIND = "bm25"
_TOKENIZER = "ragtui"
_LONGEST_TERM = 80
_WRITER_BYTES = 64_000_000


class Bm25Index:
    """Searches a chunk set by terms. Thread-safe; the native search releases the GIL."""

    def __init__(self, artifact_id: str, lexical: Lexical, index: Any) -> None:
        self.id = artifact_id
        self._lexical = lexical
        self.analyzer = text_analyzer(lexical)
        index.register_tokenizer(_TOKENIZER, self.analyzer)
        self._schema = index.schema
        self._searcher = index.searcher()

    def terms(self, query: str) -> list[str]:
        """The query's terms, sorted; nothing in a query is ever parsed as syntax."""
        text = bigrams(query) if self._lexical.bigrams == "on" else query
        return sorted(self.analyzer.analyze(text.encode("utf-8", "replace").decode()))

    def search(self, query: str, depth: int) -> Ranking:
        """The best `depth` chunks, by (score descending, ordinal ascending), exact at a tie at the cut."""
        clauses = []
        for term, count in sorted(Counter(self.terms(query)).items()):
            clause = tantivy.Query.term_query(self._schema, "body", term, "freq")
            clauses.append((tantivy.Occur.Should, clause if count == 1 else tantivy.Query.boost_query(clause, count)))
        if not clauses:
            return Ranking.empty()
        query_object = tantivy.Query.boolean_query(clauses)

        def fetch(count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            hits = self._searcher.search(query_object, count, count=False).hits
            ordinals = self._searcher.fast_field_values("ord", [address for _, address in hits])
            return np.asarray(ordinals, np.int64), np.asarray([score for score, _ in hits], np.float64)

        return cut_at_depth(fetch, depth, self._searcher.num_docs)

    def search_many(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """`search` for each query."""
        return [self.search(query, depth) for query in queries]


def bm25_id(chunk_set_id: str, lexical: Lexical) -> str:
    """The id of the index over these chunks under this resolved analyzer, built or not."""
    return content_id({"kind": KIND, "chunks": chunk_set_id, "recipe": analyzer_recipe(lexical)})


def bm25_index(chunks: ChunkSet, lexical: Lexical, cache: ArtifactCache, **options: Any) -> Bm25Index:
    """The index, from the cache or built into it. `lexical` must be resolved for the corpus."""
    artifact_id = bm25_id(chunks.id, lexical)

    def build(folder: Path) -> None:
        write_index(folder, chunks.indexed_texts(), lexical)

    folder = cache.get(KIND, artifact_id, analyzer_recipe(lexical), build, **options)
    return Bm25Index(artifact_id, lexical, tantivy.Index.open(str(folder)))


def write_index(folder: Path, texts: Sequence[str], lexical: Lexical) -> None:
    """Index each text under its position, with one thread, so that equal inputs give one equal segment."""
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("body", stored=False, tokenizer_name=_TOKENIZER, index_option="freq")
    # A Python integer becomes a signed one, so the field is declared signed.
    schema.add_integer_field("ord", fast=True)
    index = tantivy.Index(schema.build(), path=str(folder))
    index.register_tokenizer(_TOKENIZER, text_analyzer(lexical))
    writer = index.writer(_WRITER_BYTES, 1)
    pairs = lexical.bigrams == "on"
    for ordinal, text in enumerate(texts):
        body = bigrams(text) if pairs else text
        writer.add_document(tantivy.Document(body=body.encode("utf-8", "replace").decode(), ord=ordinal))
    writer.commit()
    writer.wait_merging_threads()


def text_analyzer(lexical: Lexical) -> Any:
    """tantivy's analyzer for a resolved recipe."""
    # Pairs come separated by blanks; the simple tokenizer would split them again at combining marks.
    tokenizer = tantivy.Tokenizer.whitespace() if lexical.bigrams == "on" else tantivy.Tokenizer.simple()
    builder = tantivy.TextAnalyzerBuilder(tokenizer).filter(tantivy.Filter.remove_long(_LONGEST_TERM))
    builder = builder.filter(tantivy.Filter.lowercase())
    if lexical.stop_words:
        builder = builder.filter(tantivy.Filter.stopword(lexical.language))
    if lexical.stemming:
        builder = builder.filter(tantivy.Filter.stemmer(lexical.language))
    return builder.build()
