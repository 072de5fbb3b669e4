"""What netCDF-3 writes in blocks: by another method as many are written as by a real run, and
as many looks for the next one follow them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailrace import engine

from ..python.bench_runs import Bench, bench, built  # noqa: F401

NETWORK = {"latency": 2000.0, "byte": 0.2, "eager_limit_bytes": 32768}
# Each array of a rank begins and ends in the middle of a block, which real runs go on to fill; and
# each file of a rank has a header, which stays with its rank.
APART = 0.15
HEADER = 8


def recorded(bench: Bench, method: str) -> Path:  # noqa: F811
    """Two ranks."""
    bench.need(method, "netcdf3")
    words = ("--size", "small", "--set", "steps=100", "--method", method, "--format", "netcdf3")
    before = set(bench.directory.parent.rglob("*.tailrace"))
    result = bench.run("roms", *words, "--capture", ranks=2)
    assert result.exit_code == 0, result.output
    (trace,) = set(bench.directory.parent.rglob("*.tailrace")) - before
    return trace


def made(ranks: list[list[Any]]) -> list[tuple[int, int]]:
    """By rank: blocks, and looks that find nothing."""

    def of(calls: list[Any]) -> tuple[int, int]:
        output = [call for call in calls if "/run-1/ocean_" in call[1]]
        blocks = sum(call[0] == "write" for call in output)
        return blocks, sum(call[0] == "read" and call[3] == 0 for call in output)

    return [of(calls) for calls in ranks]


@pytest.mark.slow
def test_blocks_are_those_of_a_real_run(bench: Bench) -> None:  # noqa: F811
    traces = {method: recorded(bench, method) for method in ("serial", "file-per-rank")}
    real = {method: made(engine.recorded_calls(trace)) for method, trace in traces.items()}
    # so many that what is off by one an array is not what is looked at
    assert min(blocks for blocks, _ in real["file-per-rank"]) > 200
    assert real["serial"][1] == (0, 0)
    for method, other in [("serial", "file-per-rank"), ("file-per-rank", "serial")]:
        steps, told = engine.steps(traces[method], outputs=True).by_method(other, **NETWORK)
        assert told["apart_bytes"] == 0
        for expected, found in zip(real[other], made(steps.calls()), strict=True):
            assert found == pytest.approx(expected, rel=APART, abs=HEADER), (method, other)
