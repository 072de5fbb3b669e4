"""What is said of renames, removals, directories, seeks, and of looking for the newest file: each
where it holds, and where it does not. Every run is built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, read, useful, write
from .test_verdict_why import MB, call, first


def test_who_only_writes_has_no_buffer_that_is_read_again():
    """Each of 30,000 seeks of a stream writes what its buffer holds, or reads anew."""
    seeks = call("fseek", SECOND, 30_000)
    wrote = write(MILLISECOND, b"/run/cells", MB, 30_000)
    advised = first(seeks, wrote).advice
    assert advised.startswith("write with pwrite instead of seeking") and "read" not in advised
    assert "reads its buffer again" in first(seeks, read(MILLISECOND, b"/run/cells", MB)).advice


def test_what_an_mpi_library_does_in_memory_names_no_calls_on_files():
    """Each of four ranks removes two files, and one of MPICH's in memory, in which it seeks."""
    own = [call(name, 0, 1, b"/dev/shm/mpich_shar_tmp1") for name in ("lseek", "unlink")]
    found = first(*own, call("unlink", SECOND, 2))
    assert found.finding == "8 removals of 500 ms each take 100 % of the I/O time"
    # who seeks in the files themselves
    sought = first(call("lseek", SECOND, 2), call("unlink", SECOND, 2))
    assert sought.finding.startswith("8 removals of 500 ms each and 8 seeks of 500 ms each")


def test_waits_for_asynchronous_requests_beside_a_slow_open_are_named():
    """Each of four ranks opens one file for 1 s, and waits 16 times for 12.5 ms."""
    waits = call("aio_suspend", SECOND // 5, 16, b"/run/field")
    found = first(call("open", SECOND, 1, b"/run/field"), waits, write(0, b"/run/field", MB, 16))
    said = "4 opens of 1.00 s each and 64 asynchronous waits of 12.5 ms each take 100 % of"
    assert said in found.finding and "other call" not in found.finding + found.evidence


@pytest.mark.parametrize(
    ("made", "advised"), [(1, "open once and keep open"), (15, "rename, remove or make files")]
)
def test_a_directory_that_is_made_for_many_files_is_not_to_be_made_less_often(
    made: int, advised: str
):
    """Each rank opens 15 files for 200 ms each, and makes one directory for that, or 15."""
    found = first(call("open", 3 * SECOND, 15), call("mkdir", SECOND, made))
    assert f"60 opens of 200 ms each and {4 * made} mkdirs of" in found.finding
    assert found.advice.startswith(advised)


@pytest.mark.parametrize(
    ("calls", "megabytes", "advised"),
    [
        (40, 8 * 40, "to remove a file takes the longer the more it holds"),
        (40, 1, "rename, remove or make files"),
        (4, 0, "to remove a file takes the longer the more it holds"),
    ],
)
def test_large_files_take_long_to_remove(calls: int, megabytes: int, advised: str):
    """Each rank removes files for 25 ms each, to which it wrote 8 MB each, or 25 kB; or a few that
    were there before the run. Four ranks: 160 and 16."""
    wrote = [write(MILLISECOND, b"/run/old", megabytes * MB, 400)] if megabytes else []
    found = first(call("unlink", SECOND, calls), *wrote)
    assert found.finding.startswith(f"{4 * calls} removals of")
    assert found.advice.startswith(advised)


@pytest.mark.parametrize(
    ("name", "advised"),
    [(b"/run/shared", "look up once, on one rank"), (b"/run/own.%d", "keep the answer instead")],
)
def test_nobody_can_be_told_of_what_each_rank_has_for_itself(name: bytes, advised: str):
    """Each of two ranks asks 40,000 times for the size of one file, or of its own."""
    names = [name % rank if b"%" in name else name for rank in range(2)]
    rows = [[useful(SECOND), call("stat", SECOND, 40_000, path)] for path in names]
    (found,) = judge(Evidence(Program(rows, *[2 * SECOND] * 2, SECOND).columns())).findings
    assert found.finding == "80,000 look-ups of 25.0 µs each take 100 % of the I/O time"
    assert found.advice.startswith(advised)


def test_who_looks_for_the_newest_file_can_keep_what_it_found():
    """300 checkpoints are looked up at each of 150 steps, by one program: it waits for none."""
    names = [call("stat", 10 * MILLISECOND, 150, b"/run/check.%d" % i) for i in range(300)]
    run = Program([[useful(SECOND), *names]], *[4 * SECOND] * 2, SECOND)
    (found,) = judge(Evidence(run.columns())).findings
    assert found.finding == "45,000 look-ups of 66.7 µs each take 100 % of the I/O time"
    assert "keep the answers" in found.advice and "inotify" not in found.advice
