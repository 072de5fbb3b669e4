"""Programs that are killed while they wait in a call, the first of its function."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mpi

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

WAITING = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words)
{
    char text[4096] = {0};
    int file = open("out", O_CREAT | O_WRONLY, 0600), pipe_ends[2];
    for (int i = 0; i < 100; i++)
        if (write(file, text, sizeof text) < 0)
            return 1;
    if (count < 2 || pipe(pipe_ends))
        return 1;
    signal(SIGALRM, SIG_DFL);
    alarm(1);
    if (!strcmp(words[1], "flock"))
        return syscall(SYS_flock, open("out", O_RDONLY), LOCK_EX) || flock(file, LOCK_EX);
    if (!strcmp(words[1], "read"))
        return (int)read(pipe_ends[0], text, 1);
    if (!strcmp(words[1], "fgets"))
        return !fgets(text, sizeof text, fdopen(pipe_ends[0], "r"));
    if (!strcmp(words[1], "open"))
        return open("fifo", O_RDONLY);
    return 0;
}
"""


@pytest.mark.parametrize("function", ["flock", "read", "fgets", "open"])
def test_the_call_that_a_program_was_killed_in_is_named(function: str, tmp_path: Path):
    (tmp_path / "waits.c").write_text(WAITING)
    subprocess.run(["gcc", "-O1", "-w", "-o", "waits", "waits.c"], cwd=tmp_path, check=True)
    os.mkfifo(tmp_path / "fifo")
    run, _ = captured(["./waits", function], tmp_path, dict(os.environ), any_status=True)
    said = f"The run was stopped while it had been in {function} for "
    assert run.headline.startswith(said), run.headline
    assert "useful" not in run.headline
    assert list(run.columns["rank"]["unfinished"]) == [function]
    assert run.columns["rank"]["unfinished_ns"][0] >= 900_000_000
    assert "unfinished_call" in {finding.code.value for finding in run.findings}
    assert not {"small_requests", "sync", "slow_file_system"} & {f.code for f in run.findings}


BARRIER = r"""
#include <mpi.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
    int rank, got;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alarm(1);
    if (rank == 0)
        MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(words[1], "MPI_Recv"))
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("function", ["MPI_Barrier", "MPI_Recv"])
def test_so_is_the_first_call_of_mpi(function: str, mpi: Mpi, tmp_path: Path):
    (tmp_path / "waits.c").write_text(BARRIER)
    subprocess.run([mpi.mpicc, "-o", tmp_path / "waits", tmp_path / "waits.c"], check=True)
    command = [*mpi.launch(2, tmp_path / "waits"), function]
    run, _ = captured(command, tmp_path, mpi.variables(), any_status=True)
    assert list(run.columns["rank"]["unfinished"]) == ["MPI_Probe", function]
    said = rf"rank [01] was in (MPI_Probe|{function}) for the last .* and never left it"
    assert re.search(said, run.headline), run.headline
