"""Programs for which capture's library is not compiled, and those among whose files it is not: the
loader has nothing to complain about on their stderr."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

PRINTER = Path(__file__).parents[1] / "capture" / "environment.c"
ALONE = ["-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 runs programs of 32 bits")
@pytest.mark.parametrize("command", ["./print", "./script", "sh -c ./print", "timeout 60 ./print"])
def test_a_program_of_32_bits_is_not_told_to_load_it(tailrace, tmp_path, command):
    compiler = ["cc", "-m32", "-O1", *ALONE, "-o", tmp_path / "print", PRINTER]
    subprocess.run(compiler, check=True)
    (tmp_path / "script").write_text(f"#!{tmp_path}/print\n")
    (tmp_path / "script").chmod(0o755)
    run = [*tailrace, "run", "--no-report", "-o", "t", "--", *command.split()]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr


def test_a_container_without_it_is_silent(tailrace, tmp_path):
    folders = ("/usr", "/lib", "/lib64", "/bin")
    shown = [word for folder in folders for word in ("--ro-bind", folder, folder)]
    command = ["bwrap", *shown, "--proc", "/proc", "/bin/sh", "-c", "ls /; /bin/echo done"]
    if not shutil.which("bwrap"):
        pytest.skip("there is no bwrap: apt-get install bubblewrap")
    bare = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if bare.returncode:
        pytest.skip(f"bwrap makes no container here: {bare.stderr.strip()}")
    run = [*tailrace, "run", "--no-report", "-o", tmp_path / "t", "--", *command]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, bare.stdout)
    assert "ld.so" not in done.stderr
