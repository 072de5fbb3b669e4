"""What tests start ends with them (tests/processes.py, and the guardian of tests/conftest.py)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ..conftest import ROOT
from ..processes import started, until

# A test that has put something into the background and is killed.
ENDLESS = """
import subprocess, time
from pathlib import Path

def test_endless():
    subprocess.Popen(["setsid", "--fork", "sleep", "SLEEP"]).wait()
    Path("READY").touch()
    time.sleep(600)
"""


def sleeping(duration: str) -> list[str]:
    wanted = f"sleep\0{duration}\0".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += [process.name] if (process / "cmdline").read_bytes() == wanted else []
        except OSError:  # it has ended meanwhile
            continue
    return found


def test_what_a_killed_session_has_started_is_ended(tmp_path: Path) -> None:
    duration, ready = f"986.{os.getpid()}", tmp_path / "ready"
    text = ENDLESS.replace("SLEEP", duration).replace("READY", str(ready))
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_sessionstart\n")
    (tmp_path / "test_endless.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, tmp_path]
    with started(command, cwd=ROOT) as session:
        until(ready.exists, session)
        until(lambda: sleeping(duration), session)  # it is not executed yet when setsid ends
        session.send_signal(signal.SIGKILL)
        session.wait()
        until(lambda: not sleeping(duration))


def test_what_a_failing_test_has_started_is_ended() -> None:
    duration = f"985.{os.getpid()}"
    with (
        pytest.raises(AssertionError, match="half way"),
        started(["sh", "-c", f"sleep {duration} & wait"]),
    ):
        until(lambda: sleeping(duration))
        raise AssertionError("half way")
    until(lambda: not sleeping(duration))
