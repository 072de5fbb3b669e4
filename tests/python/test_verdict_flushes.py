"""Flushes that are no calls of their own: C++'s std::endl and Fortran's flush statement are seen on
the way of their writes. Every run is built by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import KINDS

from .columns import MILLISECOND, SECOND, Interval, Program, called_from, mpi, useful, write
from .test_verdict_why import MB, first

LINES = 40_000
FILEBUF = "std::basic_filebuf<char, std::char_traits<char> >::sync"
# Functions on the way of the writes, the one that is named, and what is to be called less often.
OF_LIBRARIES = [
    (["H5F__flush", "H5Fflush"], "H5Fflush", "H5Fflush and H5Dflush"),
    (["H5D__flush", "H5Dflush"], "H5Dflush", "H5Fflush and H5Dflush"),  # h5py's Dataset.flush
    (["H5F__flush", "H5Fflush", "nc_sync"], "nc_sync", "nc_sync"),
]


def found(*functions: str, size: int = 30, beside: Interval | None = None, **how: Any) -> Finding:
    """A program writes 40,000 times from a place with these functions on its way, the innermost
    first; what it writes beside comes from main."""
    data = [write(SECOND, b"/run/mesh", size * LINES, LINES, **how), beside]
    row = [useful(SECOND), *(interval for interval in data if interval is not None)]
    whole = sum(interval.length_ns for interval in row)
    columns = Program([row], whole, whole, SECOND).columns()
    files, names = columns["files"], [*functions, "main"]
    table = {calls: files[calls] for calls, _ in KINDS.values()}
    table |= {f"{name}_ns": files[f"{name}_ns"] for name in KINDS}
    table |= {name: files[name] for name in ("bytes_read", "bytes_written")}
    table |= {"file": list(range(len(files["path"]))), "cut": [False, False]}
    table |= {"path": [int(calls != LINES) for calls in files["writes"]]}
    table |= {"paths": [list(range(len(names))), [len(names) - 1]]}
    blank = {"source": [""] * len(names), "line": [0] * len(names), "module": ["/m"] * len(names)}
    columns["places"] = table | {"frames": {"function": names} | blank}
    findings = judge(Evidence(columns)).findings
    return next(f for f in findings if f.code in ("small_requests", "random_requests"))


@pytest.mark.parametrize(
    "flush",
    [
        "std::ostream::flush",
        "std::basic_ostream<char, std::char_traits<char> >::flush",
    ],
)
def test_lines_that_endl_flushes_are_flushes(flush: str):
    said = found(FILEBUF, flush, "write_mesh")
    assert said.finding == "40,000 flushes of 30 B on average take 100 % of the I/O time"
    assert said.advice == "end lines with '\\n' where nobody waits for them: std::endl flushes each"


def test_the_flush_statement_of_fortran_is_one_too():
    said = found("_gfortran_st_flush", "write_mesh")
    assert said.finding.startswith("40,000 flushes of 30 B")
    assert said.advice.startswith("flush where someone waits")


def test_writes_of_a_full_buffer_are_none():
    full = "std::basic_filebuf<char, std::char_traits<char> >::overflow"
    assert "40,000 small writes of 30 B" in found(full, "std::ostream::put", "write_mesh").finding
    own = "Mesh::flush"  # which may be anything
    assert "small writes" in found(own, "write_mesh").finding


def test_flushes_are_not_named_where_other_writes_take_longer():
    beside = write(2 * SECOND, b"/run/out", 30 * 50_000, 50_000)
    said = found("std::ostream::flush", beside=beside).finding
    assert said.startswith("90,000 small writes of 30 B"), said


@pytest.mark.parametrize(("way", "by", "advised"), OF_LIBRARIES)
def test_what_flushes_write_again_is_no_matter_of_chunks(way: list[str], by: str, advised: str):
    """A row of 512 B at a time, of a dataset that lies in one piece: 131 MB for 1 MB."""
    name = b"/run/n.nc" if by == "nc_sync" else b"/run/h.h5"
    row = [useful(SECOND), write(SECOND, name, 65_536 * 2000, 2000, reach=(0, MB))]

    def said(*functions: str) -> Finding:
        columns = Program([row], 2 * SECOND, 2 * SECOND, SECOND).columns()
        called_from(columns, [(each, "/usr/lib/libhdf5.so.310") for each in functions])
        findings = judge(Evidence(columns)).findings
        return next(f for f in findings if f.code == "redundant_writes")

    told = said("H5FD_write", *way, "main")
    assert told.finding.startswith("131 MB are written to 1.00 MB of ")
    assert told.advice.startswith(f"call {advised} less often")
    assert "chunks" in said("H5FD_write", "H5Dwrite", "main").advice


def test_who_computes_long_between_flushes_is_not_told_to_write_binary_numbers():
    """Rank 0 is 2 s in netCDF's functions, and writes 10 MB; the other waits for it."""
    alone = [useful(2 * SECOND), write(MILLISECOND, b"/run/n.nc", 10 * MB, 10_000)]
    end = 2 * SECOND + MILLISECOND

    def advised(*functions: str) -> str:
        columns = Program([alone, [useful(MILLISECOND), mpi(2 * SECOND)]], end, end, end).columns()
        called_from(columns, [(each, "/usr/lib/libnetcdf.so.19") for each in functions])
        findings = judge(Evidence(columns)).findings
        return next(f for f in findings if f.code == "load_imbalance").advice

    assert advised("H5FD_write", "H5Fflush", "nc_sync", "main").startswith(
        "call nc_sync less often"
    )
    assert advised("H5FD_write", "nc_put_vara", "main").startswith("what the library does to")


@pytest.mark.parametrize(("way", "by", "advised"), OF_LIBRARIES)
def test_what_a_library_writes_because_it_was_told_to_flush(way: list[str], by: str, advised: str):
    said = found("H5FD_write", *way, "write_step", size=2000)
    assert said.finding == (
        f"40,000 writes of 2.00 kB on average, made by {by}, take 100 % of the I/O time"
    )
    assert said.advice.startswith(f"call {advised} less often")
    assert "made by" not in found("H5FD_write", "H5Dwrite", "write_step", size=2000).finding
    # netCDF itself flushes there: once, or before the first values of each variable
    for ending in ("nc_close", "nc_enddef", "nc_put_vara"):
        assert "made by" not in found("H5FD_write", *way[:2], ending, size=2000).finding


@pytest.mark.parametrize(
    ("name", "advised"),
    [
        (b"/run/state.h5", "call H5Fflush of a file that ranks share, or fsync, once"),
        (b"/run/state.nc", "call nc_sync of a file that ranks share, or fsync, once"),
        (b"/run/state", "synchronise once per output"),
    ],
)
def test_what_synchronises_is_named_by_its_library(name, advised):
    written = write(MILLISECOND, name, 10_000, 200)
    found = first(written, Interval("io", SECOND, "fsync", name, 0, 200))
    assert (found.code, found.advice.startswith(advised)) == ("sync", True)


def test_tables_that_are_written_at_each_flush_are_no_disorder_of_the_program():
    """Two fifths of the writes go back to them, and as many forward again."""
    jumping = {"steps": (8_000, 16_000, 16_000)}
    flushed = found("H5F__flush", "H5Fflush", **jumping)
    assert flushed.finding.startswith("40,000 writes of 30 B on average, made by H5Fflush")
    assert "jump back and forth" in found("H5D__write", "H5Dwrite", **jumping).finding


def test_a_few_flushes_that_netcdf_makes_by_itself_are_not_what_it_is_called_for():
    """40,000 writes are of nc_sync, and 20 lie behind nc_put_vara: 40,020 by H5Fflush, which the
    program does not call."""
    whole = [
        write(SECOND, b"/run/out.nc", 80 * MB, LINES),
        write(MILLISECOND, b"/run/b", 40_000, 20),
    ]
    length = 2 * SECOND + MILLISECOND
    columns = Program([[useful(SECOND), *whole]], length, length, SECOND).columns()
    ways = [["H5Fflush", "nc_sync", "main"], ["H5Fflush", "nc_put_vara", "main"]]
    called_from(columns, [(name, "/m") for name in ("H5Fflush", "nc_sync", "nc_put_vara", "main")])
    names = columns["places"]["frames"]["function"]
    paths = [[names.index(name) for name in way] for way in ways]
    columns["places"] |= {"file": [0, 1], "path": [0, 1], "paths": paths, "cut": [False, False]}
    found = next(f for f in judge(Evidence(columns)).findings if f.code == "small_requests")
    assert "40,000 writes of 2.00 kB on average, made by nc_sync" in found.finding, found.finding
    assert found.advice.startswith("call nc_sync less often")


BY_MPI = [("fsync", "/lib/libmpi.so"), ("PMPI_File_sync", "/lib/libmpi.so")]


@pytest.mark.parametrize(
    ("way", "opens", "syncs", "advised"),
    [
        # netCDF-4 in parallel: nc_close, nc_enddef, one for each step, and an open for each, too
        (["H5Fflush", "nc4_close_hdf5_file", "nc_close"], 1, 2, "no call of the program's can be"),
        (["H5Fflush", "NC4__enddef", "nc_enddef"], 1, 2, "no call of the program's can be left"),
        (["H5Fflush", "NC4__enddef", "nc_enddef"], 1, 60, "define all that a file holds before"),
        (["H5Fflush", "NC4__enddef", "nc_enddef"], 60, 120, "open the file once and keep it open"),
        (["H5F__flush", "H5Fclose"], 30, 30, "open the file once and keep it open: the library"),
        # what the program calls
        (["H5Fflush", "NC4_sync", "nc_sync"], 1, 60, "call nc_sync of a file that ranks share"),
        ([], 1, 60, "call nc_sync of a file that ranks share, or fsync, once"),
    ],
)
def test_who_calls_no_nc_sync_is_not_told_to_call_it_less(
    way: list[str], opens: int, syncs: int, advised: str
):
    path, each = b"/run/p4.nc", MILLISECOND // 2
    calls = [write(10 * MILLISECOND, path, MB, 100)]
    made = (("open", opens), ("fsync", syncs), ("close", opens))
    calls += [Interval("io", each * times, name, path, 0, times) for name, times in made]
    row = [useful(100 * MILLISECOND), *calls]
    whole = sum(interval.length_ns for interval in row)
    columns = Program([row] * 2, whole, whole, 100 * MILLISECOND).columns()
    functions = [(name, "/lib/libnetcdf.so.19") for name in way]
    called_from(columns, [*BY_MPI, *functions, ("main", "/m")])
    columns["files"] |= {"sync_ns": np.array([SECOND])}  # more than all else
    columns["places"] |= {"sync_ns": np.array([SECOND])}
    finding = next(f for f in judge(Evidence(columns)).findings if f.code == "sync")
    assert finding.finding.startswith(f"{2 * syncs} fsyncs of ")
    assert finding.advice.startswith(advised)
    assert ("nc_sync" in finding.advice) == advised.startswith("call nc_sync")


def test_of_many_outputs_fewer_are_synchronised_by_the_library():
    """Two files, each defined and closed once."""
    calls = [
        Interval("io", length, name, b"/run/p4.%d.nc" % number, 0, times)
        for number in range(2)
        for name, length, times in (("open", MILLISECOND, 1), ("fsync", SECOND, 2))
    ]
    whole = sum(interval.length_ns for interval in calls)
    columns = Program([calls], whole, whole, 0).columns()
    called_from(columns, [*BY_MPI, ("nc_close", "/lib/libnetcdf.so.19"), ("main", "/m")])
    columns["places"] |= {"file": [0, 1], "path": [0, 0]}
    finding = next(f for f in judge(Evidence(columns)).findings if f.code == "sync")
    assert finding.advice.startswith("open fewer files: the library itself synchronises a file")
