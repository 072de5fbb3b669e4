"""mpi4py's own test suite gives the same result with capture as without, on both MPI families.

It calls almost every MPI procedure, with valid and with invalid arguments, from threads, with
spawned processes, with user-defined operations, attributes and error handlers. Its source is
fetched by pip, once per session.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, find_mpi

sys.path.insert(0, str(ROOT / "python"))

from tailrace.capture import build as capture_build

# The part of the suite that every test run has room for: messages, requests, files, windows,
# communicators.
PART = (
    r"test_(io|file|p2p_buf|request|rma|win|comm|cco_vec|grequest|threads|errhandler|attributes)\b"
)
VERSION = "4.1.2"
TIMEOUT_S = 3600

pytestmark = pytest.mark.slow


@dataclass
class Suite:
    mpi: object
    python: Path
    tests: Path
    libraries: Path

    def run(self, ranks: int, *options: str, **more: str) -> tuple[int, dict[str, str], str]:
        """Exit status, the summaries of all ranks, and the last lines."""
        command = self.mpi.launch(ranks, self.python, "test/main.py", "-v", *options)
        done = subprocess.run(
            command, cwd=self.tests, env=self.mpi.variables(**more), text=True, capture_output=True,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        text = done.stdout + done.stderr
        # All ranks write to one pipe, and each what stands in brackets by a write of its own: what
        # another writes may stand before it.
        summaries = sorted(re.findall(r"\((?:(?:failures|errors|skipped)=\d+(?:, )?)+\)", text))
        ran = sorted(re.findall(r"Ran (\d+) tests in", text))
        return (
            done.returncode,
            {"summaries": " ".join(summaries), "ran": " ".join(ran)},
            text[-3000:],
        )


def _source(folder: Path) -> Path:
    """The unpacked sdist."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        "mpi4py",
        "-d",
        folder,
        f"mpi4py=={VERSION}",
    ]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"pip cannot fetch mpi4py {VERSION}")
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return archive


# With Open MPI its wheels are tried in `make test` (test_mpi4py_wheels.py).
OPENMPI = pytest.param("openmpi", marks=pytest.mark.whole)


@pytest.fixture(scope="session", params=["mpich", OPENMPI])
def suite(request, tmp_path_factory):
    mpi = find_mpi(request.param)
    folder = tmp_path_factory.mktemp(f"mpi4py-{mpi.name}")
    archive = _source(folder)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    build = {"MPICC": mpi.mpicc, "MPI4PY_BUILD_MPICC": mpi.mpicc, "CFLAGS": "-O0 -g0"}
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", archive],
        env=mpi.variables(**build),
        check=True,
    )
    capture_build.build_core(folder / "libtailrace.so")
    capture_build.build_flavour(
        mpi.mpicc, folder / f"libtailrace-mpi-{capture_build.soname(mpi.mpicc)}.so"
    )
    return Suite(mpi, python, folder / f"mpi4py-{VERSION}", folder)


@pytest.mark.whole
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_suite_does_not_notice_capture(suite, ranks, tmp_path):
    _is_not_noticed(suite, ranks, tmp_path)


@pytest.mark.whole
def test_its_main_part_does_not_notice_capture(suite, tmp_path):
    _is_not_noticed(suite, 2, tmp_path, "-i", PART)


def _is_not_noticed(suite, ranks, folder, *options):
    plain_status, plain, _ = suite.run(ranks, *options)
    raw = folder / "raw"
    raw.mkdir(mode=0o700)
    preload = {"LD_PRELOAD": suite.libraries / "libtailrace.so", "TAILRACE_RAW": raw}
    status, captured, tail = suite.run(
        ranks, *options, **preload, TAILRACE_LIBRARIES=suite.libraries
    )
    assert plain["ran"], "the suite did not run to its end without capture"
    assert (status, captured) == (plain_status, plain), tail
    streams = list(raw.glob("*.stream"))
    assert len(streams) >= ranks and all(stream.stat().st_size > 4096 for stream in streams)
