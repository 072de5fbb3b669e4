"""How fast and in how much memory traces become numbers."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.reading import read
from tests.bench.workspace import cargo_example, scratch
from tests.conftest import ROOT, SHARED_DATA

MILLION = 1_000_000
GIB = 1 << 30
EVENTS_PER_S, LONG_TRACE_EVENTS, ALL_TO_ALL_S, PRV_MB_PER_S = 20, 100 * MILLION, 1.0, 200
PRV_BYTES = 300 * MILLION


def figures() -> Iterator[Figure]:
    cores = len(os.sched_getaffinity(0))
    with scratch() as directory:
        for kind in ("pwrite", "mix"):
            trace = synthesize(directory, kind, ranks=4, events=LONG_TRACE_EVENTS)
            alone, every = read(trace, threads=1), read(trace)
            name = f"{alone.events / MILLION:.0f} M events of {kind}, 4 ranks"
            per_core = alone.events_per_core_s / MILLION
            yield Figure(
                f"{name}: per second of a core", per_core, "M events/s", EVENTS_PER_S, at_least=True
            )
            yield Figure(
                f"{name}: {cores} cores, per second", every.events_per_s / MILLION, "M events/s"
            )
            yield Figure(f"{name}: peak memory", every.peak_bytes / GIB, "GiB", 1)
            yield Figure(f"{name}: packed", trace.stat().st_size / alone.events, "bytes/event")
            trace.unlink()
        reading = read(synthesize(directory, "alltoall", ranks=1024))
        name, remark = (
            f"all-to-all of 1024 ranks, {reading.events} events",
            f"{reading.core_seconds:.2f} s of a core",
        )
        yield Figure(name, reading.seconds, "s", ALL_TO_ALL_S, remark=remark)
        yield from prv(directory)


def synthesize(directory: Path, kind: str, ranks: int, events: int = 0) -> Path:
    trace = directory / f"{kind}.tailrace"
    options = ["--ranks", ranks, "--events", events, "--kind", kind, "-o", trace]
    cargo_example("tailrace-trace", "synthesize", *map(str, options))
    return trace


def prv(directory: Path) -> Iterator[Figure]:
    source = SHARED_DATA / "epoch" / "epoch_4proc.prv.gz"
    if not source.exists():
        print(f".prv: left out, as there is no {source.relative_to(ROOT.parent)}")
        return
    trace = repeat_prv(source, directory / "long.prv")
    (directory / "long.pcf").write_bytes(source.with_name("epoch_4proc.pcf").read_bytes())
    megabytes = trace.stat().st_size / 1e6
    reading = read(trace)
    name = f".prv text, {megabytes:.0f} MB, to all metrics"
    remark = f"{megabytes / reading.core_seconds:.0f} MB per second of a core"
    yield Figure(
        name, megabytes / reading.seconds, "MB/s", PRV_MB_PER_S, at_least=True, remark=remark
    )


# Which fields of a record, split at colons, are times.
TIMES = {b"1": (5, 6), b"2": (5,), b"3": (5, 6, 11, 12)}


def repeat_prv(source: Path, target: Path) -> Path:
    """The same trace several times in a row, as if the program had run its loop longer."""
    header, *lines = gzip.decompress(source.read_bytes()).splitlines()
    start, duration_and_rest = header.split(b"):", 1)
    duration_text, rest = duration_and_rest.split(b":", 1)
    duration = int(duration_text.removesuffix(b"_ns"))
    records = [line.split(b":") for line in lines if line[:1] in TIMES]
    copies = 1 + PRV_BYTES // sum(map(len, lines))
    with target.open("wb") as file:
        file.write(b"%s):%d_ns:%s\n" % (start, duration * copies, rest))
        file.writelines(line + b"\n" for line in lines if line[:1] == b"c")
        for copy in range(copies):
            file.writelines(shifted(record, copy * duration) for record in records)
    return target


def shifted(record: list[bytes], by: int) -> bytes:
    times = TIMES[record[0]]
    return (
        b":".join(
            b"%d" % (int(field) + by) if i in times else field for i, field in enumerate(record)
        )
        + b"\n"
    )
