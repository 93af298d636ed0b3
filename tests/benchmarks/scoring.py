"""Scoring against pytrec_eval-terrier and ranx: 1,000 queries of 1,000 hits, five measures, one process.

    python -m tests.benchmarks.scoring [--queries 1000] [--hits 1000] [--repeats 5]

All three start from the same dict of dicts of strings (what a run file parses to) and end with one mean a measure, so
each pays for its own conversion, ordering and averaging. ranx is compiled by a small run first, and is shown also with
its conversion left out. A fifth of the scores are ties, so that trec_eval's order of ties is paid for too.
Ratios are of the fastest of the repeats, which alternate between the three.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
import pytrec_eval
import ranx

from ragtui.metrics.foreign import judge_runs
from ragtui.metrics.measure import parse_measure
from ragtui.metrics.ranking import score_matrix

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]

MEASURES = ("nDCG@10", "AP", "RR", "R@100", "P@5")
TREC_NAMES = ("ndcg_cut_10", "map", "recip_rank", "recall_100", "P_5")
TREC_REQUEST = {"ndcg_cut.10", "map", "recip_rank", "recall.100", "P.5"}
RANX_NAMES = ["ndcg@10", "map", "mrr", "recall@100", "precision@5"]


def make_data(queries: int, hits: int, seed: int = 1) -> tuple[Run, Qrels]:
    """Random rankings with one to forty judged documents a query, most of them retrieved."""
    random_source = random.Random(seed)
    run: Run = {}
    qrels: Qrels = {}
    for query in range(queries):
        ids = [f"doc-{number}" for number in random_source.sample(range(hits * 20), hits)]
        scores = [random_source.uniform(0, 30) for _ in ids]
        for index in range(0, hits, 5):
            scores[index] = round(scores[index])
        run[f"q{query}"] = dict(zip(ids, scores, strict=True))
        judged = random_source.sample(ids, min(hits, random_source.randint(1, 40)))
        qrels[f"q{query}"] = {name: random_source.choice((0, 1, 1, 2, 3)) for name in judged} | {
            judged[0]: 1,
            "lost": 2,
        }
    return run, qrels


def ours(run: Run, qrels: Qrels) -> list[float]:
    """Rank the judged documents by trec_eval's rule, ties included, score, average."""
    measures = [parse_measure(name) for name in MEASURES]
    judged = judge_runs(list(run.values()), [qrels[query] for query in run])
    means: list[float] = np.nanmean(score_matrix(measures, judged), axis=0).tolist()
    return means


def trec_eval(run: Run, qrels: Qrels) -> list[float]:
    """pytrec_eval-terrier, which sorts and scores in C."""
    per_query = pytrec_eval.RelevanceEvaluator(qrels, TREC_REQUEST).evaluate(run)
    return [float(np.mean([scores[name] for scores in per_query.values()])) for name in TREC_NAMES]


def ranx_whole(run: Run, qrels: Qrels) -> list[float]:
    """ranx from the same dicts."""
    return ranx_scoring(ranx.Run(run), ranx.Qrels(qrels))


def ranx_scoring(run: ranx.Run, qrels: ranx.Qrels) -> list[float]:
    """ranx from its own containers."""
    means = ranx.evaluate(qrels, run, RANX_NAMES)
    return [float(means[name]) for name in RANX_NAMES]


def timed(action: Callable[[], list[float]]) -> tuple[float, list[float]]:
    """Seconds, and what the action gave."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def main() -> None:
    """Print seconds, means and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    run, qrels = make_data(options.queries, options.hits)
    ranx_whole(*make_data(20, 20))

    names = ("ragtui", "pytrec_eval-terrier", "ranx", "ranx without conversion")
    best = dict.fromkeys(names, float("inf"))
    means: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        converted = ranx.Run(run), ranx.Qrels(qrels)
        actions: dict[str, Callable[[], list[float]]] = {
            "ragtui": lambda: ours(run, qrels),
            "pytrec_eval-terrier": lambda: trec_eval(run, qrels),
            "ranx": lambda: ranx_whole(run, qrels),
            "ranx without conversion": lambda converted=converted: ranx_scoring(*converted),  # type: ignore[misc]
        }
        for name, action in actions.items():
            seconds, means[name] = timed(action)
            best[name] = min(best[name], seconds)

    print(f"{options.queries} queries x {options.hits} hits, best of {options.repeats}")
    for name in names:
        values = "  ".join(f"{measure} {value:.4f}" for measure, value in zip(MEASURES, means[name], strict=True))
        print(f"{name:24} {best[name]:8.3f} s  {best[name] / best['ragtui']:6.2f} x ragtui   {values}")


if __name__ == "__main__":
    main()
