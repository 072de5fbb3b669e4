"""Which combinations of a study to measure, so that its answer is decided at least cost.

`prediction.py` says between what each combination's time lies, `selection.py` which that leaves
open, `claims.py` the same of [[expect]], `leaving_out.py` writes the others as [[leave_out]], and
`show.py` says it.
"""
