"""On which nodes ranks run: the words and variables by which each launcher is told.

In a batch job the launcher knows the nodes; elsewhere they are named, or are those of the test
bed's cluster, on whose first the launcher then runs.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.bench.launcher import OPEN_MPI
from tailrace.errors import TailraceError

# Of batch systems: the launcher knows which nodes the job has.
IN_A_JOB = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID")


@dataclass(frozen=True)
class Nodes:
    """`hosts`: their names in order; none where the launcher knows them. `ssh`: what it starts
    ranks on them with, instead of ssh. `entering`: words that, before a node's name and `--`, run a
    command there; none where we cannot."""

    hosts: tuple[str, ...] = ()
    ssh: str = ""
    entering: tuple[str, ...] = ()

    @property
    def enter(self) -> tuple[str, ...]:
        """Words that run a command on the first."""
        return (*self.entering, self.hosts[0], "--") if self.entering else ()


@dataclass(frozen=True)
class Placement:
    """So many ranks on each of the first `nodes` nodes, one node after the other."""

    nodes: int
    ranks_per_node: int
    on: Nodes = field(default_factory=Nodes)

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    def check(self) -> None:
        """Raises TailraceError where there are not so many nodes."""
        known = len(self.on.hosts)
        if known and known < self.nodes:
            raise TailraceError(
                f"ranks are to run on {self.nodes} nodes, and {known} are known",
                "name more in run.hosts, or start the test bed's cluster with more --nodes",
            )
        if not known and not any(os.environ.get(name) for name in IN_A_JOB):
            raise TailraceError(
                "ranks are to be placed on nodes, and no nodes are known",
                "name them in run.hosts, run the study in a batch job, or start the test bed's:"
                " testbed/testbed up cluster",
            )

    def launcher(self, words: tuple[str, ...], soname: str) -> tuple[str, ...]:
        """The launcher and its options, completed; the number of ranks follows them."""
        name = Path(words[0]).name
        if name == "srun":
            return (*words, f"--nodes={self.nodes}", f"--ntasks-per-node={self.ranks_per_node}")
        options = self._open_mpi() if soname == OPEN_MPI else self._hydra()
        return (*self.on.enter, *words, *options)

    def check_alone(self, name: str) -> None:
        """Of a program that no launcher starts. Raises TailraceError where it cannot be brought to
        a node: it is one process, which runs where we do unless the test bed lets us in."""
        if self.ranks > 1:
            raise TailraceError(
                f"{name} is one process, and cannot run on {self.nodes} nodes with"
                f" {self.ranks_per_node} ranks on each",
                "set nodes = 1 and ranks_per_node = 1",
            )
        if self.on.hosts and not self.on.enter:
            raise TailraceError(
                f"{name} has no launcher that could start it on {self.on.hosts[0]}",
                "leave out nodes and hosts, and start the study on that node",
            )

    def entering(self) -> list[tuple[str, ...]]:
        """For each of the nodes, the words that run a command there."""
        words = self.on.entering
        return [(*words, host, "--") for host in self._hosts()] if words else []

    def _hosts(self) -> tuple[str, ...]:
        return self.on.hosts[: self.nodes]

    def _open_mpi(self) -> tuple[str, ...]:
        place = ("--map-by", f"ppr:{self.ranks_per_node}:node")
        if not self.on.hosts:
            return place
        slots = ",".join(f"{host}:{self.ranks_per_node}" for host in self._hosts())
        return ("--host", slots, *place)

    def _hydra(self) -> tuple[str, ...]:
        place = ("-ppn", str(self.ranks_per_node))
        ssh = ("-launcher", "ssh", "-launcher-exec", self.on.ssh) if self.on.ssh else ()
        hosts = ("-hosts", ",".join(self._hosts())) if self.on.hosts else ()
        # Hydra announces the address of its own host's name, which other nodes may not know.
        interface = ("-iface", "eth0") if self.on.ssh else ()
        return (*ssh, *hosts, *interface, *place)

    def environment(self) -> Mapping[str, str]:
        """Of Open MPI 5 and 4."""
        if not self.on.ssh:
            return {}
        return {"PRTE_MCA_plm_ssh_agent": self.on.ssh, "OMPI_MCA_plm_rsh_agent": self.on.ssh}

    def __str__(self) -> str:
        """`node1:2,node2:2`, or `2 nodes:2` where the launcher chooses them."""
        if not self.on.hosts:
            return f"{self.nodes} nodes:{self.ranks_per_node}"
        return ",".join(f"{host}:{self.ranks_per_node}" for host in self._hosts())
