"""The command `testbed/testbed` as tests use it: beds in directories of their own, and what stands of them outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

COMMAND = ROOT / "testbed" / "testbed"


@dataclass
class Testbed:
    """One directory with beds."""

    __test__ = False
    directory: Path

    def command(self, *arguments: str | Path) -> list[str]:
        verb, *rest = map(str, arguments)
        return [sys.executable, str(COMMAND), verb, *rest, "--directory", str(self.directory)]

    def call(self, *arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=180, **options)

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
        self.done("down", *arguments)

    # --- what stands ---

    def processes(self) -> list[str]:
        """Command lines that name the directory: holders, servers and clients all do."""
        lines = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.directory) in line and int(process.name) != os.getpid():
                lines.append(f"{process.name} {line}")
        return lines

    def mounts(self) -> list[str]:
        return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.directory) in line]

    def nothing_is_left(self) -> bool:
        """What a killed command had just called may need a moment to see that its cell has gone."""
        end = time.monotonic() + 5
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        assert self.processes() == []
        assert self.mounts() == []
        assert not self.directory.exists()
        return True


def holders() -> dict[str, list[str]]:
    """Of each cell of all beds anywhere: the namespaces its holder has. Nothing of ours is in a cell otherwise."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"bed.holder" in (process / "cmdline").read_bytes():
                found[process.name] = [str((process / "ns" / kind).readlink()) for kind in ("net", "mnt", "pid")]
        except OSError:
            continue
    return found


def links_outside() -> str:
    """The machine's own network, which no bed may change."""
    return subprocess.run(["ip", "-oneline", "address"], capture_output=True, text=True, check=True).stdout
