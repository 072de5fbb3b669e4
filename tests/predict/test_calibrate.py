"""A directory is measured by one client, and by ranks on one node: what is written goes again, and
what is held out says whether the model is right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.bench.launcher import Launcher
from tailrace.calibration import several
from tailrace.capture.mpi import Installation
from tailrace.predict.model import load

from ..conftest import find_mpi
from ..processes import LONGEST_WAIT_S, started, until
from ..python.bench_runs import CACHE
from ..python.test_report import check_schema

TAILRACE = str(Path(sys.executable).with_name("tailrace"))


@pytest.mark.slow
def test_a_directory_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    target, model = tmp_path / "target", tmp_path / "model.toml"
    target.mkdir()
    (target / "mine").write_text("kept")
    command = [TAILRACE, "calibrate", target, "-o", model, "--budget", "2s", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)
    check_schema(document, "calibrate.json")
    assert document["model"] == model.read_text("utf-8")
    assert document["held_out"]["runs"] >= 12
    assert load(model).name == "target" and load(model).directory == str(target)
    assert load(model).bytes_per_s.write.value > 1e5
    # a disk's page cache fills pages itself
    assert not load(model).cache.whole_pages
    assert [path.name for path in target.iterdir()] == ["mine"]
    assert done.stderr.startswith("tailrace: ") and "were held out" in done.stderr


def test_asked_to_end_it_removes_its_files(tmp_path: Path) -> None:
    with started([TAILRACE, "calibrate", tmp_path, "--budget", "10m"]) as process:
        until(lambda: any(tmp_path.glob(".tailrace-calibrate-*/*")), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.write_text(""), "Not a directory"),
    ],
)
def test_what_cannot_be_measured_is_told(tmp_path: Path, make, sentence: str) -> None:
    place = tmp_path / "place"
    make(place)
    done = subprocess.run([TAILRACE, "calibrate", place], capture_output=True, text=True)
    assert done.returncode == 2
    assert sentence in done.stderr and "hint: give a directory" in done.stderr


def test_where_its_model_cannot_be_written_nothing_is_measured(tmp_path: Path) -> None:
    """Else that would be said after minutes, and what was measured be lost."""
    for output, told in ((tmp_path / "none" / "m.toml", "No such file"), (tmp_path, "directory")):
        command = [TAILRACE, "calibrate", tmp_path, "-o", output, "--budget", "10m"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT_S)
        assert done.returncode == 2 and told in done.stderr
        assert "cannot be written" in done.stderr and "hint: choose another place" in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_name_that_is_no_text_is_no_traceback(tmp_path: Path) -> None:
    """Models are UTF-8, so where it was measured is left out; the source has it as it is shown."""
    target = tmp_path / os.fsdecode(b"a\xff\n")
    target.mkdir()
    command = [TAILRACE, "calibrate", target, "--budget", "1s", "--json"]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "model.toml").write_text(json.loads(done.stdout)["model"])
    found = load(tmp_path / "model.toml")
    assert found.directory is None and "a\\xff\\x0a" in found.source


# --- several ranks ---

# The kernels of the tests of `tailrace bench`.
WITH_KERNELS = {**os.environ, "TAILRACE_CACHE": str(CACHE)}


def by_two_ranks(directory: Path, *options: str) -> list[str]:
    mpi = find_mpi("mpich")
    words = ["--ranks", "2", "--mpiexec", mpi.mpiexec, *options]
    return [TAILRACE, "calibrate", str(directory), *words]


@pytest.mark.whole
def test_two_ranks_of_a_node_tell_what_is_inside_it(tmp_path: Path) -> None:
    """It is compiled, and the directory is left as it was."""
    target, model = tmp_path / "target", tmp_path / "model.toml"
    target.mkdir()
    command = by_two_ranks(target, "-o", str(model), "--budget", "4s", "--json")
    done = subprocess.run(command, capture_output=True, text=True, env=WITH_KERNELS)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check_schema(document, "calibrate.json")
    assert (document["several"]["ranks"], document["several"]["nodes"]) == (2, 1)
    assert document["several"]["messages"]["runs"] >= 9
    assert document["several"]["files"] is None
    assert any("all ranks ran on one" in what for what in document["unknown"])
    network = load(model).network
    assert network and network.latency_s is None and network.node_bytes_per_s is None
    assert network.inside_latency_s and network.inside_latency_s.value < 1
    assert network.inside_bytes_per_s and network.inside_bytes_per_s.value > 1e6
    assert "then 2 ranks on 1 node" in load(model).source
    assert not any(target.iterdir())


@pytest.mark.whole
def test_ranks_that_are_stopped_leave_nothing(tmp_path: Path) -> None:
    with started(by_two_ranks(tmp_path, "--budget", "10s"), env=WITH_KERNELS) as process:
        until(lambda: any(tmp_path.glob(".tailrace-calibrate-*/several/records")), process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert not any(tmp_path.iterdir())


def test_of_srun_the_hint_names_the_way_and_the_mpi() -> None:
    """By another way ranks do not find each other, whatever they see."""
    mpi = Installation(Path("/opt/mpi/bin/mpicc"), "libmpi.so.40", None)
    found = several._hint(Launcher(("/usr/bin/srun",), mpi), "DIR")
    assert "all see DIR" in found and "MPI of /opt/mpi/bin" in found and "srun --mpi=list" in found
    assert "srun" not in several._hint(Launcher(("/usr/bin/mpiexec",), mpi), "DIR")


@pytest.mark.slow
def test_a_launcher_that_fails_is_told(tmp_path: Path) -> None:
    command = by_two_ranks(tmp_path, "--budget", "1s")
    command[-3] += " -no-such-option"
    done = subprocess.run(command, capture_output=True, text=True, env=WITH_KERNELS)
    assert done.returncode == 2
    assert "clients ended with status" in done.stderr
    assert "hint: the launcher has to start ranks on nodes that all see" in done.stderr
    assert not any(tmp_path.iterdir())
