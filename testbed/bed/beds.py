"""The beds by name, and what each is and is not, in words for whoever looks at a result from it."""

from __future__ import annotations

from bed.cluster import Cluster
from bed.gluster import Single, Striped
from bed.local import Local
from bed.nfs import Nfs
from bed.slurm import Slurm

BEDS = {bed.name: bed for bed in (Local, Nfs, Single, Striped, Slurm, Cluster)}

IS = {
    "local": "the file system that the test bed's directory lies on",
    "nfs": "one real NFS server (nfs-ganesha, user space) behind one shaped link",
    "single": "GlusterFS with one server behind one shaped link: the network file system without"
    " striping",
    "striped": "GlusterFS dispersed over servers behind a shaped link each, all but one of them for"
    " data: one file spread over all, as on PVFS2, Lustre or BeeGFS",
    "slurm": "a real Slurm: munged, slurmctld and one slurmd a node, jobs by sbatch and srun",
    "cluster": "nodes with a hostname, a shaped link, a clock, a disk and clients of their own",
}
IS_NOT = {
    "local": "shaped; its cache is the machine's memory",
    "nfs": "a kernel server, nor several client machines: outside of the cluster ranks share one"
    " client, its cache and this machine's processors; locks hold within one mount only",
    "single": "several client machines: ranks share one client and this machine's processors",
    "striped": "Lustre or PVFS2: GlusterFS has no metadata server and no locks on extents,"
    " one client at a time writes to a file, the client computes the redundancy, and all servers"
    " share this machine's processors and disk",
    "slurm": "several machines: its nodes are names for this one, and may claim more processors"
    " than it has",
    "cluster": "several machines: nodes share this one's processors, memory and kernel",
}
