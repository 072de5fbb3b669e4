"""`tailrace study`: a factorial experiment on real file systems, from a study file to tables.

model, loader, problems         a study file, checked
setups, placeholders, targets,
testbed                         what a combination of levels means: ranks, directories, arguments
design, repetitions             combinations, blocks in random order, when it is enough
store, plan                     the directory of a study: what is durable, what a later start finds
runner, progress                one run after the other, and how long it will take
workload_run, command_run,
results, figures                how one is executed; leftovers, page_cache serve both
jobs, slurm, side_by_side       blocks made by batch jobs, or by several processes here
environment                     where it took place
columns, tables, library        what came of it, as tables and in Python

measured, responses, layout     the tables as a report sees them: factors, columns, combinations × blocks
intervals, contrasts            estimates with intervals, and comparisons within blocks
effects, trends, crossover      what matters, where it turns, where one overtakes the other, speedup
expect, findings, cautions      statements of the document answered, findings in words, what to know before trusting
words, summary                  how numbers are said, and everything that a report says
report, report_text             the verb, and the terminal
facets, charts, report_page     the page
comparison, comparison_report   two studies
"""
