"""Predictions whose truth can be made: a device with one queue serves the calls of all ranks at a
known rate (tests/golden/slowfs.c). The same program is recorded on it and without it; what is
predicted for it from the run without is compared with what it took.

Without the device the ranks hardly touch each other, with it they queue: what is predicted is an
order that did not happen.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.predict.change import Change
from tailrace.predict.model import load
from tailrace.predict.whatif import Run

from ..conftest import Mpi, find_mpi
from ..golden.harness import compile_slowfs
from ..processes import LONGEST_WAIT_S
from .test_model import toml, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.measured("what a run takes on a slow device, against the prediction"),
]
RANKS, RATE = 4, 10_000_000
# How far the change of the run time may be off: sleeps end late, and two cores serve four ranks.
TOLERANCE = 0.1


@pytest.fixture(scope="module", params=("mpich", "openmpi"))
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path, Path]:
    mpi = find_mpi(request.param)
    directory = tmp_path_factory.mktemp(f"writers-{request.param}")
    source = Path(__file__).with_name("writers.c")
    subprocess.run([mpi.mpicc, "-O1", "-o", directory / "writers", source], check=True)
    return mpi, directory / "writers", compile_slowfs(directory)


def recorded(program: tuple[Mpi, Path, Path], way: str, folder: Path, slow: bool) -> Path:
    mpi, binary, slowfs = program
    files = folder / "files"
    files.mkdir(parents=True)
    device = {}
    if slow:
        (folder / "queue").write_bytes(bytes(8))
        device = {
            "LD_PRELOAD": slowfs,
            "SLOWFS_DIRECTORY": files,
            "SLOWFS_RATE": RATE,
            "SLOWFS_QUEUE": folder / "queue",
        }
    subprocess.run(
        [sys.executable, "-m", "tailrace", "run", "--no-report", "-o", str(folder / "trace"), "--"]
        + [str(word) for word in mpi.launch(RANKS, binary, way, files)],
        env=mpi.variables(**device),
        cwd=folder,
        capture_output=True,
        timeout=LONGEST_WAIT_S,
        check=True,
    )
    (trace,) = folder.rglob("*.tailrace")
    return trace


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["independent", "serial", "chain", "gathered"])
def test_a_slow_device_is_predicted_from_a_run_without_it(
    program: tuple[Mpi, Path, Path], way: str, tmp_path: Path
) -> None:
    model = load(written(tmp_path, toml(write_rate=f"{RATE}.0")))
    before = Run(recorded(program, way, tmp_path / "before", slow=False))
    after = Run(recorded(program, way, tmp_path / "after", slow=True))
    predicted_s = before.predict(Change(target=model)).predicted_s
    change_s = after.measured_s - before.measured_s
    assert change_s > 0.1
    assert predicted_s - before.measured_s == pytest.approx(change_s, rel=TOLERANCE)
    # the other way around: without the time in its files the slow run is the fast one, in which
    # ranks that poll take the processors from those that sleep
    again_s = after.predict(Change(io=1e6)).predicted_s
    assert after.measured_s - again_s == pytest.approx(change_s, rel=2 * TOLERANCE)
    # and its own run, whose calls take what the model says, stays as it was
    assert after.predict(Change(target=model)).predicted_s == pytest.approx(
        after.measured_s, rel=TOLERANCE / 2
    )
