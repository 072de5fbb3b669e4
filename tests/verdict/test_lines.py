"""What ranks print, line by line, to a standard output that the shell made a file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]


def ran(words: list[str], mpi: Mpi, folder: Path) -> Run:
    """Each rank has a file for what it prints."""
    binary = folder / "lines"
    source = Path(__file__).with_name("lines.c")
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, source], check=True)
    command = mpi.launch(2, "bash", "-c", 'exec "$@" >printed.$$', "bash", binary, *words)
    return without_processor_waits(captured(command, folder, mpi.variables())[0])


def test_lines_that_are_flushed_one_by_one_are_small_requests(mpi: Mpi, tmp_path: Path):
    run = ran(["40000", "each"], mpi, tmp_path)
    said = r"80,000 (flushes|small writes) of 3\d B on average take [\d.]+ % of the I/O time"
    assert re.search(said, run.headline), run.headline
    (small,) = [finding for finding in run.findings if finding.code == "small_requests"]
    assert re.search("flush where|larger buffer", small.advice), small.advice
    assert "slow_file_system" not in {finding.code for finding in run.findings}


def test_a_few_lines_are_not(mpi: Mpi, tmp_path: Path):
    run = ran(["100", "each"], mpi, tmp_path)
    assert "small_requests" not in {finding.code for finding in run.findings}
