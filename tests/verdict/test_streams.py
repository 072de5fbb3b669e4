"""Programs that print into a pipe, or read from one: what is said of that time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tailrace
from tailrace.library import Run
from tests.processes import LONGEST_WAIT_S

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

# 640,000 bytes, ten times what a pipe holds
PRINTS = "import os\nfor i in range(20_000): os.write(1, b'step %26d\\n' % i)"
READS = "import sys; sys.stdin.buffer.read()"
SLOW_S = 0.8


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Capture is compiled on first use: a program that begins so late finds no slow reader."""
    recorded([sys.executable, "-c", ""], tmp_path_factory.mktemp("compiled"))


def piped(program: str, folder: Path, wait_s: float) -> Run:
    """A Python program; whoever is at the other end of its streams begins only after so long."""
    return recorded([sys.executable, "-c", program], folder, wait_s)


def recorded(program: list[str], folder: Path, wait_s: float = 0) -> Run:
    words = [sys.executable, "-m", "tailrace", "run", "--no-report", "-o", folder / "trace"]
    started = subprocess.Popen(
        [*map(str, words), "--", *program],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(wait_s)
    _, said = started.communicate(b"a line of text\n" * 1000, timeout=LONGEST_WAIT_S)
    assert started.returncode == 0, said.decode()
    (trace,) = (folder / "trace").glob("*.tailrace")
    return tailrace.open(trace)


def test_a_slow_reader_of_what_is_printed_is_named(tmp_path: Path):
    run = piped(PRINTS, tmp_path, 2 * SLOW_S)
    assert "I/O on files does not hold this run back" in run.headline
    assert "but 20,000 writes to <stdout: pipe> take" in run.headline
    assert "mostly waiting for whoever reads them" in run.headline
    (found,) = [finding for finding in run.findings if finding.code == "streams"]
    assert "read so slowly" in found.advice
    assert "sleep" not in [finding.code for finding in run.findings]


def test_a_slow_writer_of_what_is_read_is_named(tmp_path: Path):
    run = piped(READS, tmp_path, 2 * SLOW_S)
    assert "from <stdin: pipe> take" in run.headline
    assert "mostly waiting for whoever writes them" in run.headline


WRITES_FIFO = """
import os
descriptor = os.open("fifo", os.O_WRONLY)
for i in range(20_000):
    os.write(descriptor, b"step %26d\\n" % i)
"""
READS_FIFO = """
with open("fifo", "rb", buffering=0) as fifo:
    while fifo.read(100): pass
"""


def through_a_fifo(program: str, folder: Path, other: str) -> Run:
    """`other`: the program at the other end, which begins only after some time."""
    os.mkfifo(folder / "fifo")
    peer = subprocess.Popen(
        [sys.executable, "-c", f"import time; fifo = {other}; time.sleep({SLOW_S}); {END[other]}"],
        cwd=folder,
    )
    run = piped(program, folder, 0)
    assert peer.wait(LONGEST_WAIT_S) == 0
    return run


TERMINAL = f"""
import os, time
ours, theirs = os.openpty()
if not os.fork():
    time.sleep({SLOW_S})
    os.close(theirs)
    try:
        while os.read(ours, 4096): pass
    except OSError:  # at the end
        os._exit(0)
for i in range(1_000):
    os.write(theirs, b"step %26d\\n" % i)
"""


def test_who_waits_at_a_terminal_waits_for_its_reader(tmp_path: Path):
    """It is a device by its name, which takes what it gets as fast as that is read."""
    run = piped(TERMINAL, tmp_path, 0)
    assert "1,000 writes to the terminal /dev/pts/" in run.headline
    assert "mostly waiting for whoever reads them" in run.headline
    assert not {"elsewhere", "sleep"} & {finding.code for finding in run.findings}


SENDS = f"""
import os, socket, sys, time
with open("data", "wb") as file:
    file.write(bytes(1 << 20))
ends = os.pipe() if sys.argv[1] == "pipe" else [end.detach() for end in socket.socketpair()]
if not os.fork():
    os.close(ends[1])
    time.sleep({SLOW_S})
    while os.read(ends[0], 65_536): pass
    os._exit(0)
os.close(ends[0])
with open("data", "rb") as file:
    while os.sendfile(ends[1], file.fileno(), None, 1 << 20): pass
"""


@pytest.mark.parametrize("stream", ["pipe", "socket"])
def test_who_sends_a_file_does_not_wait_for_it(stream: str, tmp_path: Path):
    """It is in memory."""
    run = recorded([sys.executable, "-c", SENDS, stream], tmp_path)
    table = run.columns["files"]
    (row,) = [i for i, path in enumerate(table["path"]) if path.endswith(b"/data")]
    assert int(table["bytes_read"][row]) == 1 << 20
    assert int(table["read_ns"][row]) < 1e8 * SLOW_S
    assert "reading data" not in run.headline
    named = "writes to <pipe> take" if stream == "pipe" else "the main thread sleeps"
    assert named in run.headline


READER, WRITER = "open('fifo', 'rb')", "open('fifo', 'wb')"
END = {READER: "fifo.read()", WRITER: "fifo.write(bytes(640_000)); fifo.close()"}


def test_who_waits_at_a_fifo_does_not_wait_for_a_file_system(tmp_path: Path):
    """Its name says nothing: that it is one is asked where a call takes long."""
    run = through_a_fifo(WRITES_FIFO, tmp_path, READER)
    assert "I/O on files does not hold this run back" in run.headline
    assert "writes to fifo take" in run.headline
    assert "mostly waiting for whoever reads them" in run.headline


def test_who_reads_a_fifo_waits_for_its_writer(tmp_path: Path):
    run = through_a_fifo(READS_FIFO, tmp_path, WRITER)
    assert "reads from fifo take" in run.headline
    assert "mostly waiting for whoever writes them" in run.headline


COMPRESSES = f"""
import subprocess, sys, time
slow = [sys.executable, "-c", "import sys, time; time.sleep({SLOW_S}); sys.stdin.read()"]
reader = subprocess.Popen(slow, stdin=subprocess.PIPE)
for i in range(20_000):
    reader.stdin.write(b"step %26d\\n" % i)
reader.stdin.close()
reader.wait()
"""


def test_who_waits_for_its_own_child_in_a_pipe_does_not_merely_sleep(tmp_path: Path):
    run = piped(COMPRESSES, tmp_path, 0)
    assert "writes to <pipe> take" in run.headline
    assert "mostly waiting for whoever reads them" in run.headline
    assert "sleep" not in [finding.code for finding in run.findings]


POPEN = """
#include <stdio.h>
int main(void)
{
    FILE *reader = popen("sleep 1; cat >/dev/null", "w");
    for (int i = 0; i < 100000; i++)
        fprintf(reader, "line %d\\n", i);
    return pclose(reader);
}
"""


def test_a_program_that_only_writes_to_its_child_is_recorded(tmp_path: Path):
    """It makes no other file call."""
    (tmp_path / "popen.c").write_text(POPEN)
    subprocess.run(["cc", "-O1", "-o", "popen", "popen.c"], cwd=tmp_path, check=True)
    run = recorded([str(tmp_path / "popen")], tmp_path)
    assert "writes to <pipe> take" in run.headline


def test_a_thread_that_waits_at_a_pipe_is_not_the_program(tmp_path: Path):
    """As Guile's does for signals, and those of Python's pools: meanwhile the main one computes."""
    beside = (
        "import os, threading, time; begin, end = os.pipe()\n"
        "waiting = threading.Thread(target=lambda: os.read(begin, 1)); waiting.start()\n"
        "e = time.time() + 0.5\nwhile time.time() < e: pass\n"
        "os.write(end, b'x'); waiting.join()"
    )
    run = piped(beside, tmp_path, 0)
    assert "<pipe>" not in run.headline
    assert "streams" not in [finding.code for finding in run.findings]


def test_a_pipe_that_a_program_reads_from_at_once_is_not_blamed(tmp_path: Path):
    """Its child writes a line; what takes the time is its own computation."""
    busy = (
        "import subprocess, time; subprocess.check_output(['echo', 'begin'])\n"
        "e = time.time() + 0.3\nwhile time.time() < e: pass"
    )
    run = piped(busy, tmp_path, 0)
    assert "<pipe>" not in run.headline


def test_a_program_that_prints_little_is_not_blamed_for_it(tmp_path: Path):
    busy = "import time; print('begin'); e = time.time() + 0.3\nwhile time.time() < e: pass"
    run = piped(busy, tmp_path, 0)
    assert "streams" not in [finding.code for finding in run.findings]
    assert "<stdout" not in run.headline
