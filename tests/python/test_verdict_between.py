"""What lies between calls from one place: formatting and parsing, and what must not be taken for
it. Runs built by arithmetic."""

from typing import Any

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, called_from, mpi, read, useful, write

MB = 1_000_000
TEXT = b"/run/state.json"


def ran(
    call: Interval,
    between_s: float,
    ranks: int = 1,
    after: int = 999,
    idle_s: int = 0,
    library: str = "",
    **more: Any,
) -> dict:
    """Rank 0 is 9 s outside of calls and makes this one in 1000 pieces, of which `after` follow
    others at once; so long lies between those. Other ranks compute less and wait for it. `library`:
    of which module main's callee is."""
    rows = [[useful(9 * SECOND), call]]
    waits = mpi(call.length_ns + idle_s * SECOND)
    rows += [[useful((9 - idle_s) * SECOND), waits]] * (ranks - 1)
    end = 9 * SECOND + call.length_ns
    columns = Program(rows, end, end, 9 * SECOND, **more).columns()
    assert columns["files"]["reads" if call.function == "pread" else "writes"][0]
    called_from(columns, [("dump", library or "/m"), ("main", "/m")])
    columns["places"]["frames"] |= {"source": ["dump.c", "main.c"], "line": [3, 7]}
    columns["places"] |= {"again": np.array([after])}
    between_ns = np.array([int(between_s * SECOND)])
    by_rank = {"path": np.array([0]), "rank": np.array([0]), "time_ns": between_ns}
    columns["places"] |= {"again_ns": between_ns, "again_rank": by_rank}
    return columns


def found(columns: dict) -> Finding | None:
    findings = judge(Evidence(columns)).findings
    return next((finding for finding in findings if finding.code == "between_calls"), None)


def text(size: int = 40 * MB) -> Interval:
    return write(50 * MILLISECOND, TEXT, size, 1000)


def test_formatting_is_named_where_file_calls_take_little():
    columns = ran(text(), 3.0)
    assert judge(Evidence(columns)).headline == (
        "File calls take 0.6 % of this run, but what lies between 999 writes to state.json"
        " (formatting, or what else is done from one write to the next) takes at least 33.1 % of"
        " the run."
    )
    finding = found(columns)
    assert finding.place.startswith("dump (dump.c:3)")
    assert finding.advice.startswith("if this is text, write binary numbers")
    assert "3.00 ms from one to the next" in finding.evidence and "13.3 MB/s" in finding.evidence


def test_parsing_is_named_likewise():
    finding = found(ran(read(50 * MILLISECOND, TEXT, 40 * MB, 1000), 3.0))
    assert "999 reads of state.json (parsing, or what else" in finding.finding
    assert finding.advice.startswith("if this is text, read binary numbers")


AGAIN = "it is read 10 times: if it does not change, read it once and keep what was made of it"
ONCE = "if this is text, read binary numbers, which need no parsing; or read once and keep"


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        # 40 MB from 4 of the file, and from 25
        ({"reads_begin": 0, "reads_end": 4 * MB}, AGAIN),
        ({"reads_begin": 0, "reads_end": 25 * MB}, ONCE),
        # of a stream: opened ten times, and read to the end each time, or looked at for more
        ({"reads_begin": -1, "reads_end": -1, "opens": 10, "reads_empty": 10}, AGAIN),
        ({"reads_begin": -1, "reads_end": -1, "opens": 1, "reads_empty": 10}, ONCE),
        # what is read each time was written before: once, and each time
        ({"reads_begin": 0, "reads_end": 4 * MB, "bytes_written": 4 * MB}, AGAIN),
        ({"reads_begin": 0, "reads_end": 4 * MB, "bytes_written": 40 * MB}, ONCE),
    ],
)
def test_what_is_parsed_again_and_again_is_to_be_kept(files, advice):
    columns = ran(read(50 * MILLISECOND, TEXT, 40 * MB, 1000), 3.0)
    for table in (columns["files"], columns["file_rank"]):
        table |= {name: np.array([value]) for name, value in files.items()}
    assert found(columns).advice.startswith(advice)


@pytest.mark.parametrize(
    ("name", "library", "work", "advice"),
    [
        (b"/run/picture.png", "", "compressing", "compress by a lower level or a quicker method"),
        (b"/run/reads.fastq.gz", "", "compressing", "compress by a lower level or"),
        (b"/run/frame.RDS", "", "compressing", "compress by a lower level or"),
        (b"/run/water.xtc", "", "compressing", "compress by a lower level or"),
        (b"/run/state.h5", "", "compressing or converting", "where it is compressed, do so by a"),
        (b"/run/wrfout_d01", "/lib/libnetcdf.so.19", "compressing or converting", "where it is"),
        (b"/run/restart", "/lib/libhdf5_serial.so.103", "compressing or converting", "where it is"),
    ],
)
def test_who_makes_no_text_is_not_told_to_write_binary_numbers(name, library, work, advice):
    call = write(50 * MILLISECOND, name, 40 * MB, 1000)
    finding = found(ran(call, 3.0, library=library))
    assert f"({work}, or what else is done from one write to the next)" in finding.finding
    assert finding.advice.startswith(advice)
    call = read(50 * MILLISECOND, name, 40 * MB, 1000)
    finding = found(ran(call, 3.0, library=library))
    assert f"(de{work}, or what else is done from one read to the next)" in finding.finding
    assert "binary" not in finding.advice and "keep" in finding.advice


@pytest.mark.parametrize(
    ("function", "caller", "said"),
    [
        ("H5Fflush", "dump", "H5Fflush"),
        ("H5Dflush", "dump", "H5Dflush"),
        ("H5Fflush", "nc_close", "compressing or converting"),  # what chunks in the cache wait for
        ("H5Dwrite", "dump", "compressing or converting"),
    ],
)
def test_what_a_flush_hands_over_is_not_called_compressing(function, caller, said):
    columns = ran(write(50 * MILLISECOND, b"/run/state.h5", 40 * MB, 1000), 3.0)
    called_from(columns, [(function, "/lib/libhdf5.so"), (caller, "/m"), ("main", "/m")])
    columns["places"]["frames"] |= {"source": ["", "dump.c", "main.c"], "line": [0, 3, 7]}
    columns["places"] |= {"again": np.array([999])}
    columns["places"] |= {"again_ns": np.array([3 * SECOND])}
    finding = found(columns)
    assert f"({said}, or what else is done from one write to the next)" in finding.finding
    called = finding.advice.startswith("call H5Fflush and H5Dflush less often")
    assert called == (said == function)


WATCHED = {"usage": "0 0 0 0 0"}


@pytest.mark.parametrize(
    ("way", "module", "meta", "work"),
    [
        # what nothing is known of: linked statically, or ended before it could say anything
        ("H5D__chunk_flush_entry", "/m", WATCHED, "compressing or converting"),
        ("H5D__chunk_flush_entry", "/lib/libhdf5.so.310", {}, "compressing or converting"),
        # no filter, or one that took 0.2 or 2 of these 3 s
        ("H5D__write", "/lib/libhdf5.so.310", WATCHED, "converting, or what the library does"),
        (
            "H5D__chunk_flush_entry",
            "/lib/libhdf5.so.310",
            WATCHED | {"compressed": "200000000 3 9000000 4000000"},
            "converting, or what the library does",
        ),
        (
            "H5D__chunk_flush_entry",
            "/lib/libhdf5.so.310",
            WATCHED | {"compressed": "100000000 3 9 4;2000000000 3 9000000 4000000 32015"},
            "compressing or converting",
        ),
        # attributes of many small numbers, however it is linked
        ("H5C__flush_single_entry", "/m", {}, "making the file's tables"),
    ],
)
def test_what_no_filter_takes_is_not_called_compressing(way, module, meta, work):
    """A file of HDF5 that is opened once: what is written is chunks, datasets without filters, or
    the file's tables."""
    call = write(50 * MILLISECOND, b"/run/diag.h5", 40 * MB, 1000)
    columns = ran(call, 3.0, meta=meta)
    called_from(columns, [(way, module), ("H5Fclose", module), ("dump", "/m"), ("main", "/m")])
    columns["places"] |= {"again": np.array([999]), "again_ns": np.array([3 * SECOND])}
    finding = found(columns)
    assert f"999 writes to diag.h5 ({work}" in finding.finding
    assert ("compressed" in finding.advice) == work.startswith("compressing")
    assert ("fewer objects" in finding.advice) != work.startswith("compressing")
    assert ("conversion" in finding.advice) == ("converting" in work)
    assert "open the file once" not in finding.advice


@pytest.mark.parametrize(("opens", "said"), [(60, True), (10, False)])
def test_a_file_that_is_opened_again_and_again_is_to_be_kept_open(opens, said):
    """One of four ranks adds attributes to it each time: no other can do that for its part."""
    call = write(50 * MILLISECOND, b"/run/diag.h5", 40 * MB, 1000)
    columns = ran(call, 3.0, ranks=4)
    frames = [("H5C__flush_single_entry", "/m"), ("H5Fclose", "/m"), ("main", "/m")]
    called_from(columns, frames)
    columns["files"] |= {"opens": np.array([opens])}
    columns["places"] |= {"again": np.array([999]), "again_ns": np.array([3 * SECOND])}
    finding = found(columns)
    assert finding.advice.startswith("open the file once and keep it open") == said
    assert "use fewer objects" in finding.advice and "its part" not in finding.advice


def test_lines_that_open_and_close_files_too_are_no_parsing():
    """Of what follows a call from there, 1000 calls are reads: of 1100 that is more than nine
    tenths, of 1200 less; what lies between is what an open takes to begin, too."""
    for opens, said in ((50, True), (100, False)):
        columns = ran(read(50 * MILLISECOND, TEXT, 40 * MB, 1000), 3.0)
        columns["places"] |= {name: np.array([opens]) for name in ("opens", "closes")}
        assert (found(columns) is not None) == said


def test_lines_that_are_flushed_one_by_one_have_a_step_between_them():
    """20,000 writes, 50 µs from one to the next: 12 MB/s where they are of 600 B, which fill a
    buffer; 10 MB/s where they are of 500 B."""
    for size, said in ((600, True), (500, False)):
        lines = write(50 * MILLISECOND, TEXT, 20_000 * size, 20_000)
        assert (found(ran(lines, 1.0, after=19_999)) is not None) == said


def test_a_line_that_also_prints_is_said_to_write_its_file():
    """1000 writes to the file, and 2 or 200 to another from the same line."""
    for printed, said in ((2, "999 writes to state.json ("), (200, "999 writes to 2 files (")):
        beside = write(MILLISECOND, b"/run/printed", 1000 * printed, printed)
        end = 9 * SECOND + 51 * MILLISECOND
        run = Program([[useful(9 * SECOND), text(), beside]], end, end, 9 * SECOND)
        columns = run.columns()
        called_from(columns, [("dump", "/m"), ("main", "/m")])
        again = {"again": np.array([999]), "again_ns": np.array([3 * SECOND])}
        columns["places"] |= again | {"file": [0, 1], "path": [0, 0]}
        assert said in found(columns).finding


def test_what_comes_more_quickly_than_text_is_copied():
    """40 MB with 30 ms between them are 1.3 GB/s; with 150 ms, 0.27 GB/s. Of a run of 0.5 s."""
    for between_s, work in ((0.03, "gathering pieces in a buffer"), (0.15, "formatting")):
        end = 500 * MILLISECOND
        columns = ran(text(), between_s)
        columns["meta"] = dict(columns["meta"])
        run = Program([[useful(end - 50 * MILLISECOND), text()]], end, end, end)
        short = run.columns()
        columns |= {key: short[key] for key in short if key != "places"}
        finding = found(columns)
        assert f"({work}, or what else is done from one write to the next)" in finding.finding
        assert ("whole arrays" in finding.advice) == (between_s == 0.03)


def test_records_of_fortran_are_gathered_in_a_larger_buffer():
    """1000 writes of 65,544 bytes at 22 MB/s. Of another program than one of GNU's Fortran they are
    blocks of its own, and those of text are smaller."""
    fortran = "/usr/lib/libgfortran.so.5"
    records = write(50 * MILLISECOND, b"/run/u.0", 65_544_000, 1000)
    finding = found(ran(records, 3.0, library=fortran))
    assert "999 writes to u.0 (gathering pieces in a buffer, or what else" in finding.finding
    assert "whole arrays instead of single values" in finding.advice
    assert found(ran(records, 3.0)) is None
    lines = write(50 * MILLISECOND, b"/run/u.txt", 8_000_000, 1000)
    assert "(formatting, " in found(ran(lines, 0.8, library=fortran)).finding


def test_an_archive_is_made_between_reads_of_what_it_holds():
    """1000 reads, and 4 writes of 1 MB from the same line, to an archive or to text."""
    for name, work in ((b"/run/all.tar.gz", "compressing"), (b"/run/all.txt", "parsing")):
        beside = write(MILLISECOND, name, 4 * MB, 4)
        end = 9 * SECOND + 51 * MILLISECOND
        calls = [useful(9 * SECOND), read(50 * MILLISECOND, TEXT, 40 * MB, 1000), beside]
        columns = Program([calls], end, end, 9 * SECOND).columns()
        called_from(columns, [("dump", "/m"), ("main", "/m")])
        again = {"again": np.array([999]), "again_ns": np.array([3 * SECOND])}
        columns["places"] |= again | {"file": [0, 1], "path": [0, 0]}
        finding = found(columns)
        assert f"999 reads of state.json ({work}, or what else" in finding.finding
        assert ("compress" in finding.advice) == (work == "compressing")


def beside(moved, other, apart):
    """1000 calls of one place that move bytes, so many of which follow another call, 3 s apart in
    all, and calls of another place."""
    end = 9 * SECOND + 51 * MILLISECOND
    columns = Program([[useful(9 * SECOND), moved, other]], end, end, 9 * SECOND).columns()
    called_from(columns, [("ours", "/m"), ("theirs", "/m"), ("main", "/m")])
    again = {"again": np.array([1000 - apart, 0]), "again_ns": np.array([3 * SECOND, 0])}
    paths = {"file": [0, 1], "path": [0, 1], "paths": [[0, 2], [1, 2]], "cut": [False, False]}
    columns["places"] |= again | paths
    return columns


@pytest.mark.parametrize(
    ("name", "apart", "writes", "work"),
    [
        (b"/run/big.txt.gz", 55, 55, "compressing"),  # as gzip does
        (b"/run/big.txt.gz", 55, 220, "compressing"),  # a member's head, data and end each time
        (b"/run/big.out", 55, 55, "parsing"),
        (b"/run/out.npz", 1, 55, "parsing"),  # all is read first
        (b"/run/out.npz", 55, 2, "parsing"),  # lines for a log stand between the reads
    ],
)
def test_who_writes_packed_files_between_reads_compresses(name, apart, writes, work):
    """1000 reads of one place, of which so many follow another call, and writes from another."""
    moved = read(50 * MILLISECOND, TEXT, 40 * MB, 1000)
    finding = found(beside(moved, write(MILLISECOND, name, 4 * MB, writes), apart))
    assert f"{1000 - apart} reads of state.json ({work}, or what else" in finding.finding
    assert ("compress" in finding.advice) == (work == "compressing")


@pytest.mark.parametrize(
    ("name", "apart", "reads", "work"),
    [
        (b"/run/big.txt.gz", 61, 430, "decompressing"),  # as gunzip does
        (b"/run/big.in", 61, 430, "formatting"),
        (b"/run/in.npz", 1, 430, "formatting"),  # all is read before
        (b"/run/in.npz", 61, 2, "formatting"),  # other calls stand between the writes
    ],
)
def test_who_reads_packed_files_between_writes_decompresses(name, apart, reads, work):
    """1000 writes of one place, of which so many follow another call, and reads of another."""
    finding = found(beside(text(), read(MILLISECOND, name, 4 * MB, reads), apart))
    assert f"{1000 - apart} writes to state.json ({work}, or what else" in finding.finding
    assert ("unpacks" in finding.advice) == (work == "decompressing")


@pytest.mark.parametrize(
    ("name", "work"), [(b"/run/new.xlsx", "formatting"), (b"/run/new.xml", "decompressing")]
)
def test_who_packs_what_it_writes_unpacks_nothing(name, work):
    """800 writes of text and 200 to another file from the same place, as of who makes a workbook
    of texts, and 430 reads of a packed file from another place: 61 of the writes follow other
    calls, which may stand between these reads only where no archive is written."""
    end = 9 * SECOND + 51 * MILLISECOND
    old, packed = b"/run/old.xlsx", write(10 * MILLISECOND, name, 8 * MB, 200)
    calls = [write(40 * MILLISECOND, TEXT, 32 * MB, 800), packed, read(MILLISECOND, old, MB, 430)]
    columns = Program([[useful(9 * SECOND), *calls]], end, end, 9 * SECOND).columns()
    called_from(columns, [("ours", "/m"), ("theirs", "/m"), ("main", "/m")])
    again = {"again": np.array([939, 0]), "again_ns": np.array([3 * SECOND, 0])}
    files = list(columns["files"]["path"])
    of_files = {"file": list(range(3)), "path": [int(path == old) for path in files]}
    columns["places"] |= again | of_files | {"paths": [[0, 2], [1, 2]], "cut": [False, False]}
    assert f"writes to 2 files ({work}, or what else" in found(columns).finding


def test_objects_of_python_are_pickled():
    finding = found(ran(write(50 * MILLISECOND, b"/run/state.pkl", 40 * MB, 1000), 3.0))
    assert "state.pkl (pickling, or what else" in finding.finding
    assert finding.advice.startswith("keep numbers in arrays (numpy.save)")
    finding = found(ran(read(50 * MILLISECOND, b"/run/state.pickle", 40 * MB, 1000), 3.0))
    assert "state.pickle (unpickling, or what else" in finding.finding
    assert finding.advice.endswith("or read once and keep it")


def test_a_database_is_no_text():
    """By what stands on the way of the calls, whatever the file is called; and by its name."""
    for path, library in ((b"/run/state.db", "/lib/libsqlite3.so.0"), (b"/run/state.sqlite", "")):
        ways = ((write, "writes to", "executemany"), (read, "reads of", "by an index"))
        for call, moves, advice in ways:
            columns = ran(call(50 * MILLISECOND, path, 40 * MB, 1000), 3.0, library=library)
            finding = found(columns)
            of = f"999 {moves} {path.decode()[5:]}"
            assert f"{of} (what SQLite does to find and fill its pages, or" in finding.finding
            assert advice in finding.advice


def test_it_comes_first_where_it_takes_more_than_the_calls():
    columns = ran(write(SECOND, TEXT, 40 * MB, 1000), 3.0)
    headline = judge(Evidence(columns)).headline
    assert headline.startswith("What lies between 999 writes to state.json")
    assert " I/O takes 10.0 % of this run: " in headline
    less = judge(Evidence(ran(write(SECOND, TEXT, 40 * MB, 1000), 0.6))).headline
    assert less.startswith("I/O takes 10.0 %") and "between" not in less
    columns = ran(write(SECOND, TEXT, 40 * MB, 1000), 2.0, ranks=4, idle_s=6)
    uneven = judge(Evidence(columns)).headline
    assert uneven.startswith("Uneven computation takes 30.0 % of this run, I/O 10.0 %: ")
    assert ". Besides, what lies between 999 writes to state.json" in uneven


@pytest.mark.parametrize(
    "columns",
    [
        ran(text(), 0.3),  # of 9 s
        ran(text(12 * MB), 3.0),  # 4 MB/s: who makes 12 kB in 3 ms computes something
        ran(text(100 * MB), 3.0),  # no buffer is as large: whole arrays, and steps between them
        ran(text(), 3.0, after=20),  # steps of the program, each with a record
    ],
)
def test_computation_between_outputs_is_no_formatting(columns):
    assert found(columns) is None


def test_one_rank_that_formats_for_all_is_named():
    finding = found(ran(text(), 3.0, ranks=4))
    assert finding.finding.endswith("takes at least 33.1 % of the run on rank 0")
    assert finding.ranks == (0,)


def test_what_formatting_takes_is_no_uneven_computation():
    """Rank 0 computes as long as the others and formats for 3 s at least; they wait for it. So it
    may where it is busy for 6 s longer. Where it formats for 2 s of these, the others are uneven
    computation: 7 s against 3."""
    judged = judge(Evidence(ran(text(), 3.0, ranks=4, idle_s=3)))
    assert judged.headline == (
        "File calls take 0.6 % of this run, but what lies between 999 writes to state.json"
        " (formatting, or what else is done from one write to the next) takes at least 33.1 % of"
        " the run on rank 0."
    )
    assert [finding.code for finding in judged.findings] == ["between_calls"]
    assert judged.findings[0].advice.endswith("; or let every rank do that for its part")
    half = judge(Evidence(ran(text(), 3.0, ranks=4, idle_s=6))).findings
    assert "load_imbalance" not in [finding.code for finding in half]
    both = judge(Evidence(ran(text(), 2.0, ranks=4, idle_s=6))).findings
    (uneven,) = (finding for finding in both if finding.code == "load_imbalance")
    assert uneven.finding.endswith(
        "computes 1.75 times as long as the ranks on average, apart from what other findings name"
    )
    assert uneven.gain_s == pytest.approx(7 - 4)
    assert "useful time: 7.00 s on rank 0, 4.00 s on average" in uneven.evidence
    # Where formatting takes more, it is said first.
    columns = ran(write(SECOND, TEXT, 40 * MB, 1000), 2.5, ranks=4, idle_s=7)
    headline = judge(Evidence(columns)).headline
    assert "apart from" not in headline and headline.startswith("Uneven computation takes 33.8 %")
    later = judge(Evidence(ran(write(SECOND, TEXT, 40 * MB, 1000), 2.5, ranks=2, idle_s=7)))
    assert later.headline.startswith("What lies between 999 writes to state.json")
    assert " Other uneven computation takes 22.5 % of this run, I/O 10.0 %: " in later.headline


def test_who_formats_more_than_others_computes_no_longer():
    """Two ranks write to one file. Rank 0 is useful for 9 s and formats for 5 of these, rank 1 for
    5 s and 1: both compute for 4 s. Where each formats for 3 s, rank 0 computes for 6 s and rank 1
    for 2."""
    for of_each, uneven in (([5, 1], False), ([3, 3], True)):
        other = [useful(5 * SECOND), text(), mpi(4 * SECOND)]
        end = 9 * SECOND + 50 * MILLISECOND
        run = Program([[useful(9 * SECOND), text()], other], end, end, 9 * SECOND)
        columns = run.columns()
        called_from(columns, [("dump", "/m"), ("main", "/m")])
        by_rank = {"path": np.array([0, 0]), "rank": np.array([0, 1])}
        by_rank["time_ns"] = np.array(of_each) * SECOND
        again = {"again": np.array([1998]), "again_ns": np.array([6 * SECOND])}
        columns["places"] |= again | {"again_rank": by_rank}
        codes = [finding.code for finding in judge(Evidence(columns)).findings]
        assert ("load_imbalance" in codes) == uneven
        finding = found(columns)
        most = "of the run" if uneven else "of the run, on rank 0 55.2 %"  # 5 s of 9.05
        assert finding.finding.endswith(f"takes at least 33.1 % {most}")
        assert finding.gain_s == max(of_each)
        assert finding.advice.endswith("equal parts") != uneven


def test_waits_for_a_processor_are_no_formatting():
    waited = {"waited_ns": [(6 * SECOND, 0, 0)], "any_waited_ns": (6 * SECOND, 0, 0)}
    finding = found(ran(text(), 3.0, **waited))
    said = "takes at least 11.0 % of the run (32.8 % without waits for a processor)"
    assert finding.finding.endswith(said)
    # 0.33 s of them are 3.7 % of the run, but of the 3.05 s that it ran 10.9 %
    assert found(ran(text(), 1.0, **waited)) is not None
    assert found(ran(text(), 0.33)) is None


def test_of_one_rank_that_formats_its_own_waits_are_taken_off():
    """It waited for a processor for 3 of its 9 s outside of calls, the others for 9 s each, of all
    ranks' 36 s 30: two thirds of 3 s are its own."""
    waited_ns = [(3 * SECOND, 0, 0), *[(9 * SECOND, 0, 0)] * 3]
    waited = {"waited_ns": waited_ns, "any_waited_ns": (9 * SECOND, 0, 0)}
    finding = found(ran(text(), 3.0, ranks=4, **waited))
    assert finding.finding.endswith("takes at least 22.1 % of the run on rank 0")  # 2 s of 9.05


def test_what_is_packed_comes_more_slowly_than_text():
    """3 MB in 3 s, as gzip makes of numbers."""
    for name, said in ((b"/run/dump.gz", True), (b"/run/dump.txt", False)):
        columns = ran(write(50 * MILLISECOND, name, 3 * MB, 1000), 3.0)
        assert (found(columns) is not None) == said
    slower = ran(write(50 * MILLISECOND, b"/run/dump.gz", MB // 2, 1000), 3.0)
    assert found(slower) is None
