"""Streams that seek read more than they are asked for: where it holds, and where it does not. Every
run is built by arithmetic."""

from dataclasses import replace

import pytest

from .columns import MILLISECOND, SECOND, Interval
from .test_verdict_why import call, first

TABLE = b"/run/table"
# Of each of four ranks: 30,000 records of 16 B, 480 kB, for each of which 4 KiB are read, 123 MB.
RECORDS = 30_000
FILLED = Interval("io", MILLISECOND, "fread", TABLE, 4096 * RECORDS, RECORDS, "stdio")
READS = replace(FILLED, buffered=RECORDS, buffered_size=16 * RECORDS)
SEEKS = call("fseek", SECOND, RECORDS, TABLE)


def test_a_stream_that_seeks_reads_more_than_it_is_asked_for():
    found = first(SEEKS, READS)
    assert found.code == "amplification"
    assert found.finding == (
        "a stream was asked for 1.92 MB of table, and read 492 MB: it fills its buffer anew after "
        "a seek"
    )
    assert found.evidence.startswith(
        "120,000 seeks of 33.3 µs each, with what a stream reads in them; 120,000 reads of 4.10 kB "
        "on average;"
    )
    assert "pread" in found.advice and "setvbuf" in found.advice and "order" in found.advice


def test_so_it_is_of_several_files():
    """Half of the records are of each of two files."""
    apart = [
        replace(whole, calls=RECORDS // 2, size=whole.size // 2, path=b"/run/table.%d" % number)
        for whole in (SEEKS, replace(READS, buffered=RECORDS // 2, buffered_size=8 * RECORDS))
        for number in range(2)
    ]
    assert first(*apart).finding == (
        "streams were asked for 1.92 MB of 2 files, and read 492 MB: each fills its buffer anew "
        "after a seek"
    )


@pytest.mark.parametrize(
    "reads",
    [
        # in the order of the file: the buffer serves 256 records, and seeks stay within it
        replace(READS, size=16 * RECORDS, calls=RECORDS // 256),
        # what a smaller buffer of 64 B reads beside 16 B is less than a block of a device
        replace(READS, size=64 * RECORDS),
        # of 4 KiB each all is used
        replace(READS, buffered_size=4096 * RECORDS),
        # no stream
        FILLED,
    ],
)
def test_who_uses_what_is_read_is_told_of_his_seeks(reads: Interval):
    assert first(SEEKS, reads).code == "metadata"


def test_other_calls_that_take_the_time_are_named():
    """Seeks and reads have 1.001 s of 3.001 s, then 1.001 of 2.002: the half of it."""
    assert first(SEEKS, READS, call("fsync", 2 * SECOND, 9)).code == "sync"
    half = call("fsync", SECOND + MILLISECOND, 9)
    assert first(SEEKS, READS, half).code == "amplification"


def test_few_seeks_for_each_open_ask_for_a_size():
    """As where a name is opened 15,000 times: a seek to the end, and one back."""
    opens = call("open", MILLISECOND, RECORDS // 2, TABLE)
    assert first(opens, SEEKS, READS).code != "amplification"


def test_seeks_of_descriptors_are_for_what_they_read():
    """30,000 of each: whose bytes they are is not told apart."""
    past = Interval("io", MILLISECOND, "pread", TABLE, 4096 * RECORDS, RECORDS)
    assert first(SEEKS, READS, past).code == "amplification"
    more = replace(past, calls=RECORDS + 1)
    assert first(SEEKS, READS, more).code != "amplification"
