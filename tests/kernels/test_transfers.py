"""transfers: which bytes each call moves, and that every interface leaves the very same file."""

from __future__ import annotations

import re
import subprocess

import h5py
import numpy as np
import pytest

from tests.kernels.programs import fingerprint, good_run, run_plan

PLAN = """
    file_bytes 10012
    transfer_bytes 512
    block_bytes 64
    iterations 2
    {more}
    output any
    path {{directory}}/file
"""
ELEMENTS = 2503


def contents(iteration: int) -> np.ndarray:
    """kernels/transfers/main.c, value_at()."""
    with np.errstate(over="ignore"):
        x = np.arange(ELEMENTS, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            iteration
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(31))).astype(np.uint32).view(np.int32)


@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "more", ["pattern contiguous", "pattern interleaved", "access independent"]
)
def test_every_interface_leaves_the_same_bytes(one_solver, tmp_path, more, ranks):
    run = good_run(one_solver, "transfers", ranks, PLAN.format(more=more), tmp_path)
    expected = contents(iteration=1)
    for name in ("posix", "mpiio"):
        np.testing.assert_array_equal(np.fromfile(tmp_path / f"file.{name}", "<i4"), expected)
        for iteration in range(2):
            for direction in ("write", "read"):
                assert run.fingerprint(name, "data", iteration, direction) == fingerprint(
                    contents(iteration)
                )
    assert all(record["ok"] for record in run.of("check"))
    assert len(run.of("check")) == len(run.of("stream", direction="write"))
    assert all(record["bytes"] == 10012 for record in run.of("step"))
    assert list(tmp_path.glob("*.partial")) == []


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("ranks", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
@pytest.mark.parametrize(
    "more", ["pattern contiguous", "pattern interleaved", "access independent"]
)
@pytest.mark.parametrize("setting", ["", "setting chunk=block", "setting alignment_bytes=4096"])
def test_hdf5_leaves_one_data_set(debian, tmp_path, more, setting, ranks):
    plan = PLAN.format(more=f"{more}\ninterfaces hdf5") + setting
    run = good_run(debian, "transfers", ranks, plan, tmp_path)
    with h5py.File(tmp_path / "file.h5") as file:
        assert list(file) == ["data"]
        np.testing.assert_array_equal(file["data"], contents(iteration=1))
        assert file["data"].chunks == ((16,) if "chunk" in setting else None)
        offset = file["data"].id.get_offset()
    assert "alignment" not in setting or offset % 4096 == 0
    assert [record["stream"] for record in run.of("check")] == ["hdf5"]


def calls(one_solver, ranks: int, pattern: str, *sizes: int) -> tuple[list[list[int]], int]:
    words = [one_solver.build / "pattern", str(ranks), pattern, *map(str, sizes)]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [list(map(int, line.split())) for line in lines[:-1]], int(lines[-1].split()[1])


SIZES = [
    (10012, 512, 64),
    (4096, 512, 64),
    (4, 4, 4),
    (100, 1024, 1024),
    (12, 8, 4),
    (65536, 1024, 128),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_interleaved_blocks_belong_to_the_ranks_in_turn(one_solver, ranks, sizes):
    file_bytes, transfer_bytes, block_bytes = sizes
    pieces, count = calls(one_solver, ranks, "interleaved", *sizes)
    whole = [
        (start, min(block_bytes, file_bytes - start)) for start in range(0, file_bytes, block_bytes)
    ]
    assert sorted((start, bytes_) for _, _, start, bytes_ in pieces) == whole
    for rank, call, start, _ in pieces:
        number = start // block_bytes
        assert rank == number % ranks
        assert call == number // ranks // (transfer_bytes // block_bytes) < count


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_contiguous_parts_follow_one_another(one_solver, ranks, sizes):
    file_bytes, transfer_bytes, _ = sizes
    pieces, count = calls(one_solver, ranks, "contiguous", *sizes)
    ends, at = [0] * ranks, 0
    for rank, call, start, bytes_ in pieces:  # printed rank after rank, call after call
        assert start == at
        assert 0 < bytes_ <= transfer_bytes
        assert call < count
        at += bytes_
        ends[rank] += bytes_
    assert at == file_bytes
    assert max(ends) - min(ends) <= 4


def test_without_fingerprints_nothing_is_claimed(one_solver, tmp_path):
    run = good_run(one_solver, "transfers", 2, PLAN.format(more="fingerprints no"), tmp_path)
    assert run.of("fingerprint") == run.of("check") == []
    assert len(run.of("step", stream="posix", direction="write")) == 2


def test_a_directory_that_is_not_there(one_solver, tmp_path):
    for name, suffix in (("posix", "posix"), ("mpiio", "mpiio")):
        plan = PLAN.format(more=f"interfaces {name}").replace("{directory}", "{directory}/absent")
        run = run_plan(one_solver, "transfers", 3, plan, tmp_path)
        assert run.status == 1
        assert re.search(
            rf"^transfers: cannot open '.*/absent/file\.{suffix}': \w.*[^.]$",
            run.stderr,
            re.MULTILINE,
        )


WRONG = [
    ("transfer_bytes 100", "must be a multiple of block_bytes"),
    ("interfaces posix telepathy", "must be some of posix, mpiio"),
    ("operations read", "'operations' must be one of write|write read, not 'read'"),
    ("file_bytes 10", "must be multiples of 4"),
]


@pytest.mark.parametrize(("line", "sentence"), WRONG)
def test_wrong_plans_are_refused(one_solver, tmp_path, line, sentence):
    key = line.split()[0]
    plan = "\n".join(row for row in PLAN.format(more="").splitlines() if row.split()[:1] != [key])
    run = run_plan(one_solver, "transfers", 2, line + "\n" + plan, tmp_path)
    assert run.status == 2
    assert sentence in run.stderr
