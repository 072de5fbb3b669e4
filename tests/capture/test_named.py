"""Which file a call is about: relative paths in a working directory that changes, files in turns,
children that share memory."""

import os
import platform
import sys

import pytest


@pytest.fixture
def stream(program, capture):
    done = capture(program("named"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stream.header["lost"] == 0
    return done.stream


def paths(calls, under):
    return [os.path.relpath(os.fsdecode(call.path), under) for call in calls]


def test_relative_paths_start_from_the_directory_of_the_moment(stream, tmp_path):
    made = [call for call in stream.of("write") if call.bytes == 1]
    assert paths(made, tmp_path) == ["a_first", "b/b_file", "a_second", "c/c_file"]
    walked = {path for path in paths(stream.of("access"), tmp_path) if "_" in path}
    assert walked == {"a_first", "b/b_file", "a_second", "c/c_file"}


def test_names_start_from_the_directory_of_their_descriptor(stream, tmp_path):
    """Each is asked about twice in each, and the descriptors have other numbers then."""
    asked = paths(stream.of("faccessat"), tmp_path)
    assert asked == ["f/now", "g/now"] * 2 + ["g/then", "f/then"] * 2


def test_files_in_turns_keep_their_names(stream, tmp_path):
    writes = [call for call in stream.of("pwrite") if call.path.endswith((b"first", b"second"))]
    assert paths(writes, tmp_path) == ["first", "second"] * 400
    assert [call.offset for call in writes[::2]] == list(range(400))
    assert [call.offset for call in writes[1::2]] == list(range(0, 800, 2))
    appended = [call for call in stream.of("write") if call.bytes == 3]
    assert set(paths(appended, tmp_path)) == {"second"} and len(appended) == 400
    asked = [path for path in paths(stream.of("access"), tmp_path) if "_" not in path]
    assert [path for path in asked if path in ("first", "absent")][-400:] == [
        "first" if i % 3 else "absent" for i in range(400)
    ]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="clone is wrapped on x86-64 alone")
def test_a_child_that_shares_memory_changes_its_own_descriptors(stream, tmp_path):
    kept = [call for call in stream.of("pwrite") if call.path.endswith(b"/kept")]
    assert [call.offset for call in kept] == [0, 1]


def test_files_one_after_another_share_their_shapes(program, capture, tmp_path):
    """1,000 files, opened, written and closed: the stream holds their paths and little more."""
    done = capture(program("many_files"), "out", 1000)
    assert done.returncode == 0
    stream = done.stream
    assert len({call.path for call in stream.of("write")}) == 1000
    assert all(call.path == b"%s/out.%06d" % (os.fsencode(tmp_path), i)
               for i, call in enumerate(stream.of("close")))  # fmt: skip
    text = sum(len(path) for path in stream.paths.values())
    assert stream.bytes_of_records - text < 40 * 1000


ASKS = """
import os
os.chdir("{0}")
for turn in range(4):
    for name in range({1}):
        os.access("name.%06d" % name, os.F_OK)
os.chdir("..")
os.access("above", os.F_OK)
os.chdir("{0}")
os.access("name.000000", os.F_OK)
os.access("beside", os.F_OK)
"""


def test_names_of_one_directory_do_not_repeat_it(capture, tmp_path):
    """It is asked for a hundred times a second; names that are known are not repeated at all, and
    the calls on them share one shape. What is more than in a run without these calls counts."""
    directory = tmp_path.joinpath(*["a directory with a long name"] * 20)
    directory.mkdir(parents=True)
    bytes_of_records, definitions = [], []
    for count in (0, 200):
        raw = tmp_path / f"raw-{count}"
        raw.mkdir()
        command = [sys.executable, "-c", ASKS.format(directory, count)]
        done = capture(*command, TAILRACE_RAW=str(raw))
        assert (done.returncode, done.stderr) == (0, "")
        calls = done.stream.of("access")
        asked = paths([call for call in calls if b"a directory" in call.path], directory)
        names = [f"name.{number:06d}" for number in range(count)] * 4
        assert asked[-len(names) - 3 :] == [*names, "../above", "name.000000", "beside"]
        bytes_of_records.append(done.stream.bytes_of_records)
        definitions.append(done.stream.definitions)
    assert bytes_of_records[1] - bytes_of_records[0] < 800 * len(str(directory)) / 20
    assert definitions[1] - definitions[0] < 20


RENAMES = """
import ctypes, os
libc = ctypes.CDLL(None)
for name in ("a", "b", "c", "d", "e"):
    open(name, "w").close()
os.mkdir("into")
into = os.open("into", os.O_RDONLY)
os.rename("a", "into/a2")
os.rename("b", "{0}/b2")
os.rename("c", "c2", dst_dir_fd=into)
os.rename("into", "onto")
libc.renameat2(-100, b"d", into, b"d2", 0)
libc.renameat2(-100, b"e", -100, b"b2", 2)
try:
    os.rename("absent", "f2")
except FileNotFoundError:
    pass
"""


def test_names_that_files_get_are_recorded(capture, tmp_path):
    """Where the program's call succeeded, from the directory of its descriptor under its name of
    the moment. RENAME_EXCHANGE (2) makes no name new."""
    done = capture(sys.executable, "-c", RENAMES.format(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    found = [tuple(os.path.relpath(os.fsdecode(path), tmp_path) for path in pair)
             for pair in done.stream.renames]  # fmt: skip
    assert found == [("a", "into/a2"), ("b", "b2"), ("c", "into/c2"), ("into", "onto"),
                     ("d", "onto/d2")]  # fmt: skip


OPENS = """
import os
for name, flags in (("plain", 0), ("sync", os.O_SYNC), ("data", os.O_DSYNC)):
    for _ in range(3):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY | flags))
os.chdir("/")
try:
    os.close(os.open("{0}/direct", os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
except OSError:
    print("none")
"""


def test_files_whose_requests_wait_for_the_device_are_noted(capture, tmp_path):
    """Once each, by the paths of their records; where the file system knows O_DIRECT."""
    done = capture(sys.executable, "-c", OPENS.format(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    noted = [note for stream in done.streams for note in stream.notes]
    assert noted[:2] == [("synchronous", str(tmp_path / name)) for name in ("sync", "data")]
    direct = [] if "none" in done.stdout else [("direct", str(tmp_path / "direct"))]
    assert noted[2:] == direct


MADE_DIRECT = """
import fcntl, os
def make_direct(file):
    for _ in range(2):
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_DIRECT)
for name in ("plain", "later"):
    file = os.open(name, os.O_CREAT | os.O_WRONLY)
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
    if name == "later":
        try:
            make_direct(file)
        except OSError:
            print("none")
    os.close(file)
make_direct(os.pipe()[1])
"""


def test_a_file_that_becomes_direct_is_noted(capture, tmp_path):
    """Once; a file whose other flags change is not, nor a pipe, where O_DIRECT keeps packets."""
    done = capture(sys.executable, "-c", MADE_DIRECT)
    assert (done.returncode, done.stderr) == (0, "")
    noted = [note for stream in done.streams for note in stream.notes]
    assert noted == ([] if "none" in done.stdout else [("direct", str(tmp_path / "later"))])


THROUGH_PIPES = """
import os, threading
to_first, from_other = os.pipe()
to_other, from_first = os.pipe()
def other():
    os.write(from_other, os.read(to_other, 1))
thread = threading.Thread(target=other)
thread.start()
os.write(from_first, b"x")
os.read(to_first, 1)
thread.join()
"""


def test_pipes_without_a_name_are_the_first_threads(capture):
    """Threads of MPI libraries wake each other by them, and would get streams for nothing else."""
    done = capture(sys.executable, "-c", THROUGH_PIPES)
    assert (done.returncode, done.stderr) == (0, "")
    through = [call.op for call in done.stream.calls if call.path == b"<pipe>"]
    assert (through.count("write"), through.count("read")) == (1, 1)
