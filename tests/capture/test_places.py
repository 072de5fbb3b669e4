"""From where calls come: the path of each call is the one that the program's text says."""

from __future__ import annotations

import bisect
import shutil
import subprocess
from pathlib import Path

import pytest
import rawstream

BUILDS = {
    "plain": ["-O0"],
    "optimized": ["-O2"],
    "without_frame_pointers": ["-O3", "-fomit-frame-pointer"],
    "fixed_address": ["-O2", "-no-pie", "-fno-pie"],
    "frame_pointers": ["-O2", "-fno-omit-frame-pointer"],
}


class Symbols:
    """Functions of a program by address."""

    def __init__(self, program: Path):
        output = subprocess.run(["nm", program], check=True, capture_output=True, text=True)
        rows = [line.split() for line in output.stdout.splitlines()]
        self.table = sorted((int(row[0], 16), row[2]) for row in rows if row[-2] in "tT")

    def function(self, address: int) -> str:
        return self.table[bisect.bisect(self.table, (address - 1, "~")) - 1][1].split(".")[0]


@pytest.fixture(params=BUILDS)
def ran(request, capture, program, tmp_path):
    options = [*BUILDS[request.param], "-fno-optimize-sibling-calls", "-fno-ipa-icf"]
    path = tmp_path / "places"
    source = Path(__file__).parent / "places.c"
    command = ["cc", "-D_GNU_SOURCE", "-Wall", *options, "-o", path, source, "-lpthread"]
    subprocess.run(command, check=True)
    done = capture(path)
    assert done.returncode == 0, done.stderr
    return done, Symbols(path), str(path)


def paths_of(ran, bytes_written: int) -> set[tuple[str, ...]]:
    """Functions of the program on the way to the writes of so many bytes, up to main's caller."""
    done, symbols, program = ran
    found = set()
    for stream in done.streams:
        for call in stream.of("pwrite"):
            if call.bytes == bytes_written:
                found.add(tuple(functions(stream, call, symbols, program)))
    return found


def functions(stream: rawstream.Stream, call: rawstream.Call, symbols: Symbols, program: str):
    assert call.place, "every write has a place"
    for number, address in stream.places[call.place].frames:
        of_program = number and stream.modules[number].name.decode() == program
        name = symbols.function(address) if of_program else "library"
        if name != "_start":
            yield name


LIBC = ("library", "library")


def test_the_same_function_is_told_apart_by_who_called_it(ran):
    assert paths_of(ran, 1) == {("put", "first", "either", "main", *LIBC)}
    assert paths_of(ran, 2) == {("put", "second", "either", "main", *LIBC)}


def test_a_recursion_counts_once(ran):
    """Of the outermost call and of those inside it: two places in the function's text."""
    assert paths_of(ran, 3) <= {
        ("put", "again", "main", *LIBC),
        ("put", "again", "again", "main", *LIBC),
        ("put", *["again"] * 3, "main", *LIBC),
        ("put", *["again"] * 4, "main", *LIBC),
    }


def test_callers_beyond_a_large_frame_are_told_apart(ran):
    """What differs stands a megabyte above the call: too far for what lies in one cache line."""
    of_both = {("put", "large", f"large_{name}", "main", *LIBC) for name in ("first", "second")}
    assert paths_of(ran, 9) == of_both


def test_a_frame_of_variable_size(ran):
    assert paths_of(ran, 4) == {("put", "variable", "main", *LIBC)}


def test_a_signal_handler_is_called_by_what_it_interrupted(ran):
    (path,) = paths_of(ran, 5)
    assert path[:2] == ("put", "handler")
    assert path[-3:] == ("main", *LIBC)


def test_threads_and_other_stacks_have_their_own_ends(ran):
    (path,) = paths_of(ran, 6)
    assert path[:2] == ("put", "thread")
    assert "main" not in path
    (path,) = paths_of(ran, 7)
    assert path[:2] == ("put", "coroutine")
    assert "main" not in path


def test_a_library_without_frame_pointers_between(ran):
    for path in paths_of(ran, 8):
        assert path[:2] == ("put", "compare")
        assert set(path[2:-3]) == {"library"}
        assert path[-3:] == ("main", *LIBC)


def test_modules_carry_the_build_id_of_their_file(ran):
    done, _, program = ran
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True)
    (module,) = [
        module for module in done.streams[0].modules.values() if module.name.decode() == program
    ]
    assert module.build_id.hex() in notes.stdout


def test_calls_of_one_place_share_it(ran):
    """20 calls from two places, whatever else: no path is written twice."""
    done, _, _ = ran
    for stream in done.streams:
        paths = [tuple(place.frames) for place in stream.places.values()]
        assert len(paths) == len(set(paths))
        assert len(paths) < 60


def with_library(folder: Path, name: str) -> tuple[Path, Path]:
    """A program, and the library of the same source that it opens."""
    source = Path(__file__).parent / f"{name}_library.c"
    program, library = folder / name, folder / f"lib{name}.so"
    shared = ["-fPIC", "-shared", f"-D{name.upper()}"]
    subprocess.run(["cc", "-O1", *shared, "-o", library, source], check=True)
    subprocess.run(["cc", "-O1", "-o", program, source, "-ldl"], check=True)
    return program, library


def test_a_library_that_has_just_been_opened(capture, tmp_path):
    """The mappings were read at the first write, a moment before the library came."""
    program, library = with_library(tmp_path, "late")
    done = capture(program, library)
    assert done.returncode == 0, done.stderr
    stream = done.stream
    *_, last = [call for call in stream.of("write") if call.bytes == 2]
    number, _ = stream.places[last.place].frames[0]
    assert number and stream.modules[number].name.decode() == str(library)


def test_a_library_that_has_just_been_closed(capture, tmp_path):
    """Who writes next stands where its code was; its tables would be read, and are gone."""
    program, library = with_library(tmp_path, "closed")
    done = capture(program, library)
    assert done.returncode == 0, done.stderr
    stream = done.stream
    *_, last = [call for call in stream.of("write") if call.bytes == 3]
    names = [
        stream.modules[number].name.decode() if number else ""
        for number, _ in stream.places[last.place].frames
    ]
    assert names[0] == str(program) and str(library) not in names


def test_the_kernel_says_of_code_one_by_one_what_it_says_of_all(tmp_path):
    """Before Linux 6.11 there is no way to ask about one address."""
    source = Path(__file__).parent / "modules.c"
    said = {}
    for each in (0, 1):
        program = tmp_path / str(each) / "modules"
        program.parent.mkdir()
        subprocess.run(["cc", "-Wall", f"-DASKS_EACH={each}", "-o", program, source], check=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
        said[each] = [line for line in done.stdout.splitlines() if "from its begin" not in line]
        said[each] = [line.replace(str(program.parent), "") for line in said[each]]
        assert done.stdout.count("tables found, build") == 4
    assert done.stderr in ("each\n", "all\n")
    assert said[0] == said[1]
    assert said[0][0] == "the stack is found" and said[0][1] == "the program: /modules"
    assert said[0][-2:] == ["closed: no code", "made: no file"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not there")
def test_what_is_mapped_is_not_read_again_where_nothing_is_loaded(capture, program, tmp_path):
    """64 places in more than half a second. In a program with the libraries of an MPI, to read all
    that is mapped takes half a millisecond, for which other ranks may wait."""
    log = tmp_path / "calls"
    words = ["strace", "-e", "trace=openat,pwrite64", "-o", log, program("many_ways"), 6, 1, 10]
    done = capture(*words, TAILRACE_PROCESSES="all")
    assert done.returncode == 0, done.stderr
    _, *later = log.read_text().rsplit("pwrite64(", 48)
    assert len(later) == 48
    assert sum("/proc/self/maps" in calls for calls in later) <= 1
