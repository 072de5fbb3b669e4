"""What the report in the terminal says of how ranks spend their time: runs built by arithmetic."""

from dataclasses import replace

import pytest

from tailrace.report.text import summary
from tailrace.verdict.as_json import bytes_per_s, report

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, useful, write


def said(*row: Interval, ranks: int = 2, **more: object) -> str:
    run_ns = sum(interval.length_ns for interval in row)
    program = Program([list(row)] * ranks, run_ns, run_ns, run_ns, **more)
    return str(summary(report(program.columns()), "model.tailrace"))


def test_what_is_no_time_at_all_is_left_out():
    whole = "model.tailrace: 2 ranks, run time 1.00 s; on average a rank spends 1.00 s in files"
    assert said(write(SECOND)) == whole
    both = said(useful(SECOND), write(SECOND), mpi(2 * SECOND))
    assert both.endswith(
        "1.00 s outside MPI and file calls (useful), 1.00 s in files and 2.00 s in MPI"
    )
    alone = said(useful(SECOND), write(2 * SECOND), ranks=1, meta={"mpi": ""})
    assert alone.endswith(
        ": run time 3.00 s: 1.00 s outside file calls (useful) and 2.00 s in files"
    )


def test_what_was_waiting_for_a_processor_is_said_beside_it():
    waited = [(SECOND // 2, 0, SECOND)] * 2
    assert said(useful(SECOND), mpi(2 * SECOND), waited_ns=waited).endswith(
        "1.00 s outside MPI and file calls (useful) and 2.00 s in MPI, "
        "1.50 s of all that waiting for a processor"
    )
    few = [(SECOND // 1000, 0, 0)] * 2
    assert "waiting" not in said(useful(SECOND), mpi(2 * SECOND), waited_ns=few)


def rate_of(*row: Interval) -> float:
    """Of the only file of one rank, in MB/s."""
    run_ns = sum(interval.length_ns for interval in row)
    (file,) = report(Program([list(row)], run_ns, run_ns, run_ns).columns())["files"]
    return bytes_per_s(file) / 1e6


def test_what_a_stream_reads_in_its_seeks_takes_the_time_of_these():
    """100 MB in 1 s of seeks and 1 ms of reads; but of a descriptor a seek moves nothing, and where
    a stream's reads have 2 s they are what moves the bytes."""
    seeks = Interval("io", SECOND, "fseek", b"/run/table", calls=9, layer="stdio")
    reads = Interval("io", MILLISECOND, "fread", b"/run/table", 100_000_000, 9, "stdio")
    assert rate_of(seeks, reads) == pytest.approx(100 / 1.001)
    of_descriptor = [replace(call, layer="posix") for call in (seeks, reads)]
    assert rate_of(*of_descriptor) == pytest.approx(100 / 0.001)
    assert rate_of(seeks, replace(reads, length_ns=2 * SECOND)) == pytest.approx(100 / 2)
