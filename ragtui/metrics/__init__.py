"""Measures as value objects, the scores they give, and what a set of scores says.

    measure      `nDCG@10` as a value: parse, print, validate     kinds        the table of what exists
    cases        a batch of cases in, (cases, measures) out       rates        empty and non-empty result lists
    ranking      judged rankings of documents or chunks           spans        judged character spans
    formulas     the measures' definitions                        aggregate    means, intervals, tables by tag
    trec_order   the order in which foreign runs are read         student      Student's t without SciPy
    foreign      judged foreign runs                              separation   relevant against irrelevant scores

Import from the modules: this file imports nothing, so that naming a measure does not load NumPy.
"""
