#!/usr/bin/env python3
"""What programs get from the beds that are up, by two mounts each: `testbed up nfs single striped
--mounts 2` first.

    python3 testbed/measure.py [--directory DIR]

One line of a table for each bed: 64 MB written in pieces of 1 MB until fsync has returned, read by
the other mount, 500 writes of 4 KiB (each without waiting, then each with fsync), 200 files created
and closed. The median of five.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

TESTBED = Path(__file__).with_name("testbed")
MEGABYTE = os.urandom(1_000_000)
TIMES, MEGABYTES, SMALL, FILES = 5, 64, 500, 200


def main() -> int:
    given = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    given.add_argument("--directory")
    directory = given.parse_args().directory
    words = [
        sys.executable,
        str(TESTBED),
        "status",
        "--json",
        *(["--directory", directory] if directory else []),
    ]
    answer = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    beds = [
        bed
        for bed in json.loads(answer.stdout or '{"beds": []}')["beds"]
        if bed["state"] == "up" and bed["mounts"]
    ]
    print(
        "| bed | link, Mb/s | write, MB/s | read, MB/s | 4 KiB write, ms | with fsync, ms"
        " | create + close, ms |"
    )
    print("|---|---|---|---|---|---|---|")
    for bed in beds:
        print(row(bed), flush=True)
    return 0 if beds else 1


def row(bed: dict) -> str:
    here, there = Path(bed["mounts"][0]), Path(bed["mounts"][-1])
    rate = bed["rate_bit_per_s"]
    numbers = [
        MEGABYTES / middle(write, here),
        MEGABYTES / middle(read, there),
        1e3 * middle(write_small, here) / SMALL,
        1e3 * middle(write_durably, here) / (SMALL // 10),
        1e3 * middle(create, here) / FILES,
    ]
    cells = [
        bed["name"],
        f"{rate / 1e6:g}" if rate else "–",
        *(f"{number:.3g}" for number in numbers),
    ]
    return f"| {' | '.join(cells)} |"


def middle(work: Callable[[Path], None], place: Path) -> float:
    """Median time in seconds. What is read was written by `write`, which comes first."""
    times = []
    for _ in range(TIMES):
        begun = time.monotonic()
        work(place)
        times.append(time.monotonic() - begun)
    return statistics.median(times)


def write(place: Path) -> None:
    with (place / "measured").open("wb", buffering=0) as file:
        for _ in range(MEGABYTES):
            file.write(MEGABYTE)
        os.fsync(file.fileno())


def read(place: Path) -> None:
    """Of the local file system this is the page cache; on the others the pages of this mount are
    dropped first."""
    with (place / "measured").open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1_000_000):
            pass


def write_small(place: Path) -> None:
    with (place / "small").open("wb", buffering=0) as file:
        for _ in range(SMALL):
            file.write(MEGABYTE[:4096])


def write_durably(place: Path) -> None:
    with (place / "durable").open("wb", buffering=0) as file:
        for _ in range(SMALL // 10):
            file.write(MEGABYTE[:4096])
            os.fsync(file.fileno())


def create(place: Path) -> None:
    for number in range(FILES):
        (place / f"created {number}").write_bytes(b"")
    for number in range(FILES):
        (place / f"created {number}").unlink()


if __name__ == "__main__":
    sys.exit(main())
