"""Waits for a processor are told before what a change would give, and no change takes them away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailrace import engine
from tailrace.predict.waits import waits

from ..python.test_report import check_schema

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
# Two processes on one processor: each computes half of the time.
PROGRAM = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
other = os.fork()
begin = time.monotonic()
while time.monotonic() < begin + 0.5:
    pass
if other:
    os.wait()
else:
    os._exit(0)
"""
IDLE = "import time; time.sleep(0.2)"


def recorded(program: str, into: Path) -> Path:
    command = [TAILRACE, "run", "--no-report", "-o", into, "--", sys.executable, "-c", program]
    subprocess.run(command, check=True, capture_output=True)
    (trace,) = into.glob("*.tailrace")
    return trace


def whatif(*words: str | Path) -> str:
    command = [TAILRACE, "whatif", *words, "--compute", "2x"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_of_ranks_that_shared_a_processor_the_first_line_says_so(tmp_path: Path) -> None:
    trace = recorded(PROGRAM, tmp_path / "shared")
    found = waits(engine.analyze(trace, critical_paths=False))
    assert found is not None and found.notable and found.share > 0.2
    first = whatif(trace).splitlines()[0]
    assert "waited for a processor" in first.split(". ")[0]
    document = json.loads(whatif(trace, "--json"))
    check_schema(document, "whatif.json")
    assert document["processor_wait_share"] == found.share


@pytest.mark.parametrize(("cores", "alone"), [("0-1", True), ("3", False), ("", False)])
def test_what_ranks_waited_adds_up_and_who_had_a_core(cores: str, alone: bool) -> None:
    """Of 2 s two ranks waited for 0.1 + 0.3 s of the 0.5 + 0.7 s in which they computed, 0.5 s in
    files and 0.2 in MPI."""
    second = 10**9
    rank = {
        "useful_ns": np.array([0.5, 0.7]) * second,
        "io_ns": np.array([1.1, 0.9]) * second,
        "mpi_ns": np.array([0.4, 0.4]) * second,
        "waited_useful_ns": [second // 10, 3 * second // 10],
        "waited_io_ns": [second // 2, 0],
        "waited_mpi_ns": [0, second // 5],
        "host": ["a", "a"],
        "cores": [cores, cores],
    }
    any_waited = {"useful_ns": 3 * second // 10, "io_ns": second // 2, "mpi_ns": second // 5}
    found = waits({"rank": rank, "runtime_ns": 2 * second, "any_waited": any_waited})
    assert found is not None and found.notable
    assert found.all_s == pytest.approx(1.1)
    assert found.by_state["useful"] == pytest.approx(0.4 / 1.2)
    assert found.alone == alone


def test_a_program_that_sleeps_waited_for_none(tmp_path: Path) -> None:
    trace = recorded(IDLE, tmp_path / "idle")
    found = waits(engine.analyze(trace, critical_paths=False))
    if found is not None and found.notable:  # its start, beside much other work
        assert found.share < 0.5
        return
    assert whatif(trace).startswith("Processors twice as fast")
    assert json.loads(whatif(trace, "--json"))["processor_wait_share"] == 0
