"""Calls of MPI's profiling interface (PMPI_X) are recorded as those of MPI_X, and each call once,
wherever a tool stands that is in front of MPI_X."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter

import pytest
from mpi_capture import HERE

PROGRAMS = HERE / "programs"
RANKS = 2

# How the program is compiled; where a tool is, and how that is compiled.
ARRANGEMENTS = {
    "direct": (["-DDIRECT"], {}),
    "direct-lazy": (["-DDIRECT", "-Wl,-z,lazy", "-no-pie", "-fno-pie"], {}),
    "direct-no-plt": (["-DDIRECT", "-fno-plt"], {}),
    "asked": (["-DASKED"], {}),
    "program": ([], {"program": []}),
    "program-lazy": (["-Wl,-z,lazy", "-no-pie", "-fno-pie"], {"program": []}),
    "program-next": ([], {"program": ["-DNEXT"]}),
    "program-found": ([], {"program": ["-DFOUND"]}),
    "library": ([], {"library": []}),
    "library-next": ([], {"library": ["-DNEXT"]}),
    "library-found": ([], {"library": ["-DFOUND"]}),
    "behind": ([], {"behind": []}),
    "before": ([], {"before": []}),
    "before-next": ([], {"before": ["-DNEXT"]}),
    "two": ([], {"program": [], "behind": []}),
}


def seen(run):
    """Calls of each rank by name, those that MPI answers from memory among them."""
    ranks = []
    for stream in run.ranks:
        calls = Counter(call.function for call in stream.calls)
        for row in stream.questions:
            calls[row.function] += row.calls
        ranks.append({name: n for name, n in calls.items() if name.startswith("MPI_")})
    return ranks


def same_as_plain(workplace, run, command):
    """What the program prints and its status are those without capture."""
    environment, texts = workplace.mpi.variables(), {"capture_output": True, "text": True}
    launched = workplace.mpi.launch(RANKS, *command)
    plain = subprocess.run(launched, env=environment, cwd=workplace.folder, timeout=600, **texts)
    return (run.returncode, sorted(run.stdout.splitlines())) == (
        plain.returncode,
        sorted(plain.stdout.splitlines()),
    )


def shared_tool(workplace, library, *flags):
    options = ["-shared", "-fPIC", *flags, "-o", library]
    source = PROGRAMS / "profiling_tool.c"
    subprocess.run([workplace.mpi.mpicc, *options, source, "-ldl"], check=True)
    return library


def build(workplace, folder, flags, tools):
    """The command of the program with tools where they are to be."""
    sources, linked, command = [PROGRAMS / "profiled.c"], [], []
    binary = folder / "profiled"
    for place, tool_flags in tools.items():
        if place == "program":
            sources.append(PROGRAMS / "profiling_tool.c")
            flags = [*flags, *tool_flags]
            continue
        library = shared_tool(workplace, folder / f"lib{place}.so", *tool_flags)
        if place == "library":
            linked = [library, f"-Wl,-rpath,{folder}"]
        else:
            order = [library, "$LD_PRELOAD"][:: 1 if place == "before" else -1]
            preload = ":".join(map(str, order))
            command = ["sh", "-c", f'LD_PRELOAD={preload} exec "$@"', "sh"]
    options = ["-O1", *flags, "-o", binary]
    subprocess.run([workplace.mpi.mpicc, *options, *sources, *linked, "-ldl"], check=True)
    return [*command, binary, folder / "file"]


@pytest.mark.sampled
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_each_call_is_recorded_once(workplace, tmp_path, arrangement):
    command = build(workplace, tmp_path, *ARRANGEMENTS[arrangement])
    run = workplace.run(tmp_path / "raw", RANKS, *command)
    assert same_as_plain(workplace, run, command)
    assert ("the tool saw" in run.stdout) == bool(ARRANGEMENTS[arrangement][1])
    each = ["Init", "Comm_rank", "File_open", "File_write_at", "File_close", "Finalize"]
    expected = {f"MPI_{name}": 1 for name in each} | {"MPI_Barrier": 3}
    assert seen(run) == [expected | {"MPI_Send": 1}, expected | {"MPI_Recv": 1}]


def test_a_tool_that_comes_in_front_later_is_not_led_to_itself(workplace, tmp_path):
    binary, library = tmp_path / "promoted", shared_tool(workplace, tmp_path / "libtool.so")
    subprocess.run(["cc", "-o", binary, PROGRAMS / "promoted.c", "-ldl"], check=True)
    run = workplace.run(tmp_path / "raw", RANKS, binary, library)
    assert same_as_plain(workplace, run, [binary, library])
    assert "the tool saw 2 calls" in run.stdout
    assert seen(run) == [{"MPI_Init": 1, "MPI_Finalize": 1}] * RANKS


@pytest.fixture
def fortran(workplaces):
    workplace = workplaces("system-openmpi")
    if not workplace.mpi.mpifort or not shutil.which(workplace.mpi.mpifort):
        pytest.skip("there is no Fortran compiler wrapper of the system's Open MPI")
    return workplace


FORTRAN_TOOL = """
subroutine mpi_barrier(comm, error)
  integer :: comm, error
  call pmpi_barrier(comm, error)
end subroutine
"""


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
@pytest.mark.parametrize("names", ["MPI_", "PMPI_", "tool in C", "tool in Fortran"])
def test_each_call_of_fortran_is_recorded_once(fortran, tmp_path, module, names):
    text = (PROGRAMS / "profiled.f90").read_text().replace("use mpi\n", f"use {module}\n")
    if names == "PMPI_":
        text = text.replace("call MPI_", "call PMPI_")
    binary, objects = tmp_path / "profiled", []
    (tmp_path / "program.f90").write_text(text)
    (tmp_path / "tool.f90").write_text(FORTRAN_TOOL)
    if names == "tool in C":
        objects = [tmp_path / "tool.o"]
        source = PROGRAMS / "profiling_tool.c"
        subprocess.run([fortran.mpi.mpicc, "-c", "-o", *objects, source], check=True)
    elif names == "tool in Fortran":
        objects = [tmp_path / "tool.f90"]
    sources = [tmp_path / "program.f90", *objects]
    subprocess.run([fortran.mpi.mpifort, "-o", binary, *sources], check=True, cwd=tmp_path)
    run = fortran.run(tmp_path / "raw", RANKS, binary)
    assert same_as_plain(fortran, run, [binary])
    once = {f"MPI_{name}": 1 for name in ["Init", "Comm_rank", "Bcast", "Finalize"]}
    assert seen(run) == [once | {"MPI_Barrier": 3}] * RANKS
