"""Simulated studies that end as soon as each combination is known well enough (`[adaptive]`), and
in which nothing matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tailrace.study.analysis.measured import Measured
from tailrace.study.running.repetitions import half_width

from .simulated_curves import Where, found_in
from .study_data import study

TOOL = {"tool": ["x", "y"]}
DESIGNS: dict[str, Mapping[str, list[Any]]] = {
    "2 combinations": TOOL,
    "4 combinations": {**TOOL, "size": ["s", "l"]},
    "8 combinations": {**TOOL, "ranks": [1, 2, 4, 8]},
}
Scatter = float | Callable[[Where], float]


def until_known(
    design: str,
    scatter: Scatter,
    seed: int,
    least: int = 3,
    most: int = 10,
    interval: float = 0.05,
) -> Measured:
    levels = DESIGNS[design]
    measured = study(levels, lambda where: 10.0, blocks=most, scatter=scatter, seed=seed)
    for blocks in range(least, most + 1):
        runs = measured.runs[measured.runs["block"] < blocks]
        times = [some["elapsed_s"].tolist() for _, some in runs.groupby(list(levels))]
        if all(half_width(values) <= interval for values in times):
            break
    adaptive = {"adaptive": {"interval": interval, "at_most": most}, "repetitions": least}
    plan = {**measured.plan, "study": {**measured.plan["study"], **adaptive}}
    return Measured(plan, runs)


def something(design: str, scatter: Scatter, least: int) -> Callable[[int], bool]:
    quiet = {"unknown", "no effect"}

    def false(seed: int) -> bool:
        found = found_in(until_known(design, scatter, seed, least))
        return any(str(finding.kind) not in quiet for finding in found.findings)

    return false


def x_alone(scatter: float) -> Callable[[Where], float]:
    """y hardly scatters."""
    return lambda where: scatter if where["tool"] == "x" else 0.002


ADAPTIVE = {
    f"{design}, scatter {scatter:.0%}, from {least} blocks on": something(design, scatter, least)
    for design in DESIGNS
    for scatter in (0.03, 0.05)
    for least in (2, 3)
} | {
    f"2 combinations, x alone scatters, {scatter:.0%}, from {least} blocks on": something(
        "2 combinations", x_alone(scatter), least
    )
    for scatter in (0.03, 0.05, 0.07)
    for least in (2, 3, 5)
}
