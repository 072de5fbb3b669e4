"""Every workload with every method and format that makes sense for it, on every number of ranks,
tiny, every element verified.

`make test` runs every pair of a workload, a method, a format and a number of ranks once, `make
test-whole` the other combinations.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailrace.bench import loader, pairs

from .bench_runs import Bench

ANY, SQUARES = (1, 2, 3, 4), (1, 4, 9)
# cgns also reads; h5perf has all of its interfaces in one run, too.
VARIANTS = {"cgns": ("tiny", "tiny-read")}
# Three hundred variables: one file of them is enough.
CHANGES = {"wrf": ("--set", "steps=1")}
WORKLOADS = ("cmaq", "roms", "wrf", "cgns", "btio", "h5perf")


def cases() -> Iterator[tuple[str, str, str, str, int]]:
    for name in WORKLOADS:
        workload = loader.load(name)
        for method, format_ in pairs.of(workload):
            for size in VARIANTS.get(name, ("tiny",)):
                for ranks in SQUARES if workload.ranks == "square" else ANY:
                    yield name, size, method, format_, ranks


@pytest.mark.slow
@pytest.mark.sampled(apart=True)
@pytest.mark.parametrize(("name", "size", "method", "format_", "ranks"), list(cases()))
def test_each_pair_of_each_workload(
    bench: Bench, name: str, size: str, method: str, format_: str, ranks: int
) -> None:
    bench.need(method, format_)
    options = (
        "--size",
        size,
        *CHANGES.get(name, ()),
        "--method",
        method,
        "--format",
        format_,
        "--time-limit",
        120,
    )
    answer = bench.answer(name, *options, ranks=ranks)
    assert answer["verified"]
    for run in [*answer["runs"], *filter(None, [answer["prepared"]])]:
        assert len(run["verification"]["passes"]) == 2  # as written, and from the disk
        # The reading cgns run writes nothing, its preparation does.
        writes = "streams" not in run or any(
            stream["direction"] == "write" for stream in run["streams"]
        )
        assert all((check["variables"] > 0) == writes for check in run["verification"]["passes"])
    assert bench.left() == []
