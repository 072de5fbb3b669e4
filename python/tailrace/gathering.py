"""What writes take that a rank gathers and makes as one, or reads: for predictions that say how
sure they are. "low": what the change leaves open is as fast as may be, "high": as slow."""

from __future__ import annotations

from math import inf
from typing import Any, Literal

Edge = Literal["value", "low", "high"]
EDGES: tuple[Edge, Edge] = ("low", "high")
# Memory that is copied by one core: 10, 3 and 1 GB/s.
COPY_NS_A_BYTE: dict[Edge, float] = {"low": 0.1, "value": 0.33, "high": 1.0}
# What file systems for parallel programs take at once.
GATHERED_BYTES = 4_000_000


def gathered(
    steps: Any, size: int, edge: Edge, kind: Literal["write", "read"] = "write"
) -> tuple[int, float, float]:
    """What `replay` of an engine's steps takes as `merged`, or of reads as `ahead`. What one takes
    by itself is told from those of several sizes; at best many take as long as one, at worst
    nothing is saved."""
    if edge == "value":
        by_itself = steps.write_call_ns() if kind == "write" else steps.read_call_ns()
        return size, COPY_NS_A_BYTE[edge], by_itself or 0.0
    return size, COPY_NS_A_BYTE[edge], inf if edge == "low" else 0.0
