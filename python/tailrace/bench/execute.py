"""Runs a kernel under mpiexec, in a process group of its own and for a limited time, and follows its records.

However the run ends, no process of it is left: mpiexec is asked to end its ranks, and what is still there after
GRACE_S is killed.
"""

import contextlib
import os
import resource
import select
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
    output: str  # what the program and mpiexec said, both streams unless they are kept apart
    used: resource.struct_rusage | None = None  # of a command that came to its end, with all that it waited for


def execute(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    time_limit_s: float,
    on_record: Callable[[Record], None],
    working_directory: Path | None = None,
    errors_apart: bool = False,
) -> Outcome:
    """Runs the command; a kernel writes the file `records` in `folder`, where it also runs if nothing else is said.

    time_limit_s 0: without a limit. errors_apart: stderr goes to the file `errors` in `folder`, not to `output`.
    """
    follower = Follower(folder / "records")
    said = folder / "output"
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(said.open("wb"))
        errors = stack.enter_context((folder / "errors").open("wb")) if errors_apart else subprocess.STDOUT
        stack.enter_context(_ending_as_exception())
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=working_directory or folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        watched = _Watched(process, follower, on_record)
        stopped = watched.wait(begin + time_limit_s if time_limit_s else float("inf"))
    for record in follower.news():
        on_record(record)
    text = said.read_text("utf-8", "replace")
    ended = watched.ended if watched.ended is not None else time.monotonic()
    return Outcome(process.returncode, stopped, ended - begin, follower.records, text, watched.used)


class _Watched:
    """A running command, whose end is noticed at once where the kernel tells it (pidfd), else within POLL_S."""

    def __init__(
        self, process: subprocess.Popen[bytes], follower: Follower, on_record: Callable[[Record], None]
    ) -> None:
        self.process, self.follower, self.on_record = process, follower, on_record
        self.ended: float | None = None
        self.used: resource.struct_rusage | None = None

    def wait(self, deadline: float) -> str:
        try:
            with _end_of(self.process.pid) as told:
                while (left := deadline - time.monotonic()) > 0:
                    told(min(left, POLL_S))
                    if self._over():
                        return ""
                    for record in self.follower.news():
                        self.on_record(record)
            return "time limit"
        except (KeyboardInterrupt, EndedError):
            return "interrupted"
        finally:
            end(self.process)

    def _over(self) -> bool:
        pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.ended, self.used = time.monotonic(), used
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return True


@contextlib.contextmanager
def _end_of(pid: int) -> Iterator[Callable[[float], object]]:
    """Gives what waits for the process for so many seconds at most."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        yield time.sleep
        return
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        yield lambda seconds: poller.poll(seconds * 1000)
    finally:
        os.close(descriptor)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and all that it started. Launchers put ranks into groups of their own, so a group is not all.

    Of one that has ended already nothing is found any more: its children are another's.
    """
    if process.returncode is not None:
        return
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
