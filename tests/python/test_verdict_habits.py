"""What programs do again and again out of habit: to look before each use, to replace a large file,
to open what is synchronised. Each where it is advised about, and where it must not be. Every run is
built by arithmetic."""

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import Use, calls_of, noun_of

from .columns import MILLISECOND, SECOND, Program, read, useful, write
from .test_verdict_why import MB, call, first

LOG = b"/run/app.log"


def test_who_looks_before_each_record_is_not_told_to_wait_for_a_notice():
    """Twice before each of 1,000 writes, for which the file is opened 4 times; a flag is looked up
    as often and written to twice."""
    looks = call("stat", SECOND, 2000, LOG)
    opens = call("open", MILLISECOND, 4, LOG)
    found = first(looks, opens, write(SECOND // 2, LOG, 60_000, 1000))
    assert found.finding == "8,000 look-ups of 500 µs each take 66.6 % of the I/O time"
    assert "RotatingFileHandler" in found.advice and "inotify" not in found.advice
    waits = first(looks, write(SECOND // 2, LOG, 120, 2))
    assert "RotatingFileHandler" not in waits.advice


def test_so_is_who_looks_before_each_open():
    """Four times for each of 10 opens of 100 names. One look for each open is a library's own."""
    for looks, told in ((40, True), (10, False)):
        names = [b"/run/%d" % i for i in range(100)]
        calls = [call("stat", 20 * MILLISECOND, looks, name) for name in names]
        calls += [call("open", MILLISECOND, 10, name) for name in names]
        assert ("without looking first" in first(*calls).advice) == told


def test_to_replace_a_large_file_takes_longer_than_to_change_a_name():
    """5 renames of 20 ms: of 8 MB each, and of 8 kB each."""
    renames = call("rename", 100 * MILLISECOND, 5)
    for size, told in ((5 * 8 * MB, True), (5 * 8000, False)):
        found = first(renames, write(50 * MILLISECOND, b"/run/out", size, 5))
        assert found.finding == "20 renames of 20.0 ms each take 66.7 % of the I/O time"
        assert ("over two files that stay" in found.advice) == told
    # 2,000 quick ones are too many, however much is written.
    many = first(call("rename", SECOND, 2000), write(MILLISECOND, b"/run/out", 10**10, 2000))
    assert many.advice.startswith("rename, remove or make files and directories less often")


def test_what_is_opened_again_and_again_is_to_be_kept_open_before_it_is_synchronised():
    """A file of settings, 50 times; 50 files, once each."""

    def of(names: list[bytes], times: int) -> str:
        calls = [call("open", MILLISECOND, times, name) for name in names]
        calls += [write(MILLISECOND, name, 100 * times, times) for name in names]
        calls += [call("fsync", SECOND, times, name) for name in names]
        return first(*calls).advice

    assert of([b"/run/settings"], 50).startswith("open the file once and keep it open, and sync")
    assert "only once each time that it is opened" in of([b"/run/%d" % i for i in range(50)], 1)


def test_several_of_syncfs_have_a_name():
    for function, noun in (("syncfs", "synchronisation"), ("fsync", "fsync")):
        functions = {"name": [function], "calls": [20], "time_ns": [SECOND]}
        assert noun_of("sync", functions, 20) == noun
    use = Use(sums={"syncs": 20, "sync_ns": SECOND})
    functions = {"name": ["syncfs"], "calls": [20], "time_ns": [SECOND]}
    assert calls_of(use, "sync", functions) == "20 calls of syncfs of 50.0 ms each"


def test_hdf5_reads_64_kib_around_pieces_of_what_has_no_chunks():
    """640 MB are read from 16 MB: in reads of 65,536 B, and in reads of 80,000 B."""
    for calls, told in ((9766, True), (8000, False)):
        again = read(SECOND, b"/run/field.h5", 640 * MB, calls, reach=(0, 16 * MB))
        row = [useful(SECOND), again]
        columns = Program([row], 2 * SECOND, 2 * SECOND, SECOND).columns()
        (found,) = judge(Evidence(columns)).findings
        assert found.finding == "640 MB are read from 16.0 MB of field.h5"
        assert ("H5Pset_sieve_buf_size" in found.advice) == told
        assert "H5Pset_chunk_cache" in found.advice


def test_a_standard_stream_is_no_file_that_was_made():
    """30 files, and a line for each in the file that standard output is."""
    files = [write(20 * MILLISECOND, b"/run/%d" % i, 8 * MB) for i in range(30)]
    found = first(*files, write(20 * MILLISECOND, b"<stdout>", 300, 30))
    assert found.finding.startswith("writing 30 files at")
