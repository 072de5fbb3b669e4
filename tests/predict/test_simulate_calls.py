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

import tailrace
from tailrace import engine
from tailrace.bench import gridio, loader
from tailrace.simulate import description

from ..python.bench_runs import Bench, bench, built  # noqa: F401

Call = tuple[str, str, int | None, int]
# A bench keeps what a run writes in run-1, and what it reads in input.
ROOMS = {"run-1": "output", "input": "input"}
NOTES = ("/plan", "/records")
MOVES = ("read", "write")
SEEKS, ASKED_NS = ("lseek", "lseek64"), 10_000
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


def check(
    bench: Bench,  # noqa: F811
    workload: str,
    ranks: int,
    pair: tuple[str, str],
    changes: dict[str, object] | None = None,
    settings: dict[str, str] | None = None,
    hints: dict[str, str] | None = None,
) -> None:
    """Runs the workload, simulates it, and compares."""
    given = {"--set": changes, "--setting": settings, "--hint": hints}
    words: list[str] = ["--size", "tiny", "--method", pair[0], "--format", pair[1], "--capture"]
    for option, values in given.items():
        for name, value in (values or {}).items():
            words += [option, f"{name}={_word(value)}"]
    trace = recorded_run(bench, workload, words, ranks)
    sized = loader.sized(loader.load(workload), "tiny", changes or {}, "")
    described = description.described(sized, ranks, ranks, pair, 0.0, settings or {}, hints or {})
    simulated = [
        [_call(kind, file, offset, size) for kind, file, offset, size in calls]
        for calls in engine.simulated_calls(described)
    ]
    real = recorded(trace)
    assert len(simulated) == len(real) == ranks and real[0]
    for mine, theirs in zip(simulated, real, strict=True):
        assert without_what_others_wrote(mine) == without_what_others_wrote(theirs)


def recorded_run(bench: Bench, workload: str, words: list[str], ranks: int) -> Path:  # noqa: F811
    """The trace of a run none of whose seeks took as long as one that asks a file system, for
    which the engine takes it. On local files it has waited for a processor."""
    for _ in range(5):
        result = bench.run(workload, *words, ranks=ranks)
        assert result.exit_code == 0, result.output
        (trace,) = bench.directory.parent.rglob("*.tailrace")
        calls = tailrace.open(trace).calls().to_pandas()
        seeks = calls[calls.function.isin(SEEKS)]
        if (seeks.duration_ns < ASKED_NS).all():
            return trace
        trace.unlink()
    raise AssertionError("in each of five runs a seek waited for a processor")


def _word(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


PAIRS = [
    (method, format_)
    for method in description.METHODS
    for format_ in description.FORMATS
    if gridio.possible(method, format_)
]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("ranks", RANKS)
def test_calls_are_those_of_a_real_run(
    bench: Bench,  # noqa: F811
    name: str,
    pair: tuple[str, str],
    ranks: int,
) -> None:
    check(bench, name, ranks, pair)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("format_", description.FORMATS)
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("aggregated", {"writers": "2"}),
        ("aggregated", {"writers_per_node": "3", "whole_writers": "all"}),
        ("aggregated", {"writers": "2", "buffer_bytes": "1000"}),
        ("aggregated", {"buffer_bytes": "100"}),
        ("independent", {"whole_writers": "all"}),
        ("file-per-rank", {"whole_writers": "all"}),
    ],
)
def test_settings_do_what_they_do(
    bench: Bench,  # noqa: F811
    method: str,
    format_: str,
    settings: dict[str, str],
) -> None:
    check(bench, "roms", 4, (method, format_), settings=settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "format_", "changes"),
    [
        # rows of tiles only, columns only, and uneven ones
        ("collective", "mpiio", {"tiles": [3, 1]}),
        ("independent", "mpiio", {"tiles": [1, 3]}),
        ("aggregated", "posix", {"tiles": [3, 1]}),
        ("file-per-rank", "posix", {"grid": [120, 11, 4]}),
        # a layer: nobody's part lies between another's
        ("collective", "mpiio", {"grid": [16, 9, 1]}),
        # rows so far apart that ROMIO's buffer does not reach from one to the next
        pytest.param(
            "independent",
            "mpiio",
            {"grid": [90000, 3, 2], "tiles": [3, 1], "steps": 2},
            marks=pytest.mark.whole,
        ),
        ("serial", "posix", {"steps": 7, "every": 3}),
    ],
)
def test_grids_and_cadences(
    bench: Bench,  # noqa: F811
    method: str,
    format_: str,
    changes: dict[str, object],
) -> None:
    check(bench, "roms", 3, (method, format_), changes)


@pytest.mark.slow
def test_aggregators_write_a_buffer_at_a_time(bench: Bench) -> None:  # noqa: F811
    check(bench, "roms", 4, ("collective", "mpiio"), hints={"cb_buffer_size": "1500"})
