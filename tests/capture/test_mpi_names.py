"""No MPI name is there that would not be there without capture, and every way to reach one that is
there is captured."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from mpi_capture import HERE

PROGRAMS = HERE / "programs"
RANKS = 2

# Ways to link a program: when its entries are bound, and through which tables it calls.
LINKS = {
    "lazy": ["-Wl,-z,lazy"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "no-plt": ["-fno-plt"],
    "no-pie": ["-no-pie", "-fno-pie", "-Wl,-z,lazy"],
    "no-pie-now": ["-no-pie", "-fno-pie", "-Wl,-z,now"],
}


def compiled(compiler, source, binary, *flags):
    subprocess.run([compiler, "-O1", "-o", binary, PROGRAMS / source, *flags, "-ldl"], check=True)
    return binary


def counts(run, rank):
    functions = [call.function for call in run.ranks[rank].calls]
    functions += [row.function for row in run.ranks[rank].questions for _ in range(row.calls)]
    return {name: functions.count(name) for name in set(functions) if name.startswith("MPI_")}


def plain(workplace, ranks, *command):
    """As run() starts it, without capture."""
    environment = workplace.mpi.variables()
    done = subprocess.run(
        workplace.mpi.launch(ranks, *command),
        env=environment, capture_output=True, text=True, timeout=600, cwd=workplace.folder,
    )  # fmt: skip
    return done.returncode, sorted(done.stdout.splitlines())


@pytest.fixture
def library(workplace):
    """The MPI library that programs of this MPI load."""
    binary = workplace.compile("pointers.c")
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return re.search(r"libmpi(?:_abi)?\.so\.\d+ => (\S+)", listed)[1]


@pytest.mark.sampled
@pytest.mark.parametrize("link", LINKS)
def test_every_way_to_hold_a_function_is_captured(workplace, tmp_path, link):
    binary = compiled(workplace.mpi.mpicc, "pointers.c", tmp_path / "pointers", *LINKS[link])
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    assert (run.returncode, sorted(run.stdout.splitlines())) == plain(workplace, RANKS, binary)
    for rank in range(RANKS):
        assert counts(run, rank)["MPI_Barrier"] == 4


def test_a_program_without_mpi_finds_none(workplace, tmp_path):
    binary = compiled("cc", "probes.c", tmp_path / "probes")
    environment = workplace.environment(tmp_path / "raw", TAILRACE_PROGRAM=str(binary))
    (tmp_path / "raw").mkdir()
    bare, captured = (
        subprocess.run([binary], env=variables, capture_output=True, text=True)
        for variables in (None, environment)
    )
    assert "weak 0 0 0" in bare.stdout and "MPI_Init: there" not in bare.stdout
    assert (captured.returncode, captured.stdout, captured.stderr) == (0, bare.stdout, "")


def test_python_without_mpi_finds_none(workplace, tmp_path):
    script = "import ctypes; print(hasattr(ctypes.CDLL(None), 'MPI_Get_version'))"
    (tmp_path / "raw").mkdir()
    environment = workplace.environment(tmp_path / "raw", TAILRACE_PROGRAM=sys.executable)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_what_an_mpi_lacks_is_not_found(workplace, tmp_path):
    """Open MPI 5 has no large counts, MPICH has; neither has the other's ABI functions."""
    flags = ["-Wl,--no-as-needed"]
    binary = compiled(workplace.mpi.mpicc, "probes.c", tmp_path / "probes", *flags)
    run = workplace.run(tmp_path / "raw", RANKS, binary, TAILRACE_PROGRAM=str(binary))
    assert (run.returncode, sorted(run.stdout.splitlines())) == plain(workplace, RANKS, binary)
    assert "MPI_Init: there" in run.stdout


def test_mpi_asked_of_a_handle_is_captured(workplace, tmp_path, library):
    """As MPI.jl and ctypes do."""
    binary = compiled("cc", "opens.c", tmp_path / "opens")
    command = [binary, "functions", library]
    run = workplace.run(tmp_path / "raw", RANKS, *command)
    assert (run.returncode, sorted(run.stdout.splitlines())) == plain(workplace, RANKS, *command)
    assert len(run.ranks) == RANKS
    for rank in range(RANKS):
        assert counts(run, rank) == {"MPI_Init": 1, "MPI_Get_version": 1, "MPI_Finalize": 1}


def test_an_mpi_whose_file_has_no_version_is_known_by_its_soname(workplaces, tmp_path):
    """Debian's; the wheels' libmpi.so is a script for the linker."""
    workplace = workplaces("system-openmpi")
    binary = compiled("cc", "opens.c", tmp_path / "opens")
    run = workplace.run(tmp_path / "raw", RANKS, binary, "functions", "libmpi.so")
    assert "not recorded" not in run.stderr
    assert [counts(run, rank)["MPI_Init"] for rank in range(RANKS)] == [1, 1]


@pytest.mark.sampled
@pytest.mark.parametrize("found_by", ["path", "runpath", "rpath", "origin"])
def test_a_plugin_that_calls_mpi_is_captured(workplace, tmp_path, found_by):
    """Where the search path of who calls dlopen decides, it decides as without capture."""
    flags = ["-shared", "-fPIC", "-Wl,-z,lazy"]
    plugin = compiled(workplace.mpi.mpicc, "plugin.c", tmp_path / "libplugin.so", *flags)
    tags = "--disable-new-dtags" if found_by == "rpath" else "--enable-new-dtags"
    search = [] if found_by == "path" else [f"-Wl,{tags},-rpath,{tmp_path}"]
    binary = compiled("cc", "opens.c", tmp_path / "opens", *search)
    name = {"path": plugin, "origin": "$ORIGIN/libplugin.so"}.get(found_by, "libplugin.so")
    command = [binary, "plugin", name]
    run = workplace.run(tmp_path / "raw", RANKS, *command)
    assert (run.returncode, run.stdout) == (0, f"{RANKS} ranks\n" * RANKS)
    expected = {"MPI_Init": 1, "MPI_Comm_size": 1, "MPI_Barrier": 1, "MPI_Finalize": 1}
    assert [counts(run, rank) for rank in range(RANKS)] == [expected] * RANKS
