"""What runs mean: pure functions over recorded runs.

recorded       a run as one value              summary        its measures, overall and by tag
compare        two runs side by side           comparability  whether and over which cases they may be compared
contrast       one measure in two runs         flips          the questions won and lost
answer_flips   the same of answers, and which of them are unstable from repeat to repeat
beforehand     whether a run that is yet to be made could be compared
gates          which measures decide           verdict        PASS, FAIL, INCONCLUSIVE; absolute floors
statistics     tests, corrections, power       goldens        repeats averaged before anything is compared
replay         a run under another plan        recording      its hits in columns, for many replays
attribution    where the gold was lost         sweep          grids, ablations, the best of many
health         what runs say about the suite   verify         every number made again from the traces
modes          a generation run by mode        decomposition  is it the retriever or the model
"""
