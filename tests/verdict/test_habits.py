"""Programs in Python and C++ whose cause is a habit, and beside each one what looks like it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent
RECORDS = """
program records
  real(4) :: values(100, 100) = 1
  integer :: i, j, step
  open (10, file='records', form='unformatted')
  do step = 1, 400
    do j = 1, 100
      do i = 1, 100
        write (10) values(i, j)
      end do
    end do
  end do
end program
"""
LIST_DIRECTED = """
program table
  real(8) :: values(8), total = 0
  integer :: i
  open (10, file='table.txt')
  do i = 1, 40000
    read (10, *) values
    total = total + values(1)
  end do
  print *, total
end program
"""
UP_TO = r"But up to [\d.]+ % of the run, right before [\d,]+ writes? to "


def ran(name: str, folder: Path) -> Run:
    (folder / "files").mkdir()
    command = [sys.executable, HERE / "habits.py", name, folder / "files"]
    return without_processor_waits(captured(command, folder, dict(os.environ))[0])


def of_stream(name: str, folder: Path) -> Run:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no compiler of C++")
    (folder / "files").mkdir()
    binary = folder / "stream_lines"
    source = HERE / "stream_lines.cpp"
    subprocess.run([compiler, "-O1", "-g", "-o", binary, source], check=True)
    command = [binary, name, folder / "files"]
    return without_processor_waits(captured(command, folder, dict(os.environ))[0])


def said(run: Run) -> str:
    return "\n".join([run.headline, *(f"{f.code}: {f.finding} → {f.advice}" for f in run.findings)])


@pytest.mark.parametrize("name", ["rotating", "look_and_open"])
def test_who_looks_before_each_use_is_not_told_to_wait_for_a_notice(name: str, tmp_path: Path):
    run = ran(name, tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "look_ups"]
    assert "without looking first" in found.advice and "inotify" not in found.advice, said(run)


@pytest.mark.parametrize(("name", "dumb"), [("keys", True), ("open_for_each", False)])
def test_who_keeps_a_database_open_is_not_told_to(name: str, dumb: bool, tmp_path: Path):
    """Each of 4,000 keys is written to state.dat, and to state.dir, each opened for it."""
    run = ran(name, tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "reopened"]
    assert ("opens its files again for each key" in found.advice) == dumb, said(run)
    assert ("keep it open" in found.advice) != dumb, said(run)


def test_an_archive_is_compressed_between_reads(tmp_path: Path):
    run = ran("archive", tmp_path)
    assert re.search(r"reads of \d+ files \(compressing, or what else", run.headline), said(run)
    assert "parsing" not in said(run)


@pytest.mark.parametrize(
    ("name", "file", "work"),
    [
        ("zip_members", "out.zip", "compressing"),
        ("gzip_text", "out.gz", "compressing"),
        ("json_text", "state.json", "formatting"),
    ],
)
def test_what_is_made_before_it_is_written_is_told(name, file, work, tmp_path: Path):
    run = ran(name, tmp_path)
    words = rf"{UP_TO}{re.escape(file)}, may be {work}, which counts as computation\.$"
    assert re.search(words, run.headline), said(run)


@pytest.mark.parametrize("name", ["zip_stored", "compute_and_note"])
def test_it_is_not_told_of_what_takes_no_time(name: str, tmp_path: Path):
    run = ran(name, tmp_path)
    assert "made_before" not in {finding.code for finding in run.findings}, said(run)


def test_values_that_one_line_writes_to_a_stream_are_formatted(tmp_path: Path):
    """10 MB of text in buffers of 8 KiB: nearly all of 1,200 writes follow another of that line,
    whichever of its four values filled the buffer."""
    run = of_stream("text", tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "between_calls"]
    match = re.search(r"between ([\d,]+) writes to field\.txt \(formatting, or", found.finding)
    assert match and int(match[1].replace(",", "")) > 1000, said(run)
    assert found.share_of_runtime > 0.5, said(run)


def test_binary_values_are_not(tmp_path: Path):
    run = of_stream("binary", tmp_path)
    assert "formatting" not in said(run) and "binary numbers" not in said(run), said(run)


def of_fortran(source: str, lines: str, folder: Path) -> Run:
    if (compiler := shutil.which("gfortran")) is None:
        pytest.skip("there is no gfortran")
    (folder / "program.f90").write_text(source)
    program = folder / "program"
    subprocess.run([compiler, "-O1", lines, "-o", program, folder / "program.f90"], check=True)
    return without_processor_waits(captured([program], folder, dict(os.environ))[0])


def test_records_of_single_values_are_gathered_by_fortran(tmp_path: Path):
    """4 million records of 4 bytes, of which its library makes 731 writes of 64 KiB."""
    run = of_fortran(RECORDS, "-g", tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "between_calls"]
    assert re.search(r"writes to records \(gathering pieces in a buffer, or", found.finding)
    assert found.share_of_runtime > 0.5 and "whole arrays" in found.advice, said(run)


@pytest.mark.parametrize("lines", ["-g", "-g0"])
def test_reads_of_a_statement_follow_each_other_wherever_the_library_makes_them(lines, tmp_path):
    """8.3 MB of text in buffers of 8 KiB, found empty by three routines of the library."""
    values = " ".join(f"{0.37 * number:25.16f}" for number in range(8))
    (tmp_path / "table.txt").write_text(40_000 * f"{values}\n")
    run = of_fortran(LIST_DIRECTED, lines, tmp_path)
    (found,) = [f for f in run.findings if f.code == "between_calls" and "parsing" in f.finding]
    match = re.search(r"between ([\d,]+) reads of table\.txt", found.finding)
    assert match and int(match[1].replace(",", "")) > 800, said(run)


def test_what_is_synchronised_in_between_follows_no_other(tmp_path: Path):
    """Both calls stand on one line."""
    run = of_stream("synced", tmp_path)
    assert "no other call in between" not in "".join(f.evidence for f in run.findings), said(run)
