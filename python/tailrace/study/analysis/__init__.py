"""What the runs of a study say: estimates with intervals, and findings in words.

measured, layout, responses   the runs as a table of one response: combinations by blocks
intervals, contrasts          an estimate with its interval, and comparisons within blocks
effects, trends, crossover    which factors matter, where a response turns, who overtakes whom
expect        the study's expectations: held, not held or undecided
cautions      what a reader must know before trusting the numbers
words, findings, summary      the same in sentences, and all of it at once
comparison    two studies of the same combinations
"""
