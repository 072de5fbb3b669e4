"""The requests that capture records of STDIO are the reads and writes that strace sees without
capture, and the calls that it counts are those of the program."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import rawstream

PROGRAMS = Path(__file__).parent / "programs"
LINES = b"".join(b"line %06d\n" % i for i in range(2000))
# PID CALL(DESCRIPTOR<PATH>, …) = BYTES; of several threads a call may be shown in two pieces
BEGUN = re.compile(r"^(\d+) +(read|writev?)\(\d+<([^>]*)>.*?(?:= (\d+)|<unfinished ...>)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (read|writev?) resumed>.* = (\d+)$")

MODES = [
    "by_lines", "unbuffered", "own_buffer", "small_buffer", "large_blocks", "append", "update",
    "reopened", "descriptor", "seeks", "pushed_back", "lines_of_any_length", "scans",
    "scans_of_any_length", "memory", "threads", "all_at_once", "changed_in_place",
]  # fmt: skip

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")


def traced(command: list[str], directory: Path) -> list[tuple[str, int]]:
    """Reads and writes of the file by the program alone."""
    (directory / "file").write_bytes(LINES)
    log = directory / "log"
    words = ["strace", "-f", "-y", "-o", log, "-e", "trace=read,write,writev", *command]
    subprocess.run(words, check=True, cwd=directory, stdout=subprocess.PIPE)
    found, begun = [], {}
    for line in log.read_text(errors="replace").splitlines():
        if call := BEGUN.match(line):
            begun[call[1]] = call[3].endswith("/file")
            size = call[4]
        elif call := RESUMED.match(line):
            size = call[3]
        if call and begun[call[1]] and size is not None:
            found.append((call[2].rstrip("v"), int(size)))
    return found


def placed(command: list[str], directory: Path) -> list[tuple[str, int, int]]:
    """Reads and writes of the file by the program alone, each with the offsets where it began and
    ended: what openat, lseek, read and write returned of each descriptor."""
    (directory / "file").write_bytes(LINES)
    log = directory / "places"
    words = ["strace", "-y", "-o", log, "-e", "trace=openat,lseek,read,write,writev", *command]
    subprocess.run(words, check=True, cwd=directory, stdout=subprocess.PIPE)
    found, stands = [], {}
    for line in log.read_text(errors="replace").splitlines():
        if opened := re.match(r"openat\(.* = (\d+)<.*/file>$", line):
            stands[opened[1]] = 0
        elif call := re.match(r"(lseek|read|writev?)\((\d+)<[^>]*/file>.* = (\d+)$", line):
            name, descriptor, result = call[1], call[2], int(call[3])
            begin = 0 if name == "lseek" else stands[descriptor]
            stands[descriptor] = begin + result
            if name != "lseek":
                found.append((name.rstrip("v"), begin, begin + result))
    return found


def recorded(streams: list[rawstream.Stream]) -> list[tuple[str, int]]:
    calls = [call for stream in streams for call in stream.calls if call.class_number == 1]
    calls.sort(key=lambda call: call.end)
    mine = [call for call in calls if call.op in ("read", "write") and call.path.endswith(b"/file")]
    return [(call.op, call.bytes) for call in mine]


def joined(calls: list[tuple[str, int]], sizes: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Adjacent system calls of one kind as the requests of these sizes: of a block that is larger
    than the buffer, libc makes several."""
    rest, made = list(calls), []
    for op, size in sizes:
        moved = 0
        while rest and rest[0][0] == op and (moved < size or moved == size == 0):
            moved += rest.pop(0)[1]
            if moved >= size:
                break
        made.append((op, moved))
    return made + rest


def counted(streams: list[rawstream.Stream], op: str) -> tuple[int, int]:
    rows = [row for stream in streams for row in stream.buffered if row.op == op]
    return sum(row.calls for row in rows), sum(row.bytes for row in rows)


@needs_strace
@pytest.mark.parametrize("mode", MODES)
def test_requests_are_what_strace_shows(mode, program, capture, tmp_path):
    command = [str(program("stdio_modes")), mode]
    truth = traced(command, tmp_path)
    without = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(LINES)
    done = capture(*command)
    assert done.returncode == 0, done.stderr
    if mode != "threads":
        assert (tmp_path / "file").read_bytes() == without
    found = recorded(done.streams)
    assert sorted(truth) == sorted(found) or joined(truth, found) == found
    put_calls, put_bytes, got_calls, got_bytes = map(int, done.stdout.split())
    assert counted(done.streams, "write") == (put_calls, put_bytes)
    assert counted(done.streams, "read") == (got_calls, got_bytes)


# A place is known from a seek of the FILE on; of what is appended it never is.
@needs_strace
@pytest.mark.parametrize("mode", ["large_blocks", "update", "seeks", "append"])
def test_requests_are_where_strace_shows_them(mode, program, capture, tmp_path):
    command = [str(program("stdio_modes")), mode]
    truth = placed(command, tmp_path)
    (tmp_path / "file").write_bytes(LINES)
    done = capture(*command)
    assert done.returncode == 0, done.stderr
    calls = [
        call
        for stream in done.streams
        for call in stream.calls
        if call.class_number == 1
        and call.op in ("read", "write")
        and call.bytes
        and call.path.endswith(b"/file")
        and call.offset is not None
    ]
    assert calls
    for call in calls:
        # libc makes several system calls of a block that is larger than the buffer
        begins = [begin for op, begin, _ in truth if op == call.op]
        ends = [end for op, _, end in truth if op == call.op]
        assert call.offset in begins and call.offset + call.bytes in ends, (call, truth)


@needs_strace
@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")
def test_streams_of_cplusplus_make_the_requests_that_strace_shows(capture, tmp_path):
    command = [str(tmp_path / "iostreams")]
    subprocess.run(["c++", "-O1", "-o", *command, PROGRAMS / "iostreams.cpp"], check=True)
    truth = traced(command, tmp_path)
    without = (tmp_path / "file").read_bytes()
    done = capture(*command)
    assert done.returncode == 0, done.stderr
    assert recorded(done.streams) == truth
    assert (tmp_path / "file").read_bytes() == without
