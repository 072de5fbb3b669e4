"""The programs that a workload can name, each in a file of its own: what it is started with, how it
is started, and how its output is verified."""

from tailrace.bench.programs.btio import BtioProgram
from tailrace.bench.programs.calculix import CalculixProgram
from tailrace.bench.programs.program import Program
from tailrace.bench.programs.solver import SolverProgram
from tailrace.bench.programs.transfers import TransfersProgram
from tailrace.bench.programs.zones import ZonesProgram
from tailrace.bench.workload import Workload

PROGRAMS: dict[str, Program] = {
    "solver": SolverProgram("solver"),
    "btio": BtioProgram("btio"),
    "zones": ZonesProgram("zones"),
    "transfers": TransfersProgram("transfers"),
    "calculix": CalculixProgram(),
}


def of(workload: Workload) -> Program:
    return PROGRAMS[workload.program]
