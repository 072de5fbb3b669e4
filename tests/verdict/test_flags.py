"""Writes that wait for the device each for itself, because a flag of the call says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

WRITES = """
import os, sys
file = os.open("journal", os.O_CREAT | os.O_WRONLY | getattr(os, sys.argv[1]))
for i in range(200):
    os.{}
"""
BY_FLAG = WRITES.format("pwritev(file, [bytes(512)], 512 * i, os.RWF_DSYNC)")
OPENED_SO = WRITES.format("pwrite(file, bytes(512), 512 * i)")


def ran(program: str, flag: str, folder: Path) -> Run:
    run, _ = captured([sys.executable, "-c", program, flag], folder, dict(os.environ))
    return without_processor_waits(run)


@pytest.mark.parametrize(
    ("program", "flag", "advised", "never"),
    [
        (BY_FLAG, "O_EXCL", "RWF_DSYNC", "open without"),
        (OPENED_SO, "O_DSYNC", "open without", "RWF_DSYNC"),
    ],
    ids=["by_flag", "opened_so"],
)
def test_the_advice_is_about_what_makes_them_wait(
    program: str, flag: str, advised: str, never: str, tmp_path: Path
):
    run = ran(program, flag, tmp_path)
    slow = [finding for finding in run.findings if finding.code == "slow_small_requests"]
    if not slow:
        pytest.skip(f"no device to wait for: {run.headline}")
    assert advised in slow[0].advice
    assert not any(never in finding.advice for finding in run.findings)
