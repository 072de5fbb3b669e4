"""Programs that use what is on no file system: where it takes much of the run, it is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

READS = """
import sys
for i in range(int(sys.argv[2])):
    with open(sys.argv[1], "rb", buffering=0) as file:
        file.read(4096)
"""


def headline(path: str, times: int, folder: Path) -> str:
    command = [sys.executable, "-S", "-E", "-c", READS, path, str(times)]
    return without_processor_waits(captured(command, folder, dict(os.environ))[0]).headline


@pytest.mark.parametrize(
    ("path", "what"),
    [("/proc/self/stat", "the kernel's"), ("/dev/urandom", "a device")],
)
def test_what_takes_most_of_the_run_is_named(path: str, what: str, tmp_path: Path):
    said = headline(path, 12_000, tmp_path)
    # An open, a read, a close and what Python looks up for each.
    assert f"calls on {path}, which is {what}, take" in said, said
    assert "I/O on storage does not hold this run back" in said, said


def test_memory_is_named(tmp_path: Path):
    path = Path(f"/dev/shm/tailrace-test-{os.getpid()}")
    if not os.access(path.parent, os.W_OK):
        pytest.skip("there is no /dev/shm to write to")
    path.write_bytes(bytes(4096))
    try:
        said = headline(str(path), 12_000, tmp_path)
    finally:
        path.unlink()
    assert f"calls on {path}, which is memory, take" in said, said


def test_a_few_are_not(tmp_path: Path):
    assert "which is" not in headline("/proc/self/stat", 3, tmp_path)
