"""From where in the program: functions, files and lines in findings and files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailrace.verdict.places import Places, of_interpreter
from tests.conftest import find_mpi

PROGRAM = Path(__file__).parent / "programs" / "places.c"
BUILDS = {
    "debug": ["-O0", "-g"],
    "optimized": ["-O2", "-g", "-fomit-frame-pointer"],
    "symbols": ["-O2"],
    "stripped": ["-O2", "-s"],
}
FORTRAN = """
module output
contains
subroutine write_history(n)
  integer, intent(in) :: n
  real(8) :: a(100000)
  a = n
  open(10, file='f.dat', form='unformatted', access='stream', position='append')
  write(10) a
  flush(10)
  close(10)
end subroutine
end module
program model
  use output
  integer :: i
  do i = 1, 20
    call write_history(i)
  end do
end program
"""
CPP = """
#include <fstream>
#include <vector>
namespace model {
struct Dump { virtual void write(int); };
__attribute__((noinline)) void Dump::write(int n)
{
    std::vector<double> values(100000, n);
    std::ofstream out("d.dat", std::ios::app);
    out.write((const char *)values.data(), values.size() * sizeof(double));
    out.flush();
}
}
int main() { model::Dump dump; for (int i = 0; i < 20; i++) dump.write(i); }
"""


def report_of(directory: Path, *command: str, environment: dict | None = None) -> dict:
    """The command's run as the JSON of its report."""
    tailrace = [sys.executable, "-m", "tailrace"]
    shutil.rmtree(directory / "run", ignore_errors=True)
    run = [*tailrace, "run", "-o", "run", "--", *command]
    variables = os.environ | (environment or {})
    subprocess.run(run, cwd=directory, check=True, capture_output=True, env=variables)
    done = subprocess.run(
        [*tailrace, "report", "run", "--json"], cwd=directory, check=True, capture_output=True
    )
    return json.loads(done.stdout)


def places_of(report: dict, name: str) -> list[str]:
    (file,) = [file for file in report["files"] if file["path"].endswith(f"/{name}")]
    return [place["place"] for place in file["places"]]


@pytest.mark.parametrize("build", BUILDS)
def test_a_program_of_c(tmp_path, build):
    command = ["cc", *BUILDS[build], "-o", tmp_path / "model", PROGRAM]
    subprocess.run(command, check=True)
    report = report_of(tmp_path, "./model")
    places = places_of(report, "history.dat")
    names = [place.split(" ← ") for place in places]
    lines = {
        line.rpartition("// ")[2]: number
        for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if "// " in line
    }
    where = {
        "debug": f"(places.c:{lines['sync']})",
        "optimized": f"(places.c:{lines['sync']})",
        "symbols": "",
        "stripped": None,
    }[build]
    synchronized = f"synchronize {where}".rstrip() + " ← write_history ← step ← main"
    if build == "stripped":
        assert all(name[0].startswith("model+0x") for name in names)
        assert {len(name) for name in names} <= {1, 3, 4}
        return
    assert synchronized in places
    (sync,) = [finding for finding in report["verdict"] if finding["code"] == "sync"] or [None]
    assert sync is None or sync["place"] == synchronized


@pytest.mark.skipif(not shutil.which("gfortran"), reason="gfortran is not installed")
def test_a_program_of_fortran(tmp_path):
    (tmp_path / "output.f90").write_text(FORTRAN)
    command = ["gfortran", "-O2", "-g", "-o", "model", "output.f90"]
    subprocess.run(command, cwd=tmp_path, check=True)
    report = report_of(tmp_path, "./model")
    assert "write_history (output.f90:9) ← model ← main" in places_of(report, "f.dat")
    subprocess.run([*command[:2], "-o", "model", "output.f90"], cwd=tmp_path, check=True)
    report = report_of(tmp_path, "./model")
    assert places_of(report, "f.dat")[0].startswith("write_history ← ")


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_a_program_of_cpp_without_debug_information(tmp_path):
    (tmp_path / "dump.cpp").write_text(CPP)
    subprocess.run(["g++", "-O2", "-o", "model", "dump.cpp"], cwd=tmp_path, check=True)
    report = report_of(tmp_path, "./model")
    assert places_of(report, "d.dat")[0] == "model::Dump::write ← main"


def test_a_program_that_changed_since_is_not_asked(tmp_path):
    """The program replaces itself before its streams are packed: no name of the new one is used."""
    command = ["cc", "-O2", "-g", "-o"]
    subprocess.run([*command, "model", PROGRAM], cwd=tmp_path, check=True)
    source = PROGRAM.read_text().replace("synchronize", "unrelated")
    (tmp_path / "other.c").write_text(source)
    subprocess.run([*command, "replacement", "other.c"], cwd=tmp_path, check=True)
    report = report_of(tmp_path, "./model")
    assert not (tmp_path / "replacement").exists()
    places = places_of(report, "history.dat")
    assert places
    assert all(place.startswith("model+0x") for place in places)


def columns(*frames: tuple[str, str, int, str]) -> dict:
    """One path with these frames from the innermost: function, source, line, module."""
    keys = ("function", "source", "line", "module")
    table = {key: [frame[i] for frame in frames] for i, key in enumerate(keys)}
    return {
        "meta": {"program": "/model/solver"},
        "places": {"file": [-1], "path": [0], "paths": [list(range(len(frames)))], "frames": table},
    }


SOLVER, LIBC, MPI = "/model/solver", "/usr/lib/libc.so.6", "/usr/lib/libmpi.so.40"
SQLITE = "/usr/lib/libsqlite3.so.0"
OMPIO = "/usr/lib/openmpi/lib/libmca_common_ompio.so.41"
START = (
    ("__libc_start_call_main", "", 0, LIBC),
    ("__libc_start_main", "", 0, LIBC),
    ("_start", "", 0, SOLVER),
)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([("main", "main.c", 3, SOLVER), *START], "main (main.c:3)"),
        (
            [("ADIOI_Write", "", 0, MPI), ("put", "/m/out.c", 7, SOLVER), *START],
            "put (out.c:7)",
        ),
        (
            [(name, "", 0, SOLVER) for name in ("a", "a", "b", "c", "d", "e", "main")],
            "a ← b ← c ← … ← main",
        ),
        (
            [("read", "/usr/include/bits/unistd.h", 38, SOLVER), ("load", "in.c", 2, SOLVER)],
            "load (in.c:2)",
        ),
        ([("compare", "", 0, SOLVER), ("qsort", "", 0, LIBC), ("main", "", 0, SOLVER), *START],
         "compare ← qsort ← main"),
        # A script's own line, not what the system's library does for it; but its own library.
        ([("commit", "", 0, SQLITE), ("save", "m.py", 5, "")], "save (m.py:5)"),
        ([("put", "o.c", 1, "/m/io.so"), ("save", "m.py", 5, "")], "put (o.c:1) ← save"),
        ([("commit", "", 0, SQLITE), ("main", "", 0, SOLVER)], "main"),
        ([("ompio_write", "", 0, OMPIO), ("put", "o.c", 7, SOLVER)], "put (o.c:7)"),
        # Rust's own library stands between its programs and the system.
        (
            [(n, "/rustc/9/library/std/src/fs.rs", 3, SOLVER) for n in ("File::write", "fmt")]
            + [("<std::io::Adapter<T> as core::fmt::Write>::write_str", "", 0, SOLVER)]
            + [("model::save", "/m/main.rs", 5, SOLVER), ("main", "", 0, SOLVER)],
            "model::save (main.rs:5) ← main",
        ),
        # HDF5 that is linked statically.
        (
            [(n, "", 0, SOLVER) for n in ("H5FD__mpio_write", "H5F__accum_write", "H5Dwrite")]
            + [("write_H5", "o.c", 7, SOLVER)],
            "write_H5 (o.c:7)",
        ),
        # An interpreter's inside is no place in the program.
        ([("get_data", "<frozen importlib._bootstrap_external>", 9, "")], ""),
        ([("save", "/usr/lib/python3/dist-packages/io.py", 9, "")], "save (io.py:9)"),
        ([("start", "", 0, LIBC)], ""),
        ([("evil\x1b[31m\u202e", "x\n.c", 1, SOLVER)], "evil\\x1b[31m\\u202e (x\\x0a.c:1)"),
    ],
)  # fmt: skip
def test_words(frames, words):
    assert Places(columns(*frames)).name(0) == words


def test_a_package_of_the_system_has_its_libraries_as_parts():
    frames = [("Dump::write", "", 0, "/usr/lib/liblammps.so.0"), ("main", "", 0, "/usr/bin/lmp")]
    installed = columns(*frames) | {"meta": {"program": "/usr/bin/lmp"}}
    assert Places(installed).name(0) == "Dump::write ← main"


def test_a_routine_that_writes_in_each_of_its_lines_is_named_without_them():
    lines = [("save", "o.c", number, SOLVER) for number in range(1, 5)]
    frames = [*lines, ("step", "s.c", 9, SOLVER), ("main", "", 0, SOLVER)]
    table = columns(*frames)
    table["places"] |= {"file": [0] * 5, "path": list(range(5))}
    table["places"]["paths"] = [*([number, 5] for number in range(4)), [4, 5]]
    places, every = Places(table), np.ones(5, dtype=bool)
    assert places.most(every, np.array([20, 20, 20, 20, 20]), 100) == "save ← main"
    assert places.most(every, np.array([60, 10, 10, 10, 10]), 100) == "save (o.c:1) ← main"
    assert places.most(every, np.array([10, 10, 10, 10, 60]), 120) == "step (s.c:9) ← main"
    assert places.most(every, np.array([10, 10, 10, 0, 30]), 100) == ""


def test_a_trace_without_places_has_none():
    places = Places({"meta": {}})
    assert places.of_file(0) == []


PYTHON = """
import os
def write_history(step):
    with open("h.dat", "ab") as file:
        file.write(b"x" * 1000000)
        file.flush()
        os.fsync(file.fileno())
for step in range(20):
    write_history(step)
"""


def test_a_program_of_python(tmp_path):
    """What the library's own open and BufferedWriter do is left out."""
    (tmp_path / "model.py").write_text(PYTHON)
    report = report_of(tmp_path, str(Path(sys.executable).resolve()), "model.py")
    places = places_of(report, "h.dat")
    assert "write_history (model.py:7) ← <module>" in places
    assert all(place.startswith("write_history (model.py:") for place in places)


MPI = """
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
#define KEPT(name) __attribute__((noinline)) static void name
static double values[10000];
KEPT(together)(MPI_File file, int at)
{
    MPI_File_write_at_all(file, at * 80000, values, 10000, MPI_DOUBLE, MPI_STATUS_IGNORE);
    __asm__ volatile("" ::: "memory");
}
KEPT(alone)(int rank)
{
    int file = rank ? -1 : open("alone.dat", O_CREAT | O_WRONLY, 0600);
    if (!rank && (write(file, values, sizeof values) < 0 || fsync(file) || close(file)))
        abort();
    __asm__ volatile("" ::: "memory");
}
int main(int count, char **arguments)
{
    int rank;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "together.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                  MPI_INFO_NULL, &file);
    for (int step = 0; step < 5; step++) {
        together(file, 2 * step + rank);
        alone(rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_calls_inside_mpi_are_the_programs(tmp_path, name):
    """What MPI and capture do inside MPI-IO is left out."""
    library = find_mpi(name)
    (tmp_path / "model.c").write_text(MPI)
    subprocess.run([library.mpicc, "-O2", "-g", "-o", "model", "model.c"], cwd=tmp_path, check=True)
    report = report_of(
        tmp_path,
        *map(str, library.launch(2, tmp_path / "model")),
        environment=library.variables(),
    )
    assert places_of(report, "alone.dat")[0].startswith("alone (model.c:")
    assert places_of(report, "alone.dat")[0].endswith(") ← main")
    if name == "mpich":  # Open MPI's writes are not its rank's file calls everywhere
        places = places_of(report, "together.dat")  # to open it may take longer
        assert "together (model.c:10) ← main" in places
        assert all(place.endswith((")", "← main")) for place in places)


def test_functions_of_an_interpreter_are_no_routines_of_the_program():
    assert of_interpreter(("Rf_eval", "", 0, "/usr/lib/R/lib/libR.so"))
    assert of_interpreter(("Perl_pp_print", "", 0, "/usr/bin/perl"))
    assert not of_interpreter(("write_history", "", 0, SOLVER))
