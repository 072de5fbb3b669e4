"""Where output goes, nothing is destroyed: links are followed, devices written to, names that are
taken left alone; a full or closed stdout is one sentence or none."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailrace import store
from tailrace.errors import TailraceError
from tailrace.output import publish, write_new, write_whole
from tests.conftest import find_mpi

pytest.importorskip("tailrace._engine", reason="the compiled engine is not built")
# The command of the environment that the tests run in comes first.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def test_a_link_is_followed_and_stays(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    for text in ("first", "second"):  # the target is made, then replaced
        write_whole(link, text)
        assert link.is_symlink() and target.read_text() == text
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_a_device_is_never_replaced(tmp_path):
    null = tmp_path / "null"
    os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    write_whole(null, "text")
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_full_device_is_one_sentence(tmp_path):
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    with pytest.raises(TailraceError, match="cannot be written: No space left on device"):
        write_whole(link, "text")
    assert link.is_symlink()


def test_a_pipe_gets_the_text(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "text")
    reader.join()
    assert got == ["text"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["", "x" * 5000, "absent/page.html", "file/page.html"])
def test_what_cannot_be_written_is_one_sentence(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(TailraceError, match="cannot be written") as error:
        write_whole(tmp_path / name, "text")
    assert len(error.value.message) < 300
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_many_at_once_each_get_a_name(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        names = list(pool.map(lambda i: write_new(tmp_path / "page.html", str(i)), range(64)))
    assert len(set(names)) == 64
    assert [name.read_text() for name in names] == [str(i) for i in range(64)]
    assert len(list(tmp_path.iterdir())) == 64


def test_without_hard_links_nothing_is_overwritten_either(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "page.html").write_text("earlier")
    (tmp_path / "temporary").write_text("new")
    assert publish(tmp_path / "temporary", tmp_path / "page.html") == tmp_path / "page-2.html"
    assert (tmp_path / "page.html").read_text() == "earlier"
    assert (tmp_path / "page-2.html").read_text() == "new"


def test_a_dangling_link_is_not_a_free_name(tmp_path):
    (tmp_path / "raw").symlink_to("/nonexistent/raw")
    assert store.free_name(tmp_path / "raw") == tmp_path / "raw-2"


def test_a_run_that_goes_on_is_known_by_its_lock(tmp_path):
    assert not store.is_running(tmp_path)
    with store.running(tmp_path):
        assert store.is_running(tmp_path)
        assert store.is_running(tmp_path)  # who asks does not lock
    assert not store.is_running(tmp_path)
    with store.running(tmp_path):  # as of a run that was killed: the file is left
        assert store.is_running(tmp_path)


# --- the command itself ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    """A recorded run without MPI."""
    directory = tmp_path_factory.mktemp("run")
    done = subprocess.run(
        ["tailrace", "run", "--no-report", "-o", directory / "out", "--", "cat", "/etc/hostname"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return next((directory / "out").glob("*.tailrace"))


def sh(command: str, **variables: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("what", ["report $T", "report --json $T", "report -o - $T", "doctor"])
def test_a_full_stdout_is_one_sentence(trace, what):
    done = sh(f"tailrace {what} > /dev/full", T=trace)
    assert done.returncode == 2
    # `doctor` may have to compile something first, and says so.
    *_, sentence, blank, hint = done.stderr.splitlines()
    assert sentence.startswith("tailrace: standard output cannot be written: No space left")
    assert blank == "" and hint.startswith("hint: ") and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("what", ["report $T", "report --json $T", "bench --list", "--help"])
@pytest.mark.parametrize("end", ["| head -1", ">&-", "2>&-", "| true"])
def test_a_reader_that_has_read_enough_is_no_error(trace, what, end):
    done = sh(f"tailrace {what} {end}", T=trace)
    assert done.returncode == 0 and done.stderr == ""


def test_a_page_into_what_stdout_is_by_its_path(trace):
    done = sh("tailrace report $T -o /dev/stdout | grep -c '^</html>'", T=trace)
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_a_page_does_not_replace_its_trace(trace):
    before = trace.read_bytes()
    done = sh("tailrace report $T -o $T", T=trace)
    assert done.returncode == 2 and "is the trace, which a page would replace" in done.stderr
    assert trace.read_bytes() == before


def test_a_page_on_stdout(trace):
    done = sh("tailrace report -o - $T", T=trace)
    assert done.stdout.startswith("<!doctype html>") and done.stdout.rstrip().endswith("</html>")
    assert "page" not in done.stderr


def test_a_closed_stderr_does_not_keep_the_trace_from_being_packed(tmp_path):
    done = sh("cd $D && tailrace run -o out -- cat /etc/hostname 2>&-", D=tmp_path)
    assert done.returncode == 0
    assert done.stdout == Path("/etc/hostname").read_text()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["cat.tailrace", "report.html"]


def test_runs_that_start_together_keep_all_their_traces(tmp_path):
    done = sh(
        "cd $D && for i in 1 2 3 4; do tailrace run -o two -- cat /etc/hostname & done; wait",
        D=tmp_path,
    )
    assert done.returncode == 0
    expected = [f"{stem}{end}" for end in ("", "-2", "-3", "-4") for stem in ("cat", "report")]
    assert sorted(path.stem for path in (tmp_path / "two").iterdir()) == sorted(expected)


def test_report_while_the_run_goes_on_spoils_nothing(tmp_path):
    program = "import os, time\nfor i in range(100000):\n os.stat('/')\n time.sleep(0.001)\n"
    (tmp_path / "long.py").write_text(program)
    run = subprocess.Popen(
        ["bash", "-c", "exec tailrace run -o out -- python3 long.py"], cwd=tmp_path
    )
    try:
        for _ in range(1800):  # capture may have to be compiled
            if list(tmp_path.glob("out/raw/*.stream")):
                break
            threading.Event().wait(0.1)
        done = sh("cd $D && tailrace report out", D=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("tailrace: out: the program is still running; this is what")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["raw"]
    finally:
        run.terminate()
        run.wait()
    traces = list((tmp_path / "out").glob("*.tailrace"))
    assert len(traces) == 1 and sh("cd $D && tailrace report out", D=tmp_path).returncode == 0


@pytest.mark.parametrize("signal", [9, 6, 15, 33])  # 33 is the C library's own
def test_run_dies_as_the_program_did(tmp_path, signal):
    command = ["tailrace", "run", "-o", "out", "--", "sh", "-c", f"kill -{signal} $$"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == -signal
    assert "Traceback" not in done.stderr


# The note that Go's linker leaves.
GO = """
__attribute__((section(".note.go.buildid"), used)) static const struct {
    int name, description, kind;
    char of[4], id[4];
} note = {4, 4, 4, "Go", "abc"};
int main(void) { return 0; }
"""


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("tailrace run -- true", "true made no file call and no MPI call"),
        (
            "tailrace run -- false",
            "false ended with status 1 before a file call of it was recorded",
        ),
        ("tailrace run -- env -i A=1 cat /etc/hostname", "the command clears the environment"),
        (
            "tailrace run -- setpriv --reuid=nobody --clear-groups cat /etc/hostname",
            "setpriv starts the program as another user",
        ),
        (
            "tailrace run -- setpriv --reuid nobody --clear-groups cat /etc/hostname",
            "setpriv starts the program as another user",
        ),
        ("tailrace run -- setpriv --no-new-privs true", "true made no file call and no MPI call"),
        ("tailrace run -- setpriv --reuid 0 true", "true made no file call and no MPI call"),
        ("tailrace run -- ./static", "static is linked statically"),
        ("tailrace run -- ./static-go", "static-go is written in Go"),
        ("tailrace run -- ./static-32", "static-32 is a 32-bit program"),
        ("tailrace run -- chroot . /static", "chroot starts the program among other files"),
        ("tailrace run -- env LD_PRELOAD= cat /etc/hostname", "the command sets LD_PRELOAD itself"),
        (
            "tailrace run -- sh -c 'LD_PRELOAD=/lib/a.so cat /etc/hostname'",
            "the command sets LD_PRELOAD itself",
        ),
        (
            "tailrace run -- sh -c 'LD_PRELOAD=$LD_PRELOAD cat /etc/hostname'",
            "sh is a shell: what it does itself, and what it starts that uses no MPI, is recorded",
        ),
        ("tailrace run -- sh -c 'cat /etc/hostname'", "sh is a shell: what it does itself"),
        (
            "tailrace run -- sh -c 'cat /etc/hostname; exit 11'",
            "sh is a shell: what it does itself",
        ),
        # which starts nothing
        (
            "tailrace run -- sh -c 'for i in 1 2; do echo $i >>f; done'",
            "sh is a shell: what it does",
        ),
        (
            "printf '#!/bin/sh\necho 1 >f\n' >work; chmod +x work; tailrace run -- ./work",
            "work is a shell's script: what it does itself",
        ),
        *(
            (f"ln -s /bin/sh {name}; tailrace run -- ./{name} -c :", f"{name} is a shell: what")
            for name in ("busybox", "rbash", "mksh")
        ),
        ("tailrace run -- make -s -f /dev/null", "make only starts other programs"),
        (
            "printf '#!/bin/sh\nshift 2\n\"$@\"\n' >mpiexec; chmod +x mpiexec; "
            "tailrace run -- ./mpiexec -n 1 true",
            "no MPI rank was seen",
        ),
        ("tailrace run -- sh -c 'A=1 ./static-go'", "static-go is written in Go"),
        ("tailrace run -- sh -c './static; true'", "sh is a shell: what it does itself"),
        (
            "tailrace run -o out -- sh -c 'rm -r out/raw'",
            "out/raw was removed while the program ran",
        ),
    ],
)
def test_why_nothing_was_recorded(tmp_path, command, reason):
    if "setpriv" in command and (os.geteuid() or not shutil.which("setpriv")):
        pytest.skip("only root becomes another user, by setpriv")
    if "32" in command and os.uname().machine != "x86_64":
        pytest.skip("only x86-64's compilers make 32-bit programs with -m32")
    if "chroot" in command and os.geteuid():
        pytest.skip("only root has a program run in another root directory")
    source = "int main(void) { return 0; }"
    if "static" in command:
        name = next((w.strip("'./;") for w in command.split() if "./static" in w), "static")
        source = GO if name == "static-go" else source
        kind = ["-m32", "-nostdlib", "-Wl,-emain"] if name == "static-32" else []
        build = ["cc", *kind, "-static", "-x", "c", "-", "-o", tmp_path / name]
        subprocess.run(build, input=source, text=True, check=True)
    done = sh(f"cd $D && {command}", D=tmp_path)
    (sentence,) = [line for line in done.stderr.splitlines() if "nothing was recorded" in line]
    assert reason in sentence
    assert "hint: " in done.stderr
    assert not list(tmp_path.glob("tailrace-*"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("-n 1 ./missing fmt", "./missing does not exist"),
        ("./missing fmt", "./missing does not exist"),
        ("-n 1 missing fmt", "missing: command not found"),
        ("-n 1 ./plain fmt", "./plain is not executable"),
        ("-n 1 false ./missing", "mpiexec, which was to start false, ended with status 1"),
        ("-genv A b/c -n 1 false", "mpiexec, which was to start false, ended with status 1"),
        ("-wdir / -n 1 ./bin/false", "mpiexec ended with status 1"),
    ],
)
def test_a_program_of_ranks_that_cannot_be_started_is_named(tmp_path, words, reason):
    """Not the word behind it, that may be a program by chance: fmt. MPICH's mpiexec ends by SIGPIPE
    in one of 200 such runs, without capture too (5 of 1,000)."""
    (tmp_path / "plain").touch()
    launcher = find_mpi("mpich").mpiexec
    for _ in range(3):
        done = sh(f"cd $D && tailrace run -- {launcher} {words}", D=tmp_path)
        (sentence,) = [line for line in done.stderr.splitlines() if "nothing was recorded" in line]
        if "mpiexec ended with signal 13" not in sentence:
            break
    assert reason in sentence


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("kill -PIPE $$", "mpiexec ended with signal 13"),
        ("exit 1", "mpiexec, which was to start false, ended with status 1"),
    ],
)
def test_how_the_launcher_ends_is_not_said_of_the_program(tmp_path, ends, said):
    """It may not have started it."""
    launcher = tmp_path / "mpiexec"
    launcher.write_text(f"#!/bin/sh\n{ends}\n")
    launcher.chmod(0o755)
    done = sh("tailrace run -- $D/mpiexec -n 1 false", D=tmp_path)
    assert f"{said} before an MPI rank was recorded" in done.stderr


def test_a_name_of_a_directory_that_cannot_be_made_with_strict(tmp_path):
    done = sh("cd $D && touch file && tailrace run --strict -o file -- touch ran", D=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "ran").exists()
    done = sh("cd $D && tailrace run -o file -- touch ran", D=tmp_path)
    assert done.returncode == 0 and (tmp_path / "ran").exists()


def test_doctor_ends_in_one_line_that_says_what_is_ready():
    done = sh("tailrace doctor")
    *_, blank, last = done.stdout.splitlines()
    assert blank == ""
    assert last.startswith(
        "ready: `tailrace run` records programs with" if not done.returncode else "not ready: "
    )


def test_what_a_killed_packer_left_goes_with_the_next(tmp_path):
    """What another packer uses, or made a moment ago, stays."""
    names = [f"{store.PACKING}{name}" for name in ("killed", "used", "young")]
    killed, used, young = (tmp_path / name for name in names)
    for place in (killed, used, young):
        place.mkdir()
        (place / "trace.tailrace").write_bytes(b"part")
    for place in (killed, used):
        os.utime(place, (0, 0))
    locked = os.open(used, os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    try:
        with pytest.raises(TailraceError), store.packed(tmp_path / "no streams", tmp_path / "out"):
            pass
    finally:
        os.close(locked)
    assert not killed.exists() and used.exists() and young.exists()
    assert len(list(tmp_path.iterdir())) == 2
