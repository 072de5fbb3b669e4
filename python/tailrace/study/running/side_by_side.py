"""Blocks side by side on this machine: a process for each, which ends when we do."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tailrace.study.running import leftovers
from tailrace.study.running.jobs import Jobs

PR_SET_PDEATHSIG = 1
# Asked to end, a process ends its run and cleans up after it.
ENDS_WITHIN_S = 20.0
POLL_S = 0.05


@dataclass
class Processes(Jobs):
    """`_processes`: those under way, by block."""

    _processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def poll_s(self) -> float:
        return POLL_S

    def blocks(self, missing: Mapping[int, Callable[[], int]], look: Callable[[], None]) -> None:
        try:
            super().blocks(missing, look)
        finally:
            self.cancel()

    def check(self) -> None:
        """There is nothing that could be missing."""

    def cancel(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        leftovers.end(self.plan.identity)  # of one that was killed

    def _under_way(self, number: int) -> None:
        """What an earlier start left was ended before this one's first run."""

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        """Marked as all that belongs to the study is, and told when we end, however that comes."""
        mark = {leftovers.MARK: leftovers.of_block(self.plan.identity, number)}
        with self._file(number, "out").open("ab") as out:
            self._processes[number] = subprocess.Popen(
                self._words(number),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | mark,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        return self._processes[number]

    def _lives(self, number: int, job: subprocess.Popen[bytes]) -> bool:
        if job.poll() is None:
            return True
        self._processes.pop(number, None)
        return False

    def _name(self, job: subprocess.Popen[bytes]) -> str:
        return f"the process (status {job.returncode})"


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
