"""`tailrace study`: a factorial experiment on real file systems, from a study file to findings.

definition   a study file, checked: factors, levels, combinations, their order; columns of results
running      one run after the other, each stored at once: launching, environment, tables
analysis     effects, trends, crossovers and expectations, with intervals, and findings in words
report       the findings in the terminal, as JSON, as a page; two studies side by side
cli, command, library   the verbs, and the same in Python

Imports go one way: running and analysis know definition and not each other, report knows analysis,
and only command and library know all four.
"""
