"""Reads that find nothing where a file ends that their rank writes: the price of writing, and not
reading. Runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, mpi, read, useful, write

OUT = b"/run/wrfout.nc"
PAGES, PAGE = 2000, 8192


def classic(
    found: int = 0, each_ns: int = MILLISECOND, to: bytes = OUT, write_ns: int = SECOND // 2
) -> list[Finding]:
    """After a second of computing rank 0 writes 2,000 pages, which takes `write_ns`, and reads as
    often, `found` bytes in all; the other rank computes a second and waits."""
    reading = PAGES * each_ns
    writes = write(write_ns, to, PAGES * PAGE, PAGES)
    rows = [
        [useful(SECOND), writes, read(reading, OUT, found, PAGES)],
        [useful(SECOND), mpi(write_ns + reading)],
    ]
    in_files = write_ns + reading
    even = SECOND + in_files // 2
    program = Program(rows, SECOND + in_files, even, SECOND)
    return judge(Evidence(program.columns())).findings


def test_who_reads_where_its_own_file_ends_writes():
    first, *others = classic()
    assert first.finding == "rank 0 writes wrfout.nc alone while the other rank waits"
    (said,) = (found for found in others if found.code == "slow_small_requests")
    assert said.finding == (
        "2,000 reads that find nothing, 1.00 ms each: where wrfout.nc ends, they wait until what"
        " was written has arrived"
    )
    assert "nc__create" in said.advice
    assert said.evidence.startswith("2,000 writes of 8.19 kB")


@pytest.mark.parametrize(
    "run",
    [
        classic(found=PAGES * PAGE),
        classic(to=b"/run/other.nc"),
        classic(each_ns=MILLISECOND // 1000),
        classic(each_ns=40_000, write_ns=SECOND // 50),
    ],
    ids=["they find pages", "another file is written", "they return at once", "and nearly so"],
)
def test_it_is_not_said_of_other_reads(run: list[Finding]):
    assert not any("has arrived" in found.finding for found in run)


def test_a_server_on_the_same_machine_is_asked_as_well():
    """NFS and GlusterFS by loopback take 80 to 100 µs for it on a quick machine."""
    run = classic(each_ns=80_000, write_ns=SECOND // 50)
    assert any("80.0 µs each: where wrfout.nc ends" in found.finding for found in run)
