"""Capture sends messages of its own only where every rank surely is captured: one that is not would
hang the others."""

from __future__ import annotations

import pytest

from tailrace.capture.environment import _reaches_all_ranks
from tailrace.capture.launch import read_command


@pytest.mark.parametrize(
    ("command", "aligned"),
    [
        ("mpiexec -n 4 ./model", False),  # one node: one clock
        ("mpiexec -hosts a,b -n 4 ./model", True),
        ("mpiexec -hosts a,b -n 1 ./coupler : -n 3 ./model", False),
        ("mpiexec -host a,b -x HOME -n 4 ./model", False),
        ("./model", False),
    ],
)
def test_clocks_are_compared_where_all_ranks_are_captured(monkeypatch, tmp_path, command, aligned):
    launcher = tmp_path / "mpiexec"
    launcher.touch(mode=0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name in ("SLURM_JOB_NUM_NODES", "PBS_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    words = command.split()
    assert _reaches_all_ranks(words, read_command(words)) is aligned
