"""Capture asks no file system about the program's open files. On a network file system an `fstat`
after a `write` waits until what was written has arrived, and costs a message in any case."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

CALL = re.compile(r"(\w+)\((.*)")
# What the client's kernel answers by itself: of any descriptor, and of one that was inherited.
ANSWERED_AT_ONCE = ("F_GETPIPE_SZ", "AT_STATX_DONT_SYNC")


def asked(log: Path) -> Counter[str]:
    """System calls on the program's files that its file system hears of."""
    lines = re.findall(r"^\w+\(.*/(?:file|copy)>.*", log.read_text(errors="replace"), re.MULTILINE)
    heard = [line for line in lines if not any(word in line for word in ANSWERED_AT_ONCE)]
    return Counter(call[1] for line in heard if (call := CALL.match(line)))


@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
def test_no_call_of_its_own_on_the_programs_files(program, capture, tmp_path):
    path = program("long_calls")
    # descriptor 5 is a file that the program has not opened itself
    words = ["sh", "-c", 'exec 5>file && exec strace -y -o "$0" "$1"']
    bare, captured = tmp_path / "bare", tmp_path / "captured"
    subprocess.run([*words, bare, path], check=True, cwd=tmp_path)
    done = capture(*words, captured, path, TAILRACE_PROGRAM=str(path))
    assert done.returncode == 0, done.stderr
    written = [call for call in done.stream.calls if call.op == "write"]
    assert len(written) == 17  # sendfile's too: the calls are recorded, descriptor 5's as well
    assert asked(captured) == asked(bare)
