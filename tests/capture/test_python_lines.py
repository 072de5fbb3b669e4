"""The lines of Python programs, under every Python of this machine whose frames are known."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rawstream

PROGRAM = Path(__file__).parent / "places.py"
VERSIONS = ("3.11", "3.12", "3.13")


def pythons() -> list[str]:
    """One of each version: on the PATH, or as pyenv lays them out."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for version in VERSIONS:
        for path in (
            shutil.which(f"python{version}"),
            *Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"),
        ):
            if path and not subprocess.run([path, "-c", ""], check=False).returncode:
                found.setdefault(version, str(path))
    return [path for version, path in found.items() if version in VERSIONS]


def line(comment: str) -> int:
    rows = PROGRAM.read_text().splitlines()
    return next(i for i, row in enumerate(rows, 1) if row.endswith(f"# {comment}"))


def lines_of(stream: rawstream.Stream, call: rawstream.Call) -> list[tuple[str, int]]:
    """Functions and lines of this program on the way to the call, from the innermost."""
    found = []
    for number, address in stream.places[call.place].frames if call.place else []:
        name = stream.modules[number].name if number else b""
        file, zero, function = name.partition(b"\0")
        if zero and file == str(PROGRAM).encode():
            found.append((function.decode(), address))
    return found


@pytest.mark.parametrize("python", pythons())
def test_every_call_has_its_line(capture, python):
    done = capture(Path(python).resolve(), PROGRAM)
    assert done.returncode == 0, done.stderr
    stream = next(s for s in done.streams if s.of("fsync"))
    step = [("step", line("the call begins two lines above") - 2), ("<module>", line_of_step())]
    writes = [call for call in stream.of("write") if call.bytes == 1001]
    assert len(writes) == 15
    for call in writes:
        assert lines_of(stream, call) == [("Output.write_history", line("write")), *step]
    for call in stream.of("fsync"):
        assert lines_of(stream, call) == [
            ("synchronize", line("sync")),
            ("Output.write_history", line("calls sync")),
            *step,
        ]
    (last,) = [call for call in stream.of("write") if call.bytes == 1002]
    assert lines_of(stream, last) == [("<module>", line("last"))]
    dumped = [lines_of(stream, call) for call in stream.of("write") if b"json" in call.path]
    assert [("<module>", line("dump"))] in dumped


def line_of_step() -> int:
    return PROGRAM.read_text().splitlines().index("    step(Output(), file)") + 1


# C's max() calls each level, for which newer Pythons have a frame of their own in between.
NESTED = """
import os
def nest(depth):
    if not depth:
        return os.write(2, b"")
    return max([depth], key=lambda depth: nest(depth - 1))
nest(8)
"""


@pytest.mark.parametrize("python", pythons())
def test_frames_of_the_interpreters_own_are_left_out(capture, tmp_path, python):
    """They take no room of the twelve."""
    (tmp_path / "nested.py").write_text(NESTED)
    done = capture(Path(python).resolve(), tmp_path / "nested.py")
    assert done.returncode == 0, done.stderr
    names = [module.name for stream in done.streams for module in stream.modules.values()]
    assert not [name for name in names if name.startswith((b"<interpreter", b"<shim"))]
    stream = done.stream
    frames = stream.places[stream.of("write")[-1].place].frames
    functions = [stream.modules[n].name.partition(b"\0")[2] for n, _ in frames if n]
    script = [name for name in functions if name.startswith(b"nest")]
    assert script == [b"nest", b"nest.<locals>.<lambda>"] * 6
