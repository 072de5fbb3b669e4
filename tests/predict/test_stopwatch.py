"""Calls take what they take beside other work, too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.calibration import stopwatch
from tailrace.calibration.probe import timed

BUSY_S = 0.2
OTHER = "while True: pass"
ACCOUNTS = Path("/proc/thread-self/schedstat")


def computed() -> float:
    """Until the thread has had its processor for so long; the time by the clock, s."""
    begin, end = time.perf_counter(), time.thread_time() + BUSY_S
    while time.thread_time() < end:
        pass
    return time.perf_counter() - begin


@pytest.mark.skipif(not ACCOUNTS.exists(), reason="the kernel does not say who waited")
def test_what_a_process_waits_for_a_processor_is_no_calls_time() -> None:
    """Two processes on one processor: by the clock it takes twice as long."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    other = subprocess.Popen([sys.executable, "-c", OTHER])
    try:
        time.sleep(0.1)
        elapsed_s, taken_s = timed(computed)
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, processors)
    assert elapsed_s > 1.3 * BUSY_S
    assert taken_s == pytest.approx(BUSY_S, rel=0.15)


@pytest.mark.parametrize(
    ("waited_ns", "least_s", "most_s"),
    [
        (lambda: 0, 0.01, 1.0),
        # it waited just before it began: more than it took
        (iter((0, 10**12)).__next__, 0.01, 1.0),
        (iter((0, 9_000_000)).__next__, 0.001, 0.991),
    ],
)
def test_what_was_waited_is_part_of_what_was_taken(
    waited_ns: Callable[[], int], least_s: float, most_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopwatch, "waited_ns", waited_ns)
    _, taken_s = timed(time.sleep, 0.01)
    assert least_s <= taken_s <= most_s
