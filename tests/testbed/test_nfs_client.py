"""The NFS client of the project's own, under the compiler's sanitizers: its memory, and what is
undefined in C."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.testbed import test_contents
from tests.testbed.bed import Testbed
from tests.testbed.conftest import Mounted, require

pytestmark = pytest.mark.slow

SANITIZED = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"


@pytest.fixture
def sanitized(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> Mounted:
    require("nfs")
    monkeypatch.setenv("CFLAGS", SANITIZED)
    bed = testbed.up("nfs", "--mounts", "2", "--rate", "800mbit", "--client", "fuse")
    here, there = map(Path, bed["mounts"])
    return Mounted("nfs", here, there, {})


@pytest.mark.whole
def test_its_memory(testbed: Testbed, sanitized: Mounted) -> None:
    """A client that the sanitizers end leaves its mount dead, and its reason in the log."""
    (sanitized.here / "shared").touch()
    test_contents.in_ranks(test_contents.write_blocks, sanitized.here / "shared", 1000, 300)
    assert (sanitized.there / "shared").read_bytes() == test_contents.interleaved(1000, 300)
    (sanitized.here / "shared").unlink()
    for test in (
        test_contents.test_directories,
        test_contents.test_unlink_while_open,
        test_contents.test_a_rename_over_an_open_file,
    ):
        test(sanitized)
        subprocess.run(["find", sanitized.here, "-mindepth", "1", "-delete"], check=True)
    test_contents.test_random_operations_against_a_model(sanitized, 7)
    for reopen in (False, True):
        test_contents.test_readers_and_writers_of_one_file_at_once(sanitized, reopen)
    assert testbed.status("nfs")["state"] == "up"
    for log in (testbed.directory / "nfs" / "log").glob("client*.log"):
        assert log.read_text() == ""


# After this long without a word nfs-ganesha closes a connection.
IDLE_S = 300


@pytest.mark.whole
def test_a_mount_that_nobody_uses_stays(testbed: Testbed) -> None:
    require("nfs")
    mount = Path(testbed.up("nfs", "--client", "fuse")["mounts"][0])
    (mount / "file").write_text("before")
    time.sleep(IDLE_S + 20)
    assert (mount / "file").read_text() == "before"
