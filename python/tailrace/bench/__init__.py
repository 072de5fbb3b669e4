"""`tailrace bench`: one run of a workload by one method and in one format, every byte verified.

loader, workload                a workload file, checked
pairs, choices                  which methods and formats go together, and what the user chose
launcher, kernels               mpiexec, its compiler, and the kernels compiled for them
plan, execute, records          what a kernel is told, its run, what it wrote down
verify, fingerprint, readers/   every element read back by an independent reader
figures, surroundings, table    the answer
calculix, mesh                  the one workload that is a real program
"""
