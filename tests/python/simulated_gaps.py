"""Simulated studies of few combinations, of which runs fail at random, and in which nothing
matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tailrace.study.analysis.effects import Analysis, analyse

from .simulated_failures import failing
from .study_data import study

DESIGNS: dict[str, Mapping[str, list[str]]] = {
    "2 combinations": {"tool": ["x", "y"]},
    "3 combinations": {"tool": ["x", "y", "z"]},
    "4 combinations": {"tool": ["x", "y"], "size": ["s", "l"]},
}


def gappy(design: str, blocks: int, chance: float, seed: int) -> Analysis:
    measured = study(
        DESIGNS[design],
        lambda where: 10.0,
        blocks=blocks,
        scatter=0.1,
        block_scatter=0.05,
        seed=seed,
    )
    left = failing(measured, lambda run: chance, seed)
    return analyse(left.table(left.response))


def something_matters(design: str, blocks: int, chance: float) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        return any(effect.matters for effect in gappy(design, blocks, chance, seed).effects)

    return false


GAPPY = {
    f"{design}, {blocks} blocks, {chance:.0%}": something_matters(design, blocks, chance)
    for design in DESIGNS
    for blocks in (3, 5)
    for chance in (0.2, 0.4)
}
