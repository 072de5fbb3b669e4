"""What goes wrong: planted faults, full disks, places where nothing can be written, ranks that are
killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kernels.conftest import LONGEST_RUN_S, Solver
from tests.kernels.history import History, Parts
from tests.kernels.test_gridio import assert_as_expected
from tests.processes import started, until

PAIRS = [
    ("serial", "posix"),
    ("collective", "mpiio"),
    ("independent", "mpiio"),
    ("aggregated", "posix"),
]
PAIRS += [("file-per-rank", "posix")]
METHODS = ["serial", "collective", "independent", "aggregated", "file-per-rank"]


def open_result(path: Path) -> History | Parts:
    return Parts(path) if path.is_dir() else History(path)


@pytest.fixture(scope="session")
def kernels(build_kernels: Callable[[str], Solver]) -> Solver:
    """Open MPI, as it waits without taking the processor from others; with its own MPI-IO, which
    hides errors."""
    return build_kernels("system-openmpi")


# --- planted faults ---


@pytest.mark.sampled
@pytest.mark.parametrize("fault", ["lose_element=1", "swap_elements=1", "zero_element=1"])
@pytest.mark.parametrize("method", METHODS)
def test_a_writer_that_loses_swaps_or_zeroes_an_element_is_caught(kernels, tmp_path, method, fault):
    words = [method, "dummy", tmp_path / "spoilt", 7, "rows"]
    run = kernels.run(
        3, "write", *words, fault, "fault_step=1", "fault_variable=double_tiled", program="layer"
    )
    assert run.returncode == 0, run.stderr
    run = kernels.run(3, "read", *words, program="layer")
    assert run.returncode == 1
    assert "rank 0 reads something else in double\n" in run.stderr
    assert "in single" not in run.stderr
    with pytest.raises(AssertionError, match="double_tiled"):
        assert_as_expected(open_result(tmp_path / "spoilt"))


@pytest.mark.parametrize("method", METHODS)
def test_a_failed_write_is_told_on_all_ranks_and_leaves_the_steps_before(kernels, tmp_path, method):
    words = [method, "dummy", tmp_path / "failed", "7:5", "rows", "fail_write_step=3"]
    run = kernels.run(3, "write", *words, program="layer")
    assert run.returncode == 1
    assert run.stderr.count("layer: ") == 1
    assert re.search(r"layer: cannot write '.*/failed': rank 0 was told to fail", run.stderr)
    assert [entry.name for entry in tmp_path.iterdir()] == ["failed.partial"]
    assert_as_expected(open_result(tmp_path / "failed.partial"), steps=3)


@pytest.mark.sampled
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("method", ["collective", "independent", "file-per-rank"])
def test_a_rank_other_than_the_first_may_fail(kernels, tmp_path, method, rank):
    words = [
        method,
        "dummy",
        tmp_path / "failed",
        "7:5",
        "rows",
        "fail_write_step=1",
        f"fault_rank={rank}",
    ]
    run = kernels.run(3, "write", *words, program="layer")
    assert run.returncode == 1
    assert f"rank {rank} was told to fail" in run.stderr
    assert_as_expected(open_result(tmp_path / "failed.partial"), steps=1)


def test_the_dummy_takes_the_time_it_is_told_to(kernels, tmp_path):
    begin = time.monotonic()
    words = [
        "independent",
        "dummy",
        tmp_path / "slow",
        7,
        "rows",
        "open_s=0.5",
        "sync_s=0.25",
        "close_s=0.5",
    ]
    run = kernels.run(2, "write", *words, "delayed_rank=1", program="layer")
    assert run.returncode == 0, run.stderr
    assert time.monotonic() - begin >= 0.5 + 2 * 0.25 + 0.5


# --- where nothing can be written ---


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system in memory, of the given options; what cannot be had is a skip."""
    place = tmp_path / "mounted"
    place.mkdir()

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("only root can mount a small file system")
        return place

    yield mount
    subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


# 17 MB in the first step, of which 5 once; 12 MB more in the second
MANY_ROWS = 100_000
LIBRARY_PAIRS = [
    ("collective", "hdf5"),
    ("serial", "netcdf3"),
    ("collective", "netcdf4"),
    ("collective", "pnetcdf"),
]


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_on_a_full_disk_the_steps_before_it_was_full_are_whole(kernels, mount, method, form):
    disk = mount("size=24m")
    run = kernels.run(
        2, "write", method, form, disk / "history", MANY_ROWS, "rows", program="layer"
    )
    assert run.returncode == 1
    assert run.stderr.count("layer: ") == 1
    assert re.search(r"layer: cannot write '.*/history': ", run.stderr)
    assert [entry.name for entry in disk.iterdir()] == ["history.partial"]
    assert_as_expected(open_result(disk / "history.partial"), steps=1)


@pytest.mark.parametrize(("method", "form"), LIBRARY_PAIRS)
def test_on_a_full_disk_a_library_fails_with_a_sentence_too(debian, mount, method, form):
    disk = mount("size=24m")
    run = debian.run(2, "write", method, form, disk / "history", MANY_ROWS, "rows", program="layer")
    assert run.returncode != 0
    assert run.stderr.count("layer: ") == 1
    assert not (disk / "history").exists()


@pytest.mark.parametrize(("method", "form"), [*PAIRS, *LIBRARY_PAIRS])
def test_where_nothing_can_be_written(debian, mount, method, form):
    disk = mount("size=1m,ro")
    run = debian.run(3, "write", method, form, disk / "history", 7, "rows", program="layer")
    assert run.returncode == 1
    assert run.stderr.count("layer: ") == 1
    assert re.search(r"layer: cannot (open|create) '.*/history': \w.*", run.stderr)


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_directory_that_is_not_there(one_solver, tmp_path, method, form):
    run = one_solver.run(
        2, "write", method, form, tmp_path / "absent" / "history", 7, "rows", program="layer"
    )
    assert run.returncode == 1
    assert re.search(r"^layer: cannot open '.*/absent/history': \w.*$", run.stderr, re.MULTILINE)
    assert run.stderr.count("layer:") == 1


# --- runs that do not end ---


def ranks_of(path: Path) -> list[int]:
    """Process ids of the ranks that write this file."""
    wanted = os.fsencode(str(path))
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"/layer") and wanted in words:
            found.append(int(directory.name))
    return found


def steps_so_far(partial: Path) -> int:
    """-1 while the header is not whole yet."""
    files = sorted(partial.iterdir()) if partial.is_dir() else [partial]
    if not files or not all(
        file.exists() and b"\nend\n" in file.read_bytes()[:8192] for file in files
    ):
        return -1
    return min(History(file).steps for file in files)


def run_until_killed(
    kernels: Solver, path: Path, method: str, form: str, kill: Callable[[subprocess.Popen], None]
):
    """Three ranks write step after step until some are whole; then `kill` ends them. Gives what
    they left."""
    partial = path.with_suffix(".partial")
    words = ["write", method, form, path, "7:1000000", "columns"]
    command = kernels.mpi.launch(3, kernels.build / "layer", *words)
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    with started(command, env=kernels.mpi.variables(), **quiet) as run:
        until(lambda: partial.exists() and steps_so_far(partial) >= 3, run)
        kill(run)
        assert run.wait(LONGEST_RUN_S) != 0
    assert not path.exists()
    until(lambda: not ranks_of(path))  # the launcher may be gone a moment before its ranks are
    return open_result(partial)


def assert_first_steps(result: History | Parts) -> None:
    """A mark and its data may be newer than the others': what counts as whole is whole."""
    assert result.steps >= 3
    result.steps = 3
    assert_as_expected(result, steps=3)


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_rank_that_is_killed_leaves_whole_steps_and_no_final_file(
    kernels, tmp_path, method, form
):
    path = tmp_path / "history"
    result = run_until_killed(
        kernels, path, method, form, lambda _: os.kill(ranks_of(path)[-1], signal.SIGKILL)
    )
    assert_first_steps(result)


@pytest.mark.parametrize(("method", "form"), [("collective", "mpiio"), ("file-per-rank", "posix")])
def test_an_interrupted_run_leaves_whole_steps_and_the_next_one_replaces_them(
    kernels, tmp_path, method, form
):
    path = tmp_path / "history"
    assert_first_steps(
        run_until_killed(kernels, path, method, form, lambda run: run.send_signal(signal.SIGINT))
    )
    run = kernels.run(2, "write", method, form, path, 7, "rows", program="layer")
    assert run.returncode == 0, run.stderr
    assert_as_expected(open_result(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["history"]
