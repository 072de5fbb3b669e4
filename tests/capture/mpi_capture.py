"""Builds capture for an MPI library and runs MPI programs under it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rawstream

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "python"))

from tailrace.capture import build as capture_build  # noqa: E402
from tailrace.capture import libraries  # noqa: E402
from tailrace.capture.mpi import Installation  # noqa: E402


@dataclass
class Run:
    """What ranks printed and recorded. `ranks[r]` is the main thread's stream of rank r."""

    returncode: int
    stdout: str
    stderr: str
    ranks: list[rawstream.Stream]
    streams: list[rawstream.Stream]

    def calls(self, rank: int, function: str) -> list[rawstream.Call]:
        return self.ranks[rank].of(function)

    def words(self, rank: int, function: str) -> list[list[int]]:
        return [call.words for call in self.calls(rank, function)]


@dataclass
class Workplace:
    """One MPI library with capture built for it, and a folder to compile programs into."""

    mpi: Any
    libraries: Path
    folder: Path

    def compile(self, name: str) -> Path:
        """tests/capture/programs/NAME, C or Fortran."""
        compiler = self.mpi.mpicc if name.endswith(".c") else self.mpi.mpifort
        binary = self.folder / name.replace(".", "-")
        if not binary.exists():
            subprocess.run([compiler, "-g", "-o", binary, HERE / "programs" / name], check=True)
        return binary

    def environment(self, raw: Path, **more: str) -> dict[str, str]:
        variables = self.mpi.variables(
            LD_PRELOAD=self.libraries / "libtailrace.so",
            TAILRACE_RAW=raw,
            **{"TAILRACE_LIBRARIES": self.libraries} | more,
        )
        return {
            key: value
            for key, value in variables.items()
            if not key.startswith(("PMI_", "PMIX_", "OMPI_COMM"))
        }

    def run(
        self,
        raw: Path,
        ranks: int,
        *command: str | Path,
        check: bool = True,
        timeout_s: int = 600,
        **more: str,
    ) -> Run:
        raw.mkdir(mode=0o700)
        done = subprocess.run(
            self.mpi.launch(ranks, *command),
            env=self.environment(raw, **more),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=self.folder,
        )
        assert not check or done.returncode == 0, done.stderr
        streams = rawstream.read_all(raw)
        mains = sorted(
            (each for each in streams if each.header["flags"] & 1),
            key=lambda each: int(each.meta["rank"]),
        )
        return Run(done.returncode, done.stdout, done.stderr, mains, streams)


def given(mpi: Any) -> Path | None:
    """Libraries that a developer has just built and names in a variable."""
    folder = os.environ.get(f"TAILRACE_TEST_LIBRARIES_{mpi.name.upper().replace('-', '_')}")
    return Path(folder) if folder else None


def built(mpi: Any) -> Path:
    """Capture for that MPI library, kept in the user's cache as `tailrace run` keeps it: compiled
    once, however many sessions of tests ask, and again where a source of it changes."""
    if (folder := given(mpi)) is not None:
        return folder
    soname = capture_build.soname(mpi.mpicc)
    return libraries.prepare([Installation(Path(mpi.mpicc), soname, None)], print)
