"""What a run is: its ranks, what they spawn and what they start belong to it, and two launches are
two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace import engine
from tailrace.library import open as open_trace
from tests.conftest import Mpi, find_mpi, without_processor_waits
from tests.golden.harness import compile_program

pytest.importorskip("tailrace._engine", reason="the compiled engine is not built")

PROGRAMS = Path(__file__).resolve().parent / "programs"
SECONDS_MAX = 600


@pytest.fixture(scope="module", params=["mpich", "openmpi"])
def family(request: pytest.FixtureRequest) -> Mpi:
    return find_mpi(request.param)


@pytest.fixture(scope="module")
def built(family: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp(family.name)
    for name in ("spawn", "helpers"):
        compile_program([family.mpicc, "-O1"], [PROGRAMS / f"{name}.c"], directory / name)
    return directory


@pytest.fixture
def captured(tailrace, tmp_path):
    """A function that runs a command under capture and gives the columns of each trace by its
    name, and what was said."""

    def run(family: Mpi | None, command: list[str], *options: str):
        words = [*tailrace, "run", "-o", "run", *options, "--", *command]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=with_compiler(family) if family else None,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        traces = sorted((tmp_path / "run").glob("*.tailrace"))
        assert traces, done.stderr
        return {trace.stem: engine.analyze(trace) for trace in traces}, done.stderr

    return run


def with_compiler(family: Mpi) -> dict[str, str]:
    """A script hides its MPI: the one on the PATH is prepared for."""
    path = f"{Path(family.mpicc).parent}{os.pathsep}{os.environ['PATH']}"
    return family.variables(PATH=path)


def written(columns: dict) -> list[int]:
    """Bytes of each rank in the programs' own files."""
    sums = [0] * int(columns["ranks"])
    table, paths = columns["file_rank"], columns["files"]["path"]
    for file, rank, count in zip(table["file"], table["rank"], table["bytes_written"], strict=True):
        name = paths[int(file)].rsplit(b"/", 1)[-1]
        if name.startswith((b"parent.", b"child.", b"own.", b"forked.", b"dd.", b"part.")):
            sums[int(rank)] += int(count)
    return sums


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("parents", "children", "times"), [(1, 2, 1), (3, 2, 1), (2, 2, 1), (1, 2, 2)]
)
def test_spawned_ranks_come_after_those_that_spawned_them(
    family, built, captured, parents, children, times
):
    """No rank is missing and none is invented, however many children there are."""
    command = family.launch(parents, built / "spawn", str(children), str(times))
    runs, said = captured(family, command)
    assert list(runs) == ["spawn"], said
    columns = runs["spawn"]
    worlds = [range(parents), *[range(children)] * times]
    assert written(columns) == [1000 * (rank + 1) for world in worlds for rank in world]
    assert all(columns["rank"]["host"])
    assert columns["capture"]["complete"], columns["capture"]["notes"]


def test_two_launches_in_a_script_are_two_runs(family, built, captured, tmp_path):
    script = tmp_path / "steps.sh"
    programs = [(2, "helpers"), (1, "spawn", "2"), (1, "helpers")]
    lines = [" ".join(family.launch(n, built / name, *more)) for n, name, *more in programs]
    script.write_text("#!/bin/sh\nset -e\n" + "\n".join(lines) + "\n")
    script.chmod(0o755)
    runs, said = captured(family, ["./steps.sh"])
    assert {name: int(run["ranks"]) for name, run in runs.items()} == {
        "helpers": 2,
        "helpers-2": 1,
        "spawn": 3,
    }
    assert "the command started 3 runs" in said
    assert said.count("trace: ") == 3


def test_launches_at_once_are_two_runs(family, built, captured, tmp_path):
    launch = " ".join(family.launch(2, built / "helpers"))
    runs, said = captured(family, ["sh", "-c", f"{launch} & {launch} & wait"])
    assert [int(run["ranks"]) for run in runs.values()] == [2, 2], said
    assert all(written(run) == [1000, 1000] for run in runs.values())


def test_helpers_belong_to_the_rank_that_started_them(family, built, captured):
    runs, said = captured(family, family.launch(2, built / "helpers"), "--processes", "all")
    assert list(runs) == ["helpers"], said
    columns = runs["helpers"]
    assert written(columns) == [13000, 13000]
    assert columns["capture"]["complete"], columns["capture"]["notes"]
    assert not any("ended without" in note for note in columns["capture"]["notes"])


def test_wrapper_scripts_of_ranks(family, built, captured, tmp_path):
    wrapper = tmp_path / "wrapper.sh"
    copy = "dd if=/dev/zero of=part.$$ bs=5 count=1 2>/dev/null"
    wrapper.write_text(f"#!/bin/sh\n{copy}\n{built}/helpers\ntrue\n")
    wrapper.chmod(0o755)
    runs, said = captured(family, family.launch(2, wrapper), "--processes", "all")
    assert list(runs) == ["helpers"], said
    assert written(runs["helpers"]) == [13000, 13000]  # what came before MPI_Init does not count


@pytest.mark.parametrize("command", ["ls / > part.0", "(dd if=/dev/zero of=part.1 count=1; true)"])
def test_without_mpi_a_shell_and_what_it_starts_are_one_rank(captured, command):
    """And it waits for nobody."""
    runs, said = captured(None, ["sh", "-c", f"{command}; true"], "--processes", "all")
    (columns,) = runs.values()
    assert int(columns["ranks"]) == 1
    assert columns["capture"]["complete"], columns["capture"]["notes"]
    assert "wait for each other" not in said


def test_a_script_that_becomes_its_program_is_recorded(captured, tmp_path):
    """As the shims of version managers do. What the program starts is not recorded."""
    script = tmp_path / "shim"
    words = "open('part.0', 'w').write('a' * 700); os.system('exec cp part.0 part.1')"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import os; {words}"\n')
    script.chmod(0o755)
    traces, _ = captured(None, [str(script)])
    (columns,) = traces.values()
    assert columns["ranks"] == 1
    files = columns["files"]
    sizes = dict(zip(map(bytes, files["path"]), files["bytes_written"], strict=True))
    assert sizes[os.fsencode(tmp_path / "part.0")] == 700
    assert os.fsencode(tmp_path / "part.1") not in sizes


def test_a_program_that_becomes_another_is_recorded(captured, tmp_path):
    """As Rscript becomes a shell, which becomes R."""
    words = "import os; os.execvp('dd', ['dd', 'if=/dev/zero', 'of=part.0', 'bs=700', 'count=1'])"
    traces, _ = captured(None, [sys.executable, "-c", words])
    (columns,) = traces.values()
    files = columns["files"]
    sizes = dict(zip(map(bytes, files["path"]), files["bytes_written"], strict=True))
    assert sizes[os.fsencode(tmp_path / "part.0")] == 700


def test_a_pool_of_processes_belongs_to_the_program(captured, tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        "import multiprocessing, sys\n"
        "def write(i):\n"
        "    with open(f'part.{i}', 'wb', buffering=0) as file:\n"
        "        file.write(bytes(1000))\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:\n"
        "        pool.map(write, range(6))\n"
    )
    for number, method in enumerate(("fork", "spawn"), start=1):
        command = [sys.executable, "pool.py", method]
        runs, said = captured(None, command, "--processes", "all")
        assert len(runs) == number, said
        columns = list(runs.values())[-1]
        assert (int(columns["ranks"]), written(columns)) == (1, [6000]), method


def test_json_of_a_run_says_what_it_did_not_record(captured, tailrace, tmp_path):
    """Without --processes all the helpers are counted."""
    _, said = captured(None, [sys.executable, "-c", HELPED])
    (trace,) = (tmp_path / "run").glob("*.tailrace")
    done = subprocess.run([*tailrace, "report", "--json", trace], capture_output=True, text=True)
    assert "started 3 other processes, which were not recorded" in said
    sentence = "rank 0 started 3 other processes, which were not recorded"
    assert json.loads(done.stdout)["meta"]["not_recorded"] == sentence


def test_processes_that_did_nothing_are_not_worth_a_word(captured, tmp_path):
    words = "import os, time; begin = time.monotonic(); os.system('true')\n"
    words += "while time.monotonic() - begin < 0.5: pass\n"
    columns, said = captured(None, [sys.executable, "-c", words])
    assert "other process" not in said
    (columns,) = columns.values()
    assert columns["meta"]["unseen"] == "processes=1"
    left = f"import subprocess\nsubprocess.Popen(['sleep', '1'])\n{words}"
    columns, _ = captured(None, [sys.executable, "-c", left])
    latest = max((tmp_path / "run").glob("*.tailrace"), key=lambda path: path.stat().st_mtime_ns)
    run = without_processor_waits(open_trace(latest))
    assert "the program started 2 other processes, which were not recorded" in run.headline.lower()
    unseen = {each["meta"]["unseen"] for each in columns.values()}
    assert unseen == {"processes=1", "processes=2 left"}


BOTH = "dd if=/dev/zero of=part.0 bs=100k count=1; sleep 1; dd if=/dev/zero of=part.1 count=1"


def test_what_a_script_ran_before_its_last_program_is_not_kept_quiet(captured, tmp_path):
    """The shell's last command takes its place."""
    columns, said = captured(None, ["bash", "-c", BOTH])
    assert "Only dd, the last program of the command, was recorded, not what ran for 1." in said
    assert "--processes all" in said
    (columns,) = columns.values()
    assert written(columns) == [512]
    _, said = captured(None, ["bash", "-c", "dd if=/dev/zero of=part.1 count=1"])
    assert "dd, the last program" not in said


def test_a_shell_that_becomes_its_last_program_is_one_run_with_what_it_started(captured):
    traces, said = captured(None, ["bash", "-c", BOTH], "--processes", "all")
    (columns,) = traces.values()
    assert "too short" not in said
    assert written(columns) == [102_400 + 512]


HELPED = """
import os, subprocess, sys
open('part.0', 'wb').write(bytes(100))
os.system('sleep 0.2')
subprocess.run(['true'])
if not os.fork():
    os._exit(0)
os.wait()
"""


ELSEWHERE = """
import time
begin = time.monotonic()
while time.monotonic() - begin < 0.2:
    open('/proc/self/statm').read()
    open('/dev/null', 'w').write('x')
open('part.0', 'wb').write(bytes(100))
"""


@pytest.mark.measured("the time of a write beside that of many reads of /proc")
def test_what_is_on_no_file_system_is_not_io(captured, tailrace, tmp_path):
    runs, said = captured(None, [sys.executable, "-c", ELSEWHERE])
    (columns,) = runs.values()
    files = columns["files"]
    of = dict(zip(files["path"], files["place"], strict=True))
    assert (of[b"/proc/self/statm"], of[b"/dev/null"]) == ("kernel", "device")
    assert of[bytes(tmp_path / "part.0")] == "file_system"
    (row,) = (i for i, path in enumerate(files["path"]) if path == b"/proc/self/statm")
    assert int(files["reads"][row]) > 10
    in_proc_ns = sum(int(files[f"{kind}_ns"][row]) for kind in ("read", "write", "metadata"))
    assert int(columns["rank"]["io_ns"][0]) < in_proc_ns
    assert "calls on /proc/self/statm, which is the kernel's, take" in said
    assert "I/O takes" not in said
    trace = next((tmp_path / "run").glob("*.tailrace"))
    shown = subprocess.run([*tailrace, "report", trace], capture_output=True, text=True)
    assert "On no file system, not counted as I/O: /proc/self/statm" in shown.stdout


def test_a_run_that_is_stopped_says_so(tailrace, tmp_path):
    code = "import time; open('part.0', 'w').write('x'); print('up', flush=True); time.sleep(60)"
    words = [*tailrace, "run", "-o", "run", "--", sys.executable, "-c", code]
    process = subprocess.Popen(
        words, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == "up\n"
    process.terminate()
    said = process.communicate(timeout=SECONDS_MAX)[1]
    assert "But the run was stopped early by SIGTERM." in said
    assert not (tmp_path / "run" / "raw").exists()


@pytest.mark.slow
def test_ranks_of_another_mpis_launcher_are_said_to_be_alone(captured, tmp_path):
    """The classic mistake: each process is a world of its own. (An MPICH program does not start
    under Open MPI's launcher.)"""
    family = find_mpi("openmpi")
    compile_program([family.mpicc, "-O1"], [PROGRAMS / "spawn.c"], tmp_path / "spawn")
    command = [find_mpi("mpich").mpiexec, "-n", "2", tmp_path / "spawn", "0", "0"]
    runs, said = captured(family, list(map(str, command)))
    assert [int(run["ranks"]) for run in runs.values()] == [1, 1], said
    assert "the 2 processes that mpiexec started do not know of each other" in said
    assert "hint: the program uses Open MPI" in said
