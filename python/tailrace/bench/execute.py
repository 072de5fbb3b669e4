"""Runs a kernel under mpiexec, in a process group of its own and for a limited time, and follows
its records.

However the run ends, no process of it is left: mpiexec is asked to end its ranks, and what is still
there after GRACE_S is killed; where we are killed ourselves, the guardian does the same.
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
from enum import Enum, auto
from pathlib import Path

from tailrace.bench import guardian
from tailrace.bench.records import Follower, Record, Records

GRACE_S = 5.0
POLL_S = 0.05
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(Exception):
    """We were asked to end (SIGTERM, SIGHUP)."""


class Stopped(Enum):
    """Why we ended a run before it came to its end."""

    TIME_LIMIT = auto()
    INTERRUPTED = auto()


@dataclass(frozen=True)
class Ending:
    """How a command ended. `status`: its own, negative for a signal; `stopped`: None where it ended
    by itself."""

    status: int
    stopped: Stopped | None
    elapsed_s: float
    records: Records
    output: str  # what the program and mpiexec said, both streams unless they are kept apart
    # of a command that came to its end, with all that it waited for
    used: resource.struct_rusage | None = None


def execute(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    time_limit_s: float,
    on_record: Callable[[Record], None],
    working_directory: Path | None = None,
    errors_apart: bool = False,
) -> Ending:
    """Runs the command; a kernel writes the file `records` in `folder`, where it also runs if
    nothing else is said.

    time_limit_s 0: without a limit. errors_apart: stderr goes to the file `errors` in `folder`, not
    to `output`.
    """
    follower = Follower(folder / "records")
    said = folder / "output"
    mark = guardian.mark()  # its start is not a part of the run
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(said.open("wb"))
        errors = (
            stack.enter_context((folder / "errors").open("wb"))
            if errors_apart
            else subprocess.STDOUT
        )
        asked = stack.enter_context(_ending_noted())
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            env=environment | mark,
            cwd=working_directory or folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        watched = _Watched(process, follower, on_record, asked)
        stopped = watched.wait(begin + time_limit_s if time_limit_s else float("inf"))
        if asked.to_end:  # while it ended by itself, or for its time
            stopped = Stopped.INTERRUPTED
    for record in follower.news():
        on_record(record)
    text = said.read_text("utf-8", "replace")
    ended = watched.ended if watched.ended is not None else time.monotonic()
    return Ending(process.returncode, stopped, ended - begin, follower.records, text, watched.used)


class _Asked:
    """Whether we were asked to end. An exception only while there is a process that is ended for
    it: in the midst of starting one, it would be lost, and run on."""

    def __init__(self) -> None:
        self.to_end = self.raises = False

    def __call__(self, number: int, frame: object) -> None:
        self.to_end = True
        if self.raises:
            raise EndedError

    def raise_from_now(self) -> None:
        self.raises = True
        if self.to_end:
            raise EndedError


class _Watched:
    """A running command, whose end is noticed at once where the kernel reports it (pidfd), else
    within POLL_S."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        follower: Follower,
        on_record: Callable[[Record], None],
        asked: _Asked,
    ) -> None:
        self.process, self.follower, self.on_record = process, follower, on_record
        self.asked = asked
        self.ended: float | None = None
        self.used: resource.struct_rusage | None = None

    def wait(self, deadline: float) -> Stopped | None:
        try:
            self.asked.raise_from_now()
            with _end_of(self.process.pid) as wait_for_end:
                while (left := deadline - time.monotonic()) > 0:
                    wait_for_end(min(left, POLL_S))
                    if self._over():
                        return None
                    for record in self.follower.news():
                        self.on_record(record)
            return Stopped.TIME_LIMIT
        except (KeyboardInterrupt, EndedError):
            return Stopped.INTERRUPTED
        finally:
            self.asked.raises = False
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
    """Ends the process and all that it started. Launchers put ranks into groups of their own, so a
    group is not all.

    The children of one that has ended already are no longer found: they have another parent.
    """
    if process.returncode is not None:
        return
    family = guardian.family([process.pid])
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    left = guardian.alive(family)
    guardian.send(left, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + GRACE_S
    while guardian.alive(left) and time.monotonic() < deadline:
        time.sleep(POLL_S)


@contextlib.contextmanager
def _ending_noted() -> Iterator[_Asked]:
    """SIGTERM and SIGHUP end us as Ctrl-C does: by way of `finally`. What is ignored, as by nohup,
    stays so."""
    asked = _Asked()
    heard = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, asked) for number in heard}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
