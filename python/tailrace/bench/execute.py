"""Runs a kernel under mpiexec, in a process group of its own and for a limited time, and follows its records.

However the run ends, no process of it is left: mpiexec is asked to end its ranks, and what is still there after
GRACE_S is killed.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.bench.records import Follower, Record, Records

GRACE_S = 5.0
POLL_S = 0.05
ENDING = (signal.SIGTERM, signal.SIGHUP)


class EndedError(Exception):
    """We were asked to end (SIGTERM, SIGHUP)."""


@dataclass(frozen=True)
class Outcome:
    """`status`: of mpiexec, negative for a signal. `stopped`: "", "time limit" or "interrupted"."""

    status: int
    stopped: str
    elapsed_s: float
    records: Records
    output: str  # what the program and mpiexec said, both streams


def execute(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    time_limit_s: float,
    on_record: Callable[[Record], None],
    working_directory: Path | None = None,
) -> Outcome:
    """Runs the command; a kernel writes the file `records` in `folder`, where it also runs if nothing else is said.

    time_limit_s 0: without a limit.
    """
    follower = Follower(folder / "records")
    said = folder / "output"
    begin = time.monotonic()
    with _ending_as_exception(), said.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=working_directory or folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stopped = _wait(process, follower, begin + time_limit_s if time_limit_s else float("inf"), on_record)
    for record in follower.news():
        on_record(record)
    text = said.read_text("utf-8", "replace")
    return Outcome(process.returncode, stopped, time.monotonic() - begin, follower.records, text)


def _wait(
    process: subprocess.Popen[bytes], follower: Follower, deadline: float, on_record: Callable[[Record], None]
) -> str:
    try:
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
                return ""
            for record in follower.news():
                on_record(record)
        return "time limit"
    except (KeyboardInterrupt, EndedError):
        return "interrupted"
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and all that it started. Launchers put ranks into groups of their own, so a group is not all."""
    family = _family(process.pid)
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    left = _alive(family)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + GRACE_S
    while _alive(left) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _alive(family: dict[int, str]) -> dict[int, str]:
    return {pid: born for pid, born in family.items() if born and _born(pid) == born}


def _family(root: int) -> dict[int, str]:
    """The process and its descendants, each with when it was born: a number may be another process's by then."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found = {root}
    while more := {pid for pid, words in parents.items() if words and int(words[1]) in found} - found:
        found |= more
    return {pid: _born(pid) for pid in found}


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat after the name, which may hold anything: state, parent, …; empty where the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _born(pid: int) -> str:
    words = _stat(pid)
    return words[19] if words and words[0] != "Z" else ""


@contextlib.contextmanager
def _ending_as_exception() -> Iterator[None]:
    """SIGTERM and SIGHUP end us as Ctrl-C does: by way of `finally`."""

    def ended(_number: int, _frame: object) -> None:
        raise EndedError

    before = {number: signal.signal(number, ended) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
