"""Time that a virtual machine's host takes is no sleep of the program's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

needs_host = pytest.mark.skipif(
    os.getuid() != 0 or " hypervisor" not in Path("/proc/cpuinfo").read_text(),
    reason="a file is mounted at /proc/stat of a virtual machine, as root",
)


def stat(steal: list[int], interrupts: int) -> str:
    """As /proc/stat, with so many ticks stolen of each processor; the first line is of all."""
    head = f"cpu  {10**12} 646 480914 902653 50321 0 11146 {sum(steal)} 0 0\n"
    cores = (f"cpu{i} 9 8 7 6 5 4 3 {ticks} 2 1\n" for i, ticks in enumerate(steal))
    return head + "".join(cores) + "intr 99" + " 7" * interrupts + "\nctxt 4\n"


@pytest.mark.parametrize(
    ("steal", "own"),
    [([0, 0, 0], 0), ([100, 20, 3, 7], 103), ([1] * 64, 2), ([5], 5), ([10**10, 1, 0], 10**10)],
)
@pytest.mark.parametrize("interrupts", [0, 5000])
def test_only_the_processors_that_the_thread_may_use_count(
    program, tmp_path, steal, own, interrupts
):
    """The thread may use 0 and 2."""
    (tmp_path / "stat").write_text(stat(steal, interrupts))
    command = [program("stolen"), tmp_path / "stat"]
    assert int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) == own


def test_a_file_of_another_form_says_nothing(program, tmp_path):
    for text in ("", "cpu", "nonsense\n", "cpu0\n", "cpu0 1 2\ncpu2", "x" * 5000, "cpu0 " * 900):
        (tmp_path / "stat").write_text(text)
        command = [program("stolen"), tmp_path / "stat"]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "0\n"


@needs_host
def test_a_thread_that_the_host_kept_from_running_did_not_sleep(program, capture, tmp_path):
    """It waits 50 ms, in which the host had one of its processors for 3 s."""
    (tmp_path / "stat").write_text("".join(f"cpu{i}{' 0' * 10}\n" for i in range(os.cpu_count())))
    path = program("steals")
    words = ["unshare", "-m", "sh", "-c", 'mount --bind stat /proc/stat && exec "$0"', path]
    done = capture(*words, TAILRACE_PROGRAM=str(path))
    assert done.returncode == 0, done.stderr
    told = {**dict(done.stream.notes), **done.stream.meta}
    begin, end = (int(told[key].split()[1]) for key in ("usage_begin", "usage_end"))
    assert 3e9 <= end - begin < 3.05e9
