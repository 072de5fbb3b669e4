"""`make demo`: one solver writes its history by its master, then collectively, on 1, 2 and 4 ranks, under capture.

Prints the verdict of every run and a table of both methods, and leaves the pages in demo/.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "demo"
MPIEXEC = ROOT / "build" / "mpich" / "bin" / "mpiexec"
SOLVER = ROOT / "build" / "solver" / "mpich" / "solver"
TAILRACE = [sys.executable, "-m", "tailrace"]
RANKS = [1, 2, 4]

# 38 MB an output after every ten steps, forced to the disk so that a write costs what it costs.
SHAPE = ["--grid", "256x192x24", "--variables", "4", "--steps", "80", "--every", "10", "--sync", "--quiet"]

# On one node MPICH would pick one rank to write for all; with these every rank writes its own share of the file.
ALL_RANKS_WRITE = {"romio_cb_write": "enable", "cb_config_list": "*:*"}

INTRODUCTION = """\
A solver advects four tracers on 256 × 192 × 24 cells and writes 38 MB after every ten steps, waiting until they are on
the disk (demo/ on this machine's own). First the master gathers each variable and writes it; then all ranks write
together through MPI-IO. The bytes are the same. Every run is `tailrace run -- mpiexec -n N solver …`, nothing else.
"""

CLOSING = """\
How to read it. Efficiencies are shares of what is possible: 100 % is best, and parallel efficiency is the product of
the others.
 * Serial: however fast the disk is, the other ranks wait while one writes. That is I/O balance, and it falls with
   every rank added, while I/O transfer (the file system itself) stays what it is.
 * Collective: several ranks are in the file at once, so I/O balance is higher. Whether the run gets faster is another
   matter: one disk is one disk, and the ranks now exchange data inside MPI-IO before they write. That is time between
   the layers, it counts as MPI, and shows as transfer.
 * On one node MPI-IO would let a single rank write for all unless told otherwise; the demo tells it, by the hints
   romio_cb_write=enable, cb_config_list=*:* and cb_nodes=N.
"""


@dataclass(frozen=True)
class Run:
    method: str
    ranks: int

    @property
    def directory(self) -> Path:
        return DEMO / f"{self.method}-{self.ranks}"

    def hints(self) -> list[str]:
        if self.method != "collective":
            return []
        hints = {**ALL_RANKS_WRITE, "cb_nodes": str(self.ranks)}
        return [word for key, value in hints.items() for word in ("--hint", f"{key}={value}")]

    def command(self) -> list[str]:
        program = [str(SOLVER), *SHAPE, "--method", self.method, "--file", str(self.directory / "history.grid")]
        return [str(MPIEXEC), "-n", str(self.ranks), *program, *self.hints()]


def main() -> int:
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    print(INTRODUCTION)
    warn_of_few_cores()
    runs = [Run(method, ranks) for method in ("serial", "collective") for ranks in RANKS]
    for run in runs:
        capture(run)
    print_table({run: numbers(run) for run in runs})
    print(CLOSING)
    for method in ("serial", "collective"):
        write_page(method)
    print("Scaling and all runs of one method are on one page each: the two named last.")
    return 0


def warn_of_few_cores() -> None:
    cores = len(os.sched_getaffinity(0))
    if cores < max(RANKS):
        print(
            f"This machine has {cores} cores: {max(RANKS)} ranks take turns on them, and waiting ranks take time from"
            " those that work. Trust the shares, not the speed-up.\n"
        )


def capture(run: Run) -> None:
    run.directory.mkdir()
    print(f"--- {run.method}, {run.ranks} rank{'s' if run.ranks > 1 else ''}", flush=True)
    done = subprocess.run([*TAILRACE, "run", "-o", str(run.directory), "--", *run.command()])
    (run.directory / "history.grid").unlink(missing_ok=True)  # the traces are what the demo keeps
    if done.returncode:
        sys.exit(f"demo: the run above ended with status {done.returncode}\n\nhint: tailrace doctor")
    print(flush=True)


def numbers(run: Run) -> dict:
    return json.loads(tailrace_output("report", "--json", str(run.directory)))


def tailrace_output(*words: str) -> str:
    return subprocess.run([*TAILRACE, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


COLUMNS = {
    "parallel": "parallel",
    "load balance": "load_balance",
    "serialization": "serialization",
    "I/O balance": "io_balance",
    "I/O transfer": "io_transfer",
    "transfer": "transfer",
}


def print_table(results: dict[Run, dict]) -> None:
    print(f"{'method':<11}{'ranks':>6}{'run time':>10}" + "".join(f"{name:>15}" for name in COLUMNS))
    for run, answer in results.items():
        shares = "".join(f"{answer['efficiency'][key]:>15.1%}" for key in COLUMNS.values())
        print(f"{run.method:<11}{run.ranks:>6}{answer['runtime_s']:>8.2f} s{shares}")
    print()


def write_page(method: str) -> None:
    directories = (str(Run(method, ranks).directory) for ranks in RANKS)
    tailrace_output("report", *directories, "-o", str(DEMO / f"{method}.html"))


if __name__ == "__main__":
    sys.exit(main())
