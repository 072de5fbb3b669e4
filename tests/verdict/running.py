"""Programs that really run under capture."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import tailrace
from tailrace.library import Run
from tests.processes import LONGEST_WAIT_S

# Of programs that lack something here.
NOT_OFFERED = 77


def captured(
    command: Sequence[str | Path],
    folder: Path,
    environment: dict[str, str],
    any_status: bool = False,
) -> tuple[Run, str]:
    """The run of the command in the folder, and what it printed. It has to succeed, where not any
    status will do."""
    words = [sys.executable, "-m", "tailrace", "run", "--no-report", "-o", folder / "trace", "--"]
    done = subprocess.run(
        [*map(str, [*words, *command])],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
    )
    if done.returncode == NOT_OFFERED:
        pytest.skip(f"not offered here: {done.stderr}")
    assert any_status or done.returncode == 0, done.stderr
    (trace,) = (folder / "trace").glob("*.tailrace")
    return tailrace.open(trace), done.stdout
