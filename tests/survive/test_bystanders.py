"""Programs that are not what the user asked about behave under the preload as ever."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mpi
from tests.survive import harness

BYSTANDERS = {
    "ls": ["ls", "-la", "/usr/bin"],
    "bash": [
        "bash",
        "-c",
        "echo a | cat; (exit 3); echo $?; printf '%s\\n' {1..500} | sort -n | tail -1; exit 6",
    ],
    "sh": ["sh", "-c", "echo out; echo err >&2; exec sh -c 'exit 5'"],
    "find": ["find", "/usr/share/doc", "-maxdepth", "1", "-name", "a*"],
    "python": ["python3", "-c", "import os, sys; print(sorted(os.listdir('/'))); sys.exit(4)"],
    "absent": ["bash", "-c", "this-program-does-not-exist"],
}


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory, tailrace: list[str]) -> dict[str, str]:
    """The environment that `tailrace run` gives to its program, as the program sees it."""
    directory = tmp_path_factory.mktemp("environment")
    command = harness.captured(tailrace, directory / "run", ["env"])
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    pairs = (line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    settings = {
        key: value for key, value in pairs if key == "LD_PRELOAD" or key.startswith("TAILRACE_")
    }
    assert "libtailrace" in settings["LD_PRELOAD"]
    settings["TAILRACE_RAW"] = str(directory / "raw")
    (directory / "raw").mkdir()
    return settings


def not_killed(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess:
    """On a busy machine MPICH's launcher now and then dies of SIGPIPE, without capture too."""
    for _ in range(5):
        done = subprocess.run(command, env=variables, capture_output=True)
        if done.returncode != -signal.SIGPIPE:
            break
    return done


def compare(command: list[str], environment: dict[str, str], preload: dict[str, str]) -> None:
    bare, seen = (
        not_killed(command, variables) for variables in (environment, environment | preload)
    )
    assert (seen.returncode, seen.stdout, seen.stderr) == (
        bare.returncode,
        bare.stdout,
        bare.stderr,
    )


@pytest.mark.parametrize("name", BYSTANDERS)
def test_passed_through(name: str, preload: dict[str, str]) -> None:
    compare(BYSTANDERS[name], dict(os.environ), preload)
    assert not list(Path(preload["TAILRACE_RAW"]).iterdir()), "no rank, nothing recorded"


def test_launcher(mpi: Mpi, preload: dict[str, str]) -> None:
    compare([mpi.mpiexec, "--version"], mpi.variables(), preload)


def test_ranks_that_are_no_mpi_programs(mpi: Mpi, preload: dict[str, str]) -> None:
    compare(mpi.launch(2, "echo", "hello"), mpi.variables(), preload)


def test_existing_preload_is_kept(tmp_path: Path, tailrace: list[str]) -> None:
    """Other tools' preloads stay, after Tailrace's own."""
    other = harness.build_preload(tmp_path)
    command = harness.captured(tailrace, tmp_path / "run", ["env"])
    answer = subprocess.run(
        command, env=os.environ | {"LD_PRELOAD": str(other)}, capture_output=True, text=True
    )
    (line,) = [line for line in answer.stdout.splitlines() if line.startswith("LD_PRELOAD=")]
    assert line.split(":")[-1] == str(other) and "libtailrace" in line.split(":")[0]
