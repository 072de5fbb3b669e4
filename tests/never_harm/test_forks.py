"""Programs that fork while their threads write, with handlers of their own for forks: they go on,
as without capture (UCX's handler flushes streams; a library's locks what its writers hold)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    program = tmp_path_factory.mktemp("forks") / "forks"
    options = ["-O1", "-pthread"]
    subprocess.run(["cc", *options, "-o", program, HERE / "forks.c"], check=True)
    return program


@pytest.mark.parametrize("processes", ["main", "all"])
@pytest.mark.parametrize("way", ["flush", "lock"])
def test_a_program_forks_while_its_threads_write(way, processes, forks, tailrace, tmp_path):
    capture = [*tailrace, "run", "--no-report", "-o", tmp_path / "trace"]
    capture += ["--processes", "all"] if processes == "all" else []
    command = [*capture, "--", forks, way]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    assert (tmp_path / "log.txt").read_text() == 400 * "a line\n"
