"""The command `testbed/testbed` as tests use it: beds in directories of their own, and what stands
of them outside."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT

COMMAND = ROOT / "testbed" / "testbed"


@dataclass
class Testbed:
    """One directory with beds."""

    __test__ = False
    directory: Path
    # of processes: those that this bed's holders were seen to have
    namespaces: set[str] = field(default_factory=set)

    def command(self, *arguments: str | Path) -> list[str]:
        verb, *rest = map(str, arguments)
        return [sys.executable, str(COMMAND), verb, *rest, "--directory", str(self.directory)]

    def call(self, *arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=600, **options
        )

    def done(self, *arguments: str | Path) -> str:
        answer = self.call(*arguments)
        assert answer.returncode == 0, answer.stderr + answer.stdout
        return answer.stdout

    def up(self, name: str, *options: str) -> dict:
        """The bed as JSON has it."""
        return json.loads(self.done("up", name, "--json", *options))["beds"][0]

    def status(self, name: str) -> dict:
        return json.loads(self.call("status", name, "--json").stdout)["beds"][0]

    def down(self, *arguments: str) -> None:
        self.note_namespaces()
        self.done("down", *arguments)

    # --- what stands ---

    def note_namespaces(self) -> None:
        """So that `processes` finds what runs in them after their holders' end, whatever it calls
        itself."""
        ours = namespace_of(Path("/proc/self"))
        holders = [
            process
            for process, line in running()
            if "bed.holder" in line and str(self.directory) in line
        ]
        self.namespaces |= {namespace_of(process) for process in holders} - {ours, None}

    def processes(self) -> list[str]:
        """Those that name the directory, or are in a namespace of the bed's."""
        found = []
        for process, line in running():
            named = str(self.directory) in line and int(process.name) != os.getpid()
            if named or namespace_of(process) in self.namespaces:
                found.append(f"{process.name} {line}")
        return found

    def mounts(self) -> list[str]:
        return [
            line
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if str(self.directory) in line
        ]

    def nothing_is_left(self) -> bool:
        """What a killed command had just called may need a moment to see that its cell has gone."""
        end = time.monotonic() + 30
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        assert self.processes() == []
        assert self.mounts() == []
        assert not self.directory.exists()
        return True


def running() -> list[tuple[Path, str]]:
    """Every process's directory in /proc and its command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append(
                (
                    process,
                    (process / "cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode(errors="replace"),
                )
            )
    return found


def namespace_of(process: Path) -> str | None:
    with contextlib.suppress(OSError):
        return str((process / "ns" / "pid").readlink())
    return None


def links_outside() -> str:
    """The machine's own network, which no bed may change."""
    return subprocess.run(
        ["ip", "-oneline", "address"], capture_output=True, text=True, check=True
    ).stdout
