"""Ranks on nodes: what each launcher is told."""

from __future__ import annotations

import pytest

from tailrace.bench.launcher import OPEN_MPI
from tailrace.bench.placement import IN_A_JOB, Nodes, Placement
from tailrace.errors import TailraceError

MPICH = "libmpi.so.12"
HOSTS = Nodes(("a", "b", "c"))
BED = Nodes(("node1", "node2"), "/bed/ssh", ("testbed", "enter"))


@pytest.mark.parametrize(
    "nodes,soname,launcher,expected",
    [
        (HOSTS, MPICH, "mpiexec", "mpiexec -hosts a,b -ppn 3"),
        (HOSTS, OPEN_MPI, "mpiexec -q", "mpiexec -q --host a:3,b:3 --map-by ppr:3:node"),
        (Nodes(), MPICH, "mpiexec", "mpiexec -ppn 3"),
        (Nodes(), OPEN_MPI, "mpiexec", "mpiexec --map-by ppr:3:node"),
        (Nodes(), MPICH, "srun --mpi=pmi2", "srun --mpi=pmi2 --nodes=2 --ntasks-per-node=3"),
        (
            BED,
            MPICH,
            "mpiexec",
            "testbed enter node1 -- mpiexec -launcher ssh -launcher-exec /bed/ssh -hosts"
            " node1,node2 -iface eth0 -ppn 3",
        ),
    ],
)
def test_words(nodes: Nodes, soname: str, launcher: str, expected: str) -> None:
    placed = Placement(2, 3, nodes)
    assert " ".join(placed.launcher(tuple(launcher.split()), soname)) == expected
    assert placed.ranks == 6


def test_open_mpi_is_told_what_to_use_as_ssh() -> None:
    assert set(Placement(1, 1, BED).environment().values()) == {"/bed/ssh"}
    assert Placement(1, 1, HOSTS).environment() == {}


def test_what_results_say() -> None:
    assert str(Placement(2, 3, HOSTS)) == "a:3,b:3"
    assert str(Placement(2, 3)) == "2 nodes:3"


def test_more_nodes_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in IN_A_JOB:
        monkeypatch.delenv(name, raising=False)
    Placement(3, 1, HOSTS).check()
    with pytest.raises(TailraceError, match="ranks are to run on 4 nodes, and 3 are known"):
        Placement(4, 1, HOSTS).check()
    with pytest.raises(TailraceError, match="no nodes are known"):
        Placement(1, 1).check()
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    Placement(1, 1).check()


def test_a_program_without_a_launcher_runs_on_one_node_that_can_be_entered() -> None:
    """CalculiX was run where the study was started, and its placement said node1."""
    Placement(1, 1, BED).check_alone("calculix")
    Placement(1, 1).check_alone("calculix")  # in a batch job: where we are
    with pytest.raises(TailraceError, match="calculix is one process"):
        Placement(2, 1, BED).check_alone("calculix")
    with pytest.raises(TailraceError, match="no launcher that could start it on a"):
        Placement(1, 1, HOSTS).check_alone("calculix")
