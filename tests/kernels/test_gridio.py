"""gridio itself: what is written by one method reads back by all, in numpy too, at the edges of what is allowed."""

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.conftest import Solver
from tests.kernels.history import History

PAIRS = [("serial", "posix"), ("serial", "mpiio"), ("collective", "mpiio"), ("independent", "posix")]
PAIRS += [("independent", "mpiio")]


def expected(history: History, name: str, step: int) -> np.ndarray:
    """What tests/kernels/layer.c fills in: 10 × the element's number + 4 × step + the type's number."""
    variable = history.variables[name]
    kind = ["double", "single", "integer", "letter"].index(name.split("_")[0])
    value = np.arange(np.prod(variable.shape)) * 10 + (4 * step if variable.every_step else 0) + kind
    if name.startswith("letter"):
        value = np.array([bytes([ord("a") + v % 26]) for v in value])
    return value.reshape(variable.shape).astype(variable.dtype)


@pytest.mark.parametrize("pattern", ["rows", "but-1", "comb"])
def test_every_pair_writes_the_same_and_reads_what_the_others_wrote(solver, tmp_path, pattern):
    every_pair_agrees(solver, tmp_path, 7, pattern)


@pytest.mark.parametrize(
    ("size", "pattern"), [(7, "columns"), (7, "diagonal"), (1, "rows"), (1, "diagonal"), (6, "but-0")]
)
def test_sizes_that_do_not_divide_and_ranks_without_a_block(one_solver, tmp_path, size, pattern):
    every_pair_agrees(one_solver, tmp_path, size, pattern)


def every_pair_agrees(solver: Solver, tmp_path: Path, size: int, pattern: str) -> None:
    """`size` rows of five columns are shared out over three ranks in one of the patterns of layer.c."""
    contents = set()
    for method, form in PAIRS:
        path = tmp_path / f"{method}-{form}"
        run = solver.run(3, "write", method, form, path, size, pattern, program="layer")
        assert run.returncode == 0, run.stderr
        contents.add(path.read_bytes())
    assert len(contents) == 1

    for method, form in PAIRS:
        run = solver.run(2, "read", method, form, path, size, "diagonal", program="layer")
        assert run.returncode == 0, run.stderr

    history = History(path)
    assert history.steps == 2
    assert path.stat().st_size == history.expected_bytes()
    for name in history.variables:
        for step in range(2):
            np.testing.assert_array_equal(history.read(name, step), expected(history, name, step), err_msg=name)


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_offsets_beyond_four_gibibytes(solver, tmp_path, method, form):
    path = tmp_path / "far"
    run = solver.run(3, "far", method, form, path, program="layer")
    assert run.returncode == 0, run.stderr
    history = History(path)
    assert path.stat().st_size == history.expected_bytes() > 5 << 30
    assert history.read("bytes", history.steps - 1).tobytes() == b"ABC"


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_block_outside_the_variable_fails_on_all_ranks_and_leaves_no_file(solver, tmp_path, method, form):
    path = tmp_path / "bad"
    run = solver.run(3, "bad", method, form, path, program="layer")
    assert run.returncode == 0, run.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    ("place", "damage", "sentence"),
    [
        (0, b"nothing", "is no file that gridio wrote"),
        (7, b"9", "is no file that gridio wrote"),
        (0, None, "is no file that gridio wrote"),
        (b"float64", b"float46", "has no sense"),
        (b"float64 whole every_step 2 7", b"float64 whole every_step 9 7", "has no sense"),
        (b"2 7 5", b"2 -75", "has no sense"),
        (b"little", b"middle", "of the other byte order"),
        (b"\nend\n", b"\n\n\n\n\n", "cut off or damaged"),
    ],
)
@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_damaged_header_gets_a_sentence(one_solver: Solver, tmp_path, method, form, place, damage, sentence):
    path = tmp_path / "damaged"
    assert one_solver.run(1, "write", method, form, path, 7, "rows", program="layer").returncode == 0
    content = bytearray(path.read_bytes())
    start = content.index(place) if isinstance(place, bytes) else place
    if damage is None:
        del content[:]
    else:
        content[start : start + len(damage)] = damage
    path.write_bytes(content)

    run = one_solver.run(2, "read", method, form, path, 7, "rows", program="layer")
    assert run.returncode == 1
    assert sentence in run.stderr


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_file_that_ends_too_early_is_told_from_a_whole_one(solver, tmp_path, method, form):
    path = tmp_path / "short"
    assert solver.run(1, "write", method, form, path, 7, "rows", program="layer").returncode == 0
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 300)
    run = solver.run(2, "read", method, form, path, 7, "rows", program="layer")
    assert run.returncode == 1
    assert "layer:" in run.stderr
