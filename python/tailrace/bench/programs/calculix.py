"""The workload that is a real program: CalculiX on a beam of the size that was chosen, under
capture.

Figures, as the POP paper has them: run time; POSIX and STDIO transfer rates (bytes over the time in
reads and writes of files by that layer); cumulative time in reads and writes; the share of the
writes in it; and all of it per file. CalculiX is one process, so every file of it is a shared one
in Darshan's sense: all processes use it.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from tailrace.bench import calculix_results as results
from tailrace.bench import mesh
from tailrace.bench.execute import Ending
from tailrace.bench.failures import FailedRunError
from tailrace.bench.figures import MB
from tailrace.bench.plan import Choices
from tailrace.bench.programs.program import Command, Installed, Pair, Program
from tailrace.bench.verify import Mismatch, OnRead, Verification, drop_cached
from tailrace.bench.workload import Calculix, Workload
from tailrace.capture.launch import read_command
from tailrace.capture.mpi import for_command
from tailrace.errors import TailraceError
from tailrace.names import printable

JOB = "beam"
ENDINGS = ("frd", "dat", "sta", "cvg", "12d")
# Those that hold every displacement and force.
COMPARED = ("frd", "dat")
# OMP_NUM_THREADS bounds the others: stiffness and results are CalculiX's own, the equations are
# SPOOLES'.
THREADS = (
    "OMP_NUM_THREADS",
    "CCX_NPROC_STIFFNESS",
    "CCX_NPROC_RESULTS",
    "CCX_NPROC_EQUATION_SOLVER",
)


class CalculixProgram(Program):
    always_captured = True
    threaded = True

    def find(self, _mpiexec: str | None, _pair: Pair) -> Installed:
        program = shutil.which("ccx")
        if program is None:
            raise TailraceError(
                "ccx, the program of this workload, is not installed",
                "apt-get install calculix-ccx",
            )
        return Installed(Path(program))

    def plan(
        self, workload: Workload, choices: Choices, _notes: Path, _prepare: bool = False
    ) -> None:
        deck = choices.directory / f"{JOB}.inp"
        deck.write_text("\n".join(mesh.input_file(_table(workload))) + "\n")
        if choices.cold:
            drop_cached([deck])

    def command(self, installed: Installed, choices: Choices, _notes: Path) -> Command:
        words = [str(installed.path), "-i", JOB]
        environment = dict(os.environ) | {name: str(choices.ranks) for name in THREADS}
        return Command(words, environment, choices.directory, for_command(read_command(words)))

    def check(self, workload: Workload, choices: Choices, ending: Ending) -> None:
        """CalculiX ends with status 0 even after an error, so what it wrote is asked."""
        errors = [line.strip() for line in ending.output.splitlines() if "*ERROR" in line]
        if errors or ending.status != 0:
            reason = printable(errors[0]) if errors else f"it ended with status {ending.status}"
            raise FailedRunError(f"ccx: {reason}")
        done = results.finished_increments(choices.directory / f"{JOB}.sta")
        wanted = _table(workload).increments
        if done != wanted:
            raise FailedRunError(f"ccx finished only {done} of {wanted} increments")

    def figures(
        self, choices: Choices, ending: Ending, capture: dict[str, Any] | None
    ) -> dict[str, Any]:
        if capture is None or ending.used is None:
            raise FailedRunError(
                "capture recorded nothing of ccx", "`tailrace doctor` shows whether capture works"
            )
        used = {"user_s": ending.used.ru_utime, "system_s": ending.used.ru_stime}
        nothing: dict[str, Any] = {"streams": [], "checks": [], "logicals": []}
        return nothing | {"usage": used, "calculix": _figures(capture, choices.directory)}

    def written(self, choices: Choices, _ending: Ending) -> list[Path]:
        files = [choices.directory / f"{JOB}.{ending}" for ending in ENDINGS]
        return [file for file in files if file.is_file()]

    def bytes_to_verify(self, choices: Choices, _ending: Ending) -> int:
        return sum((choices.directory / f"{JOB}.{name}").stat().st_size for name in COMPARED)

    def verify(
        self, workload: Workload, choices: Choices, ending: Ending, _on_read: OnRead
    ) -> Verification:
        table, files = _table(workload), choices.directory
        beam = mesh.Beam(table)
        every, last = table.frequency, table.increments
        outputs = len({*range(every, last + 1, every), last})
        problems = results.problems(files / JOB, len(beam.coordinates), outputs, beam.force_n())
        return Verification(
            variables=outputs * len(results.QUANTITIES),
            bytes_read=self.bytes_to_verify(choices, ending),
            files=len(COMPARED),
            differences=[
                Mismatch(str(files / name), "results", name, 0, text) for name, text in problems
            ],
        )


def _table(workload: Workload) -> Calculix:
    assert workload.calculix is not None
    return workload.calculix


def _figures(seen: dict[str, Any], files: Path) -> dict[str, Any]:
    """From the trace: of CalculiX's files alone."""
    own = [file for file in seen["files"] if Path(file["path"]).parent == files and _moved(file)]
    named = [{"name": Path(file["path"]).name} | file for file in own]
    moving_s = sum(file["read_s"] + file["write_s"] for file in own)
    write_s = sum(file["write_s"] for file in own)
    written, moved = sum(file["bytes_written"] for file in own), sum(_moved(file) for file in own)
    return {
        "run_s": seen["runtime_s"],
        "files": named,
        "posix": _layer(own, "posix"),
        "stdio": _layer(own, "stdio"),
        "shared_read_s": moving_s - write_s,
        "shared_write_s": write_s,
        "write_share_of_transfer_time": write_s / moving_s if moving_s else 0.0,
        "write_share_of_bytes": written / moved if moved else 0.0,
    }


def _moved(file: dict[str, Any]) -> int:
    return file["bytes_read"] + file["bytes_written"]


def _layer(files: list[dict[str, Any]], layer: str) -> dict[str, Any]:
    of_layer = [file for file in files if file["layer"] == layer]
    spent = sum(file["read_s"] + file["write_s"] for file in of_layer)
    moved = sum(_moved(file) for file in of_layer)
    return {
        "bytes": moved,
        "transfer_s": spent,
        "transfer_rate_mb_per_s": moved / spent / MB if spent else 0.0,
        "requests": sum(file["reads"] + file["writes"] for file in of_layer),
    }
