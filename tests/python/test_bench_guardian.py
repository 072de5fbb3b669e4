"""Nothing is left running: when `tailrace bench` or `tailrace study` is killed, what it started
ends within seconds, and nothing is written any more."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.bench import guardian, kernels, launcher

from ..conftest import Mpi, find_mpi
from .bench_runs import CACHE

ENDS_WITHIN_S = 5.0
LONG = ("--size", "small", "--set", "steps=1000000", "--method", "serial", "--format", "posix")
# Two ranks that write without end; each has put a copy of itself out of the tree of processes, and
# out of the session.
WRITER = """\
#!/bin/sh
write() { while :; do echo more >> "$1"; done; }
if [ "$2" = away ]; then write "$1.away"; fi
( setsid "$0" "$1/$$" away & )
write "$1/$$"
"""
STUDY = """\
schema = 1
name = "endless"
description = "Writes until it is ended."
repetitions = 1
[run]
command = ["{writer}", "{folder}"]
launcher = "{mpiexec}"
[factor.ranks]
levels = [2]
"""


def wait_until(what: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def processes_of(folder: Path) -> dict[int, str]:
    """The processes that name the folder in their command lines, or run in it."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if str(folder) in line or str(folder) in str((process / "cwd").readlink()):
                found[int(process.name)] = line
        except OSError:  # it has ended meanwhile, or is the kernel's own
            continue
    return found


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def kill_and_check(process: subprocess.Popen, folder: Path, started: Callable[[], bool]) -> None:
    try:
        assert wait_until(started, 120), process.poll()
        assert wait_until(lambda: size(folder) > 10_000, 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_until(lambda: not processes_of(folder), ENDS_WITHIN_S), processes_of(folder)
    finally:
        process.kill()
        process.wait()
        for pid in processes_of(folder):
            os.kill(pid, signal.SIGKILL)
    before = size(folder)
    time.sleep(0.5)
    assert size(folder) == before > 0


def variables(mpi: Mpi, folder: Path) -> dict[str, str]:
    """Everything that is started has a file or directory below the folder in its command line, its
    working directory or its scratch."""
    return mpi.variables(TAILRACE_CACHE=CACHE, TMPDIR=folder)


@pytest.mark.parametrize("name", ["system-openmpi", pytest.param("mpich", marks=pytest.mark.slow)])
def test_a_killed_bench_leaves_no_rank(
    name: str, tailrace: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = find_mpi(name)
    monkeypatch.setenv("TAILRACE_CACHE", str(CACHE))
    found = launcher.find(mpi.mpiexec)
    _ = kernels.existing(found.mpi) or kernels.build(found.mpi, print)
    words = ["bench", "roms", *LONG, "--ranks", "2", "--mpiexec", mpi.mpiexec, "--dir", tmp_path]
    process = subprocess.Popen(
        [*tailrace, *map(str, words)], cwd=tmp_path, env=variables(mpi, tmp_path)
    )
    kill_and_check(process, tmp_path, lambda: solvers(tmp_path) == 2)


def solvers(folder: Path) -> int:
    """How many there are of the run itself, not of what is prepared for it."""
    lines = processes_of(folder).values()
    words = ("bin/solver --plan", "run-1/plan")
    return sum(all(word in line for word in words) and "mpiexec" not in line for line in lines)


def test_a_killed_study_leaves_no_rank_and_nothing_that_ranks_have_put_away(
    mpi: Mpi, tailrace: list[str], tmp_path: Path
) -> None:
    writer, folder = tmp_path / "writer", tmp_path / "written"
    writer.write_text(WRITER)
    writer.chmod(0o755)
    folder.mkdir()
    study = tmp_path / "endless.toml"
    study.write_text(STUDY.format(writer=writer, folder=folder, mpiexec=mpi.mpiexec))
    process = subprocess.Popen(
        [*tailrace, "study", "run", str(study), "-o", str(tmp_path / "out")],
        cwd=tmp_path,
        env=variables(mpi, tmp_path),
    )
    kill_and_check(process, tmp_path, lambda: len(list(folder.glob("*.away"))) == 2)


def test_what_belongs_to_others_is_left_alone(tmp_path: Path) -> None:
    """Only an equal mark counts."""
    mine, other = (
        subprocess.Popen(["sleep", "60"], env={guardian.MARK: value}) for value in ("abc", "abcd")
    )
    try:
        guardian.end_all("abc")
        assert mine.wait(5) in (-signal.SIGTERM, -signal.SIGKILL)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_process_that_does_not_end_when_asked_is_killed() -> None:
    deaf = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"],
        env={**os.environ, guardian.MARK: "deaf"},
        stdout=subprocess.PIPE,
    )
    assert deaf.stdout is not None and deaf.stdout.readline() == b"ready\n"
    guardian.end_all("deaf")
    assert deaf.wait(5) == -signal.SIGKILL
    deaf.stdout.close()
