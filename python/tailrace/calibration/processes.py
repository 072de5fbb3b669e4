"""Several processes that write to one file, in step or each as fast as it can."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tailrace.calibration.probe import Probe

PROGRAM = Path(__file__).with_name("in_step.py")
# More processes tell little more, and take long to start.
MOST = 8
LONGEST_S = 120.0
# Who goes on without waiting is without a processor for so long only where another has it.
QUIET_S = 1e-3


class Steps(NamedTuple):
    """What all of them took, and until all that was written had arrived; the mean of the calls
    that followed writes; `is_quiet`: the processes had their processors."""

    time_s: float
    arrived_s: float
    waited_s: float
    is_quiet: bool


def several() -> int:
    """As many as there are processors for, up to `MOST`."""
    return min(len(os.sched_getaffinity(0)), MOST)


def steps(
    probe: Probe, count: int, number: int, size: int, does: str, *, waits: bool = False
) -> Steps | None:
    """So many steps of `count` processes, each of which writes `size` bytes in each; `does` and
    `waits` are those of the program. None where a process failed, or all together take too
    long."""
    path = probe.new_path()
    file, _ = probe.create(path)
    os.fsync(file)
    os.close(file)
    with tempfile.TemporaryFile() as shared:
        shared.truncate(8 * count)
        words = (count, number, size, shared.fileno(), +waits, does)
        processes = [
            subprocess.Popen(
                [sys.executable, "-I", PROGRAM, path, str(rank), *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[shared.fileno()],
            )
            for rank in range(count)
        ]
        try:
            answers = [process.communicate(timeout=LONGEST_S)[0] for process in processes]
        except subprocess.TimeoutExpired:
            return None
        finally:
            for process in processes:
                process.kill()
                process.wait()
    if any(process.returncode for process in processes):
        return None
    told = [map(float, answer.split()) for answer in answers]
    took_s, arrived_s, pauses_s, waited_s = zip(*told, strict=True)
    return Steps(max(took_s), max(arrived_s), fmean(waited_s), max(pauses_s) < QUIET_S)
