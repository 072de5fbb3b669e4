"""How well runs of other programs are predicted on file systems that were only calibrated:
`python -m tests.predictions.elsewhere NAME...` records each program on each of them, predicts it
for every other one, and measures it there.
"""
