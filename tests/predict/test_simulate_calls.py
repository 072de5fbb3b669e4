"""What is simulated is what happens: the file calls of a simulated run are, rank by rank and in
order, those in the trace of a real one: kind, file, offset and bytes.

Left out on both sides: the plan and the records, which belong to `tailrace bench`. When ranks write
into one file through ROMIO, what one of them reads back depends on what the others have written by
then: of such reads only the place is compared.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailrace import engine
from tailrace.bench import loader
from tailrace.simulate import description

from ..python.bench_runs import Bench, bench, built  # noqa: F401

Call = tuple[str, str, int | None, int]
# A bench keeps what a run writes in run-1, and what it reads in input.
ROOMS = {"run-1": "output", "input": "input"}
NOTES = ("/plan", "/records")
MOVES = ("read", "write")
WORKLOADS, RANKS = ("roms", "cmaq", "wrf"), (1, 2, 4)


def recorded(trace: Path) -> list[list[Call]]:
    return [_of_workload(calls) for calls in engine.recorded_calls(trace)]


def _of_workload(calls: list[Call]) -> list[Call]:
    found = []
    for kind, path, offset, size in calls:
        below = re.search(r"/tailrace-[^/]*/(run-1|input)(/.*)?$", path)
        if below and not path.endswith(NOTES):
            found.append(_call(kind, ROOMS[below[1]] + (below[2] or ""), offset, size))
    return found


def _call(kind: str, file: str, offset: int | None, size: int) -> Call:
    return (kind, file, offset, size) if kind in MOVES else (kind, file, None, 0)


def without_what_others_wrote(calls: list[Call]) -> list[Call]:
    found: list[Call] = []
    for kind, file, offset, size in calls:
        is_sieve = kind == "read" and file.startswith("output")
        if is_sieve and found and found[-1][0] == "read":
            continue  # the rest of one that was cut short
        found.append((kind, file, offset, 0 if is_sieve else size))
    return found


@pytest.mark.slow
@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("method", description.METHODS)
@pytest.mark.parametrize("format_", description.FORMATS)
@pytest.mark.parametrize("ranks", RANKS)
def test_calls_are_those_of_a_real_run(
    bench: Bench,  # noqa: F811
    tmp_path: Path,
    name: str,
    method: str,
    format_: str,
    ranks: int,
) -> None:
    workload = loader.sized(loader.load(name), "tiny", {}, "")
    words = ("--size", "tiny", "--method", method, "--format", format_, "--capture")
    result = bench.run(name, *words, ranks=ranks)
    assert result.exit_code == 0, result.output
    (trace,) = tmp_path.rglob("*.tailrace")
    described = description.described(workload, ranks, ranks, (method, format_), 0.0, {})
    simulated = [
        [_call(kind, file, offset, size) for kind, file, offset, size in calls]
        for calls in engine.simulated_calls(described)
    ]
    real = recorded(trace)
    assert len(simulated) == len(real) == ranks and real[0]
    for mine, theirs in zip(simulated, real, strict=True):
        assert without_what_others_wrote(mine) == without_what_others_wrote(theirs)
