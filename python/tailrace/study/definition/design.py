"""The design: all combinations of the factors' levels but those left out, in randomised complete
blocks.

A block holds every combination once, in an order of its own; a repetition is a block. What changes
slowly over the time of a study (a server that fills, a machine that warms up) then falls on all
combinations alike, and combinations can be compared within blocks (Montgomery, "Design and Analysis
of Experiments", chapter 4).
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tailrace.errors import TailraceError
from tailrace.study.definition.model import Level, StudyDefinition

COMBINATIONS_AT_MOST = 100_000


@dataclass(frozen=True)
class Planned:
    """One run of the design. `run` counts through the blocks, from 0; `combination` is the
    combination's number."""

    run: int
    block: int
    combination: int


@dataclass(frozen=True)
class Design:
    """`combinations`: all of them. The order within a block follows from the seed and the block
    alone."""

    combinations: tuple[Mapping[str, Level], ...]
    seed: int

    def block(self, number: int) -> list[Planned]:
        """The block's runs in the order in which they are made."""
        order = sorted(
            range(len(self.combinations)), key=lambda combination: self._lot(number, combination)
        )
        return [
            Planned(number * len(self.combinations) + place, number, combination)
            for place, combination in enumerate(order)
        ]

    def _lot(self, block: int, combination: int) -> bytes:
        """A hash instead of a generator: the same order wherever and with whatever version a study
        is resumed."""
        return hashlib.sha256(f"tailrace order {self.seed} {block} {combination}".encode()).digest()


def combinations(study: StudyDefinition) -> tuple[Mapping[str, Level], ...]:
    """The combinations in the order of the file, the last factor varying fastest."""
    names = list(study.factor)
    count = 1
    for name in names:
        count *= len(study.factor[name].levels)
    if count > COMBINATIONS_AT_MOST:
        raise TailraceError(
            f"{study.name} has {count:,} combinations, more than {COMBINATIONS_AT_MOST:,}",
            "use fewer levels or factors",
        )
    every = (
        dict(zip(names, levels, strict=True))
        for levels in itertools.product(*(study.factor[name].levels for name in names))
    )
    kept = tuple(combination for combination in every if not _left_out(study, combination))
    if not kept:
        raise TailraceError(
            f"{study.name}: [[leave_out]] excludes every combination",
            "docs/reference/studies.md explains leave_out",
        )
    return kept


def _left_out(study: StudyDefinition, combination: Mapping[str, Level]) -> bool:
    return any(matches(left_out.when, combination) for left_out in study.leave_out)


def matches(when: Mapping[str, Level | list[Level]], combination: Mapping[str, Level]) -> bool:
    """Whether the combination is one of those that the condition names: all of it must hold."""
    return all(
        combination[name] in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in when.items()
    )


def blocks(design: Design) -> Iterator[list[Planned]]:
    """One after the other, without end."""
    return (design.block(number) for number in itertools.count())
