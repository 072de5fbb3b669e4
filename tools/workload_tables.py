"""Measures what docs/reference/workloads.md shows and prints its tables: each workload in the ways
that its paper compares, calculix by threads, and one workload in all ways.
`python tools/workload_tables.py DIRECTORY` takes some minutes, and fails where anything is not
verified.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tailrace.bench.gridio import FORMATS, METHODS, possible

# What each paper compares, at sizes that a small machine takes.
COMPARED = (
    "cmaq --ranks 4 --method serial --format netcdf3",
    "cmaq --ranks 4 --method collective --format pnetcdf",
    "roms --ranks 4 --method serial --format netcdf4",
    "roms --ranks 4 --method collective --format netcdf4",
    "wrf --ranks 4 --method serial --format netcdf3",
    "wrf --ranks 4 --method collective --format hdf5",
    "btio --ranks 4 --method collective --format mpiio --size W",
    "btio --ranks 4 --method independent --format mpiio --size W",
    "btio --ranks 4 --method file-per-rank --format posix --size W",
    "cgns --ranks 4 --method independent --format cgns --size write50",
    "cgns --ranks 4 --method collective --format cgns --size write50",
    "cgns --ranks 4 --method independent --format cgns --size read64",
    "h5perf --ranks 4 --method collective --format mpiio",
    "h5perf --ranks 4 --method collective --format hdf5",
    "h5perf --ranks 4 --method independent --format posix",
)
THREADS = (1, 2, 4)
ALL_PAIRS = "roms --ranks 4"
REPEAT = 3


def run(directory: str, words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tailrace", "bench", *words.split()]
    command += ["--dir", directory, "--repeat", str(REPEAT), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def best(answer: dict[str, Any], direction: str) -> float | None:
    """Of the runs: bytes of all streams over the time in them, in MB/s, everything included."""
    found = []
    for run_record in answer["runs"]:
        streams = [stream for stream in run_record["streams"] if stream["direction"] == direction]
        spent = sum(step["step_s"]["max"] for stream in streams for step in stream["steps"])
        if spent:
            found.append(sum(stream["bytes"] for stream in streams) / spent / 1e6)
    return max(found, default=None)


def cell(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def compared(directory: str) -> Iterator[str]:
    yield "| command | run time, s | written, MB/s | read, MB/s | ranks' time in writes |"
    yield "|---|---|---|---|---|"
    for words in COMPARED:
        answer = run(directory, words)
        fastest = min(answer["runs"], key=lambda run_record: run_record["usage"]["elapsed_s"])
        rates = " | ".join(cell(best(answer, direction)) for direction in ("write", "read"))
        share = (
            f"{fastest['shared_files']['write_share']:.0%}"
            if fastest["shared_files"]["files"]
            else "not shared"
        )
        elapsed_s = fastest["usage"]["elapsed_s"]
        yield f"| `tailrace bench {words}` | {elapsed_s:.2f} | {rates} | {share} |"


def calculix(directory: str) -> Iterator[str]:
    columns = ("in reads, ms", "in writes, ms", "share of writes")
    yield f"| command | run time, s | POSIX, MB/s | STDIO, MB/s | {' | '.join(columns)} |"
    yield "|---|---|---|---|---|---|---|"
    for threads in THREADS:
        words = f"calculix --ranks {threads}"
        seen = min(
            (run_record["calculix"] for run_record in run(directory, words)["runs"]),
            key=lambda run_record: run_record["run_s"],
        )
        numbers = [seen["posix"]["transfer_rate_mb_per_s"], seen["stdio"]["transfer_rate_mb_per_s"]]
        numbers += [seen["shared_read_s"] * 1e3, seen["shared_write_s"] * 1e3]
        share = f"{seen['write_share_of_transfer_time']:.1%}"
        rates = " | ".join(map(cell, numbers))
        yield f"| `tailrace bench {words}` | {seen['run_s']:.2f} | {rates} | {share} |"


def all_pairs(directory: str) -> Iterator[str]:
    yield f"| | {' | '.join(FORMATS)} |"
    yield "|---" * (len(FORMATS) + 1) + "|"
    for method in METHODS:
        cells = [
            cell(best(run(directory, f"{ALL_PAIRS} --method {method} --format {name}"), "write"))
            if possible(method, name)
            else "never"
            for name in FORMATS
        ]
        yield f"| {method} | {' | '.join(cells)} |"


def main() -> None:
    for part in (compared, calculix, all_pairs):
        for line in part(sys.argv[1]):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
