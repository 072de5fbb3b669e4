"""What dlerror() tells a program is what it tells without capture, which asks the loader itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The program with a library that lacks what it needs, and a whole one."""
    folder = tmp_path_factory.mktemp("loader")

    def compile_library(name: str, text: str, *flags: str) -> None:
        source = folder / f"{name}.c"
        source.write_text(text)
        library = f"lib{name}.so"
        compiler = ["cc", "-shared", "-fPIC", "-o", library, source, *flags]
        subprocess.run(compiler, cwd=folder, check=True)

    compile_library("needed", "int needed(void) { return 1; }")
    flags = ["-Wl,--no-as-needed", "-L.", "-lneeded"]
    compile_library("broken", "int needed(void); int f(void) { return needed(); }", *flags)
    compile_library("whole", "int answer(void) { return 42; }")
    (folder / "libneeded.so").unlink()
    program = folder / "loader_errors"
    compiler = ["cc", "-O1", "-D_GNU_SOURCE", "-o", program, HERE / "loader_errors.c"]
    subprocess.run([*compiler, "-lpthread", "-ldl"], check=True)
    return [str(program), str(folder / "libbroken.so"), str(folder / "libwhole.so")]


def output(*command) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program_of", ["command", "shell"])
def test_the_loaders_errors_are_told_as_without_capture(
    command, tailrace, tmp_path, monkeypatch, program_of
):
    """Also where capture only passes the program through, and finds each function at its first
    call."""
    monkeypatch.chdir(tmp_path)
    run = [*tailrace, "run", "--no-report", "-o", "trace", "--"]
    shell = ["sh", "-c", '"$@"; true', "sh"] if program_of == "shell" else []
    bare = output(*shell, *command)
    assert bare.count("libneeded.so: cannot open shared object file") >= 8
    assert "the same" in bare
    assert output(*run, *shell, *command) == bare
