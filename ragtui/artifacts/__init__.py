"""What is built from frozen inputs: chunks, a BM25 index, vectors; each under the id of its inputs and recipe."""
