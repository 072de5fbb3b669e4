"""Every workload with every method and format that makes sense for it, tiny, every element verified.

`make test` runs each pair of each workload once. The numbers of ranks go round, so that each pair runs on 1, 2, 3 and 4
ranks over the four workloads that take any number; BT-IO's own modes on all. `make test-whole` runs all on all.
"""

from __future__ import annotations

import pytest

from tailrace.bench import loader, pairs

from .bench_runs import Bench

ANY, SQUARES = (1, 2, 3, 4), (1, 4, 9)
# cgns also reads; h5perf has all of its interfaces in one run, too.
VARIANTS = {"cgns": ("tiny", "tiny-read")}
# Three hundred variables: one file of them is enough.
CHANGES = {"wrf": ("--set", "steps=1")}
WORKLOADS = ("cmaq", "roms", "wrf", "cgns", "btio", "h5perf")


def cases(everything: bool) -> list[tuple[str, str, str, str, int]]:
    found = []
    for place, name in enumerate(WORKLOADS):
        workload = loader.load(name)
        counts = SQUARES if workload.ranks == "square" else ANY
        for number, (method, format_) in enumerate(pairs.of(workload)):
            for more, size in enumerate(VARIANTS.get(name, ("tiny",))):
                turn = (number + place + more) % len(counts)
                own = name == "btio" and format_ in ("mpiio", "posix")  # the benchmark's modes, by its own files
                ranks = counts if everything or own else counts[turn : turn + 1]
                found += [(name, size, method, format_, count) for count in ranks]
    return found


def check(bench: Bench, case: tuple[str, str, str, str, int]) -> None:
    name, size, method, format_, ranks = case
    bench.need(method, format_)
    options = ("--size", size, *CHANGES.get(name, ()), "--method", method, "--format", format_, "--time-limit", 120)
    answer = bench.answer(name, *options, ranks=ranks)
    assert answer["verified"]
    for run in [*answer["runs"], *filter(None, [answer["prepared"]])]:
        assert len(run["verification"]["passes"]) == 2  # as written, and from the disk
        # The reading cgns run writes nothing, its preparation does.
        writes = "streams" not in run or any(stream["direction"] == "write" for stream in run["streams"])
        assert all((one["variables"] > 0) == writes for one in run["verification"]["passes"])
    assert bench.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(everything=False), ids=lambda case: "-".join(map(str, case)))
def test_each_pair_of_each_workload(bench: Bench, case: tuple[str, str, str, str, int]) -> None:
    check(bench, case)


@pytest.mark.whole
@pytest.mark.parametrize("case", cases(everything=True), ids=lambda case: "-".join(map(str, case)))
def test_each_pair_of_each_workload_on_every_number_of_ranks(
    bench: Bench,
    case: tuple[str, str, str, str, int],
) -> None:
    check(bench, case)
