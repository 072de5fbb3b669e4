"""`tailrace run` on real programs: the program is not disturbed, and what it did is in the
trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest

from tailrace import cache as user_cache
from tailrace.capture import libraries
from tailrace.capture.mpi import Installation
from tailrace.errors import TailraceError
from tailrace.library import open as open_trace
from tailrace.store import is_running

from ..conftest import Mpi, find_mpi, without_processor_waits
from ..processes import LONGEST_WAIT_S, started, until

pytest.importorskip("tailrace._engine", reason="the compiled engine is not built")

WRITER = """
import os, sys, time
file = os.open("out.dat", os.O_CREAT | os.O_WRONLY)
for _ in range(50):
    os.write(file, bytes(1000))
os.close(file)
print("to stdout", flush=True)
print("to stderr", file=sys.stderr, flush=True)
"""

RANKS = """
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>
int main(int count, char **words)
{
    static char data[1 << 20];
    int rank, file = -1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 5; step++) {
        usleep(2000);
        if (!rank) {
            file = open("history.dat", O_CREAT | O_WRONLY | O_APPEND, 0600);
            for (int i = 0; i < 8; i++)
                if (write(file, data, sizeof data) < 0)
                    return 1;
            usleep(1000);
            fsync(file);
            close(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return rank == 0 ? 7 : 0;
}
"""


@pytest.fixture(scope="session")
def cache() -> Path:
    """The user's own, which the other tests fill too: capture is compiled once."""
    return user_cache.folder("objects").parent


@pytest.fixture
def run(tailrace, cache, tmp_path):
    """A function that runs a command under `tailrace run` in an empty directory."""

    def run_it(*command: str | Path, options: tuple[str, ...] = ("-o", "run"), **settings):
        environment = {
            **os.environ,
            "TAILRACE_CACHE": str(cache),
            **settings.pop("environment", {}),
        }
        words = [*tailrace, "run", *options, "--", *map(str, command)]
        settings = {"capture_output": True, "text": True, "timeout": LONGEST_WAIT_S} | settings
        return subprocess.run(words, cwd=tmp_path, env=environment, **settings)

    return run_it


def report(tailrace: list[str], trace: Path) -> dict:
    answer = subprocess.run(
        [*tailrace, "report", "--json", str(trace)], capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def python(code: str) -> list[str]:
    return [os.path.realpath(sys.executable), "-c", code]


def test_a_program_without_mpi(run, tailrace, tmp_path):
    done = run(*python(WRITER + "sys.exit(3)"))
    assert (done.returncode, done.stdout) == (3, "to stdout\n")
    assert "to stderr\n" in done.stderr
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        f"{Path(os.path.realpath(sys.executable)).stem}.tailrace",
        "report.html",
    ]
    files = {row["path"]: row for row in report(tailrace, tmp_path / "run")["files"]}
    written = files[str(tmp_path / "out.dat")]
    assert (written["writes"], written["bytes_written"], written["ranks"]) == (50, 50_000, 1)


def test_paths_are_shown_from_here(run, tmp_path):
    name = Path(os.path.realpath(sys.executable)).stem
    said = run(*python(WRITER)).stderr
    assert f"tailrace: trace: run/{name}.tailrace\ntailrace: page:  run/report.html\n" in said
    said = run(*python(WRITER), options=("-o", str(tmp_path.parent / "out"))).stderr
    assert f"tailrace: page:  {tmp_path.parent}/out/report.html" in said


def test_only_the_owner_can_read_what_is_left(run, tmp_path):
    run(*python(WRITER))
    for path in (tmp_path / "run", *(tmp_path / "run").iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path


def test_nothing_is_overwritten(run, tmp_path):
    run(*python(WRITER))
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    run(*python(WRITER))
    assert len(list((tmp_path / "run").iterdir())) == 2 * len(before)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_stdin_and_open_files_are_the_programs(run, tmp_path):
    with (tmp_path / "given").open("w+") as given:
        code = f"import os, sys; os.write({given.fileno()}, sys.stdin.read().encode())"
        assert run(*python(code), input="from stdin", pass_fds=(given.fileno(),)).returncode == 0
    assert (tmp_path / "given").read_text() == "from stdin"


def test_a_signal_that_ends_the_program_ends_us(run):
    assert run(*python("import os; os.kill(os.getpid(), 15)")).returncode == -signal.SIGTERM


def test_signals_are_passed_on(tailrace, cache, tmp_path):
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(11))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen(
        [*tailrace, "run", "-o", "run", "--", *python(code)],
        cwd=tmp_path,
        env={**os.environ, "TAILRACE_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONGEST_WAIT_S) == 11


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("./absent", 127, "./absent does not exist"),
        ("./text", 126, "./text is not executable"),
        ("./strange", 126, "./strange cannot be started: Exec format error"),
    ],
)
def test_a_command_that_cannot_start(run, tmp_path, command, status, said):
    for name, mode in (("text", 0o644), ("strange", 0o755)):
        (tmp_path / name).write_text("no program")
        (tmp_path / name).chmod(mode)
    done = run(command)
    assert (done.returncode, done.stdout) == (status, "")
    assert f"tailrace: {said}" in done.stderr and "Traceback" not in done.stderr
    assert "nothing was recorded" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_without_a_place_for_the_trace_the_program_still_runs(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run(*python(WRITER + "sys.exit(5)"), options=("-o", "file/run"))
    assert (done.returncode, done.stdout) == (5, "to stdout\n")
    assert (
        "capture does not work, the program runs without" in done.stderr and "hint: " in done.stderr
    )


def test_without_room_for_any_file_the_program_still_runs(run):
    """Of 0 bytes at most, as on a full disk: there is no directory then in which Python would make
    a temporary file."""
    done = run("echo", "hello", preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (0, 0)))
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "Traceback" not in done.stderr


def test_without_a_compiler_the_program_still_runs(run, tmp_path):
    done = run(
        *python(WRITER),
        environment={"CC": "no-such-compiler", "TAILRACE_CACHE": str(tmp_path / "empty")},
    )
    assert (done.returncode, done.stdout) == (0, "to stdout\n")
    assert (
        "capture does not work, the program runs without it: no-such-compiler cannot be started"
        in done.stderr
    )


def test_a_cache_whose_name_ld_preload_cannot_hold(run, cache, tailrace, tmp_path):
    odd = tmp_path / "a b:c"
    odd.symlink_to(cache)
    assert run(*python(WRITER), environment={"TAILRACE_CACHE": str(odd)}).returncode == 0
    assert report(tailrace, tmp_path / "run")["capture"]["events"] > 50


def test_a_killed_run_leaves_what_report_can_read(tailrace, cache, tmp_path):
    code = WRITER + "time.sleep(60)"
    process = subprocess.Popen(
        [*tailrace, "run", "-o", "run", "--", *python(code)],
        cwd=tmp_path,
        env={**os.environ, "TAILRACE_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == b"to stdout\n"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.2)
    answer = report(tailrace, tmp_path / "run")
    assert {row["path"]: row["writes"] for row in answer["files"]}[str(tmp_path / "out.dat")] == 50
    assert any((tmp_path / "run" / "raw").iterdir())  # `report` packs, and keeps the streams


def test_a_report_while_a_killed_run_goes_on_does_not_stand_for_the_rest(tailrace, cache, tmp_path):
    """`tailrace run` alone is killed, and its program, which has written 50 times to one file,
    later writes once to another."""
    code = f"{WRITER}\nsys.stdin.readline()\nopen('more.dat', 'wb', 0).write(bytes(1000))\n"
    with started(
        [*tailrace, "run", "-o", "run", "--", *python(code)],
        cwd=tmp_path,
        env={**os.environ, "TAILRACE_CACHE": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout.readline() == b"to stdout\n"
        process.kill()
        meanwhile = subprocess.run(
            [*tailrace, "report", tmp_path / "run"], capture_output=True, text=True, check=True
        )
        assert "the program is still running" in meanwhile.stderr
        process.stdin.close()
        assert process.stdout.read() == b""  # until the program ends
    writes = {row["path"]: row["writes"] for row in report(tailrace, tmp_path / "run")["files"]}
    assert [writes[str(tmp_path / name)] for name in ("out.dat", "more.dat")] == [50, 1]


def test_what_outlives_the_command_keeps_its_streams(run, tmp_path):
    """A program that ends while another, which it has started and which is recorded with it, waits
    until it is told to write once more."""
    first = "import os, sys, time\nos.system(f'{sys.executable} second.py >/dev/null 2>&1 &')\n"
    first += "while not os.path.exists('a.dat'): time.sleep(0.01)\n"
    second = "open('a.dat', 'wb', 0).write(b'x')\nopen('fifo').read()\n"
    (tmp_path / "second.py").write_text(f"{second}open('b.dat', 'wb', 0).write(b'x')\n")
    os.mkfifo(tmp_path / "fifo")
    done = run(*python(first), options=("-o", "run", "--processes", "all"))
    (tmp_path / "fifo").write_text("")
    assert "what it started goes on and is recorded" in done.stderr
    assert not list((tmp_path / "run").glob("*.tailrace"))
    until(lambda: not is_running(tmp_path / "run" / "raw"))
    calls = open_trace(tmp_path / "run").calls().to_pandas()
    written = {Path(file).name for file in calls["file"][calls["function"] == "write"]}
    assert {"a.dat", "b.dat"} <= written


@pytest.fixture(scope="session", params=["mpich", "mpich_abi", "openmpi"])
def ranks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path]:
    library = find_mpi(request.param)
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "ranks.c").write_text(RANKS)
    subprocess.run([library.mpicc, "-O1", "-o", "ranks", "ranks.c"], cwd=folder, check=True)
    return library, folder / "ranks"


@pytest.mark.alone
@pytest.mark.measured("the verdict on a run on this machine's disk")
def test_ranks_under_each_mpi(run, tailrace, tmp_path, ranks):
    library, program = ranks
    done = run(*library.launch(2, program), environment=library.variables())
    assert done.returncode == 7, done.stderr
    recorded = open_trace(tmp_path / "run")
    assert recorded.headline in done.stderr
    verdict = without_processor_waits(recorded).headline
    assert "rank 0" in verdict and "history.dat" in verdict
    answer = report(tailrace, tmp_path / "run")
    assert answer["ranks"] == 2
    files = {row["path"]: row for row in answer["files"]}
    written = files[str(tmp_path / "history.dat")]
    assert (written["writes"], written["bytes_written"], written["ranks"]) == (40, 40 << 20, 1)
    assert (
        answer["ideal_s"]
        <= answer["ideal_network_even_io_s"]
        <= answer["ideal_network_s"]
        <= answer["runtime_s"]
    )
    for rank in answer["per_rank"]:
        total = rank["useful_s"] + rank["io_s"] + rank["mpi_s"]
        assert total == pytest.approx(answer["runtime_s"], abs=2e-9)


def test_an_unreadable_cache_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(TailraceError) as error:
        libraries.prepare([], lambda _: None)
    assert "TAILRACE_CACHE" in error.value.hint


def test_an_mpi_that_cannot_be_compiled_for_is_left_out(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("TAILRACE_CACHE", str(cache))
    broken = tmp_path / "mpicc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    said: list[str] = []
    folder = libraries.prepare([Installation(broken, "libmpi.so.12", None)], said.append)
    assert [path.name for path in folder.iterdir()] == [libraries.CORE]
    assert any(sentence.startswith("no capture for MPICH (libmpi.so.12): ") for sentence in said)
