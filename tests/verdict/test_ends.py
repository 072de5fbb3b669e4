"""Ranks that end early, in programs that really run: what is said of them, and what cannot be said
of the others."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent


def ended(how: str, mpi: Mpi, folder: Path) -> Run:
    binary = folder / "ended"
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, HERE / "ended.c"], check=True)
    run, _ = captured([*mpi.launch(2, binary), how], folder, mpi.variables(), any_status=True)
    return run


def test_what_a_killed_rank_did_last_is_not_known(mpi: Mpi, tmp_path: Path):
    """Rank 1 computes longest, but the last that was seen of it is the first barrier, 0.2 s before
    rank 0 comes to the second one, which is the last that is known of the run."""
    run = ended("killed", mpi, tmp_path)
    # MPICH's launcher kills the other rank as well.
    said = r"stopped early by SIGKILL|(rank 1 was|both ranks were) killed, or ended at once"
    assert re.search(said, run.headline), run.headline
    assert "what rank 1 did in the last" in run.headline
    assert list(run.columns["rank"]["ended"])[1] == "unknown"
    unknown_ns = run.columns["rank"]["unknown_ns"]
    assert unknown_ns[1] >= 150_000_000
    findings = [finding.finding for finding in run.findings]
    assert not any("computes" in text and "at least" not in text for text in findings), findings
    assert "nothing else does either" not in run.headline


def test_the_rank_that_called_abort_is_named(mpi: Mpi, tmp_path: Path):
    run = ended("abort", mpi, tmp_path)
    assert "rank 1 called MPI_Abort" in run.headline
    assert list(run.columns["rank"]["ended"])[1] == "aborted"
    assert run.columns["rank"]["unknown_ns"][1] == 0


@pytest.mark.parametrize("how", ["left", "own_abort", "assertion"])
def test_the_rank_that_others_were_ended_for_is_named(how: str, mpi: Mpi, tmp_path: Path):
    """Rank 1 ends by itself, with status 2 or by abort, and the launcher ends rank 0, which waits
    for it."""
    run = ended(how, mpi, tmp_path)
    assert list(run.columns["rank"]["ended"]) == ["unknown", "left"]
    said = "rank 1 ended without MPI_Finalize, and rank 0 was killed, or ended at once"
    assert said in run.headline


@pytest.mark.parametrize("how", ["regularly", "exit"])
def test_a_rank_that_reached_its_end_is_not_called_killed(how: str, mpi: Mpi, tmp_path: Path):
    run = ended(how, mpi, tmp_path)
    assert "killed" not in run.headline
    assert list(run.columns["rank"]["ended"]) == ["known", "known"]
    assert not any(run.columns["rank"]["unknown_ns"])


def test_ranks_of_which_none_said_that_it_ends_may_have_lived_as_long_as_the_launcher(
    mpi: Mpi, tmp_path: Path
):
    """Both write nothing more after the barrier, 0.5 s before they end."""
    run = ended("together", mpi, tmp_path)
    assert list(run.columns["rank"]["ended"]) == ["unknown", "unknown"]
    assert min(run.columns["rank"]["unknown_ns"]) >= 450_000_000
    assert "both ranks were killed, or ended at once" in run.headline
    assert re.search(r" ended with exit status [1-9]\d*\.$", run.headline), run.headline
    assert run.columns["meta"]["exit_status"] != "0"


def test_a_network_is_not_blamed_for_ranks_that_hang(mpi: Mpi, tmp_path: Path):
    run = ended("hang", mpi, tmp_path)
    said = r"rank [01] was in MPI_Recv for the last \d\d\.\d % of the run, and never left it"
    assert re.search(said, run.headline), run.headline
    assert not {"network", "serialization"} & {finding.code.value for finding in run.findings}


ALONE = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)
{
    FILE *file = fopen("alone.dat", "w");
    fprintf(file, "a line that stays in the buffer");
    fflush(file);
    while (clock() < CLOCKS_PER_SEC / 2)
        ;
    if (!strcmp(words[1], "abort"))
        abort();
    if (!strcmp(words[1], "fault"))
        *(volatile int *)words[2] = 1;
    syscall(SYS_exit_group, count + 1);
}
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raw", "But alone ended with exit status 3."),
        ("abort", "But the run was stopped early by SIGABRT."),
        ("fault", "But the run was stopped early by SIGSEGV."),
    ],
)
def test_a_program_lasts_until_it_is_stopped(how: str, said: str, tmp_path: Path):
    """Its last call was the flush, half a second before."""
    (tmp_path / "alone.c").write_text(ALONE)
    subprocess.run(["gcc", "-O1", "-o", "alone", "alone.c"], cwd=tmp_path, check=True)
    run, _ = captured(["./alone", how], tmp_path, dict(os.environ), any_status=True)
    assert run.headline.endswith(said), run.headline
    assert run.columns["runtime_ns"] >= 450_000_000
    assert sum(run.columns["rank"]["useful_ns"]) >= 400_000_000
    assert not any(run.columns["rank"]["unknown_ns"])
