"""`tailrace bench`: one run of a workload by one method and in one format, every byte verified.

cli, options, command           the command line, and what it asks for
loader, workload                a workload file, checked
gridio, pairs                   which methods and formats go together
launcher, kernels               mpiexec, its compiler, and the kernels compiled for them
programs/, plan                 a file for each program: what it is started with, how it is verified
one_run, execute, failures      one run, as `tailrace study` makes it too, and how it can fail
guardian                        ends what we started when we are killed
captured                        a run under capture
records, verify, fingerprint, readers/   what was written, and every element of it read back
session, places                 all runs of one command, and where their files go
figures, surroundings           the answer as JSON
table, step_tables, progress    the answer for people
calculix_results, calculix_table, mesh   the one workload that is a real program
"""
