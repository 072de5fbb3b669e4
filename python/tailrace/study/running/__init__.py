"""The runs of a study: made one after the other, each stored before the next begins.

plan, store   what is to be run, and the directory in which every finished run is stored
targets, testbed, page_cache, environment   where it runs, and in what state
workload_run, command_run, figures, results   one run, and its numbers
simulated_run, models, mixed_runs   combinations that are simulated instead
runner, repetitions, progress, leftovers   all runs, in order, until they are enough
jobs, slurm, side_by_side   blocks that other processes make
run_tables    the tables of runs and phases, from what is stored
"""
