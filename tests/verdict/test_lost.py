"""Calls that could not be recorded, for want of room: all is said of the others then."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

LOOK_UPS = [sys.executable, Path(__file__).parent / "planted.py", "wait_for_file"]
# Room for about a third of the program's calls, in KiB.
LIMITED = ["bash", "-c", 'ulimit -f 128; exec "$@"', "bash"]


def headline(command: list[str | Path], folder: Path) -> str:
    files = folder / "files"
    files.mkdir()
    return captured([*command, files], folder, dict(os.environ))[0].headline


def test_the_first_line_says_how_many_calls_are_missing(tmp_path: Path):
    said = headline([*LIMITED, *LOOK_UPS], tmp_path)
    lost = re.search(
        r"The trace is not complete: ([\d,]+) of (4\d,\d{3}) calls could not be recorded\. ", said
    )
    assert lost, said
    missing, whole = (int(number.replace(",", "")) for number in lost.groups())
    assert 0.2 * whole < missing < whole
    assert re.search(r"of this run( \(.*\))? as far as it was recorded", said), said


def test_of_a_complete_trace_nothing_is_said_to_be_missing(tmp_path: Path):
    said = headline(LOOK_UPS, tmp_path)
    assert "not complete" not in said
    assert "as far as" not in said
