"""What output costs in all: programs that measure themselves what their output routines take, and
programs that have none. Never more is said than they took; how much less is said follows from
what lies before a routine's first call, and behind its last."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tailrace.verdict.phases import as_json as output_phases
from tailrace.verdict.routines import as_json
from tests.conftest import Mpi, find_mpi, without_processor_waits

from .running import captured

pytestmark = [
    pytest.mark.slow,
    pytest.mark.measured("what routines take, by their own clock and by the trace"),
]

HERE = Path(__file__).parent
# Clocks, and what capture does before and behind a call.
CLOCKS_S = 0.002


@dataclass(frozen=True)
class Judged:
    """What the program printed (seconds of all ranks), and what is said of it."""

    truth: dict[str, float]
    routines: dict[str, dict]
    verdict: Verdict
    evidence: Evidence

    def phases(self, name: str) -> list[dict]:
        return [row for row in output_phases(self.evidence) if row["routine"] == name]

    @property
    def named(self) -> str:
        found = [f for f in self.verdict.findings if f.code == "output_routine"]
        return found[0].finding.split(",")[0] if found else ""


def judged(mpi: Mpi, ranks: int, folder: Path, *command: str | Path, **more: str | Path) -> Judged:
    folder.mkdir(exist_ok=True)
    run, printed = captured(mpi.launch(ranks, *command), folder, mpi.variables(**more))
    truth = {name: float(s) for name, s in re.findall(r"^ *(\S+) +([\d.]+)$", printed, re.M)}
    evidence = Evidence(without_processor_waits(run).columns)
    routines = {row["routine"]: row for row in as_json(evidence)}
    return Judged(truth, routines, judge(evidence), evidence)


def check_phases(run: Judged, name: str, *entries: int, ranks: int = 2) -> None:
    """One for each entry, with all ranks, as these wait for each other in it: not longer than both
    ranks take together, and nearly as long as one of them takes."""
    phases, truth = run.phases(name), run.truth[name]
    assert len(phases) in entries
    assert {row["ranks"] for row in phases} == {ranks}
    length_s = sum(row["end_s"] - row["begin_s"] for row in phases)
    assert SEEN * truth / ranks - CLOCKS_S <= length_s <= truth + CLOCKS_S
    assert all(row["bytes_written"] for row in phases)
    written = sum(run.evidence.columns["phases"]["bytes_written"])
    assert sum(row["bytes_written"] for row in phases) >= 0.9 * written


def total_s(row: dict) -> float:
    return row["useful_s"] + row["mpi_s"] + row["io_s"]


@pytest.fixture(scope="module")
def binary(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp(f"routines-{mpi.name}") / "routines"
    command = [mpi.mpicc, "-O1", "-g", "-o", program, HERE / "routines.c"]
    subprocess.run(command, check=True)
    return program


# So much of what a routine takes is seen: all but what it does before its first call, in which a
# busy machine may let it wait.
SEEN = 0.7
# Program: the routine that is named, and how often it is entered.
ROUTINES = {"dump": ("dump", 8), "recursive": ("write_tree", 8), "two": ("restart", 8)}
# Nothing is said of a time loop, of a step, of what is done once, of a computation that logs.
NONE = ("direct", "step", "once", "log", "bulk")


@pytest.mark.parametrize("program", ROUTINES)
def test_the_whole_cost_of_an_output_routine_is_known(mpi, binary, tmp_path, program):
    name, entries = ROUTINES[program]
    run = judged(mpi, 2, tmp_path, binary, program, tmp_path)
    if set(run.routines) == {"gather"}:
        pytest.fail("rank 0 waited for a processor in gather(), and nearly only there")
    row, truth = run.routines[name], run.truth[name]
    assert row["entries"] == entries
    assert row["ranks"] == 2
    assert SEEN * truth - CLOCKS_S <= total_s(row) <= truth + CLOCKS_S
    share = truth / run.truth["run"]
    assert row["share_of_runtime"] <= share + 0.02
    assert run.named in {*run.truth, "gather"} - {"run"}
    assert row["useful_s"] > row["io_s"]
    if program != "two":
        check_phases(run, name, entries)


def test_each_of_two_routines_has_its_own_cost(mpi, binary, tmp_path):
    """gather() is in both, and named where it has nearly all of what one of them costs."""
    run = judged(mpi, 2, tmp_path, binary, "two", tmp_path)
    for row in run.routines.values():
        names = {name for name in ("restart", "dump") if name in row["place"]}
        assert len(names) == 1 or row["routine"] == "gather"
        if row["routine"] == "gather":
            assert total_s(row) <= sum(run.truth[name] for name in ("restart", "dump")) + CLOCKS_S
            continue
        (name,) = names
        assert SEEN * run.truth[name] - CLOCKS_S <= total_s(row) <= run.truth[name] + CLOCKS_S
        (file,) = row["files"]
        assert file.endswith({"restart": "restart.txt", "dump": "output.txt"}[name])


def test_the_innermost_routine_with_nearly_all_of_the_cost_is_named(mpi, binary, tmp_path):
    run = judged(mpi, 2, tmp_path, binary, "nested", tmp_path)
    assert run.named in ("write_field", "write_history")
    row = run.routines[run.named]
    assert row["entries"] == {"write_field": 24, "write_history": 8}[run.named]
    assert total_s(row) <= run.truth[run.named] + CLOCKS_S
    assert total_s(row) >= SEEN * run.truth["write_history"] - CLOCKS_S
    check_phases(run, run.named, 8, row["entries"])  # entries that follow at once may be one phase


def test_a_routine_that_ends_with_a_jump_has_left(mpi, binary, tmp_path):
    """write_all comes in its place, so that less is said than both take."""
    run = judged(mpi, 2, tmp_path, binary, "tail", tmp_path)
    assert set(run.routines) == {"write_all"}
    assert total_s(run.routines["write_all"]) <= run.truth["tail_dump"] + CLOCKS_S


@pytest.mark.parametrize("program", NONE)
def test_what_is_no_output_routine_is_not_named(mpi, binary, tmp_path, program):
    run = judged(mpi, 2, tmp_path, binary, program, tmp_path)
    assert run.routines == {}
    assert not run.named


@pytest.mark.parametrize(("program", "name"), [("between", "put_field"), ("alternate", "put_part")])
def test_what_lies_between_two_entries_is_never_a_routine_s(mpi, binary, tmp_path, program, name):
    """It is entered 32 times, and only computation lies between: at the first sight of a trace the
    time in between might be its own."""
    run = judged(mpi, 2, tmp_path, binary, program, tmp_path)
    row = run.routines[name]
    assert total_s(row) <= run.truth[name] + CLOCKS_S
    assert row["unsure_s"] >= 0.2
    length_s = sum(row["end_s"] - row["begin_s"] for row in run.phases(name))
    assert length_s <= run.truth[name] + CLOCKS_S


FORTRAN = """
module output
contains
subroutine write_history(n, rank)
  use mpi
  integer, intent(in) :: n, rank
  character(len=40) :: lines(4000)
  integer :: i, most, status
  integer :: from(MPI_STATUS_SIZE)
  call MPI_Allreduce(n, most, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, status)
  do i = 1, 4000
    write (lines(i), '(2i8,f20.8)') n, i, real(i) / (n + 1)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, status)
  if (rank == 0) then
    write (10) lines
    call MPI_Recv(lines, 160000, MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, from, status)
    write (10) lines
    flush (10)
  else
    call MPI_Send(lines, 160000, MPI_CHARACTER, 0, 1, MPI_COMM_WORLD, status)
  end if
end subroutine
subroutine step(seconds)
  use mpi
  real(8), intent(in) :: seconds
  real(8) :: until
  integer :: status
  until = MPI_Wtime() + seconds
  do while (MPI_Wtime() < until)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, status)
end subroutine
end module
program model
  use mpi
  use output
  integer :: i, rank, status
  real(8) :: begin, taken, all
  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  if (rank == 0) open (10, file='history.dat', form='unformatted', access='stream')
  taken = 0
  do i = 1, 6
    call step(0.01d0)
    begin = MPI_Wtime()
    call write_history(i, rank)
    taken = taken + MPI_Wtime() - begin
  end do
  call MPI_Reduce(taken, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, status)
  if (rank == 0) print '(a,f12.6)', 'write_history', all
  call MPI_Finalize(status)
end program
"""


def test_a_module_procedure_of_fortran(tmp_path):
    mpi = find_mpi("system-openmpi")
    if not mpi.mpifort or not shutil.which(mpi.mpifort):
        pytest.skip("there is no mpifort")
    (tmp_path / "model.f90").write_text(FORTRAN)
    program = tmp_path / "model"
    command = [mpi.mpifort, "-O1", "-g", "-o", program, tmp_path / "model.f90"]
    subprocess.run(command, check=True, cwd=tmp_path)
    run = judged(mpi, 2, tmp_path, program)
    assert run.named == "write_history"
    row = run.routines["write_history"]
    assert row["entries"] == 6
    assert "write_history (model.f90:" in row["place"]
    assert row["useful_s"] > row["io_s"]
    (truth,) = run.truth.values()
    assert SEEN * truth - CLOCKS_S <= total_s(row) <= truth + CLOCKS_S
    check_phases(run, "write_history", 6)


def test_a_function_of_python(mpi, modules, tmp_path):
    (library,) = (Path(mpi.mpicc).parents[1] / "lib").glob("libmpi.so.[0-9]*")
    program = (sys.executable, HERE / "routines.py", tmp_path)
    run = judged(mpi, 2, tmp_path, *program, PYTHONPATH=modules, MPI4PY_LIBMPI=library)
    row, truth = run.routines["dump"], run.truth["dump"]
    assert run.named == "dump"
    assert row["entries"] == 8
    assert row["place"].startswith("dump (routines.py:")
    assert SEEN * truth - CLOCKS_S <= total_s(row) <= truth + CLOCKS_S
    check_phases(run, "dump", 8)
