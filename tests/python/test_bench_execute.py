"""How a command of `bench` and `study` is started and ended."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tailrace.bench import execute, guardian
from tailrace.bench.execute import Ending, Stopped


def executed(folder: Path, *command: str) -> Ending:
    return execute.execute(list(command), dict(os.environ), folder, 60, lambda _record: None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_while_its_command_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Between fork and the first wait, where an exception would lose the process."""

    class Starting(subprocess.Popen):
        def __init__(self, *words: object, **options: object) -> None:
            super().__init__(*words, **options)
            os.kill(os.getpid(), number)

    guardian.mark()  # which starts a process of its own, once
    before = signal.getsignal(number)
    monkeypatch.setattr(execute.subprocess, "Popen", Starting)
    ending = executed(tmp_path, "sleep", "30")
    assert (ending.stopped, ending.status) == (Stopped.INTERRUPTED, -signal.SIGTERM)
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_as_by_nohup_ends_nothing(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ending = executed(tmp_path, "sh", "-c", "kill -HUP $PPID")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (ending.stopped, ending.status) == (None, 0)
