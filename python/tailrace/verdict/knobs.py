"""What the run would take if its file system, its network and its processors were faster: a small
table for the page's sliders, of the changes and the numbers of `tailrace whatif` with `--io-rate`,
`--network` and `--compute` (tests/python/test_knobs.py compares them).

A change is within the table or is not offered: nothing is interpolated. It is true where
`steps_of` has steps, and there is none where it has none.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from tailrace.verdict.again import steps_of
from tailrace.verdict.evidence import Evidence

# By knob: how many times as fast.
FILES = (1, 2, 4, 10)
NETWORK = (1, 2, 10)
COMPUTE = (1, 2, 4)


def knobs(evidence: Evidence) -> dict[str, Any] | None:
    """`knobs`: name, option of `whatif` and factors of each; `runtime_ns`: by factor of the first,
    second and third, the last fastest; `worst_ns`: the same where calls that move no bytes, and MPI
    that waits for nobody, are no faster. None where the run cannot be taken again."""
    steps = steps_of(evidence)
    if steps is None:
        return None
    chosen = list(product(FILES, NETWORK, COMPUTE))
    best = [(1 / compute, 1 / mpi, 1 / mpi, 1 / io, 1 / io) for io, mpi, compute in chosen]
    worst = [(1 / compute, 1 / mpi, 1.0, 1 / io, 1.0) for io, mpi, compute in chosen]
    found = steps.run_times_ns(best + worst)
    return {
        "knobs": [
            {"name": "file system", "option": "--io-rate", "factors": FILES},
            {"name": "network", "option": "--network", "factors": NETWORK},
            {"name": "processors", "option": "--compute", "factors": COMPUTE},
        ],
        "runtime_ns": found[: len(chosen)],
        "worst_ns": [max(pair) for pair in zip(found, found[len(chosen) :], strict=False)],
    }
