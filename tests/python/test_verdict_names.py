"""Opening, looking up, renaming: for each sentence a run of which it is true, and one in which it
must not be said. Every run is built by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import noun_of

from .columns import MILLISECOND, SECOND, Program, called_from, read, useful, write
from .test_verdict_why import MB, call, first

PYTHON = "/usr/bin/python3.11"
THREE = ("unlink", "chmod", "utimensat")


def test_a_file_opened_again_and_again():
    appended = (
        call("open", SECOND, 3000, b"/run/diag"),
        write(SECOND // 2, b"/run/diag", 180_000, 3000, reach=(0, 720_000)),
        call("close", SECOND, 3000, b"/run/diag"),
    )
    found = first(*appended)
    assert found.finding == "diag is opened 12,000 times, for 1.0 requests each time"
    assert found.advice == "open the file once, keep it open, and flush where a reader needs it"
    # Who only reads it has nothing to flush.
    reads = read(SECOND // 2, b"/run/diag", 180_000, 3000)
    found = first(appended[0], reads, appended[2])
    assert found.finding == "diag is opened 12,000 times, for 1.0 requests each time"
    assert found.advice.startswith("open the file once and keep it open, or read it once")
    made = write(MILLISECOND, b"/run/diag", 60, 1)  # and before it is read for 3000 times
    assert first(made, appended[0], reads, appended[2]).advice == found.advice


def test_a_file_that_is_written_anew_each_time():
    """A history of up to 30 kB, 20 kB on average, is written whole at each of 100 opens; of one
    that is appended to, each byte is written once."""

    def of(size: int) -> Finding:
        opens = call("open", SECOND, 100, b"/run/history")
        whole = write(SECOND // 2, b"/run/history", size, 100, reach=(0, 30_000))
        return first(opens, whole)

    assert of(100 * 20_000).finding == "history is opened and written anew 400 times"
    assert "append what is new" in of(100 * 20_000).advice
    assert of(30_000).finding == "history is opened 400 times, for 1.0 requests each time"


def test_hdf5_opens_a_file_several_times_to_write_it_anew():
    """Each rank writes 20 kB 20 times, for 60 opens; or 20 kB once, whose attributes it changes."""
    for size, told in (
        (20 * 20_000, "out.nc is written anew 80 times, and opened 240 times for that"),
        (21_000, "out.nc is opened 240 times, for 2.0 requests each time"),
    ):
        opens = call("open", SECOND, 60, b"/run/out.nc")
        whole = write(SECOND // 2, b"/run/out.nc", size, 120, reach=(0, 20_000))
        found = first(opens, whole)
        assert found.finding == told
        assert ("append what is new" in found.advice) == (size > 21_000)


def test_a_file_of_which_it_is_not_known_where_it_is_written_may_be_written_anew():
    """A stream's writes have no offset: they may append, or replace what was there."""
    opens = call("open", SECOND, 100, b"/run/history")
    found = first(opens, write(SECOND // 2, b"/run/history", 2 * MB, 100))
    assert found.finding == "history is opened 400 times, for 1.0 requests each time"
    assert "keep it open" in found.advice and "replaced each time, write it less" in found.advice


def test_headers_that_many_processes_open_are_not_to_be_kept_open():
    """40 compilers open and read 100 headers of 5 kB each once; where one process does it, 40 times
    each, it could keep them open. Of few files it may, too, whoever it is."""

    def found(headers: int, by_processes: int) -> Finding:
        names = [b"/usr/include/%d.h" % i for i in range(headers)]
        opens = [call("open", SECOND // headers, 40, name) for name in names]
        reads = [read(MILLISECOND, name, 40 * 5_000, 40, reach=(0, 5_000)) for name in names]
        row = [useful(SECOND), *opens, *reads]
        length = sum(interval.length_ns for interval in row)
        others = {"bytes_by_other_processes": [by_processes]}
        run = Program([row], length, length, SECOND, others=others)
        (first, *_) = judge(Evidence(run.columns())).findings
        return first

    said = found(100, 100 * 40 * 5_000).finding
    assert said.startswith("100 files of 5.00 kB on average: their opens, closes and the like")
    assert found(100, 0).finding.startswith("100 files are opened 4,000 times")
    assert found(4, 4 * 40 * 5_000).finding.startswith("4 files are opened 160 times")


@pytest.mark.parametrize("name", [b"<temporary file>", b"/tmp/#12345"])
@pytest.mark.parametrize("slow", ["open", "write"])
def test_files_without_a_name_are_no_file_that_is_opened_again(name: bytes, slow: str):
    """What tmpfile makes has one name for all, and the kernel uses the number of one again."""
    lengths = {"open": SECOND // 2, "write": SECOND // 2, slow: 2 * SECOND}
    opens = call("open", lengths["open"], 30_000, name)
    calls = (opens, write(lengths["write"], name, 30 * MB, 30_000))
    what = {"open": "their opens, closes and the like take", "write": "writing them takes"}[slow]
    found = first(*calls)
    assert found.finding.startswith(f"120,000 temporary files of 1.00 kB on average: {what} 80.0 %")
    assert found.advice.startswith("keep in memory what is removed again")
    # Few of them with much in each are files as others.
    large = write(9 * SECOND, name, 90_000 * MB, 9000)
    assert "temporary files" not in first(opens, large).finding


def test_a_large_file_that_is_replaced_again_and_again():
    """Emptied at each open, which takes longer than to write 5 MB."""
    replaced = write(SECOND // 2, b"/run/copy", 250 * MB, 50)
    found = first(call("open", 2 * SECOND, 50, b"/run/copy"), replaced)
    assert found.finding == "200 opens of 40.0 ms each (copy) take 80.0 % of the I/O time"
    assert found.advice.startswith("write to a new name where old contents are only replaced")


def test_small_requests_to_a_file_that_is_opened_for_each():
    """The writes take longer than the opens, but no buffer gathers them."""
    lines = write(2 * SECOND, b"/run/diag", 1_800_000, 30_000)
    found = first(call("open", SECOND, 30_000, b"/run/diag"), lines)
    assert found.finding == "diag is opened 120,000 times, for 1.0 requests each time"
    assert found.evidence.startswith(
        "120,000 writes of 60 B on average, 66.7 µs each and 120,000 opens of 33.3 µs each"
    )
    assert first(call("open", SECOND, 1, b"/run/diag"), lines).code == "small_requests"


def test_opens_that_many_requests_follow_are_paid_for():
    calls = (call("open", 2 * SECOND, 3000), write(SECOND, b"/run/out", 10**9, 300_000))
    assert first(*calls).code == "metadata"


def test_a_single_slow_open_is_not_advised_to_stay_open():
    found = first(call("open", SECOND, 1), write(MILLISECOND, b"/run/out", 10**9, 300_000))
    assert found.finding == "4 opens of 1.00 s each (out) take 99.9 % of the I/O time"
    assert "open once" not in found.advice
    assert "to empty a large file takes time" in found.advice
    # What is only read is emptied by no open.
    reads = read(MILLISECOND, b"/run/out", 10**9, 300_000)
    assert "to empty" not in first(call("open", SECOND, 1), reads).advice
    one = Program([[useful(SECOND), call("fsync", SECOND, 1)]], 2 * SECOND, 2 * SECOND, SECOND)
    headline = judge(Evidence(one.columns())).headline
    assert "1 fsync of 1.00 s takes 100 % of the I/O time" in headline


def test_many_small_files():
    pieces = []
    for i in range(200):
        path = b"/run/piece.%d" % i
        pieces += [call("open", 10 * MILLISECOND, 1, path), write(MILLISECOND, path, 225, 1)]
    found = first(*pieces)
    assert found.finding == (
        "200 files of 900 B on average: their opens, closes and the like take 90.9 % of the I/O "
        "time"
    )
    # Temporary files are read again, an archive is unpacked, and a lock beside each file is empty.
    again = [read(0, i.path, 225, 1) for i in pieces if i.function == "pwrite"]
    assert first(*pieces, *again).finding == found.finding
    archive = [call("open", MILLISECOND, 1, b"/run/a.tar"), read(0, b"/run/a.tar", 400 * MB, 40)]
    assert first(*pieces, *archive).finding.startswith("200 files of 900 B on average")
    beside = [call("open", MILLISECOND, 1, b"/run/lock.%d" % i) for i in range(200)]
    assert first(*pieces, *beside).finding.startswith("200 files of 900 B on average")
    removed = [call("unlink", MILLISECOND, 1, i.path) for i in pieces if i.function == "open"]
    assert first(*pieces, *removed).advice.startswith("keep in memory what is removed again")
    log = [write(MILLISECOND, b"/run/log", 60, 1), call("open", MILLISECOND, 1, b"/run/log")]
    assert first(*pieces, *removed, *log).advice.startswith("keep in memory what is removed again")
    locks = [call("unlink", MILLISECOND, 1, i.path) for i in beside]
    for told in (first(*pieces), first(*pieces, *beside, *locks)):
        assert told.advice.startswith("put the small files into one")
    large = [replace(i, size=10 * MB) if i.function == "pwrite" else i for i in pieces]
    assert first(*large).code == "metadata"


def test_a_mean_is_of_files_that_hold_something():
    """Beside a thousand empty ones, which take the time, a few hold 1 MB in all."""
    empty = [call("open", 10 * MILLISECOND, 1, b"/run/done.%d" % i) for i in range(1000)]
    empty += [call("close", 10 * MILLISECOND, 1, piece.path) for piece in empty]
    some = [call("open", MILLISECOND, 1, b"/run/log.%d" % i) for i in range(4)]
    some += [write(MILLISECOND, piece.path, 62_500, 1) for piece in some]
    found = first(*empty, *some)
    assert found.finding.startswith(
        "1,000 files that are neither read nor written: their opens, closes and the like take"
    )


def test_what_open_mpi_makes_to_try_locks_is_not_the_programs():
    """Each rank makes one beside each file that is opened by MPI-IO, and removes it."""
    tried = [call("open", 2 * MILLISECOND, 1, b"/run/%d.h5.locktest.0" % i) for i in range(200)]
    tried += [call("close", MILLISECOND, 1, piece.path) for piece in tried]
    made = [call("open", MILLISECOND // 10, 1, b"/run/%d.h5" % i) for i in range(200)]
    made += [write(MILLISECOND // 10, piece.path, 4096, 1) for piece in made]
    found = first(*tried, *made)
    assert found.finding.startswith(
        "200 files by which Open MPI tries whether it can lock files: their opens, closes and the"
    )
    assert "--mca sharedfp ^lockedfile" in found.advice


def test_who_closes_once_is_not_advised_to_close_less_often():
    written = write(MILLISECOND, b"/run/out", 100 * MB, 30)
    slow = first(written, call("close", SECOND, 1))
    assert slow.finding == "4 closes of 1.00 s each (out) take 99.9 % of the I/O time"
    assert slow.advice.startswith("closing waits for what was written before")
    again = [call("close", SECOND, 30), call("open", MILLISECOND, 30)]
    assert first(written, *again).advice.startswith("closing waits for what was written before")
    often = first(write(MILLISECOND, b"/run/out", MB, 30), *again)
    assert often.advice.startswith("open the file once, keep it open")


def test_advice_to_the_system_has_a_name_and_advice_of_its_own():
    found = first(call("posix_fadvise", SECOND, 100_000))
    assert found.finding == "400,000 fadvises of 10.0 µs each take 100 % of the I/O time"
    assert found.advice.startswith("call posix_fadvise once for a file")


def test_look_ups():
    found = first(call("stat", SECOND, 12_000), call("open", 100 * MILLISECOND, 10))
    assert found.finding == "48,000 look-ups of 83.3 µs each take 90.9 % of the I/O time"
    assert first(call("stat", SECOND // 2, 12_000), call("open", SECOND, 10)).code == "metadata"


def test_names_that_are_looked_up_once_each_are_not_waited_for():
    names = [call("stat", MILLISECOND, 1, b"/run/%d" % i) for i in range(100)]
    found = first(*names)
    assert found.code == "look_ups"
    assert "broadcast" in found.advice  # each of four ranks asks
    alone = Program([[useful(SECOND), *names]], *[SECOND + 100 * MILLISECOND] * 2, SECOND)
    (finding,) = judge(Evidence(alone.columns())).findings
    assert "d_type" in finding.advice and "inotify" not in finding.advice
    # Each of a compiler's processes looks for the same headers: nobody waits for these.
    for processes in (400, 24):
        names = [call("stat", MILLISECOND, processes, b"/run/%d" % i) for i in range(100)]
        compiler = Program([[useful(SECOND), *names]], *[SECOND + 100 * MILLISECOND] * 2, SECOND)
        (finding,) = judge(Evidence(compiler.columns())).findings
        assert "fewer names" in finding.advice and "inotify" not in finding.advice
    flag = call("stat", SECOND, 2400, b"/run/there")
    for row in ([useful(SECOND), flag], [useful(SECOND), *names, flag]):
        whole = sum(interval.length_ns for interval in row)
        waited = Program([row], whole, whole, SECOND)
        (finding,) = judge(Evidence(waited.columns())).findings
        assert "inotify" in finding.advice


def of_each_file(opens: int = 1, number: int = 200, moved: int = 500) -> Finding:
    """Each of four ranks asks three times about each file, for 3 ms, opens it in 2 ms and reads
    500 B in 0.1 ms."""
    calls = []
    for path in (b"/run/in/%d" % i for i in range(number)):
        calls += [call("stat", 3 * MILLISECOND, 3 * opens, path)]
        calls += [call("open", 2 * MILLISECOND, opens, path)]
        calls += [read(MILLISECOND // 10, path, moved, 1)] if moved else []
    return first(*calls)


def test_a_few_look_ups_of_each_of_many_files_are_what_these_cost():
    """As tar makes. To look less often would spare no file. Where files are opened again and again,
    where nothing is read of them, and where they are few, they are look-ups as before."""
    said = "200 files of 2.00 kB on average: their opens, closes and the like take 98.0 %"
    assert of_each_file().finding == f"{said} of the I/O time"
    for other in (of_each_file(opens=30), of_each_file(moved=0), of_each_file(number=20)):
        assert other.code == "look_ups", other.finding


def test_directories_that_are_listed_are_no_files():
    listed = [
        interval
        for i in range(200)
        for interval in (
            call("open", 2 * MILLISECOND, 1, b"/run/%d" % i),
            call("readdir", MILLISECOND, 2, b"/run/%d" % i),
            call("close", MILLISECOND // 10, 1, b"/run/%d" % i),
        )
    ]
    found = first(*listed)
    assert found.code == "metadata"
    assert "800 opens of 2.00 ms each and 1,600 listings" in found.finding
    made = [interval for interval in listed if interval.function != "readdir"]
    assert first(*made).finding.startswith("200 files that are neither read nor written: their")


def test_opens_of_what_is_not_there_are_no_files():
    names = [call("open", 10 * MILLISECOND, 5, b"/nowhere/%d" % i) for i in range(200)]
    found = first(*names)
    assert found.finding == (
        "4,000 opens of 200 names, hardly any of them closed again, take 100 % of the I/O time"
    )
    assert found.code == "look_ups" and "broadcast" not in found.advice
    closed = [call("close", MILLISECOND, 5, b"/nowhere/%d" % i) for i in range(200)]
    assert first(*names, *closed).code == "many_files"


def test_files_that_are_replaced_are_not_kept_open():
    """Written beside and renamed, 2,000 times a rank: opening is needed, so often not."""
    opens, renames = call("open", SECOND, 2000), call("rename", SECOND, 2000)
    found = first(opens, renames)
    assert found.finding == (
        "8,000 opens of 500 µs each and 8,000 renames of 500 µs each take 100 % of the I/O time"
    )
    closes = call("close", MILLISECOND, 2000)
    assert first(opens, closes, call("rename", SECOND, 200)).code == "reopened"


def test_what_hardly_counts_is_not_named():
    found = first(call("ftruncate", SECOND, 5000), call("open", SECOND // 20, 1))
    assert found.finding.startswith(
        "20,000 truncations of 200 µs each (out) take 95.2 % of the I/O time"
    )
    assert found.advice.startswith("set a file's size once")


def test_one_slow_open_among_many_files_is_not_many_files():
    """100 files take 10 ms to open in all, and one takes a second."""
    small = [call("open", SECOND // 10_000, 1, b"/run/%d" % i) for i in range(100)]
    found = first(*small, call("open", SECOND, 1, b"/run/slow"))
    assert found.finding == "4 opens of 1.00 s each (slow) take 99.0 % of the I/O time"
    assert found.file == "/run/slow"
    alike = [call("open", SECOND // 100, 1, b"/run/%d" % i) for i in range(100)]
    assert "400 opens of 100 names, hardly any of them closed again" in first(*alike).finding


def test_of_other_calls_those_are_named_that_take_the_time():
    renames = call("rename", SECOND, 5)
    assert first(renames, call("lseek", MILLISECOND, 100)).finding == (
        "20 renames of 200 ms each take 100 % of the I/O time"
    )
    links = first(call("symlink", SECOND, 300), call("unlink", 10 * MILLISECOND, 300))
    assert links.finding == "1,200 links of 3.33 ms each take 100 % of the I/O time"
    assert "open once" not in links.advice
    seeks = first(call("fseek", SECOND, 30_000))
    assert "pread" in seeks.advice and "open once" not in seeks.advice
    # To set a number takes no 5 µs: what takes longer asks the file system.
    few = read(MILLISECOND, b"/run/x", MB, 80_000)
    assert "pread" in first(call("lseek", SECOND, 300_000), few).advice
    # Where hardly one is for a request, they ask where a stream is.
    assert "tellg" in first(call("lseek", SECOND, 400_000), few).advice
    assert "SEEK_HOLE" in first(call("lseek", SECOND, 3_000)).advice
    assert "SEEK_HOLE" not in seeks.advice
    # However many seeks there are, they are not what takes the time.
    many = first(call("fseek", SECOND // 8, 30_000), *(call(name, SECOND, 9) for name in THREE))
    assert "pread" not in many.advice
    asked = first(call("ftell", SECOND, 100_000))
    assert asked.finding == "400,000 ftells of 10.0 µs each take 100 % of the I/O time"
    assert "pread" not in asked.advice
    times = first(call("utimensat", SECOND, 3_000), call("unlink", MILLISECOND, 10))
    assert times.finding.startswith("12,040 other calls of")
    assert "open once" not in times.advice
    # 2 of 12,002 are no reason to call all of them so.
    seeking = {"name": ["lseek", "unlink"], "calls": [12_000, 2], "time_ns": [900, 900]}
    assert noun_of("other", seeking, 12_002) == "seek"
    assert noun_of("other", seeking | {"calls": [12_000, 400]}, 12_400) == "removals or seek"
    # Two kinds that have nearly all of the time, whatever third there is.
    three = (call("chmod", SECOND, 9), call("unlink", SECOND, 1), call("fseek", MILLISECOND, 90))
    assert first(*three).finding.startswith(
        "4 removals of 1.00 s each and 36 chmods of 111 ms each take 100 % of the I/O time"
    )
    # Of files and of directories, only what takes the time; where both do, all of them.
    quick = call("unlink", MILLISECOND, 6_000)
    told = first(call("rmdir", SECOND, 1_500), quick)
    assert told.finding == "6,000 rmdirs of 667 µs each take 100 % of the I/O time"
    told = first(call("rmdir", SECOND, 1_500), call("unlink", SECOND, 1_500))
    assert told.finding == "12,000 removals of 667 µs each take 100 % of the I/O time"
    told = first(call("unlink", SECOND, 1_500), call("rmdir", MILLISECOND, 6_000))
    assert told.finding == "6,000 removals of 667 µs each take 100 % of the I/O time"
    both = first(renames, call("lseek", SECOND, 100))
    assert both.finding == (
        "20 renames of 200 ms each and 400 seeks of 10.0 ms each take 100 % of the I/O time"
    )


def test_a_size_that_is_set_at_each_open_is_no_matter_of_its_own():
    cuts = call("ftruncate", SECOND, 20)
    found = first(cuts, call("open", SECOND // 100, 10))
    assert found.finding == "80 truncations of 50.0 ms each (out) take 99.0 % of the I/O time"
    assert found.advice.startswith("open the file once")
    assert first(cuts, call("open", SECOND // 100, 1)).advice.startswith("set a file's size once")


def test_room_that_is_reserved_is_not_cut():
    found = first(call("posix_fallocate", SECOND, 500))
    assert found.finding == "2,000 allocations of 2.00 ms each (out) take 100 % of the I/O time"
    assert found.advice.startswith("reserve room once")
    found = first(call("fallocate", SECOND, 500))  # it may punch holes
    assert found.finding == "2,000 fallocates of 2.00 ms each (out) take 100 % of the I/O time"
    assert found.advice.startswith("reserve room, or punch holes, once")
    found = first(call("posix_fallocate", MILLISECOND, 5), call("ftruncate", SECOND, 500))
    assert found.finding == "2,000 truncations of 2.00 ms each (out) take 100 % of the I/O time"
    assert found.advice.startswith("set a file's size once")


def test_small_files_are_read_whole_and_could_be_one():
    """Of each of 400 files a read gets all there is, and the next nothing: gathering them helps
    only across files. Of four files with as many reads each, the reads are small."""

    def reading(files):
        row = [useful(SECOND)]
        for path in (b"/run/part.%d" % number for number in range(files)):
            each = SECOND // files, path, 2_000_000 // files, 800 // files
            row += [call("open", MILLISECOND, 1, path), read(*each)]
        length = sum(part.length_ns for part in row)
        run = Program([row], length, length, SECOND)
        return judge(Evidence(run.columns())).findings[0]

    whole = reading(400)
    assert whole.finding == (
        "400 files of 5.00 kB on average: reading them takes 71.4 % of the I/O time"
    )
    assert "into one" in whole.advice
    assert reading(4).code == "slow_small_requests"


def test_what_is_synchronised_may_have_been_written_by_no_call():
    found = first(call("fsync", SECOND, 20))
    assert found.evidence.startswith("no call wrote meanwhile: the bytes were stored in mapped")
    assert "writes" not in found.evidence


def test_a_few_names_that_are_not_there_are_not_opened_again_and_again():
    names = [call("open", SECOND, 5000, b"/nowhere/%d" % i) for i in range(5)]
    found = first(*names)
    assert found.code == "look_ups" and "keep it open" not in found.advice
    assert found.finding == (
        "100,000 opens of 5 names, hardly any of them closed again, take 100 % of the I/O time"
    )
    closed = [call("close", MILLISECOND, 5000, b"/nowhere/%d" % i) for i in range(5)]
    assert first(*names, *closed).code == "reopened"


def test_tables_that_a_library_reads_at_each_open():
    """Ten reads of 500 B after each of 1,000 opens a rank; or as many after one open."""

    def found(opens: int, name: bytes) -> Finding:
        reads = read(SECOND, name, 5_000_000, 10_000, steps=(1000, 4000, 5000))
        around = [call(kind, MILLISECOND, opens, name) for kind in ("open", "close")]
        return first(around[0], reads, around[1])

    again = found(1000, b"/run/restart.h5")
    assert again.code == "reopened" and "keep it open" in again.advice
    assert again.finding == "restart.h5 is opened 4,000 times, for 10.0 requests each time"
    assert found(1, b"/run/restart.h5").code == "random_requests"
    assert found(1000, b"/run/restart.dat").code == "random_requests"


def test_tables_that_take_less_than_the_opens():
    """The same reads in a tenth of the time of opens and closes."""
    for name, code in ((b"/run/restart.h5", "reopened"), (b"/run/restart.dat", "metadata")):
        reads = read(SECOND // 10, name, 5_000_000, 10_000)
        around = [call(kind, SECOND, 1000, name) for kind in ("open", "close")]
        again = first(around[0], reads, around[1])
        assert again.code == code, again.finding
        told = "restart.h5 is opened 4,000 times, for 10.0 requests each time"
        assert (again.finding == told) == (code == "reopened")


def test_large_files_that_are_replaced_take_long_to_empty():
    """Twenty times by each rank, 5 ms each time, with 8 MB or 80 kB a time."""

    def advised(size: int) -> str:
        opens = call("open", 100 * MILLISECOND, 20)
        return first(opens, write(MILLISECOND, b"/run/out", 20 * size, 200)).advice

    assert advised(8 * MB).startswith("write to a new name")
    assert not advised(80_000).startswith("write to a new name")


@pytest.mark.parametrize(
    ("module", "opens", "advised"),
    [
        ("/usr/lib/libgfortran.so.5.0.0", 1, "Fortran's library cuts"),
        ("/usr/lib/libgfortran.so.5.0.0", 4000, "open the file once"),
        ("/usr/lib/libc.so.6", 1, "set a file's size once"),
    ],
)
def test_records_of_fortran_cut_their_file(module: str, opens: int, advised: str):
    """8,000 times on the way of the library."""
    row = [useful(SECOND), call("open", MILLISECOND, opens), call("ftruncate", SECOND, 8000)]
    whole = 2 * SECOND + MILLISECOND
    columns = Program([row], whole, whole, SECOND).columns()
    called_from(columns, [("next_record_w", module), ("main", "/home/model")])
    (found,) = judge(Evidence(columns)).findings
    assert opens > 1 or "truncations of 125 µs each" in found.finding
    assert found.advice.startswith(advised)
