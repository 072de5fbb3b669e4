"""Every wrapped function, once or more: what was recorded is what the program says it did, in
order."""

import os
import platform
import subprocess

import pytest
import rawstream

from conftest import HERE, SOURCES


def described(call: rawstream.Call) -> str:
    offset = "-" if call.offset is None else call.offset
    path = os.fsdecode(call.path)
    return f"{call.function}\t{call.op}\t{call.bytes}\t{offset}\t{call.error}\t{path}"


@pytest.fixture
def ran(program, environment, tmp_path):
    """(recorded stream, lines that the program reported on descriptor 9)"""
    parts = [HERE / f"variants_{part}.c" for part in ("attributes", "copies", "stdio", "walk")]
    executable = program("variants", *parts)
    (tmp_path / "work").mkdir()
    (tmp_path / "input").write_text("123\n")
    report = tmp_path / "report"
    command = f'exec "$0" 9>"{report}" <"{tmp_path}/input" >"{tmp_path}/output"'
    variables = environment | {"TAILRACE_PROGRAM": str(executable.resolve())}
    done = subprocess.run(
        ["/bin/sh", "-c", command, executable],
        cwd=tmp_path / "work",
        env=variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "to stderr\n"
    assert (tmp_path / "output").read_text() == "123abc\n"
    (stream,) = rawstream.read_all(tmp_path / "raw")
    return stream, report.read_text(errors="surrogateescape").splitlines()


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="variants.c names a system call by its x86-64 number"
)
def test_every_variant_is_recorded_as_called(ran):
    stream, reported = ran
    recorded = [described(call) for call in stream.calls]
    # fcntl is the symbol fcntl64 for programs compiled since glibc 2.28: one wrapper body, two
    # names.
    recorded = [line.replace("fcntl\t", "fcntl64\t") for line in recorded]
    assert recorded == reported
    assert stream.header["lost"] == 0
    assert stream.ended and stream.header["closed"] == 1
    assert ("mmap", os.fsdecode(stream.of("mmap")[0].path)) in stream.notes
    told_to_wait = [text for key, text in stream.notes if key == "synchronous_writes"]
    assert told_to_wait == [os.fsdecode(stream.of("pwritev2")[0].path)]


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="variants.c names a system call by its x86-64 number"
)
def test_layers_and_flags(ran):
    stream, _ = ran
    layers = dict(stream.names.values())
    assert (layers["pwrite"], layers["fwrite"], layers["aio_write"]) == (2, 3, 4)
    creating = [call for call in stream.of("open") if call.flags & 8]
    assert {call.path.split(b"/")[-1] for call in creating} == {b"a", b"data", b"out"}


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="variants.c names a system call by its x86-64 number"
)
def test_list_of_requests_holds_its_requests(ran):
    stream, _ = ran
    request, wait = stream.of("lio_listio")
    assert request.parent is wait and wait.begin <= request.begin <= request.end <= wait.end


def test_every_listed_function_is_exported(library):
    """A name in functions.def without a wrapper would be a promise broken in silence."""
    listed = {
        line.split("(")[1].split(",")[0]
        for line in (SOURCES / "functions.def").read_text().splitlines()
        if line.startswith("FUNCTION(")
    }
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[2].split("@")[0] for line in symbols.splitlines() if " T " in line}
    assert listed - exported == set()
    assert {name for name in exported if not name.startswith("tailrace_")} - listed == set()


def test_needs_nothing_but_libc(library):
    dynamic = subprocess.run(
        ["readelf", "-d", library], capture_output=True, text=True, check=True
    ).stdout
    needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line]
    assert set(needed) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


def test_what_the_program_does_with_an_entry_is_its_own(program, capture):
    """20 files and their directory, and what came after the last; ten of a second walk, each with
    the first of a third. The sleep and the child between are no part of it."""
    done = capture(program("slow_visits"))
    assert done.returncode == 7
    (stream,) = done.streams
    steps = stream.of("nftw")
    assert len(steps) == 22 + 10 * 2
    taken_s = sum(step.end - step.begin for step in steps) / stream.header["ticks_per_s"]
    assert taken_s < 0.05  # the sleeps alone take 0.1 s
    assert all(step.depth == 0 for step in steps)
