"""Who is recorded, and that all others are what they were."""

import os
import subprocess
import sys

import pytest
import rawstream

from conftest import SOURCES

COMMANDS = [
    ["ls", "-la", "/etc"],
    ["bash", "-c", "echo one; ls / | sort | head -3; exit 5"],
    ["sh", "-c", "cat /etc/passwd | wc -l; (exit 4)"],
    [
        sys.executable,
        "-c",
        "import os, sys; print(sorted(os.environ)[:0], sum(range(9))); sys.exit(9)",
    ],
    [
        sys.executable,
        "-c",
        "import subprocess; print(subprocess.run(['sh', '-c', 'echo hello'], capture_output=True))",
    ],
    ["find", "/usr/include", "-name", "stdio.h"],
    ["env", "-i", "true"],
    ["false"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:30])
def test_what_is_no_rank_passes_through(environment, tmp_path, command):
    plain = subprocess.run(command, capture_output=True, cwd="/")
    under = subprocess.run(command, capture_output=True, cwd="/", env=environment)
    assert (under.returncode, under.stdout, under.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    assert not list((tmp_path / "raw").iterdir())


def test_the_program_asked_for_is_recorded_behind_a_shell(environment, program, tmp_path):
    life = program("life")
    variables = environment | {"TAILRACE_PROGRAM": str(life.resolve())}
    subprocess.run(
        ["bash", "-c", f"ls > listing; '{life}' exit 10; ls > listing"], cwd=tmp_path, env=variables
    )
    (stream,) = rawstream.read_all(tmp_path / "raw")
    assert len(stream.of("pwrite")) == 10
    assert stream.meta["exe"] == str(life.resolve())


@pytest.mark.parametrize("wrapper", [["flock", "lock"], ["prlimit", "--core=0"], ["timeout", "60"]])
def test_what_only_starts_the_program_is_not_recorded(environment, program, tmp_path, wrapper):
    """Also where it is the command itself, which may become the program or wait for it."""
    life = program("life")
    variables = environment | {
        "TAILRACE_PROGRAM": str(life.resolve()),
        "TAILRACE_PARENT": str(os.getpid()),
    }
    subprocess.run([*wrapper, life, "exit", "10"], cwd=tmp_path, env=variables)
    (stream,) = rawstream.read_all(tmp_path / "raw")
    assert stream.meta["exe"] == str(life.resolve())
    assert len(stream.of("pwrite")) == 10


def test_a_script_that_only_starts_the_program_is_not_recorded(environment, program, tmp_path):
    """GNU parallel is one in Perl."""
    life = program("life")
    script = tmp_path / "parallel"
    script.write_text(f"#!{sys.executable}\nimport subprocess, sys\nsubprocess.run(sys.argv[1:])\n")
    script.chmod(0o755)
    variables = environment | {
        "TAILRACE_PROGRAM": str(life.resolve()),
        "TAILRACE_PARENT": str(os.getpid()),
    }
    subprocess.run([script, life, "exit", "10"], cwd=tmp_path, env=variables)
    (stream,) = rawstream.read_all(tmp_path / "raw")
    assert stream.meta["exe"] == str(life.resolve())


@pytest.mark.parametrize("interpreter", [sys.executable, "/usr/bin/env python3"])
def test_a_script_is_the_program_whatever_interprets_it(capture, tmp_path, interpreter):
    script = tmp_path / "script.py"
    script.write_text(f"#!{interpreter}\nopen('written', 'w').write('x')\nprint('done')\n")
    script.chmod(0o755)
    done = capture(script)
    assert done.stdout == "done\n"
    assert any(
        call.op == "write" and call.path == os.fsencode(tmp_path / "written")
        for call in done.stream.calls
    )


def test_shells_are_never_recorded_unless_all_are(capture):
    assert capture("/bin/sh", "-c", "echo x > file").streams == []
    assert len(capture("/bin/sh", "-c", "echo x > file", TAILRACE_PROCESSES="all").streams) >= 1


GO = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((section(".note.go.buildid"), used)) static const struct {
    int name, description, kind;
    char of[4], id[4];
} note = {4, 4, 4, "Go", "abc"};
int main(void) { return write(open("part.0", O_CREAT | O_WRONLY, 0600), "x", 1) != 1; }
"""


def test_programs_of_go_are_not_recorded(capture, tmp_path):
    """They call the system without the C library, but for what they begin with: a trace of that
    would say that they do no I/O."""
    for name, streams in (("Go", 0), ("GNU", 1)):
        (tmp_path / "go.c").write_text(GO.replace('"Go"', f'"{name}"'))
        subprocess.run(["cc", "-o", "go", "go.c"], cwd=tmp_path, check=True)
        assert len(capture(tmp_path / "go").streams) == streams


def test_without_a_directory_nothing_happens(capture, program):
    done = capture(program("life"), "exit", 10, TAILRACE_RAW="", read=False)
    assert (done.returncode, done.stderr) == (7, "")


def test_output_and_status_are_the_same(capture, program, tmp_path):
    life = program("life")
    plain = subprocess.run(
        [life, "characters", "1000"], cwd=tmp_path, capture_output=True, text=True
    )
    done = capture(life, "characters", 1000)
    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_allocator_that_does_io_before_capture_is_ready(capture, program, library):
    allocator = program("allocator", "-shared", "-fPIC")
    life = program("life")
    for preloads in (f"{allocator} {library}", f"{library} {allocator}"):
        done = capture(life, "threads", 10, LD_PRELOAD=preloads)
        assert (done.returncode, done.stderr) == (0, "")
        assert sum(len(stream.of("pwrite")) for stream in done.streams) % 640 == 0


@pytest.mark.parametrize("name", [b"\xff\xfe not UTF-8", b"<script>&\n\x07", b"n" * 250])
def test_names_of_files_are_kept_as_they_are(capture, program, tmp_path, name):
    done = capture(program("life"), "exit", 10, os.fsdecode(name))
    assert {call.path for call in done.stream.of("pwrite")} == {os.fsencode(tmp_path) + b"/" + name}


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_launchers_pass_through(environment, tmp_path, family):
    """mpiexec, its daemons, and ranks that are no MPI programs."""
    launcher = SOURCES.parent / "build" / family / "bin" / "mpiexec"
    if not launcher.exists():
        pytest.skip(f"build/{family} is not there: `make test` installs it")
    variables = environment | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    variables |= {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "TAILRACE_PROGRAM": str(launcher.resolve()),
    }
    # Open MPI ends the other rank when one has failed: both wait until both have spoken
    rank = "echo hello; ls / | wc -l >count.$$; until [ $(ls count.* | wc -l) = 2 ]; do :; done; "
    command = [launcher, "-n", "2", "sh", "-c", f"{rank} sleep 0.2; exit 3"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.stdout == "hello\nhello\n"
    assert done.returncode == 3
    assert "tailrace" not in done.stderr
    assert not list((tmp_path / "raw").iterdir())
