"""A cell: namespaces of processes and, as asked, of the network and of mounts, kept by one holder process.

Ending the holder ends everything that runs in the cell, however it detached itself: that is the kernel's doing, and why
nothing is left behind. Where processes must not have a namespace of their own, the holder adopts what loses its parent,
and they are found as its descendants. A holder is known by its number, its start and the machine's start, so that no
other process is ever taken for it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bed import system
from bed.errors import TestbedError

SOURCES = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cell:
    """`record` is the file in which the holder says who it is."""

    record: Path
    net: bool = True
    mount: bool = True
    processes: bool = True

    def start(
        self,
        lock: int,
        binds: list[tuple[Path, str]] = (),
        memory: tuple[Path, int] | None = None,
        commands: list[list[str]] = (),
    ) -> None:
        """The holder keeps `lock` until it has signed, so that nobody looks for cells while one is being made."""
        settings = {
            "processes": self.processes,
            "commands": list(commands),
            "net": self.net,
            "mount": self.mount,
            "binds": [[str(source), target] for source, target in binds],
            "memory": [str(memory[0]), memory[1]] if memory else None,
        }
        command = [sys.executable, "-m", "bed.holder", str(self.record), str(lock), json.dumps(settings)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            pass_fds=[lock],
            timeout=30,
        )
        if answer.stdout != "ready\n":
            raise TestbedError(f"The namespaces of {self.record.stem} cannot be made: {_last_line(answer.stderr)}")

    def pid(self) -> int | None:
        """Of the holder, where it lives."""
        try:
            pid, ticks, boot = self.record.read_text().split()
        except (OSError, ValueError):
            return None
        alive = boot == system.boot_id() and system.start_ticks(pid) == ticks
        return int(pid) if alive else None

    def inside(self, command: list[str]) -> list[str]:
        """The command that runs `command` in the cell. A cell without mounts of its own mounts for everybody."""
        pid = self.pid()
        if pid is None:
            raise TestbedError(f"{self.record.stem} has ended.")
        spaces = ["--pid"] * self.processes + ["--net"] * self.net + ["--mount"] * self.mount
        return ["nsenter", "--target", str(pid), *spaces, "--", *command]

    def run(self, command: list[str], **options: object) -> str:
        return system.run(self.inside(command), **options)

    def end(self) -> None:
        """Everything in it has ended when this returns."""
        pid = self.pid()
        if pid is not None:
            if not self.processes:
                _end_descendants(pid)
            _kill(pid, self.record.read_text().split()[1])
        self.record.unlink(missing_ok=True)


def _end_descendants(pid: int, timeout_s: float = 20) -> None:
    """Until there are none: those that were being started while we looked are seen the next time."""
    end = time.monotonic() + timeout_s
    while found := system.descendants(pid):
        for number, ticks in found:
            _kill(number, ticks)
        if time.monotonic() > end:
            raise TestbedError(f"Process {found[0][0]} was killed and does not end.")


def _kill(pid: int, ticks: str) -> None:
    """By a descriptor of the process: its number could become another's between look and kill."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if system.start_ticks(pid) == ticks:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if not select.select([descriptor], [], [], 20)[0]:
            raise TestbedError(f"Process {pid} was killed and does not end: something in it hangs in the kernel.")
    finally:
        os.close(descriptor)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing."])[-1]
