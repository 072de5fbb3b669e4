"""Simulated studies that end as soon as each combination is known well enough (`[adaptive]`), and
in which nothing matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tailrace.study.analysis.measured import Measured
from tailrace.study.running.repetitions import half_width

from .simulated_curves import found_in
from .study_data import study

TOOL = {"tool": ["x", "y"]}
DESIGNS: dict[str, Mapping[str, list[Any]]] = {
    "2 combinations": TOOL,
    "4 combinations": {**TOOL, "size": ["s", "l"]},
    "8 combinations": {**TOOL, "ranks": [1, 2, 4, 8]},
}


def until_known(
    design: str, scatter: float, seed: int, least: int = 3, most: int = 10, interval: float = 0.05
) -> Measured:
    levels = DESIGNS[design]
    measured = study(levels, lambda where: 10.0, blocks=most, scatter=scatter, seed=seed)
    for blocks in range(least, most + 1):
        runs = measured.runs[measured.runs["block"] < blocks]
        times = [some["elapsed_s"].tolist() for _, some in runs.groupby(list(levels))]
        if all(half_width(values) <= interval for values in times):
            break
    return replace(measured, runs=runs)


def something(design: str, scatter: float, least: int) -> Callable[[int], bool]:
    quiet = {"unknown", "no effect"}

    def false(seed: int) -> bool:
        found = found_in(until_known(design, scatter, seed, least))
        return any(str(finding.kind) not in quiet for finding in found.findings)

    return false


ADAPTIVE = {
    f"{design}, scatter {scatter:.0%}, from {least} blocks on": something(design, scatter, least)
    for design in DESIGNS
    for scatter in (0.03, 0.05)
    for least in (2, 3)
}
