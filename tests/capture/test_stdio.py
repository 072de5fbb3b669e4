"""STDIO: calls that a buffer serves are counted, what reaches the system is a request, and the
bytes of the requests are those of the file."""

from __future__ import annotations

import signal

import pytest
import rawstream

# stdio.c: 20,000 times 4 + 10 + 21 + 6 + 1 bytes
PRINTS, PRINTED = 100_000, 840_000
BUFFER = 4096
LINE = b"word 1234 and so on\n"


@pytest.fixture
def ran(program, capture, tmp_path):
    def run(what: str, **options):
        return capture(program("stdio"), what, tmp_path / "file", **options)

    return run


def requests(streams: list[rawstream.Stream], op: str) -> list[rawstream.Call]:
    calls = [call for stream in streams for call in stream.calls if call.class_number == 1]
    return [call for call in calls if call.op == op and call.path.endswith(b"/file")]


def counted(streams: list[rawstream.Stream], op: str) -> tuple[int, int]:
    rows = [row for stream in streams for row in stream.buffered if row.op == op]
    return sum(row.calls for row in rows), sum(row.bytes for row in rows)


def test_prints_are_counted_and_flushes_are_requests(ran, tmp_path):
    stream = ran("writes").stream
    writes = requests([stream], "write")
    assert counted([stream], "write") == (PRINTS, PRINTED)
    assert (tmp_path / "file").stat().st_size == PRINTED == sum(call.bytes for call in writes)
    # all but what exit wrote were flushed by a call, whole buffers at a time
    assert len(writes) == -(-PRINTED // BUFFER)
    assert {call.bytes for call in writes[:-1]} == {BUFFER}
    assert writes[-1].function == "fflush" and writes[-1].bytes == PRINTED % BUFFER
    assert all(call.end > call.begin for call in writes[:-1])
    assert stream.header["lost"] == 0 and stream.ended


def test_what_exit_did_not_flush_is_not_written(ran, tmp_path):
    stream = ran("_exit").stream
    written = sum(call.bytes for call in requests([stream], "write"))
    assert (tmp_path / "file").stat().st_size == written == PRINTED // BUFFER * BUFFER


def test_killed_program_lacks_no_request_and_at_most_1023_counts(ran, tmp_path):
    capture = ran("killed")
    assert capture.returncode == -signal.SIGKILL
    written = sum(call.bytes for call in requests(capture.streams, "write"))
    assert (tmp_path / "file").stat().st_size == written == 5000 * 4 // BUFFER * BUFFER
    assert 5000 - 1023 <= counted(capture.streams, "write")[0] <= 5000


def test_threads_that_share_a_file_count_for_themselves(ran, tmp_path):
    streams = ran("threads").streams
    size = 3 * 20_000 * (4 + 7)
    assert counted(streams, "write") == (3 * 40_000, size)
    written = sum(call.bytes for call in requests(streams, "write"))
    assert (tmp_path / "file").stat().st_size == written == size


def test_unforeseen_flush_has_its_bytes_and_no_duration(ran, tmp_path):
    """After a print of 1 byte there seems to be room for one of 5,000; after that, not any more."""
    first, second, last = requests([ran("unforeseen").stream], "write")
    assert (tmp_path / "file").stat().st_size == 10_001
    assert (first.bytes, first.function) == (BUFFER, "fprintf") and first.begin == first.end
    assert (second.bytes, second.function) == (BUFFER, "fprintf") and second.begin < second.end
    assert last.bytes == 10_001 - 2 * BUFFER


def test_lines_are_counted_and_refills_are_requests(ran, tmp_path):
    (tmp_path / "file").write_bytes(LINE * 5000)
    stream = ran("lines").stream
    reads = requests([stream], "read")
    # the last fgets meets the end of the file, which is a request too
    assert counted([stream], "read") == (5001, 5000 * len(LINE))
    assert sum(call.bytes for call in reads) == 5000 * len(LINE)
    assert len(reads) == -(-5000 * len(LINE) // BUFFER) + 1 and reads[-1].bytes == 0


def test_bytes_read_are_those_that_the_kernel_counts(ran, tmp_path):
    (tmp_path / "file").write_bytes(LINE * 5000)
    capture = ran("kernel")
    read = sum(call.bytes for call in requests([capture.stream], "read"))
    # beside the file the program reads /proc/self/io, and capture its run delay and its mappings
    assert 0 < int(capture.stdout) - read < 20_000
