"""Ranks that share cores wait for a processor: the report says so first, and blames that time on
nothing else. The programs have nothing else that holds them back."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.conftest import find_mpi
from tests.golden import harness

pytestmark = pytest.mark.measured("what ranks waited for a processor")
RANKS, CORES = 4, 2
ONLY_ELSEWHERE = {"network", "load_imbalance", "serialization", "between_layers", "locks"}
FILE_CAUSES = {"slow_file_system", "small_requests", "metadata", "taking_turns", "few_ranks"}
FILE_CAUSES |= {"uneven_io", "serial_writer", "serial_reader", "serial_metadata"}


@pytest.fixture(scope="module", params=["mpich", "openmpi"])
def program(request, tmp_path_factory):
    mpi = find_mpi(request.param)
    directory = tmp_path_factory.mktemp("shared-cores")
    source = harness.HERE / "shared_cores.c"
    command = [mpi.mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    return mpi, harness.compile_program(command, [source], directory / "shared_cores")


def reported(tailrace, program, kind, directory) -> tuple[dict, list[int]]:
    """The report of a run on the first two cores, and each rank's wait by the kernel's account."""
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    if len(cores) < CORES:
        pytest.skip(f"the test needs {CORES} cores")
    mpi, path = program
    trace = directory / "run.tailrace"
    command = [*tailrace, "run", "-o", trace, "--", *mpi.launch(RANKS, path, kind)]
    done = subprocess.run(
        list(map(str, command)),
        env=mpi.variables(),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=harness.SECONDS_MAX,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    assert done.returncode == 0, done.stderr
    waited = [int(line) for line in done.stdout.split("\n") if line.lstrip("-").isdecimal()]
    answer = subprocess.run(
        list(map(str, [*tailrace, "report", "--json", trace])), capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout), waited


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["barriers", "reductions"])
def test_a_balanced_program_on_too_few_cores(tailrace, program, kind, tmp_path):
    report, kernels_ns = reported(tailrace, program, kind, tmp_path)
    if min(kernels_ns) < 0:
        pytest.skip("this kernel does not count run delay")
    assert report["headline"].startswith("4 ranks shared 2 cores: they waited for a processor ")
    codes = {finding["code"] for finding in report["verdict"]}
    assert "processors" in codes
    assert not codes & (ONLY_ELSEWHERE | FILE_CAUSES), report["verdict"]
    assert report["processors"]["share"] > 0.2
    (node,) = report["processors"]["nodes"]
    assert (node["ranks"], node["cores"]) == (RANKS, CORES)
    waits = [rank["processor_wait_s"] for rank in report["per_rank"]]
    # All ranks together: the program says no rank beside its number.
    assert sum(sum(wait.values()) for wait in waits) == pytest.approx(
        sum(kernels_ns) / 1e9, rel=0.15
    )
    for rank, wait in zip(report["per_rank"], waits, strict=True):
        assert all(wait[state] <= rank[f"{state}_s"] + 1e-9 for state in wait)
