"""Files without a name (O_TMPFILE) are told from the directory that they are opened in, and from
each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tailrace as library

PROGRAM = """
import os
files = [os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(2)]
for file, size in zip(files, (1000, 2000)):
    os.write(file, b"x" * size)
listed = os.open(".", os.O_RDONLY)
os.close(listed)
"""


def test_each_is_a_file_of_its_own(tailrace: list[str], tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-c", PROGRAM]
    if subprocess.run(command, cwd=here, capture_output=True).returncode:
        pytest.skip("this file system has no files without names")
    recorded = [*tailrace, "run", "--no-report", "-o", str(tmp_path / "t"), "--", *command]
    subprocess.run(recorded, cwd=here, check=True, capture_output=True)
    files = library.open(tmp_path / "t").files
    written = files[files["bytes_written"] > 0]
    nameless = written[written["path"].str.startswith(f"{here}/#")]
    assert sorted(nameless["bytes_written"]) == [1000, 2000]
    assert not (written["path"] == str(here)).any()
