"""The recorder as the MPI part uses it: nesting, shapes, metas, notes, suppression."""

import itertools
import os
import platform
import re
import sys

import pytest
import rawstream

from conftest import SOURCES


@pytest.fixture
def stream(program, library, capture):
    done = capture(program("api", "-fPIC", f"-I{SOURCES}", library))
    assert done.returncode == 0, done.stderr
    return done.stream


def test_posix_calls_stand_inside_the_call_around_them(stream, tmp_path):
    collective = stream.of("MPI_File_write_all")
    assert [(call.bytes, call.offset) for call in collective] == [
        (16, 0),
        (16, 16),
        (16, 32),
        (16, 1000),
    ]
    assert {call.path for call in collective} == {os.fsencode(tmp_path / "collective")}
    inner = stream.of("pwrite")
    assert [call.offset for call in inner] == [0, 8, 16, 24, 32, 40]
    for i, call in enumerate(inner):
        assert call.parent is collective[i // 2]
        assert call.parent.begin <= call.begin <= call.end <= call.parent.end
    assert (collective[0].layer, inner[0].layer) == (1, 2)


def test_calls_follow_each_other_in_time(stream):
    outermost = [call for call in stream.calls if not call.depth]
    assert all(first.end <= second.begin for first, second in itertools.pairwise(outermost))
    assert all(call.begin <= call.end for call in stream.calls)


def test_suppressed_and_forgotten_calls_leave_nothing(stream):
    assert 99 not in [call.offset for call in stream.of("pwrite")]
    assert len(stream.of("MPI_Barrier")) == 1
    assert stream.header["lost"] == 0


def test_shapes_of_any_length(stream):
    waits = [call.words for call in stream.of("MPI_Waitall")]
    step = -(2**63) // 1000 + 1  # C divides towards zero
    counts = [0, 1, 4, 13, 40, 121, 364]
    assert waits[:14] == [[(step * i) for i in range(count)] for count in counts for _ in range(2)]
    assert waits[14:] == [[i * k for k in range(7)] for i in range(1000)]


def test_metas_and_notes(stream, tmp_path):
    assert (stream.meta["rank"], stream.meta["ranks"]) == ("5", "7")
    assert stream.meta["directory"] == str(tmp_path)
    assert stream.meta["command"].endswith("api")
    assert len(stream.meta["node"].split()) == 3
    assert stream.meta["counters"].startswith("not available: ")
    assert [note for note in stream.notes if note[0] == "unknown_communicator"] == [
        ("unknown_communicator", "one"),
        ("unknown_communicator", "two"),
    ]
    assert stream.header["flags"] & 1


def test_main_thread_is_marked(stream: rawstream.Stream):
    assert stream.header["thread"] == 0 and stream.header["flags"] & 1


LOOKS = """
import os, sys
file = os.open("/dev/null", os.O_WRONLY)
for turn in range(4):
    for _ in range(30_000 + 1_000 * turn):
        os.write(file, b"x")
    for line in open("/proc/self/smaps"):
        words = line.split()
        if words[0].count("-") == 1 and not line.startswith("Rss"):
            mapping = words[-1].endswith(".stream") and words[2] != "00000000"
        elif mapping and words[0] == "Rss:":
            print(words[1])
"""


@pytest.mark.skipif(
    tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (5, 14),
    reason="the kernel cannot bring pages before they are used",
)
def test_pages_of_the_stream_come_many_at_once(capture):
    """64 KiB of a window, so that no call waits for a page of its own; but for the first window."""
    done = capture(sys.executable, "-c", LOOKS)
    assert (done.returncode, done.stderr) == (0, "")
    kilobytes = list(map(int, done.stdout.split()))
    assert len(kilobytes) == 4 and all(size % 64 == 0 for size in kilobytes), kilobytes


MAPS = """
import mmap, sys
how = mmap.MAP_SHARED if sys.argv[1] == "shared" else mmap.MAP_PRIVATE
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        mmap.mmap(file.fileno(), 0, flags=how, prot=mmap.PROT_READ)
"""


@pytest.mark.parametrize("how", ["private", "shared"])
def test_of_what_is_mapped_to_be_read_only_data_are_said_not_to_be_seen(how, capture, tmp_path):
    """A compiled module of Guile is an object file; the classes of Java lie in an image that begins
    with a number of its own."""
    data, module, classes = tmp_path / "data", tmp_path / "module.go", tmp_path / "modules"
    data.write_bytes(bytes(2 << 20))
    module.write_bytes(b"\x7fELF" + bytes(2 << 20))
    classes.write_bytes((0xCAFEDADA).to_bytes(4, sys.byteorder) + bytes(2 << 20))
    stream = capture(sys.executable, "-c", MAPS, how, *map(str, (module, data, classes))).stream
    assert [text for key, text in stream.notes if key == "mmap"] == [str(data)]


def test_an_image_that_is_mapped_to_be_written_is_data(capture, tmp_path):
    writes = MAPS.replace("rb", "r+b").replace("PROT_READ", "PROT_WRITE")
    image = tmp_path / "image"
    image.write_bytes(b"\x7fELF" + bytes(2 << 20))
    stream = capture(sys.executable, "-c", writes, "shared", str(image)).stream
    assert [text for key, text in stream.notes if key == "mmap"] == [str(image)]
