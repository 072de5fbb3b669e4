"""Writes that fail, in programs that really run: what the first line says of them, and of what it
must not say so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent

BEGIN = """
import ctypes, os, resource, signal, sys, time
def compute(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until: pass
def attempt(*words):
    try: os.write(*words)
    except OSError: pass
"""
# A limit of 1 MiB, which each later write meets; a program that goes on has lost all but that.
LIMITED = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
out = os.open("out", os.O_CREAT | os.O_WRONLY)
for _ in range(4000): attempt(out, bytes(4096))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
ONCE = """
full = os.open("/dev/full", os.O_WRONLY)
attempt(full, b"lost")
out = os.open("out", os.O_CREAT | os.O_WRONLY)
for _ in range(100): os.write(out, bytes(4096))
compute(0.2)
"""
# A try that is made good in another way, as one with O_DIRECT whose bytes are not aligned; names
# that are not there; and what cannot be synchronised, as a terminal, which holds nothing back.
HARMLESS = """
out = os.open("out", os.O_CREAT | os.O_WRONLY)
for _ in range(100): os.write(out, bytes(4096))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.pwrite(out, b"x", 1, ctypes.c_long(-1)) == -1
assert ctypes.get_errno() == 22
try: os.stat("nowhere")
except FileNotFoundError: pass
try: os.open("nowhere", os.O_RDONLY)
except FileNotFoundError: pass
import pty
terminal = pty.openpty()[1]
for descriptor in (1, terminal, os.open("/dev/null", os.O_WRONLY)):
    try: os.fsync(descriptor)
    except OSError as error: assert error.errno == 22
compute(0.2)
"""


def run_of(program: str, folder: Path) -> Run:
    run, _ = captured([sys.executable, "-c", BEGIN + program], folder, dict(os.environ))
    return without_processor_waits(run)


def test_writes_that_lose_all_are_what_the_first_line_says(tmp_path: Path):
    """1 MiB holds 256 writes of 4096 bytes; the other 3,744 fail."""
    run = run_of(LIMITED, tmp_path)
    assert "3,744 of 4,000 writes to out failed (File too large)" in run.headline
    assert run.headline.count("failed") == 1
    (found,) = [finding for finding in run.findings if finding.code == "failed_writes"]
    assert "ulimit -f" in found.advice
    assert "1.05 MB were written there" in found.evidence
    assert not any("small writes" in finding.finding for finding in run.findings)


def test_one_write_that_is_lost_is_said_after_all_else(tmp_path: Path):
    run = run_of(ONCE, tmp_path)
    assert run.headline.endswith("But 1 of 1 write to full failed (No space left on device).")


def test_what_loses_nothing_is_not_said(tmp_path: Path):
    run = run_of(HARMLESS, tmp_path)
    assert "failed" not in run.headline
    assert "failed_writes" not in [finding.code for finding in run.findings]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("nowhere", "MPI_File_open of out.dat on both ranks failed (No such file or directory)"),
        ("readonly", "40 MPI-IO writes to out.dat failed"),
        ("well", ""),
    ],
)
def test_calls_of_mpiio_that_fail_are_named(mode: str, said: str, mpi: Mpi, tmp_path: Path):
    binary = tmp_path / "failing"
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, HERE / "failing_mpiio.c"], check=True)
    run, _ = captured([*mpi.launch(2, binary), mode], tmp_path, mpi.variables())
    assert said in run.headline
    assert bool(said) == ("failed" in run.headline)
