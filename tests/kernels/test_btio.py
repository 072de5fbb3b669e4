"""btio: BT's cells and NAS BT-IO's files, by all its modes and through gridio."""

from __future__ import annotations

import math
import re
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.history import History, Parts
from tests.kernels.programs import fingerprint, good_run, read_records, run_plan

POINTS = 7  # divides by none of the numbers of cells
PLAN = """
    points 7
    steps 6
    every 2
    mode {mode}
    output solution
    path {{directory}}/solution
"""
DIFFUSION, COUPLING = 0.10, 0.01  # kernels/btio/solution.h


def dumps(path: Path) -> np.ndarray:
    """Of a raw file: dump, z, y, x, component."""
    return np.fromfile(path, "<f8").reshape(-1, POINTS, POINTS, POINTS, 5)


@pytest.fixture(scope="module")
def reference(one_solver, tmp_path_factory) -> np.ndarray:
    directory = tmp_path_factory.mktemp("btio")
    good_run(one_solver, "btio", 1, PLAN.format(mode="full"), directory)
    return dumps(directory / "solution")


def polynomial() -> np.ndarray:
    """kernels/btio/solution.c, exact()."""
    z, y, x = np.meshgrid(*[np.arange(POINTS) / (POINTS - 1)] * 3, indexing="ij")
    components = []
    for m in range(5):
        a, b, e = 1 + 0.5 * m, 0.25 * (m + 1), 0.125 * (5 - m)
        components.append(
            a
            + x * (b + x * (e - 0.3 * x))
            + y * (e + y * (0.2 - b * y))
            + z * (b - z * (e + 0.1 * z))
            + 0.05 * x * y * z
        )
    return np.stack(components, -1)


def step(u: np.ndarray, target: np.ndarray) -> np.ndarray:
    """kernels/btio/solution.h, one round; the boundary stays."""
    inner = (slice(1, -1),) * 3
    shifted = [np.roll(u, by, axis)[inner] for axis in (2, 1, 0) for by in (1, -1)]
    c = u[inner] + DIFFUSION * (
        (shifted[0] + shifted[1])
        + (shifted[2] + shifted[3])
        + (shifted[4] + shifted[5])
        - 6 * u[inner]
    )
    for m in range(5):
        v = c[..., (m + 1) % 5]
        c[..., m] += COUPLING * (target[inner][..., m] - c[..., m]) * (1 + v * v) / (2 + v * v)
    result = u.copy()
    result[inner] = c
    return result


def test_the_dumps_are_the_scheme(reference):
    assert reference.shape == (3, POINTS, POINTS, POINTS, 5)
    target = polynomial()
    u = 0.5 * target
    for axis in range(3):
        for side in (0, -1):
            place = [slice(None)] * 3
            place[axis] = side
            u[tuple(place)] = target[tuple(place)]
    for n in range(3):
        u = step(step(u, target), target)
        np.testing.assert_allclose(reference[n], u, rtol=1e-13)


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [1, 4, 9])
@pytest.mark.parametrize("mode", ["full", "simple"])
def test_both_ways_of_mpi_io_write_the_same_file(one_solver, tmp_path, reference, mode, ranks):
    run = good_run(one_solver, "btio", ranks, PLAN.format(mode=mode), tmp_path)
    np.testing.assert_array_equal(dumps(tmp_path / "solution"), reference)
    assert [record["ok"] for record in run.of("check")] == [True]
    for n in range(3):
        for direction in ("write", "read"):
            assert run.fingerprint("solution", "u", n, direction) == fingerprint(reference[n])
    assert run.of("stream", direction="write")[0]["bytes"] == reference.nbytes


@pytest.mark.parametrize("ranks", [1, 4, 9])
def test_a_file_per_rank_holds_its_cells(one_solver, tmp_path, reference, ranks):
    """Every element is in one file, where the record of its rank's blocks says."""
    run = good_run(one_solver, "btio", ranks, PLAN.format(mode="epio"), tmp_path)
    whole = np.full_like(reference, np.nan)
    for record in run.of("blocks", direction="write"):
        values = np.fromfile(record["path"], "<f8").reshape(3, -1)
        used = 0
        for start, count in blocks(record):
            place = (slice(None), *(slice(a, a + n) for a, n in zip(start, count, strict=True)))
            assert np.isnan(whole[place]).all()
            whole[place] = values[:, used : used + math.prod(count)].reshape(3, *count)
            used += math.prod(count)
        assert used == values.shape[1]
    np.testing.assert_array_equal(whole, reference)


def blocks(record: dict) -> list[tuple[list[int], list[int]]]:
    numbers = record["blocks"]
    return [(numbers[n : n + 4], numbers[n + 4 : n + 8]) for n in range(0, len(numbers), 8)]


def test_cells_lie_on_diagonals(one_solver, tmp_path):
    """Rank r's cell c is at x = r mod p + c, y = r / p - c, z = c, all modulo p (NPB, make_set)."""
    run = good_run(one_solver, "btio", 9, PLAN.format(mode="epio"), tmp_path)
    starts = [0, 3, 5]  # 7 points on 3 cells: 3, 2, 2
    for record in run.of("blocks", direction="write"):
        rank = record["rank"]
        for c, (start, count) in enumerate(blocks(record)):
            z, y, x = c, (rank // 3 - c) % 3, (rank % 3 + c) % 3
            assert start == [starts[z], starts[y], starts[x], 0]
            assert count == [[3, 2, 2][z], [3, 2, 2][y], [3, 2, 2][x], 5]


@pytest.mark.parametrize(
    ("method", "form"),
    [
        ("collective", "mpiio"),
        ("independent", "mpiio"),
        ("serial", "posix"),
        ("aggregated", "posix"),
    ],
)
def test_through_gridio_with_several_blocks_per_rank(one_solver, tmp_path, reference, method, form):
    plan = PLAN.format(mode="gridio") + f"\nmethod {method}\nformat {form}"
    run = good_run(one_solver, "btio", 4, plan, tmp_path)
    assert [record["ok"] for record in run.of("check")] == [True]
    history = History(tmp_path / "solution")
    for n in range(3):
        np.testing.assert_array_equal(history.read("u", n), reference[n])


def test_a_file_per_rank_through_gridio(one_solver, tmp_path, reference):
    good_run(
        one_solver,
        "btio",
        4,
        PLAN.format(mode="gridio") + "\nmethod file-per-rank\nformat posix",
        tmp_path,
    )
    parts = Parts(tmp_path / "solution")
    for n in range(3):
        np.testing.assert_array_equal(parts.read("u", n), reference[n])


@pytest.mark.sampled
@pytest.mark.parametrize("fault", ["lose_element=8", "swap_elements=8", "zero_element=8"])
@pytest.mark.parametrize("step", [0, 2])
def test_verification_notices_one_wrong_element_in_any_dump(one_solver, tmp_path, fault, step):
    plan = (
        PLAN.format(mode="gridio")
        + f"\nmethod independent\nformat dummy\nsetting fault_rank=3\nsetting {fault}"
    )
    run = run_plan(one_solver, "btio", 4, plan + f"\nsetting fault_step={step}", tmp_path)
    assert run.status == 1
    assert re.search(
        r"^btio: '.*/solution' does not hold what was dumped$", run.stderr, re.MULTILINE
    )
    assert [record["ok"] for record in run.of("check")] == [False]


def test_a_class_has_its_points(one_solver, tmp_path):
    plan = "class S\nsteps 5\nmode full\noutput solution\npath {directory}/solution"
    run = good_run(one_solver, "btio", 4, plan, tmp_path)
    assert run.of("variable", stream="solution")[0]["size"] == [12, 12, 12, 5]
    assert (tmp_path / "solution").stat().st_size == 12**3 * 5 * 8


@pytest.mark.parametrize(("ranks", "points"), [(2, 7), (3, 7), (6, 7), (9, 2)])
def test_ranks_that_cannot_share_it_are_told_so(one_solver, tmp_path, ranks, points):
    run = run_plan(
        one_solver,
        "btio",
        ranks,
        PLAN.format(mode="full").replace("points 7", f"points {points}"),
        tmp_path,
    )
    assert run.status == 2
    assert f"btio: {ranks} ranks cannot share {points} points as BT does" in run.stderr
    assert "\n\nhint: 1, 4, 9, 16" in run.stderr
    assert not (tmp_path / "solution").exists()


@pytest.mark.parametrize("mode", ["full", "simple", "epio", "gridio"])
def test_a_directory_that_is_not_there(one_solver, tmp_path, mode):
    plan = PLAN.format(mode=mode).replace("{directory}", "{directory}/absent")
    run = run_plan(one_solver, "btio", 4, plan, tmp_path)
    assert run.status == 1
    sentence = r"^btio: cannot open '.*/absent/solution': \w.*[^.]$"
    assert re.search(sentence, run.stderr, re.MULTILINE)
    assert run.stderr.count("btio:") == 1


# More than MPI's own segments of shared memory, which the limit holds for as well, ever have.
LARGEST_FILE_BYTES = 64 << 20


def small_files_only() -> None:
    """As on a full disk, a write beyond the limit fails: EFBIG, with its signal ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE_BYTES, LARGEST_FILE_BYTES))


@pytest.mark.parametrize("mode", ["full", "simple"])
def test_a_write_that_fails_ends_the_run_and_leaves_no_final_file(one_solver, tmp_path, mode):
    plan = f"points 64\nsteps 40\nevery 1\nwork 0\nmode {mode}\n"
    plan += f"output solution\npath {tmp_path}/solution\n"
    (tmp_path / "plan").write_text(plan)
    records = tmp_path / "records"
    run = one_solver.run(
        4,
        "--plan",
        tmp_path / "plan",
        "--records",
        records,
        program="btio",
        preexec_fn=small_files_only,
    )
    assert run.returncode == 1
    assert re.search(r"^btio: cannot write '.*/solution': ", run.stderr, re.MULTILINE)
    assert not (tmp_path / "solution").exists()
    steps = [record for record in read_records(records) if record["kind"] == "step"]
    assert len(steps) == LARGEST_FILE_BYTES // (64**3 * 5 * 8) == 6


def test_too_many_points_for_the_memory_are_one_sentence(one_solver, tmp_path):
    plan = tmp_path / "plan"
    plan.write_text(f"points 700\noutput solution\npath {tmp_path / 'solution'}\n")
    limit = 4 << 30  # bytes of address space; the two states of the cube take 27 GB
    run = one_solver.run(
        1,
        "--plan",
        plan,
        program="btio",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.returncode == 1
    assert "the memory of a rank does not hold its part of 700 points a side" in run.stderr
