"""What netCDF-4 keeps of one rank's writes: a collective run that is rebuilt writes its variables
when and in as many calls as a real run by one rank, or by each into a file of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tailrace import engine

from ..python.bench_runs import Bench, bench, built  # noqa: F401

# Of workload `roms`, size tiny: arrays of one to four layers, of cells or of points around them.
CELLS = [
    8 * layers * rows * columns for layers in (1, 3, 4) for rows in (10, 11) for columns in (17, 18)
]
NETWORK = {"latency": 2000.0, "byte": 0.2, "eager_limit_bytes": 32768}


def recorded(bench: Bench, method: str) -> Path:  # noqa: F811
    """Two ranks."""
    bench.need(method, "netcdf4")
    words = ("--size", "tiny", "--method", method, "--format", "netcdf4", "--capture")
    before = set(bench.directory.parent.rglob("*.tailrace"))
    result = bench.run("roms", *words, ranks=2)
    assert result.exit_code == 0, result.output
    (trace,) = set(bench.directory.parent.rglob("*.tailrace")) - before
    return trace


def by_outputs(calls: list[Any]) -> list[Counter[int]]:
    """Whole arrays that are written between two reports of a step, by bytes; where any are."""
    found: list[Counter[int]] = [Counter()]
    for kind, path, _, size in calls:
        if kind == "write" and path.endswith("/records") and found[-1]:
            found.append(Counter())
        elif kind == "write" and ".nc" in path and size in CELLS:
            found[-1][size] += 1
    return [each for each in found if each]


def synchronized(calls: list[Any]) -> int:
    return sum(kind == "synchronize" and ".nc" in path for kind, path, *_ in calls)


@pytest.mark.slow
def test_one_rank_writes_when_it_closes_the_file(bench: Bench) -> None:  # noqa: F811
    collective, serial = (recorded(bench, method) for method in ("collective", "serial"))
    steps = engine.steps(collective, outputs=True)
    real = by_outputs(engine.recorded_calls(serial)[0])
    # history and averages, each when it is closed
    assert len(real) == 2
    rebuilt, told = steps.by_method("serial", **NETWORK, kept_bytes=16 << 20)
    assert by_outputs(rebuilt.calls()[0]) == real
    assert told["kept_bytes"] >= sum(size * calls for each in real for size, calls in each.items())
    # who wrote the file brings it to the disk once it is closed, and HDF5 by one rank does not
    counts = [synchronized(own) for own in (rebuilt.calls()[0], engine.recorded_calls(serial)[0])]
    assert counts[0] == counts[1] < synchronized(engine.recorded_calls(collective)[0])
    # three outputs of history and two of averages, and with none kept each by itself
    at_once, _ = steps.by_method("serial", **NETWORK, kept_bytes=0)
    written = by_outputs(at_once.calls()[0])
    assert len(written) > 2
    assert sum(written, Counter()) == sum(real, Counter())
