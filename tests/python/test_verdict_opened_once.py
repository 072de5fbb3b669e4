"""MPI-IO that takes long to open files: which of them are to be opened less often. Runs built by
arithmetic."""

from typing import Any

import numpy as np

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import SECOND, Interval, Program, useful, write


def between_layers(columns: dict[str, Any]) -> str:
    """What is advised."""
    findings = judge(Evidence(columns)).findings
    return next(finding for finding in findings if finding.code == "between_layers").advice


def test_a_file_that_is_opened_once_is_not_to_be_opened_once():
    def advised(calls: int) -> str:
        opening = Interval("mpi", 3 * SECOND, "MPI_File_open", calls=calls, layer="mpiio")
        row = [useful(6 * SECOND), opening, write(SECOND, size=10**9)]
        layers = {"mpiio_ns": 8 * SECOND, "between_ns": 6 * SECOND}
        program = Program([row, row], 10 * SECOND, 10 * SECOND, 9 * SECOND, layers=layers)
        return between_layers(program.columns())

    assert advised(1).startswith("use fewer files")
    assert advised(500).startswith("open the file and set the view once")


def test_many_files_that_are_opened_once_each_are_not_to_be_opened_once():
    """A hundred files of 2 ranks: 200 calls, and 2,000."""

    def advised(calls: int) -> str:
        opening = Interval("mpi", 3 * SECOND, "MPI_File_open", calls=calls, layer="mpiio")
        pieces = [write(SECOND // 100, b"/run/%d" % i, 10**7, 1) for i in range(100)]
        layers = {"mpiio_ns": 8 * SECOND, "between_ns": 6 * SECOND}
        rows = [[useful(6 * SECOND), opening, *pieces]] * 2
        columns = Program(rows, 10 * SECOND, 10 * SECOND, 9 * SECOND, layers=layers).columns()
        columns["files"]["mpiio_ns"] = np.full(len(columns["files"]["path"]), SECOND // 100)
        return between_layers(columns)

    assert advised(100).startswith("use fewer files")
    assert advised(1000).startswith("open the file and set the view once")
