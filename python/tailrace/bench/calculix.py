"""The workload that is a real program: CalculiX on a beam of the size that was chosen, under capture.

Figures, as the POP seed has them: run time; POSIX and STDIO transfer rates (bytes over the time in reads and writes of
files by that layer); cumulative time in reads and writes; the share of the writes in it; and all of it per file.
CalculiX is one process, so every file of it is a shared one in Darshan's sense: all processes use it.
"""

import os
import resource
import shutil
import time
from pathlib import Path
from typing import Any

from tailrace.bench import calculix_results as results
from tailrace.bench import captured, mesh, surroundings, verify
from tailrace.bench.execute import Outcome, execute
from tailrace.bench.figures import MB
from tailrace.bench.places import Places
from tailrace.bench.progress import Meter
from tailrace.bench.session import SCHEMA, FailedRunError, Wishes, check_stopped, removed_afterwards, workload_figures
from tailrace.bench.workload import Calculix, Workload
from tailrace.errors import TailraceError
from tailrace.launch import read_command
from tailrace.mpi import for_command
from tailrace.names import printable
from tailrace.run import tell
from tailrace.text_report import console

JOB = "beam"
RESULTS = tuple(f"{JOB}.{ending}" for ending in ("frd", "dat", "sta", "cvg", "12d"))
# OMP_NUM_THREADS bounds the others: stiffness and results are CalculiX's own, the equations are SPOOLES'.
THREADS = ("OMP_NUM_THREADS", "CCX_NPROC_STIFFNESS", "CCX_NPROC_RESULTS", "CCX_NPROC_EQUATION_SOLVER")


def answer(workload: Workload, threads: int, directory: Path, keep: bool, cold: bool, wishes: Wishes) -> dict[str, Any]:
    """Runs it as often as wished, and gives the object of docs/schema/bench.json."""
    program = shutil.which("ccx")
    if program is None:
        raise TailraceError("there is no ccx, the program of this workload", "apt-get install calculix-ccx")
    with removed_afterwards(Places.make(workload.name, directory, None, keep)) as places:
        runs = [
            _run(workload, threads, Path(program), places, wishes, f"run-{number}", cold)
            for number in range(1, wishes.repeat + 1)
        ]
        return {
            "schema": SCHEMA,
            "workload": workload_figures(workload, wishes.size),
            "ranks": 1,
            "threads": threads,
            "method": "serial",
            "format": "posix",
            "hints_wanted": [],
            "settings": [],
            "cache": "cold" if cold else "warm",
            "environment": surroundings.describe(Path(program), places.output.parent, places.output.parent),
            "prepared": None,
            "runs": runs,
            "verified": wishes.verify and all(run["verification"]["ok"] for run in runs),
        }


def _run(
    workload: Workload, threads: int, program: Path, places: Places, wishes: Wishes, name: str, cold: bool
) -> dict[str, Any]:
    table = workload.parameters
    assert isinstance(table, Calculix)
    files, notes = places.for_run(name)
    (files / f"{JOB}.inp").write_text("\n".join(mesh.input_file(table)) + "\n")
    if cold:
        verify.drop_cached([files / f"{JOB}.inp"])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome, capture = _execute(threads, program, files, notes, wishes)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    _check(outcome, files, table)
    seen = captured.finish(capture, page=wishes.capture)
    if seen is None:
        raise FailedRunError("capture recorded nothing of ccx", "`tailrace doctor` shows whether capture works")
    one: dict[str, Any] = {"elapsed_s": outcome.elapsed_s, "streams": [], "checks": [], "logicals": []}
    one |= {"usage": {"user_s": now.ru_utime - used.ru_utime, "system_s": now.ru_stime - used.ru_stime}}
    one |= {"calculix": figures(seen, files), "capture": seen}
    one |= {"verification": _verification(table, files) if wishes.verify else {"ok": None, "passes": []}}
    if places.keep:
        one["files"] = printable(str(files))
    places.close_run(name)
    return one


def _execute(threads: int, program: Path, files: Path, notes: Path, wishes: Wishes) -> tuple[Outcome, captured.Capture]:
    command = [str(program), "-i", JOB]
    directory = Path(f"tailrace-calculix-{time.strftime('%Y%m%d-%H%M%S')}") if wishes.capture else notes / "capture"
    installations = for_command(read_command(command))
    capture = captured.prepare(command, installations, directory.absolute(), "calculix", notes, tell)
    environment = dict(os.environ) | {name: str(threads) for name in THREADS} | capture.environment
    with Meter(console(stderr=True), f"ccx on {threads} threads") as meter:
        outcome = execute(command, environment, notes, wishes.time_limit_s, meter.record, files)
    check_stopped(outcome, "ccx", wishes.time_limit_s)
    return outcome, capture


def _check(outcome: Outcome, files: Path, table: Calculix) -> None:
    """CalculiX ends with status 0 even after an error, so what it wrote is asked."""
    errors = [line.strip() for line in outcome.output.splitlines() if "*ERROR" in line]
    if errors or outcome.status != 0:
        reason = printable(errors[0]) if errors else f"it ended with status {outcome.status}"
        raise FailedRunError(f"ccx: {reason}")
    done = results.finished_increments(files / f"{JOB}.sta")
    if done != table.increments:
        raise FailedRunError(f"ccx finished {done} of {table.increments} increments")


def figures(seen: dict[str, Any], files: Path) -> dict[str, Any]:
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


def _verification(table: Calculix, files: Path) -> dict[str, Any]:
    begin = time.monotonic()
    passes = [_pass(table, files, "as written", begin)]
    if verify.drop_cached([files / name for name in RESULTS if (files / name).is_file()]):
        passes.append(_pass(table, files, "after dropping the page cache", time.monotonic()))
    return {"ok": not any(one["differences"] for one in passes), "passes": passes}


def _pass(table: Calculix, files: Path, what: str, begin: float) -> dict[str, Any]:
    beam = mesh.Beam(table)
    outputs = len({*range(table.frequency, table.increments + 1, table.frequency), table.increments})
    wrong = [
        vars(verify.Difference(str(files / name), "results", name, 0, text))
        for name, text in results.problems(files / JOB, len(beam.coordinates), outputs, beam.force_n())
    ]
    read = sum((files / name).stat().st_size for name in RESULTS[:2])
    return {
        "pass": what,
        "elapsed_s": time.monotonic() - begin,
        "variables": outputs * len(results.QUANTITIES),
        "bytes_read": read,
        "files": 2,
        "differences": wrong,
    }
