"""A cell: namespaces of processes and, as asked, of the network and of mounts, kept by one holder
process.

Ending the holder ends everything that runs in the cell, however it detached itself: that is the
kernel's doing, and why nothing is left behind. Where processes must not have a namespace of their
own, the holder adopts what loses its parent, and ends what descends from it before it ends itself;
should it be killed, what it left is known by a variable of its environment. A holder is known by
its number, its start and the machine's start, so that no other process is ever taken for it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bed import system
from bed.errors import TestbedError

SOURCES = Path(__file__).resolve().parent.parent
# In the environment of the holder and of what it starts: which record the holder signed.
MARK = "TAILRACE_TESTBED_CELL"
LONGEST_START_S, LONGEST_END_S = 120, 60
LOOKS_IN_VAIN = 3


@dataclass(frozen=True)
class Cell:
    """`record` is the file in which the holder says who it is. `node`: its hostname, where it is a
    node of the cluster; then its CLOCK_MONOTONIC is ahead by `clock_offset_s`."""

    record: Path
    net: bool = True
    mount: bool = True
    processes: bool = True
    node: str = ""
    clock_offset_s: int = 0

    def start(
        self,
        lock: int,
        binds: list[tuple[Path, str]] = (),
        memory: tuple[Path, int] | None = None,
        commands: list[list[str]] = (),
    ) -> None:
        """The holder keeps `lock` until it has signed, so that nobody looks for cells while one is
        being made."""
        settings = {
            "processes": self.processes,
            "commands": list(commands),
            "net": self.net,
            "mount": self.mount,
            "binds": [[str(source), target] for source, target in binds],
            "memory": [str(memory[0]), memory[1]] if memory else None,
            "node": self.node,
            "clock_offset_s": self.clock_offset_s,
        }
        command = [
            sys.executable,
            "-m",
            "bed.holder",
            str(self.record),
            str(lock),
            json.dumps(settings),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            MARK: str(self.record),
        }
        try:
            answer = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env=environment,
                pass_fds=[lock],
                timeout=LONGEST_START_S,
            )
        except subprocess.TimeoutExpired:
            raise TestbedError(
                f"{self.record.stem} did not start within {LONGEST_START_S} s"
            ) from None
        if answer.stdout != "ready\n":
            raise TestbedError(
                f"the namespaces of {self.record.stem} cannot be made: {_last_line(answer.stderr)}"
            )

    def pid(self) -> int | None:
        """Of the holder, where it lives."""
        try:
            pid, ticks, boot = self.record.read_text().split()
        except (OSError, ValueError):
            return None
        alive = boot == system.boot_id() and system.start_ticks(pid) == ticks
        return int(pid) if alive else None

    def inside(self, command: list[str]) -> list[str]:
        """The command that runs `command` in the cell. A cell without mounts of its own mounts for
        everybody."""
        pid = self.pid()
        if pid is None:
            raise TestbedError(f"{self.record.stem} has ended")
        spaces = ["--pid"] * self.processes + ["--net"] * self.net + ["--mount"] * self.mount
        spaces += ["--uts", "--ipc", "--time"] if self.node else []
        return ["nsenter", "--target", str(pid), *spaces, "--", *command]

    def run(self, command: list[str], **options: object) -> str:
        return system.run(self.inside(command), **options)

    def end(self) -> None:
        """Everything in it has ended when this returns."""
        pid = self.pid()
        if pid is not None:
            number = signal.SIGKILL if self.processes else signal.SIGTERM
            if not system.send(number, pid, self.record.read_text().split()[1], LONGEST_END_S):
                raise TestbedError(
                    f"process {pid} was asked to end and does not: something in it hangs in the"
                    " kernel"
                )
        if not self.processes:
            self._end_marked()
        self.record.unlink(missing_ok=True)

    def _end_marked(self) -> None:
        """What a holder that was killed could not end. Mostly nothing: looked for until there was
        none a few times, as what has just been forked can escape one look."""
        end = time.monotonic() + LONGEST_END_S
        looks_in_vain = 0
        while looks_in_vain < LOOKS_IN_VAIN:
            found = system.marked(MARK, str(self.record))
            for number, ticks in found:
                system.send(signal.SIGKILL, number, ticks, 1)
            looks_in_vain = 0 if found else looks_in_vain + 1
            if found and time.monotonic() > end:
                raise TestbedError(f"process {found[0][0]} was killed and does not end")
            time.sleep(0.02)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1]
