"""Runs a program that others wrote three times over the same inputs: alone, under strace, and under
capture. What it prints, writes and returns must be the same, and the bytes per file that Tailrace
reports must be those that strace saw."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tailrace
from tailrace.library import Run
from tests.conftest import without_processor_waits
from tests.real.system_calls import Moved, bytes_per_file

STRACE = ["strace", "-ff", "-y", "-s", "0", "-o"]
TRACED = (
    "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,sendfile,"
    "copy_file_range,clone,clone3,fork,vfork"
)
LIMIT_S = 600  # capture is compiled on first use


def needs(package: str, program: str) -> str:
    """The program's path, or a skip that says which of Debian's packages holds it."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}: apt-get install {package}")
    return found


@dataclass(frozen=True)
class Varying:
    """What a program varies by itself from run to run: `files` by pattern of their names, of which
    only the names are compared; and in all it writes and prints, `words`, regular expressions that
    are replaced by a mark before comparison."""

    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sorted_lines: bool = False

    def plain(self, text: bytes) -> bytes:
        for word in self.words:
            text = re.sub(word.encode(), b"<varies>", text)
        return b"\n".join(sorted(text.split(b"\n"))) if self.sorted_lines else text

    def compared(self, path: Path) -> bool:
        return not any(path.match(pattern) for pattern in self.files)


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: bytes
    stderr: bytes
    files: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class Program:
    """A command, what makes its inputs in an empty directory, and what varies by itself."""

    command: Sequence[Any]
    inputs: Callable[[Path], None]
    environment: dict[str, str] = field(default_factory=dict)
    varying: Varying = Varying()
    status: int = 0


@dataclass(frozen=True)
class Compared:
    """A run whose outcome is that of the program alone. `run` is its trace without the waits for
    processors of a busy machine; `moved` what strace saw; `said` Tailrace's own lines."""

    run: Run
    moved: Moved
    said: str
    headline: str

    def file(self, name: str) -> dict[str, Any]:
        rows = self.run.files[self.run.files["path"].str.endswith("/" + name)]
        assert len(rows) == 1, (name, list(self.run.files["path"]))
        return dict(rows.iloc[0])


class Bench:
    """One directory in which everything runs under the same path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"

    def alone(self, program: Program) -> Outcome:
        return self._outcome(program, [])

    def under_strace(self, program: Program) -> Moved:
        """strace stands where capture's library would: around each rank, not its launcher."""
        needs("strace", "strace")
        logs = self.folder / "strace"
        logs.mkdir(exist_ok=True)
        words = [*STRACE, str(logs / "calls"), "-e", f"trace={TRACED}"]
        self._outcome(program, words, inside=True)
        return bytes_per_file(logs, self.work)

    def captured(self, program: Program, *options: str) -> tuple[Outcome, Run]:
        trace = self.folder / "trace"
        words = [sys.executable, "-m", "tailrace", "run", "-o", str(trace), "--no-report"]
        outcome = self._outcome(program, [*words, *options, "--"])
        traces = list(trace.glob("*.tailrace"))
        assert len(traces) == 1, outcome.stderr.decode()
        return outcome, tailrace.open(traces[0])

    def _outcome(self, program: Program, before: list[str], inside: bool = False) -> Outcome:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        program.inputs(self.work)
        command = [str(word) for word in program.command]
        command = _around_ranks(command, before) if inside else [*before, *command]
        done = subprocess.run(
            command,
            cwd=self.work,
            env={**os.environ, **program.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
        )
        files = _digests(self.work, program.varying)
        return Outcome(done.returncode, program.varying.plain(done.stdout), done.stderr, files)


def _around_ranks(command: list[str], words: list[str]) -> list[str]:
    """`words` before the program that `mpiexec … -n N` starts, or before the whole command."""
    if "mpi" not in Path(command[0]).name or "-n" not in command:
        return [*words, *command]
    first = command.index("-n") + 2
    return [*command[:first], *words, *command[first:]]


def _digests(work: Path, varying: Varying) -> dict[str, str]:
    """Of every file below `work`, a digest of what does not vary by itself."""
    digests = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        if path.is_symlink():
            digests[name] = f"-> {path.readlink()}"
        elif path.is_file() and varying.compared(path):
            digests[name] = hashlib.sha256(varying.plain(path.read_bytes())).hexdigest()
        else:
            digests[name] = "directory" if path.is_dir() else "file"
    return digests


def compare(folder: Path, program: Program, *options: str) -> Compared:
    """Asserts that capture changed nothing, and returns what it recorded beside what strace saw."""
    bench = Bench(folder)
    plain = bench.alone(program)
    captured, run = bench.captured(program, *options)
    assert plain.status == program.status, plain.stderr.decode()
    assert captured.status == plain.status, captured.stderr.decode()
    assert captured.stdout == plain.stdout
    assert captured.files == plain.files
    said = _own_lines(plain, captured, program.varying)
    moved = bench.under_strace(program)
    shutil.rmtree(bench.work)
    return Compared(without_processor_waits(run), moved, said, run.headline)


def _own_lines(plain: Outcome, captured: Outcome, varying: Varying) -> str:
    """What Tailrace added on stderr, after everything that the program prints there."""
    expected = varying.plain(plain.stderr).rstrip(b"\n").split(b"\n")
    found = varying.plain(captured.stderr).split(b"\n")
    if varying.sorted_lines:
        rest = list(found)
        for line in filter(None, expected):
            assert line in rest, captured.stderr.decode()
            rest.remove(line)
        return b"\n".join(rest).decode()
    number = len(expected) if expected != [b""] else 0
    assert found[:number] == expected[:number], captured.stderr.decode()
    return b"\n".join(found[number:]).decode()


def assert_same_bytes(
    compared: Compared, random_names: Sequence[str] = (), outside: Sequence[str] = ()
) -> None:
    """Per file below the working directory: read and written as strace saw. `random_names`: regular
    expressions for the part of a name that the program draws anew in each run; what was moved under
    such names is compared in sum. `outside`: names of files that are used before MPI_Init alone,
    or are of another size in each run."""
    table = compared.run.files
    columns = (table["path"], table["bytes_read"], table["bytes_written"])
    reported = _sums(zip(*columns, strict=True), random_names)
    seen = _sums(((path, *moved) for path, moved in compared.moved.items()), random_names)
    seen = {path: moved for path, moved in seen.items() if Path(path).name not in outside}
    assert seen, "strace saw no file"
    assert {path: reported.get(path, (0, 0)) for path in seen} == seen


def _sums(
    rows: Iterable[tuple[str, int, int]], random_names: Sequence[str]
) -> dict[str, tuple[int, int]]:
    sums: dict[str, tuple[int, int]] = {}
    for path, read, written in rows:
        name = str(path)
        for pattern in random_names:
            name = re.sub(pattern, "<varies>", name)
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + int(read), before[1] + int(written))
    return sums
