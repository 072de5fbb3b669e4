"""The test bed: each bed is servers in namespaces of their own behind shaped links, and mounts that
reach them.

`command` reads the arguments; `beds` says what each bed is; `nfs`, `gluster`, `slurm` and `local`
bring one up; `cell` holds namespaces and ends everything in them; `links` joins and shapes them;
`mounts`, `room`, `needs`, `system` do what their names say. `holder` is the first process of a
cell.
"""
