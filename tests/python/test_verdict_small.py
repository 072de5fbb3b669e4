"""Small requests among others: large ones in the same file, quick ones of other ranks, and bytes
that are moved many times by them. Runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, read, useful, write
from .test_verdict_why import MB, RANKS, first

OUT = b"/run/out"


def test_large_writes_are_in_no_average_with_small_ones():
    """80,000 writes of 80 B in 0.9 s, and 20 of 1 MB in 0.1 s: 330 B on average, which is none."""
    small = write(9 * SECOND // 10, OUT, 20_000 * 80, 20_000)
    found = first(small, write(SECOND // 10, OUT, 5 * MB, 5))
    assert found.finding == (
        "80,000 small writes of less than 64 KiB each take 90.0 % of the I/O time"
    )
    header = first(small, write(SECOND // 100, OUT, 100_000, 1))  # a sixteenth of the bytes
    assert header.finding.startswith("80,004 small writes of 85 B on average")


@pytest.mark.parametrize(
    ("calls", "said", "advised"),
    [
        (read(SECOND, OUT, 0, 100_000), "400,000 reads that find nothing take", "inotify"),
        (write(SECOND, OUT, 0, 100_000), "400,000 writes of nothing take", "leave out"),
        (read(SECOND, OUT, 99_999, 100_000), "400,000 small reads of 1 B", "read larger pieces"),
        (write(SECOND, OUT, 100_000, 100_000), "400,000 small writes of 1 B", "gather in memory"),
    ],
)
def test_there_is_nothing_to_gather_where_nothing_is_moved(calls, said, advised):
    found = first(calls)
    assert found.finding.startswith(said)
    assert advised in found.advice


def synchronous(quick_ns: int) -> Finding:
    """Two of four ranks write 1,000 times 4 kB in a second, and wait for the device; the others
    take `quick_ns`."""
    rows = []
    for rank in range(RANKS):
        length = SECOND if rank < 2 else quick_ns
        wrote = write(length, b"/run/out.%d" % rank, 4_000_000, 1000)
        rows.append([useful(3 * SECOND - length), wrote])
    end = 3 * SECOND
    found = judge(Evidence(Program(rows, end, end, 2 * SECOND).columns())).findings
    return next(finding for finding in found if finding.code == "slow_small_requests")


def test_requests_that_wait_are_told_from_those_that_do_not():
    waiting = "writes of 4.00 kB on average, 1.00 ms each: so small, they wait for a device or a"
    assert synchronous(quick_ns=SECOND // 100).finding == f"2,000 {waiting} server"
    assert synchronous(quick_ns=SECOND).finding == f"4,000 {waiting} server"


def beside_a_large_one(large_ms: int) -> dict[str, str]:
    """Findings of a rank that reads 900 times 500 B in 1.8 s, and 480 MB of the same file at once
    in so long."""
    small = read(1800 * MILLISECOND, OUT, 450_000, 900)
    row = [useful(SECOND), small, read(large_ms * MILLISECOND, OUT, 480 * MB, 1)]
    end = sum(step.length_ns for step in row)
    columns = Program([row], end, end, SECOND).columns()
    return {found.code: found.finding for found in judge(Evidence(columns)).findings}


def test_small_requests_do_not_wait_for_what_a_large_one_beside_them_takes():
    """2 ms each; and where the large one takes longer than all of them they are not the cause."""
    found = beside_a_large_one(large_ms=200)["slow_small_requests"]
    said = "900 small reads of less than 64 KiB each, 2.00 ms each: so small, they wait"
    assert found.startswith(said)
    assert not {"slow_small_requests", "small_requests"} & set(beside_a_large_one(large_ms=9000))


@pytest.mark.parametrize(("each", "said"), [(64, True), (8000, False)])
def test_bytes_that_are_moved_again_by_tiny_requests_are_moved_by_many(each, said):
    """Each rank moves 2 MB of its own three times."""
    calls = 6 * MB // each
    rows = []
    for rank in range(RANKS):
        reach = (2 * MB * rank, 2 * MB * (rank + 1))
        rows.append([useful(SECOND), write(SECOND, OUT, 6 * MB, calls, reach=reach)])
    (found,) = judge(Evidence(Program(rows, *[2 * SECOND] * 2, SECOND).columns())).findings
    text = f"24.0 MB are written to 8.00 MB of out, in {4 * calls:,} small writes of {each} B"
    assert found.finding.startswith(text) == said
    again = first(read(SECOND, OUT, 6 * MB, calls, reach=(0, 2 * MB)))
    assert (f", in {4 * calls:,} small reads of {each} B" in again.finding) == said


def rewritten(path: bytes, size: int, *more: Interval) -> str:
    """What is advised where each rank writes so much to 10 MB of its own file."""
    row = [useful(SECOND), write(SECOND, path, size, 30_000, reach=(0, 10 * MB)), *more]
    end = sum(step.length_ns for step in row)
    found = judge(Evidence(Program([row], end, end, SECOND).columns())).findings
    return next(finding.advice for finding in found if finding.code == "redundant_writes")


def test_what_is_written_more_than_twice_was_not_only_filled():
    for path, fill, cache in (
        (b"/run/a.h5", "H5Pset_fill_time", "choose chunks that are written as a whole"),
        (b"/run/a.nc", "nc_set_fill", "in netCDF-4 files choose chunks that are written as"),
    ):
        assert fill in rewritten(path, 20 * MB)
        assert fill not in rewritten(path, 400 * MB)
        assert rewritten(path, 400 * MB).startswith(cache)


def test_what_hdf5_reads_and_writes_back_may_be_members_of_whole_elements():
    """Eight members, each by a call of its own: all but the first read what is there before."""
    read_back = read(SECOND // 2, b"/run/a.h5", 70 * MB, 70)
    assert rewritten(b"/run/a.h5", 80 * MB, read_back).startswith("write all members of a compound")
    looked_at = read(SECOND // 2, b"/run/a.h5", 5 * MB, 5)
    assert "compound" not in rewritten(b"/run/a.h5", 80 * MB, looked_at)


def test_a_classic_file_that_is_written_again_and_read_as_much_was_moved():
    moved = read(SECOND // 2, b"/run/a.nc", 350 * MB, 30_000)
    assert "nc__enddef" in rewritten(b"/run/a.nc", 400 * MB, moved)
    looked_at = read(SECOND // 2, b"/run/a.nc", 20 * MB, 3_000)
    assert "nc__enddef" not in rewritten(b"/run/a.nc", 400 * MB, looked_at)


def test_who_told_the_system_what_it_reads_need_not_be_told_to():
    jumps = read(SECOND, OUT, 20 * MB, 5000, steps=(0, 2500, 2500))
    told = Interval("io", SECOND // 1000, "posix_fadvise", OUT)
    assert "POSIX_FADV_RANDOM" in first(jumps).advice
    assert first(jumps, told).advice.startswith("sort the requests by offset, or read the file")


def test_small_files_beside_large_ones_are_not_what_is_slow():
    """Each rank writes 2 files of 100 MB in 0.45 s each, and 50 of 10 B in 0.1 s."""
    large = [write(9 * SECOND // 20, b"/run/large.%d" % k, 100 * MB, 10) for k in range(2)]
    quick = [write(SECOND // 500, b"/run/small.%d" % k, 10, 1) for k in range(50)]
    assert first(*large, *quick).finding == "writing 2 files at 222 MB/s a rank"
    even = [write(SECOND // 50, b"/run/part.%d" % k, MB, 1) for k in range(50)]
    assert first(*even).finding.startswith("writing 50 files at")


def test_a_large_file_is_in_no_average_with_modules_that_are_read_whole():
    """A rank reads 60 MB at once for 0.6 s, and 400 modules of 5 kB for 0.4 s: less than half of
    the time in reads is the modules', and none of it that of small files. Of as many files of
    results, which take 0.7 s, the large one is in no average: 2 MB by 400."""

    def reading(folder: bytes, ending: bytes, large_ns: int) -> str:
        row = [useful(SECOND), Interval("io", 0, "open", OUT), read(large_ns, OUT, 60 * MB, 1)]
        for path in (folder + b"/%d" % number + ending for number in range(400)):
            each = (SECOND - large_ns) // 400, path, 5000, 2
            row += [Interval("io", 0, "open", path), read(*each)]
        run = Program([row], 2 * SECOND, 2 * SECOND, SECOND)
        run.meta = {"exe": "/usr/bin/python3.11"}
        return judge(Evidence(run.columns())).findings[0].finding

    modules = reading(b"/usr/lib/python3.11", b".py", 6 * SECOND // 10)
    assert modules == "reading out at 100 MB/s"
    results = reading(b"/run/results", b"", 3 * SECOND // 10)
    assert results == "400 files of 5.00 kB on average: reading them takes 70.0 % of the I/O time"


def test_ranks_that_write_one_file_at_once_may_wait_for_each_other():
    whole = first(write(SECOND, b"/run/shared", 100 * MB, 10))
    assert whole.finding == "writing shared at 100 MB/s a rank"
    assert whole.advice.startswith("ranks that write to one file at once wait for each other")
    alone = Program([[useful(SECOND), write(SECOND, b"/run/own", 100 * MB, 10)]], *[2 * SECOND] * 3)
    alone.ideal_ns = SECOND
    (found,) = judge(Evidence(alone.columns())).findings
    assert found.finding == "writing own at 100 MB/s" and "at once" not in found.advice
    by_mpi = write(SECOND, b"/run/shared", 100 * MB, 10, asked=100 * MB, layer="mpiio")
    assert "at once" not in first(by_mpi).advice


def test_prints_to_a_descriptor_are_told_from_a_stream_in_a_file_of_each_rank_too():
    def advised(function: str) -> str:
        rows = []
        for rank in range(2):
            name = b"/run/log.%d" % rank
            prints = Interval("io", SECOND, function, name, 26 * 60_000, 60_000, "stdio")
            rows.append([useful(SECOND), prints])
        columns = Program(rows, 2 * SECOND, 2 * SECOND, SECOND).columns()
        (found,) = judge(Evidence(columns)).findings
        assert found.finding.startswith("120,000 small writes of 26 B on average")
        return found.advice

    assert advised("dprintf").startswith("print to a stream")
    assert advised("fprintf").startswith("give the stream a larger buffer")


@pytest.mark.parametrize(
    ("calls", "how", "said"),
    [
        (write, "direct", "; opened with O_DIRECT; "),
        (write, "synchronous", "; opened with O_SYNC or O_DSYNC; "),
        (read, "direct", "; opened with O_DIRECT; "),
        (read, "synchronous", ""),  # which waits for nothing
    ],
)
def test_how_a_file_was_opened_is_said_of_requests_that_a_fast_device_serves(calls, how, said):
    """6,000 of 8 KiB by each rank, at 60 µs."""
    row = [useful(SECOND), calls(360 * MILLISECOND, OUT, 6000 * 8192, 6000)]
    meta = {f"opened_{how}": OUT.decode()}
    run = Program([row] * RANKS, *[1360 * MILLISECOND] * 2, SECOND, meta=meta)
    found = judge(Evidence(run.columns())).findings[0]
    assert found.code == "small_requests"
    assert ("opened with" in found.evidence) == bool(said) and said in found.evidence
