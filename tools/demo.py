"""`make demo`: one solver writes its history by its master, then collectively, on 1, 2 and 4 ranks,
under capture.

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

from tailrace.units import count, percent

ROOT = Path(__file__).resolve().parent.parent
# From the checkout: commands and pages show short names.
DEMO = Path("demo")
MPIEXEC = Path("build/mpich/bin/mpiexec")
SOLVER = Path("build/solver/mpich/solver")
TAILRACE = [sys.executable, "-m", "tailrace"]
RANKS = [1, 2, 4]

# 38 MB an output after every ten steps, forced to the disk so that a write costs what it costs.
SHAPE = [
    "--grid",
    "256x192x24",
    "--variables",
    "4",
    "--steps",
    "80",
    "--every",
    "10",
    "--sync",
    "--quiet",
]

# On one node MPICH would pick one rank to write for all; with these every rank writes its own share
# of the file.
ALL_RANKS_WRITE = {"romio_cb_write": "enable", "cb_config_list": "*:*"}

INTRODUCTION = """\
A solver advects four tracers on 256 × 192 × 24 cells and writes 38 MB after every ten steps,
waiting until they are on the disk that holds demo/. First the master gathers each variable and
writes it; then all ranks write together through MPI-IO. The bytes are the same.
Every run is `tailrace run -- mpiexec -n N solver …`, nothing else.
"""

CLOSING = """\
How to read it. Efficiencies are shares of what is possible: 100 % is best, and parallel
efficiency is the product of the others.
 * I/O balance is low where few ranks write while the others wait, however fast the disk is. Look
   at it in the serial rows, as ranks are added, and then in the collective rows, where every rank
   writes its share.
 * I/O transfer is the file system itself: slow, or asked for too little at a time.
 * Transfer is the network and the MPI library. The collective runs exchange data inside MPI-IO
   before they write, which counts here, so they may take longer all the same: one disk is one
   disk.
 * Waits for a processor lie in all of them. Where the last column is more than a few per cent, the
   ranks are too many for the cores, or other programs run on these; the verdicts above leave them
   out of what they promise.
 * On one node MPI-IO would let a single rank write for all unless told otherwise; the demo sets
   the hints romio_cb_write=enable, cb_config_list=*:* and cb_nodes=N.
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
        program = [
            str(SOLVER),
            *SHAPE,
            "--method",
            self.method,
            "--file",
            str(self.directory / "history.grid"),
        ]
        return [str(MPIEXEC), "-n", str(self.ranks), *program, *self.hints()]


def main() -> int:
    os.chdir(ROOT)
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
    print("The two pages named last have the scaling and all runs of one method each.")
    return 0


def warn_of_few_cores() -> None:
    cores = len(os.sched_getaffinity(0))
    if cores < max(RANKS):
        print(
            f"This machine has {count(cores, 'core')}: {max(RANKS)} ranks take turns, and ranks "
            "that poll for a message take\n"
            "time from those that work. The first line of each verdict says how much of the time "
            "they waited\n"
            "for a processor. Trust neither the speed-up nor the transfer efficiency of runs with "
            "more ranks\n"
            "than cores.\n"
        )


def capture(run: Run) -> None:
    run.directory.mkdir()
    print(f"--- {run.method}, {run.ranks} rank{'s' if run.ranks > 1 else ''}", flush=True)
    done = subprocess.run([*TAILRACE, "run", "-o", str(run.directory), "--", *run.command()])
    (run.directory / "history.grid").unlink(missing_ok=True)  # the traces are what the demo keeps
    if done.returncode:
        sys.exit(
            f"demo: the run above ended with status {done.returncode}\n\nhint: tailrace doctor"
        )
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
WAITED = "no processor"


def print_table(results: dict[Run, dict]) -> None:
    print(f"{'method':<11}{'ranks':>6}{'run time':>10}{_row([*COLUMNS, WAITED])}")
    for run, answer in results.items():
        shares = [percent(answer["efficiency"][key]) for key in COLUMNS.values()]
        processors = answer["processors"]  # None where the kernel does not tell
        shares.append(percent(processors["share"]) if processors else "–")
        print(f"{run.method:<11}{run.ranks:>6}{answer['runtime_s']:>8.2f} s{_row(shares)}")
    print()


def _row(texts: list[str]) -> str:
    names = [*COLUMNS, WAITED]
    return "".join(f"{text:>{len(name) + 2}}" for name, text in zip(names, texts, strict=True))


def write_page(method: str) -> None:
    directories = (str(Run(method, ranks).directory) for ranks in RANKS)
    tailrace_output("report", *directories, "-o", str(DEMO / f"{method}.html"))


if __name__ == "__main__":
    sys.exit(main())
