"""gridio itself: what is written by one method reads back by all, in numpy too, at the edges of
what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.conftest import Solver
from tests.kernels.history import History, Parts

RAW = {"posix", "mpiio", "dummy"}
PAIRS = [
    ("serial", "posix"),
    ("collective", "mpiio"),
    ("independent", "posix"),
    ("independent", "mpiio"),
]
PAIRS += [("aggregated", "posix"), ("aggregated", "mpiio"), ("file-per-rank", "posix")]
PATTERNS = ["rows", "but-1", "columns", "diagonal", "comb"]


def expected(variable, step: int) -> np.ndarray:
    """What tests/kernels/layer.c fills in: 10 × the element's number + 4 × step + the type's
    number."""
    kind = ["double", "single", "integer", "letter"].index(variable.name.split("_")[0])
    shape = variable.whole or variable.shape
    value = np.arange(np.prod(shape)) * 10 + (4 * step if variable.every_step else 0) + kind
    if variable.name.startswith("letter"):
        value = np.array([bytes([ord("a") + v % 26]) for v in value])
    return value.reshape(shape).astype(variable.dtype)


def assert_as_expected(history: History | Parts, steps: int = 2) -> None:
    assert history.steps == steps
    assert len(history.variables) == 8
    for name, variable in history.variables.items():
        for step in range(steps):
            np.testing.assert_array_equal(
                history.read(name, step), expected(variable, step), err_msg=name
            )


# --- every method with every format ---

# The other libraries have no formats but the raw ones.
MATRIX = [
    *(("debian", 1, pattern) for pattern in ("rows", "columns", "diagonal", "comb")),
    *(("debian", ranks, pattern) for ranks in (2, 3, 4, 6, 9) for pattern in PATTERNS),
    ("mpich", 1, "rows"),
    ("mpich", 3, "rows"),
    ("mpich", 3, "comb"),
    pytest.param("mpich", 4, "diagonal", marks=pytest.mark.slow),
    *(pytest.param("openmpi", 4, pattern, marks=pytest.mark.slow) for pattern in PATTERNS),
]


@pytest.mark.sampled(apart=True)
@pytest.mark.parametrize(("library", "ranks", "pattern"), MATRIX)
def test_every_pair_writes_the_same_and_reads_it_back(
    request, build_kernels, tmp_path, library, ranks, pattern
):
    kernels = request.getfixturevalue("debian") if library == "debian" else build_kernels(library)
    matrix(kernels, tmp_path, ranks, 7, [pattern])


@pytest.mark.parametrize(("size", "ranks"), [(1, 1), (1, 4), (2, 3), (40, 3)])
def test_one_row_is_enough_and_many_are_not_too_many(debian, tmp_path, size, ranks):
    matrix(debian, tmp_path, ranks, size, ["rows", "diagonal"])


def matrix(kernels: Solver, directory: Path, ranks: int, size: int, patterns: list[str]) -> None:
    """The program itself reads back what it wrote, by each pair; the raw ones are then held against
    numpy."""
    for pattern in patterns:
        (directory / pattern).mkdir()
    run = kernels.run(ranks, "matrix", directory, size, *patterns, program="layer")
    assert run.returncode == 0, run.stderr
    for pattern in patterns:
        assert_same_contents(directory / pattern)


def assert_same_contents(directory: Path) -> None:
    raw = [path for path in directory.iterdir() if path.name.rpartition("-")[2] in RAW]
    files = [path for path in raw if path.is_file()]
    assert len(files) == 11  # all but collective posix
    assert len({path.read_bytes() for path in files}) == 1
    history = History(files[0])
    assert files[0].stat().st_size == history.expected_bytes()
    assert_as_expected(history)
    assert history.variables["double_whole"].dimensions == ("row", "-")
    assert history.variables["letter_tiled"].dimensions == ("row", "column")
    directories = [path for path in raw if path.is_dir()]
    assert len(directories) == 3
    for path in directories:
        assert_as_expected(Parts(path))
    assert not [path for path in directory.iterdir() if path.suffix == ".partial"]


@pytest.mark.parametrize(("method", "form"), PAIRS[:-1])
def test_other_ranks_in_other_blocks_read_what_was_written(one_solver, tmp_path, method, form):
    path = tmp_path / "written"
    assert (
        one_solver.run(
            3, "write", "collective", "mpiio", path, 7, "rows", program="layer"
        ).returncode
        == 0
    )
    run = one_solver.run(2, "read", method, form, path, 7, "comb", program="layer")
    assert run.returncode == 0, run.stderr


# --- settings ---

SETTINGS = [
    ("aggregated", "posix", ["writers=1"]),
    ("aggregated", "mpiio", ["writers=3", "buffer_bytes=64"]),
    ("aggregated", "posix", ["writers_per_node=2", "buffer_bytes=1"]),
    ("aggregated", "mpiio", ["writers=2", "whole_access=collective"]),
    ("collective", "mpiio", ["whole_access=independent", "whole_writers=all"]),
    ("independent", "mpiio", ["whole_access=collective"]),
    ("independent", "posix", ["whole_writers=all"]),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("method", "form", "settings"), SETTINGS)
@pytest.mark.parametrize("pattern", ["diagonal", "comb"])
def test_settings_change_nothing_of_what_is_written(
    debian, tmp_path, method, form, settings, pattern
):
    path = tmp_path / "written"
    for what in ("write", "read"):
        run = debian.run(4, what, method, form, path, 7, pattern, *settings, program="layer")
        assert run.returncode == 0, run.stderr
    assert_as_expected(History(path))


def test_all_ranks_files_have_what_is_not_tiled_where_that_is_set(one_solver, tmp_path):
    path = tmp_path / "written"
    words = ["file-per-rank", "posix", path, 7, "rows"]
    run = one_solver.run(2, "write", *words, "whole_writers=all", program="layer")
    assert run.returncode == 0, run.stderr
    assert [len(History(part).variables) for part in sorted(path.iterdir())] == [8, 8]
    assert one_solver.run(2, "write", *words, program="layer").returncode == 0
    assert [len(History(part).variables) for part in sorted(path.iterdir())] == [8, 4]


# --- offsets ---


@pytest.mark.sampled
@pytest.mark.parametrize(("method", "form"), [*PAIRS, ("serial", "mpiio")])
@pytest.mark.parametrize("library", ["mpich", "system-openmpi"])
def test_offsets_beyond_four_gibibytes(build_kernels, tmp_path, library, method, form):
    path = tmp_path / "far"
    run = build_kernels(library).run(
        1 if method == "file-per-rank" else 2, "far", method, form, path, program="layer"
    )
    assert run.returncode == 0, run.stderr
    far = path / "rank-000000.grid" if method == "file-per-rank" else path
    history = History(far)
    assert far.stat().st_size == history.expected_bytes() > 5 << 30
    assert b"AB".startswith(history.read("bytes", history.steps - 1).tobytes())


# --- wrong use ---


@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_a_block_outside_the_variable_fails_on_all_ranks_and_leaves_no_file(
    one_solver, tmp_path, method, form
):
    path = tmp_path / "bad"
    run = one_solver.run(2, "bad", method, form, path, program="layer")
    assert run.returncode == 0, run.stderr
    assert not path.exists()


REFUSED = [
    (
        ["telepathy", "posix"],
        [],
        "there is no method 'telepathy'; the methods are: serial, collective, independent, ",
    ),
    (
        ["serial", "parchment"],
        [],
        "there is no format 'parchment'; the formats are: posix, mpiio, ",
    ),
    (
        ["collective", "posix"],
        [],
        "the method 'collective' cannot write the format 'posix'; with the method go: mpiio",
    ),
    (
        ["collective", "posix"],
        [],
        "with the format go: serial, independent, aggregated, file-per-rank",
    ),
    (
        ["serial", "hdf5"],
        [],
        "this build has no format 'hdf5', as parallel HDF5 for its MPI library was not found",
    ),
    (
        ["serial", "posix"],
        ["depth=3"],
        "method 'serial' and format 'posix' have no setting 'depth'; they have: none",
    ),
    (
        ["aggregated", "posix"],
        ["depth=3"],
        "they have: writers writers_per_node buffer_bytes whole_access",
    ),
    (["aggregated", "posix"], ["writers"], "the setting 'writers' is not of the form name=value"),
    (
        ["aggregated", "posix"],
        ["writers=some"],
        "the setting writers is a number of at least 0, not 'some'",
    ),
    (["aggregated", "posix"], ["writers=0"], "the aggregated method has at least one writer"),
    (["aggregated", "posix"], ["writers=1", "writers_per_node=1"], "exclude each other"),
    (
        ["collective", "mpiio"],
        ["whole_access=now"],
        "whole_access is one of collective|independent, not 'now'",
    ),
    (
        ["independent", "posix"],
        ["whole_access=collective"],
        "the format 'posix' has no collective access",
    ),
    (
        ["serial", "dummy"],
        ["open_s=soon"],
        "the setting open_s is a number of seconds, at most 3600, not 'soon'",
    ),
]


@pytest.mark.parametrize(("pair", "settings", "sentence"), REFUSED)
def test_what_is_impossible_is_refused_in_one_sentence_that_names_the_possible(
    one_solver, tmp_path, pair, settings, sentence
):
    run = one_solver.run(
        2, "write", *pair, tmp_path / "refused", 7, "rows", *settings, program="layer"
    )
    assert run.returncode == 1
    assert run.stderr.count("layer: ") == 1
    assert sentence in run.stderr
    assert not (tmp_path / "refused").exists()


def test_pnetcdf_has_no_serial_master(debian, tmp_path):
    run = debian.run(
        2, "write", "serial", "pnetcdf", tmp_path / "refused", 7, "rows", program="layer"
    )
    assert run.returncode == 1
    assert "the method 'serial' cannot write the format 'pnetcdf'" in run.stderr
    assert "with the format go: collective, independent, aggregated" in run.stderr


# --- damaged files ---


@pytest.fixture(scope="module")
def written(one_solver: Solver, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("written") / "whole"
    assert (
        one_solver.run(1, "write", "serial", "posix", path, 7, "rows", program="layer").returncode
        == 0
    )
    return path.read_bytes()


@pytest.fixture(params=[("serial", "posix"), ("collective", "mpiio")], ids=["posix", "mpiio"])
def read(request: pytest.FixtureRequest, one_solver: Solver, tmp_path: Path) -> Callable:
    """Reads these bytes as a file, on two ranks."""

    def run(content: bytes):
        (tmp_path / "damaged").write_bytes(content)
        return one_solver.run(
            2, "read", *request.param, tmp_path / "damaged", 7, "rows", program="layer"
        )

    return run


DAMAGE = [
    (0, b"nothing", "is not a file that gridio wrote"),
    (7, b"9", "is not a file that gridio wrote"),
    (0, None, "is not a file that gridio wrote"),
    (b"float64", b"float46", "has no sense"),
    (b"float64 whole every_step 2 7", b"float64 whole every_step 9 7", "has no sense"),
    (b"2 7 5", b"2 -75", "has no sense"),
    (b"dimensions row -", b"dimensions row\n ", "has no sense"),
    (b"dimensions row -", b"part 9 9 9 9 9  ", "has no sense"),
    (b"dimensions row -", b"block 1 1 1 1 1 ", "has no sense"),
    (b"dimensions row -", b"ordinal -3      ", "has no sense"),
    (b"little", b"middle", "of the other byte order"),
    (b"\nend\n", b"\n\n\n\n\n", "cut off or damaged"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("place", "damage", "sentence"), DAMAGE)
def test_a_damaged_header_gets_a_sentence(written, read, place, damage, sentence):
    content = bytearray(written)
    start = content.index(place) if isinstance(place, bytes) else place
    if damage is None:
        del content[:]
    else:
        content[start : start + len(damage)] = damage
    run = read(bytes(content))
    assert run.returncode == 1
    assert sentence in run.stderr


def test_a_file_that_ends_too_early_is_told_from_a_whole_one(written, read):
    run = read(written[:-300])
    assert run.returncode == 1
    assert "ends too early" in run.stderr or "could not read" in run.stderr


def test_a_file_per_rank_is_read_by_as_many_ranks_and_in_the_same_blocks(one_solver, tmp_path):
    path = tmp_path / "parts"
    pair = ["file-per-rank", "posix", path, 7]
    assert one_solver.run(2, "write", *pair, "rows", program="layer").returncode == 0
    run = one_solver.run(3, "read", *pair, "rows", program="layer")
    assert run.returncode == 1
    assert "was written by 2 ranks, a file each, and cannot be read by 3" in run.stderr
    run = one_solver.run(2, "read", *pair, "columns", program="layer")
    assert run.returncode == 1
    assert "has other blocks of double_tiled for rank 0 than it asks for" in run.stderr
    run = one_solver.run(
        1, "read", "file-per-rank", "posix", tmp_path / "absent", 7, "rows", program="layer"
    )
    assert "is not a directory of ranks' files" in run.stderr


# --- what is there already ---


@pytest.mark.parametrize("first", ["serial", "file-per-rank"])
@pytest.mark.parametrize("then", ["serial", "file-per-rank"])
def test_a_result_replaces_the_one_before_whichever_kind_it_was(one_solver, tmp_path, first, then):
    path = tmp_path / "result"
    for method, size in ((first, 9), (then, 7)):
        run = one_solver.run(2, "write", method, "posix", path, size, "rows", program="layer")
        assert run.returncode == 0, run.stderr
    assert_as_expected(Parts(path) if then == "file-per-rank" else History(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["result"]


@pytest.mark.parametrize("method", ["serial", "file-per-rank"])
def test_a_directory_of_other_things_is_never_replaced(one_solver, tmp_path, method):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("one copy only")
    run = one_solver.run(
        2, "write", method, "posix", tmp_path / "precious", 7, "rows", program="layer"
    )
    assert run.returncode == 1
    assert "holds more than ranks' files, and is not replaced" in run.stderr
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "one copy only"
