"""Ranks of several nodes, measured by the program `clients` of kernels/: started by the user's
launcher, on files in the directory that is measured."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from tailrace.bench import kernels, launcher
from tailrace.bench import records as kernel_records
from tailrace.bench.execute import Stopped, execute
from tailrace.bench.failures import FailedRunError, check_kernel
from tailrace.bench.launcher import Launcher
from tailrace.bench.records import Records
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.terminal import tell

PROGRAM = "clients"
# Any pair that each build has: nothing is written by gridio.
PAIR = ("serial", "posix")
LEAST_ROUNDS, MOST_ROUNDS = 3, 30
LEAST_BUDGET_S = 1
# So much longer than its budget the program may take: three rounds on a slow file system.
PATIENCE, LEAST_PATIENCE_S = 5, 600.0
# Until this node sees what rank 0 wrote on another.
SEEN_WITHIN_S = 5.0
LOTS = (1 << 63) - 1


@dataclass(frozen=True)
class Sample:
    """What an experiment found; kernels/clients/clients.h says what each number is of which."""

    round: int
    experiment: str
    where: str
    held_out: bool
    ranks: int
    bytes: int
    block_bytes: int
    count: int
    seconds: float


class Several(NamedTuple):
    """All that ranks on some nodes found."""

    ranks: int
    nodes: int
    samples: list[Sample]

    @property
    def rounds(self) -> int:
        return 1 + max((sample.round for sample in self.samples), default=-1)

    def fitted(self, experiment: str, where: str = "between") -> list[Sample]:
        """Those that are not held out."""
        return [
            sample
            for sample in self.samples
            if (sample.experiment, sample.where) == (experiment, where) and not sample.held_out
        ]


@dataclass(frozen=True)
class Program:
    """What is started, and by what."""

    launcher: Launcher
    path: Path
    ranks: int


def find(ranks: int, mpiexec: str | None) -> Program:
    """Compiled now where it was not yet. Raises TailraceError without a launcher or a compiler."""
    found = launcher.find(mpiexec)
    return Program(found, kernels.prepare(found.mpi, PAIR, tell).program(PROGRAM), ranks)


def measure(program: Program, place: Path, bulk_bytes: int, budget_s: float, seed: int) -> Several:
    """Makes experiments on files in `place`, which each node has to see."""
    budget = max(int(budget_s), LEAST_BUDGET_S)
    plan = {
        "directory": place.absolute(),
        "bulk_bytes": bulk_bytes,
        "seed": abs(seed) % LOTS,
        "budget_s": budget,
        "least_rounds": LEAST_ROUNDS,
        "most_rounds": MOST_ROUNDS,
    }
    (place / "plan").write_text("".join(f"{key} {value}\n" for key, value in plan.items()))
    words = [str(program.path), "--plan", str(place.absolute() / "plan")]
    words += ["--records", str(place.absolute() / "records")]
    return _several(_run(program, words, place, max(LEAST_PATIENCE_S, PATIENCE * budget)))


def _run(program: Program, words: list[str], place: Path, limit_s: float) -> Records:
    """What is said goes to this node's disk, and nobody looks into `place` meanwhile."""
    with tempfile.TemporaryDirectory(prefix="tailrace-calibrate-") as notes:
        ending = execute(
            program.launcher.command(program.ranks, words),
            program.launcher.environment(program.ranks),
            Path(notes),
            limit_s,
            lambda record: None,
            Path.cwd(),
        )
    if ending.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    if ending.stopped is Stopped.TIME_LIMIT:
        raise TailraceError(
            f"{program.ranks} ranks were still measuring after {limit_s:g} s",
            "try fewer ranks, and see whether a program of theirs runs at all",
        )
    ending.records.of_kind.update(_written(place / "records", ending.status == 0).of_kind)
    try:
        check_kernel(ending, PROGRAM)
    except FailedRunError as error:
        hint = _hint(program.launcher, printable(str(place.parent)))
        raise TailraceError(error.message, error.hint or hint) from None
    return ending.records


def _hint(launcher: Launcher, where: str) -> str:
    hint = f"the launcher has to start ranks on nodes that all see {where}"
    if Path(launcher.words[0]).name != "srun":
        return hint
    mpi = printable(str(launcher.mpi.mpicc.parent))
    return f"{hint}, by a way that the MPI of {mpi} knows: `srun --mpi=…` (srun --mpi=list)"


def _written(path: Path, has_ended: bool) -> Records:
    """All that rank 0 wrote: if it ended well, up to its end."""
    deadline = time.monotonic() + SEEN_WITHIN_S
    while (found := kernel_records.read(path)).end is None and has_ended:
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return found


def _several(records: Records) -> Several:
    about = records["nodes"][0]
    samples = [
        Sample(**{field.name: record[field.name] for field in fields(Sample)})
        for record in records["sample"]
    ]
    return Several(int(about["ranks"]), int(about["nodes"]), samples)
