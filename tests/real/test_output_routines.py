"""What output costs in all, by what a program of others says of itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.phases import as_json as output_phases
from tailrace.verdict.routines import as_json
from tests.conftest import find_mpi, without_processor_waits
from tests.real import inputs
from tests.real.harness import Bench, Program, needs

pytestmark = [
    pytest.mark.whole,
    pytest.mark.alone,
    pytest.mark.measured("the time of LAMMPS's output, by its own clock and by the trace"),
]

STEPS = 40


def test_the_dump_of_lammps_costs_what_lammps_says(tmp_path: Path) -> None:
    lammps, mpi = needs("lammps", "lmp"), find_mpi("system-openmpi")
    command = mpi.launch(2, lammps, "-in", "in.lj")
    program = Program(command, inputs.lammps, mpi.environment)
    outcome, run = Bench(tmp_path).captured(program)
    evidence = Evidence(without_processor_waits(run).columns)
    (dump,) = [row for row in as_json(evidence) if row["files"][0].endswith("/dump.lammpstrj")]
    assert dump["routine"] == "LAMMPS_NS::Dump::write"
    assert dump["entries"] == STEPS + 1  # and once before the first step
    line = re.search(r"^Output +\| *[\d.e-]+ *\| *([\d.e-]+)", outcome.stdout.decode(), re.M)
    assert line, outcome.stdout.decode()
    said = 2 * float(line[1]) * (STEPS + 1) / STEPS
    seen = dump["useful_s"] + dump["mpi_s"] + dump["io_s"]
    assert 0.8 * said <= seen <= 1.1 * said
    phases = [row for row in output_phases(evidence) if row["routine"] == dump["routine"]]
    assert [row["ranks"] for row in phases] == [2] * (STEPS + 1)
    length = 2 * sum(row["end_s"] - row["begin_s"] for row in phases)
    assert 0.8 * said <= length <= 1.15 * said  # by the clock: a rank that has left may compute
