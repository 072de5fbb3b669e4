"""Calls that move bytes from one descriptor to another: whose time they take. A file is in memory
here, and whoever is at the other end of the socket or pipe sleeps first."""

from __future__ import annotations

import os
from pathlib import PurePath

import pytest

BYTES = 262_144
SLEEP_NS = 300_000_000


@pytest.fixture
def moved(program, capture):
    """By name of the file: bytes and ns of what was read, and of what was written."""

    def run(way: str) -> dict[tuple[str, str], tuple[int, int]]:
        done = capture(program("transfers"), way, TAILRACE_CLOCK="monotonic")
        assert done.returncode == 0, done.stderr
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for call in done.stream.calls:
            if call.function in ("sendfile", "splice"):
                key = (call.op, PurePath(os.fsdecode(call.path)).name)
                size, time_ns = found.get(key, (0, 0))
                found[key] = (size + call.bytes, time_ns + call.end - call.begin)
        return found

    return run


@pytest.mark.parametrize(
    ("way", "file", "stream"),
    [
        ("sendfile to socket", ("read", "file"), None),
        ("splice to socket", ("read", "file"), None),
        ("splice from socket", ("write", "copy"), None),
        ("sendfile to pipe", ("read", "file"), ("write", "<pipe>")),
        ("splice to pipe", ("read", "file"), ("write", "<pipe>")),
        ("splice from pipe", ("write", "copy"), ("read", "<pipe>")),
    ],
)
def test_the_file_does_not_wait_for_the_other_end(moved, way, file, stream):
    """Of a socket nothing is recorded; a pipe of the program's own, by which the bytes go to a
    socket or come from one, is waited for by nobody."""
    found = moved(way)
    size, time_ns = found.pop(file)
    assert size == BYTES
    assert time_ns < 0.3 * SLEEP_NS
    if stream:
        assert found.pop(stream)[1] > 0.5 * SLEEP_NS
    assert not found


@pytest.mark.parametrize("way", ["sendfile to file", "by a pipe of its own"])
def test_what_waits_for_nobody_is_the_files_time(moved, way):
    """Of two files, the writes'; of a file and a pipe with room, the file's."""
    found = moved(way)
    assert found.keys() == {("write", "copy"), ("read", "file")}
    assert all(size == BYTES for size, _ in found.values())
    assert found["write", "copy"][1] > 0
    assert (found["read", "file"][1] > 0) == (way == "by a pipe of its own")
