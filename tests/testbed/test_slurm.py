"""A real Slurm: jobs by sbatch and srun over two nodes, MPI jobs, and nothing left of jobs after
down."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import find_mpi
from tests.processes import LONGEST_WAIT_S, until
from tests.testbed.bed import Testbed
from tests.testbed.conftest import require

pytestmark = pytest.mark.slow

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **arguments)
{
    int rank, ranks, sum = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, sum %d\n", ranks, sum);
    MPI_Finalize();
}
"""


def slurm(bed: dict, *command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, **bed["environment"]},
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        **options,
    )


def test_two_nodes_run_at_once(testbed: Testbed) -> None:
    require("slurm")
    bed = testbed.up("slurm", "--nodes", "2", "--cpus-per-node", "2")
    assert (bed["nodes"], bed["cpus_per_node"]) == (2, 2)
    answer = slurm(
        bed,
        "srun",
        "--nodes",
        "2",
        "--ntasks",
        "4",
        "sh",
        "-c",
        "echo $SLURMD_NODENAME $SLURM_PROCID",
    )
    assert sorted(answer.stdout.split("\n"))[1:] == ["node1 0", "node1 1", "node2 2", "node2 3"], (
        answer.stderr
    )


def test_a_batch_job(testbed: Testbed, tmp_path: Path) -> None:
    require("slurm")
    bed = testbed.up("slurm")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsrun --ntasks 2 hostname\nexit 3\n")
    output = tmp_path / "output"
    sent = slurm(bed, "sbatch", "--parsable", "--ntasks", "2", "--output", output, script)
    assert sent.returncode == 0, sent.stderr
    wait_for_end(bed, sent.stdout.strip())
    state = slurm(bed, "scontrol", "show", "job", sent.stdout.strip()).stdout
    assert "ExitCode=3:0" in state
    assert len(output.read_text().split()) == 2


def wait_for_end(bed: dict, job: str) -> None:
    states = "PENDING,RUNNING,COMPLETING"
    words = ("squeue", "--noheader", "--jobs", job, "--states", states)
    until(lambda: not slurm(bed, *words).stdout.strip())


def test_an_mpi_job_over_two_nodes(testbed: Testbed, tmp_path: Path) -> None:
    require("slurm")
    mpi = find_mpi("mpich")
    (tmp_path / "hello.c").write_text(HELLO)
    subprocess.run([mpi.mpicc, tmp_path / "hello.c", "-o", tmp_path / "hello"], check=True)
    bed = testbed.up("slurm")
    answer = slurm(bed, "srun", "--mpi=pmi2", "--nodes", "2", "--ntasks", "4", tmp_path / "hello")
    assert answer.stdout == "4 ranks, sum 6\n", answer.stderr


def test_jobs_end_with_slurm(testbed: Testbed, tmp_path: Path) -> None:
    """Also those that left their process group, as daemons do."""
    require("slurm")
    bed = testbed.up("slurm")
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nsetsid sleep 4321 &\ntouch {tmp_path}/running\nsleep 1234\n")
    assert slurm(bed, "sbatch", "--output", "/dev/null", script).returncode == 0
    until((tmp_path / "running").exists)
    testbed.down()
    assert testbed.nothing_is_left()
    sleeping = subprocess.run(
        ["pgrep", "--full", "--exact", "sleep (4321|1234)"], capture_output=True, text=True
    )
    assert sleeping.stdout == ""


def test_two_slurms_at_once(tmp_path: Path) -> None:
    require("slurm")
    first, other = Testbed(tmp_path / "one"), Testbed(tmp_path / "other")
    try:
        beds = [bed.up("slurm", "--nodes", number) for bed, number in ((first, "1"), (other, "3"))]
        counts = [slurm(bed, "sinfo", "--noheader", "--format=%D").stdout.strip() for bed in beds]
        assert counts == ["1", "3"]
        first.down()
        assert slurm(beds[1], "srun", "true").returncode == 0
    finally:
        for bed in (first, other):
            bed.call("down", "--force")
            assert bed.nothing_is_left()


def test_another_number_of_nodes_is_refused(testbed: Testbed) -> None:
    require("slurm")
    testbed.up("slurm")
    refused = testbed.call("up", "slurm", "--nodes", "5")
    assert refused.returncode == 1
    assert "slurm is up with another --nodes (2)" in refused.stderr
