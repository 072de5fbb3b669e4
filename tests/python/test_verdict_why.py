"""Why file calls take long: for each sentence a run of which it is true, and one in which it must
not be said. Every run is built by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, read, useful, write

RANKS = 4
MB = 10**6


def first(
    *calls: Interval, layers: dict[str, int] | None = None, program: str = "/opt/model", **meta: str
) -> Finding:
    """The only finding of four ranks that compute 4 s and then make these calls all at once."""
    length = sum(call.length_ns for call in calls)
    rows = [[useful(4 * SECOND), *calls] for _ in range(RANKS)]
    end = 4 * SECOND + length
    run = Program(rows, end, end, 4 * SECOND, layers=layers or {})
    columns = run.columns()
    columns["meta"] = columns["meta"] | {"exe": program} | meta
    (found,) = judge(Evidence(columns)).findings
    return found


def call(function: str, length_ns: int, calls: int, path: bytes = b"/run/out") -> Interval:
    return Interval("io", length_ns, function, path, 0, calls)


def test_synchronising_is_named_after_its_function():
    found = first(write(MILLISECOND, b"/run/out", 8 * MB, 2), call("fsync", 132 * MILLISECOND, 4))
    assert found.finding == "16 fsyncs of 33.0 ms each take 99.2 % of the I/O time"
    assert (found.code, found.functions) == ("sync", ("fsync",))
    for length_ns, each in ((SECOND, "250 ms"), (9 * SECOND, "1.25 s")):  # a half, nine tenths
        other = first(call("fsync", SECOND, 4), call("fdatasync", length_ns, 4))
        assert other.finding == f"32 synchronisations of {each} each take 100 % of the I/O time"
    # but where one of them has nearly all of the time
    mostly = first(call("fsync", MILLISECOND, 4), call("fdatasync", SECOND, 400))
    assert mostly.finding == "1,600 fdatasyncs of 2.50 ms each take 100 % of the I/O time"
    # of flushes the bytes that they hand over and their time, whatever else is written
    lines = [replace(call("fflush", SECOND, 2000), size=4000)]
    flushes = first(*lines, write(SECOND // 2, b"/run/big", 50 * MB, 50))
    assert flushes.finding == "8,000 flushes of 2 B on average take 66.7 % of the I/O time"
    # fflush before each, as programs do that mean it: its calls are writes
    flushed = first(call("fflush", SECOND, 4), call("fsync", 3 * SECOND, 4))
    assert flushed.finding == "16 fsyncs of 750 ms each take 75.0 % of the I/O time"


def test_synchronising_is_not_named_where_writing_takes_longer():
    found = first(write(SECOND, b"/run/out", 800 * MB, 8), call("fsync", 400 * MILLISECOND, 4))
    assert found.code == "slow_file_system"
    assert "200 MB/s" not in found.finding
    assert found.finding == "writing out at 800 MB/s a rank"


def test_prints_to_a_descriptor_have_no_stream_whose_buffer_could_be_larger():
    for function in ("dprintf", "__dprintf_chk"):
        prints = replace(call(function, SECOND, 50_000), size=2_000_000, layer="stdio")
        found = first(prints)
        assert found.finding.startswith("200,000 small writes of 40 B"), found.finding
        assert "fdopen" in found.advice and "descriptor" in found.advice
        # but where the calls that take the time are others
        quick = replace(prints, length_ns=MILLISECOND, path=b"/run/log")
        assert "fdopen" not in first(quick, write(SECOND, b"/run/out", 2_000_000, 50_000)).advice
    stream = first(replace(call("fprintf", SECOND, 50_000), size=2_000_000, layer="stdio"))
    assert "setvbuf" in stream.advice and "fdopen" not in stream.advice


def test_waits_for_asynchronous_requests_are_named():
    calls = (call("aio_suspend", SECOND, 16), write(MILLISECOND, b"/run/out", 16 * MB, 16))
    found = first(*calls)
    assert found.finding == (
        "64 waits for 64 asynchronous writes of out take 99.9 % of the I/O time"
    )
    assert "open once" not in found.advice


def test_one_process_is_not_advised_about_nodes():
    pieces = []
    for i in range(200):
        path = b"/run/piece.%d" % i
        pieces += [call("open", 9 * MILLISECOND, 1, path), call("close", MILLISECOND, 1, path)]
    run = Program([[useful(4 * SECOND), *pieces]], 6 * SECOND, 6 * SECOND, 4 * SECOND)
    (found,) = judge(Evidence(run.columns())).findings
    assert found.code == "many_files"
    assert "node" not in found.advice


def test_ranks_that_read_their_own_parts_again_read_no_file_whole():
    """Four ranks read a quarter of 400 MB each, four times: 400 MB each, but not the same bytes."""
    rows = [
        [
            useful(SECOND),
            read(SECOND, b"/run/in", 400 * MB, 400, reach=(rank * 100 * MB, (rank + 1) * 100 * MB)),
        ]
        for rank in range(RANKS)
    ]
    run = Program(rows, 2 * SECOND, 2 * SECOND, SECOND)
    (found,) = judge(Evidence(run.columns())).findings
    assert found.finding == "1.60 GB are read from 400 MB of in"
    assert "keep in memory" in found.advice


def test_all_ranks_read_the_same_bytes():
    found = first(read(SECOND, b"/run/input.dat", 268 * MB, 64, reach=(0, 268 * MB)))
    assert found.finding == "each of 4 ranks reads all 268 MB of input.dat"
    assert found.evidence.startswith("1.07 GB read in all: ")
    assert "MPI_Bcast" in found.advice


def test_parts_of_a_file_are_not_redundant():
    part = read(SECOND, b"/run/input.dat", 67 * MB, 64, reach=(0, 268 * MB))
    assert first(part).code == "slow_file_system"


def test_what_each_rank_reads_many_times_is_to_be_kept():
    many = read(SECOND, b"/run/input.dat", 20 * 268 * MB, 5000, reach=(0, 268 * MB))
    found = first(many)
    assert found.finding == "each of 4 ranks reads all 268 MB of input.dat 20.0 times"
    assert found.advice == "keep in memory what is needed again"
    once = read(SECOND, b"/run/input.dat", 268 * MB, 64, reach=(0, 268 * MB))
    assert "MPI_Bcast" in first(once).advice


@pytest.mark.parametrize(
    ("path", "advised"),
    [
        (b"/run/history.nc", "nc_set_fill"),
        (b"/run/history.h5", "H5Pset_fill_time"),
        (b"/run/history", "write each byte once"),
    ],
)
def test_what_is_written_to_the_same_place_again(path, advised):
    """By each of four ranks 250 MB in pieces of 8 kB, to 100 MB of the file, each to its own."""

    def of(size: int, closes: int, reach: int = 100 * MB) -> Finding:
        closed = [call("close", MILLISECOND, closes, path)] if closes else []
        parts = [(rank * reach, (rank + 1) * reach) for rank in range(RANKS)]
        rows = [
            [useful(4 * SECOND), write(SECOND, path, size, 30_000, reach=part), *closed]
            for part in parts
        ]
        end = sum(step.length_ns for step in rows[0])
        (found,) = judge(Evidence(Program(rows, end, end, 4 * SECOND).columns())).findings
        return found

    found = of(250 * MB, 1)
    assert (found.code, advised in found.advice) == ("redundant_writes", True)
    assert found.finding.startswith("1.00 GB are written to 400 MB of history")
    assert of(250 * MB, 0).code == "redundant_writes"
    assert of(250 * MB, 3).code == "small_requests"  # a checkpoint, written anew three times
    assert of(120 * MB, 1).code == "small_requests"  # a fifth of it is a header, say
    assert of(250 * MB, 1, reach=MB // 2).code == "small_requests"  # a state that is replaced


def test_bytes_read_again_that_are_not_all_of_the_file():
    again = read(SECOND, b"/run/input.dat", 150 * MB, 64, reach=(0, 268 * MB))
    assert first(again).finding == "600 MB are read from 268 MB of input.dat"


def test_one_rank_that_reads_again_has_no_one_to_share_with():
    """Each of four files is read six times by one rank."""
    paths = [b"/run/part.%d" % rank for rank in range(RANKS)]
    again = [read(SECOND, path, 6 * MB, 60, reach=(0, MB)) for path in paths]
    wrote = [write(SECOND // 8, path, MB, 10) for path in paths]

    def found(rows):
        length = sum(call.length_ns for call in rows[0])
        program = Program([[useful(SECOND), *row] for row in rows], *[length + SECOND] * 2, SECOND)
        return judge(Evidence(program.columns())).findings[0]

    read_again = found([[call] for call in again])
    assert read_again.finding == "24.0 MB are read from 4.00 MB of 4 files"
    assert read_again.advice == "keep in memory what is needed again"
    both = found([list(pair) for pair in zip(wrote, again, strict=True)])
    assert both.advice == "keep in memory what was written and is needed again"


def test_as_many_bytes_from_unknown_places_may_be_the_same():
    stream = read(SECOND, b"/run/basis", 48 * MB, 48)
    found = first(stream)
    assert found.finding == "each of 4 ranks reads 48.0 MB of basis, at 48.0 MB/s a rank"
    assert found.advice.startswith("if these are the same bytes")
    known = first(replace(stream, reach=(0, 192 * MB)))
    assert known.finding == "reading basis at 48.0 MB/s a rank"


def test_more_is_moved_than_asked_for():
    wrote = write(SECOND, b"/run/grid.dat", 33_500_000 // RANKS, 32, asked=8_400_000 // RANKS)
    found = first(wrote, read(SECOND // 2, b"/run/grid.dat", 25_200_000 // RANKS, 32))
    assert found.finding == (
        "MPI-IO was asked to write 8.40 MB of grid.dat, and wrote 33.5 MB and read 25.2 MB"
    )
    assert "romio_ds_write=disable" in found.advice
    meta = {"mpi": "Open MPI v4.1.4"}
    rows = [[useful(4 * SECOND), wrote]] * RANKS
    run = Program(rows, 5 * SECOND, 5 * SECOND, 4 * SECOND, meta=meta)
    (found,) = judge(Evidence(run.columns())).findings
    assert "fbtl_posix_write_datasieving" in found.advice
    assert "romio" not in found.advice
    sieved = read(SECOND, b"/run/grid.dat", 33_500_000 // RANKS, 32, asked=2_100_000 // RANKS)
    found = first(sieved)
    assert found.finding == "MPI-IO was asked to read 2.10 MB of grid.dat, and read 33.5 MB"
    assert "romio_ds_read=disable" in found.advice and "write" not in found.advice
    # Over what is asked for once the library may read twice; who asks twice reads twice.
    twice = replace(sieved, reach=(0, 33_500_000 // 2))
    assert first(twice).code == "amplification"
    assert first(replace(twice, asked=33_500_000)).code == "redundant_reads"
    assert first(replace(wrote, asked=33_500_000 // RANKS)).code == "slow_file_system"


def test_reads_that_jump():
    calls, ends = 30_000, (0, 3 * 10**8)
    jumping = read(SECOND, b"/run/table", 512 * calls, calls, steps=(0, 15_000, 15_000), reach=ends)
    found = first(jumping)
    assert found.finding == "120,000 reads of 512 B on average jump back and forth in table"
    strided = first(replace(jumping, steps=(0, calls, 0)))
    assert strided.code == "small_requests"
    assert "read-ahead" in found.advice
    written = replace(jumping, function="pwrite")
    assert "120,000 writes of 512 B on average jump back and forth" in first(written).finding
    assert first(written).advice.startswith("write in the order of the file")
    assert "one every 10.0 kB of table," in strided.finding
    # Over 300 MB ten times: 9 of 30,000 go back, and 3 GB / 30,000 are 100 kB.
    passes = first(replace(jumping, steps=(0, calls - 9, 9)))
    assert "one every 100 kB of table," in passes.finding
    back = first(replace(jumping, steps=(0, 0, calls)))
    assert back.finding == "120,000 reads of 512 B on average go backward in table"
    same_place = first(replace(jumping, steps=(0, 0, calls), reach=(0, 512)))
    assert "backward" not in same_place.finding
    assert first(replace(jumping, steps=(calls, 0, 0))).finding == (
        "120,000 small reads of 512 B on average take 100 % of the I/O time"
    )


def test_small_requests_that_wait_and_those_that_do_not():
    found = first(write(576 * MILLISECOND, b"/run/journal", 160 * 4096, 160))
    waits = "640 writes of 4.10 kB on average, 3.60 ms each: so small, they wait for a device"
    assert found.finding == f"{waits}, a server or each other"  # who write to one file at once
    quick = first(write(576 * MILLISECOND, b"/run/journal", 1600 * 4096, 160_000))
    assert quick.finding == "640,000 small writes of 41 B on average take 100 % of the I/O time"


def test_means_of_reads_and_of_writes_are_apart():
    """240,000 reads of 512 B and 320 writes of 8 MB: the mean of both would be 11 kB."""
    found = first(
        read(2 * SECOND, b"/run/t", 60_000 * 512, 60_000), write(SECOND, b"/run/t", 80 * 8 * MB, 80)
    )
    assert found.finding == "240,000 small reads of 512 B on average take 66.7 % of the I/O time"


def shared_by_all(first_at: int, **more) -> str:
    """Each rank writes 47 bytes of every 188, rank r from `first_at` × r on."""
    rows = []
    for rank in range(RANKS):
        reach = (first_at * rank, first_at * rank + 188 * 79_999 + 47)
        call = write(SECOND, b"/run/shared", 47 * 80_000, 80_000, steps=(0, 80_000, 0), reach=reach)
        rows.append([useful(SECOND), replace(call, **more)])
    program = Program(rows, 2 * SECOND, 2 * SECOND, SECOND)
    return judge(Evidence(program.columns())).findings[0].finding


def test_interleaved_in_a_shared_file():
    assert "interleaved by 4 ranks in shared," in shared_by_all(47)
    assert "interleaved" not in shared_by_all(47, steps=(80_000, 0, 0))
    # All at the same places; or more bytes than there are between the first and the last.
    assert "one every 188 B of shared," in shared_by_all(0)
    assert "interleaved" not in shared_by_all(47, size=80 * 80_000)


def test_requests_to_other_files_are_in_no_average_with_them():
    """10,000 reads of 8 B, and 40 of 8 kB each of 5 other files, which take 45 % of the time."""

    def beside(calls: int, size: int) -> str:
        others = [read(9 * SECOND // 100, b"/run/in.%d" % i, calls * size, calls) for i in range(5)]
        return first(read(55 * SECOND // 100, b"/run/a.h5", 80_000, 10_000), *others).finding

    assert beside(40, 8000).startswith("40,000 small reads of 8 B on average take 55.0 %")
    assert beside(10_000, 8).startswith("240,000 small reads of 8 B on average take 100 %")


def test_a_stream_is_advised_to_be_buffered():
    line = Interval("io", SECOND, "fwrite", b"/run/log", 55 * 40_000, 40_000, "stdio")
    assert "setvbuf(file, malloc(" in first(line).advice  # of NULL glibc ignores the size
    assert "setvbuf" not in first(write(SECOND, b"/run/log", 55 * 40_000, 40_000)).advice


def test_locks_that_nobody_waits_for_are_not_the_cause():
    calls = (call("fcntl", SECOND, 40_000), write(SECOND // 2, b"/run/out", 10_000 * 128, 10_000))
    run = [[useful(4 * SECOND), *calls] for _ in range(RANKS)]
    end = 4 * SECOND + 3 * SECOND // 2
    found = judge(Evidence(Program(run, end, end, 4 * SECOND).columns())).findings
    assert [finding.code for finding in found] == ["small_requests", "locks"]
    assert found[1].finding.endswith("of the time")  # of one file they may wait for each other
    assert found[0].finding == (
        "40,000 small writes of 128 B on average take 33.3 % of the I/O time, and 160,000 lock "
        "calls of 25.0 µs each take 66.7 % of the I/O time"
    )
    calls = (call("fcntl", SECOND // 4, 10_000), write(SECOND, b"/run/out", 12_800_000, 100_000))
    run = [[useful(4 * SECOND), *calls] for _ in range(RANKS)]
    end = 4 * SECOND + 5 * SECOND // 4
    found = judge(Evidence(Program(run, end, end, 4 * SECOND).columns())).findings
    said = "400,000 small writes of 128 B on average take 80.0 % of the I/O time"
    assert found[0].finding == said
    # the few calls beside them are not what 400,000 locks are for
    alone = first(call("flock", SECOND, 100_000), call("stat", SECOND // 10, 2000))
    assert alone.finding == "400,000 lock calls of 10.0 µs each take 90.9 % of the I/O time"


def test_a_run_of_a_few_milliseconds_is_not_judged():
    row = [useful(MILLISECOND), write(3 * MILLISECOND, size=100)]
    run = Program([row, row], 4 * MILLISECOND, 4 * MILLISECOND, MILLISECOND)
    headline = judge(Evidence(run.columns())).headline
    assert headline == "This run is too short to judge: 4.00 ms between MPI_Init and MPI_Finalize."


def test_what_a_buffer_gathered_is_no_small_request():
    prints = Interval("io", SECOND, "fwrite", b"/run/log", 4096 * 21_340, 21_340, "stdio")
    said = first(replace(prints, buffered=1_600_020)).finding
    assert said.startswith("6,400,080 prints in 85,360 requests of 4.10 kB on average take")
    assert "setvbuf" in first(replace(prints, buffered=1_600_020)).advice
    # a stream without a buffer: as many requests as prints
    assert "85,360 small writes of 4.10 kB on average" in first(prints).finding
    slow = first(replace(prints, calls=1_000, size=4096 * 1_000, buffered=9_000)).finding
    assert slow == (
        "36,000 prints in 4,000 requests of 4.10 kB on average and 1.00 ms each: they wait for a"
        " device, a server or each other"
    )


def test_writes_by_fflush_are_flushes():
    flush = Interval("io", SECOND, "fflush", b"/run/log", 32 * 40_000, 40_000, "stdio")
    found = first(flush)
    assert found.finding == "160,000 flushes of 32 B on average take 100 % of the I/O time"
    assert found.advice.startswith("flush where someone waits")
    assert "flushes" not in first(replace(flush, size=1_000_000 * 40_000)).finding
    # however many they are, where other writes take longer
    assert "flushes" not in first(flush, write(2 * SECOND, b"/run/out", 800 * MB, 8)).finding


def test_requests_that_begin_within_blocks_are_counted_where_ranks_share_the_file():
    def facts(path: bytes, unaligned: int) -> str:
        columns = Program(
            [[useful(SECOND), write(SECOND, path, 100 * MB, 100)]] * RANKS,
            2 * SECOND,
            2 * SECOND,
            SECOND,
        ).columns()
        columns["files"]["writes_unaligned"] = [unaligned]
        return judge(Evidence(columns)).findings[0].evidence

    assert "75.0 % do not begin at a multiple of 4 KiB" in facts(b"/run/shared", 300)
    assert "multiple" not in facts(b"/run/shared", 100)


def test_small_reads_that_wait_are_not_advised_about_writing():
    found = first(read(SECOND, b"/run/in", 40 * 4096, 40))
    assert found.code == "slow_small_requests"
    assert "POSIX_FADV_WILLNEED" in found.advice
    assert "POSIX_FADV" not in first(write(SECOND, b"/run/in", 40 * 4096, 40)).advice


def test_files_opened_to_wait_for_the_device_are_told_so():
    calls = (write(SECOND, b"/run/log", 40 * 4096, 40),)

    def opened(tool: str = "tailrace", **meta: str) -> Finding:
        run = Program([[useful(SECOND), *calls]] * RANKS, 2 * SECOND, 2 * SECOND, SECOND, meta=meta)
        return judge(Evidence(run.columns() | {"format": tool})).findings[0]

    # Tailrace notes how files were opened, other tools do not.
    assert opened(opened_direct="/run/other").advice == "gather small requests into large ones"
    assert opened("prv").advice.startswith("do not open with O_SYNC")
    both = {"opened_direct": "/run/a\x1f/run/log", "opened_synchronous": "/run/log"}
    assert opened(**both).advice.startswith("with O_DIRECT each request waits")
    found = opened(opened_synchronous="/run/log")
    assert found.evidence.endswith(
        "; opened with O_SYNC or O_DSYNC; 50.0 % of all ranks' time is spent in file calls"
    )
    assert "call fsync once" in found.advice


def test_flags_of_each_write_are_advised_about_where_it_has_some():
    plain = write(SECOND, b"/run/log", 40 * 4096, 40)
    with_flags = replace(plain, function="pwritev2")

    def advised(call: Interval, **meta: str) -> str:
        run = Program([[useful(SECOND), call]] * RANKS, 2 * SECOND, 2 * SECOND, SECOND, meta=meta)
        finding = judge(Evidence(run.columns() | {"format": "tailrace"})).findings[0]
        assert finding.code == "slow_small_requests"
        return finding.advice

    told = {"written_synchronously": "/run/log"}
    assert advised(with_flags, **told).startswith("with RWF_DSYNC or RWF_SYNC pwritev2 waits")
    assert "RWF" not in advised(with_flags)
    assert "RWF" not in advised(with_flags, written_synchronously="/run/other")
    assert "RWF" not in advised(plain, **told)


def test_whole_chunks_that_are_read_again_and_again():
    """One element of each chunk is wanted: HDF5 reads the chunk."""
    again = [useful(SECOND), read(SECOND, b"/run/r.h5", 120 * MB, 3000, reach=(0, 16 * MB))]
    run = Program([again], 2 * SECOND, 2 * SECOND, SECOND)
    (found,) = judge(Evidence(run.columns())).findings
    assert found.finding == "120 MB are read from 16.0 MB of r.h5"
    assert "H5Pset_chunk_cache" in found.advice


def test_a_classic_file_whose_data_are_moved():
    """16 MB of data move 40 times, since the header before them grows. Where bytes are read again
    and nothing is written there, nothing was moved."""

    def found(*more):
        name = b"/run/history.nc"
        again = [read(SECOND, name, 640 * MB, 80_000, reach=(0, 16 * MB)), *more]
        row = [useful(SECOND), *again]
        length = SECOND + sum(call.length_ns for call in again)
        (first, *_) = judge(Evidence(Program([row], length, length, SECOND).columns())).findings
        return first

    moved = found(write(SECOND // 2, b"/run/history.nc", 640 * MB, 80_000))
    assert moved.finding == (
        "640 MB are read from 16.0 MB of history.nc, and 640 MB are written there"
    )
    assert "nc__enddef" in moved.advice
    assert found().finding == "640 MB are read from 16.0 MB of history.nc"
    assert "nc__enddef" not in found().advice
    # Filled and written once, and read again and again.
    filled = found(write(SECOND // 20, b"/run/history.nc", 32 * MB, 4_000))
    assert filled.finding == "640 MB are read from 16.0 MB of history.nc"
    assert "nc__enddef" not in filled.advice


def test_one_rank_is_not_advised_to_broadcast():
    row = [useful(SECOND), call("stat", SECOND, 10_000)]
    alone, two = (
        judge(Evidence(Program([row] * ranks, 2 * SECOND, 2 * SECOND, SECOND).columns())).findings
        for ranks in (1, 2)
    )
    assert "inotify" in alone[0].advice and "broadcast" in two[0].advice


def test_a_flush_at_the_end_is_no_fsync():
    found = first(call("fsync", SECOND, 5), call("fflush", SECOND // 100, 2))
    assert found.finding.startswith("20 fsyncs of 200 ms each take 99.0 % of the I/O time")


def test_one_process_is_not_spoken_of_as_ranks():
    """Half of its I/O time waits for locks, 4 s in 20 calls; the rest writes 800 MB in 4 s."""
    row = [useful(2 * SECOND), call("fcntl", 4 * SECOND, 20), write(4 * SECOND, b"/run/a", 8 * MB)]
    for ranks in (1, 2):
        columns = Program([row] * ranks, 10 * SECOND, 10 * SECOND, 2 * SECOND).columns()
        for found in judge(Evidence(columns)).findings:
            said = f"{found.finding} {found.evidence} {found.gain}"
            assert ("rank" in said) == (ranks > 1)


def test_one_of_several_files_alike_is_not_named_for_all():
    """Two files with as much time each, or one with 3 times as much as the other."""

    def two(first_ns: int) -> str:
        return first(
            write(first_ns, b"/run/out.0", 800 * MB, 8), write(SECOND, b"/run/out.1", 800 * MB, 8)
        ).finding

    assert two(SECOND + MILLISECOND).startswith("writing 2 files at ")
    assert two(3 * SECOND).startswith("writing out.0 at ")


def test_who_reads_is_not_advised_to_write_less():
    found = first(read(SECOND, b"/run/in", 800 * MB, 8, reach=(0, 8000 * MB)))
    assert found.code == "slow_file_system"
    assert "read less, or from node-local storage" in found.advice
    assert "write less" in first(write(SECOND, b"/run/out", 800 * MB, 8)).advice


def test_bytes_that_move_as_quickly_as_memory_need_no_other_storage():
    found = first(write(SECOND, b"/run/out", 8_000 * MB, 8))
    assert found.finding == "writing out at 8.00 GB/s a rank"
    assert "node-local" not in found.advice and "write less" in found.advice


def test_a_rate_is_no_cause_beside_locks():
    """Of 10 s ranks write for 6 and wait for locks for 3, or for 1."""

    def headline(locked_s):
        lock = Interval("io", locked_s * SECOND, "fcntl", b"/run/out", 0, 100)
        row = [useful((4 - locked_s) * SECOND), write(6 * SECOND, b"/run/out", 800 * MB, 8), lock]
        run = Program([row] * RANKS, 10 * SECOND, 10 * SECOND, (4 - locked_s) * SECOND)
        return judge(Evidence(run.columns())).headline

    locks = "ranks wait for file locks 30.0 % of the time"
    assert headline(3) == f"I/O takes 90.0 % of this run: {locks}."
    assert headline(1) == "I/O takes 70.0 % of this run: writing out at 133 MB/s a rank."
