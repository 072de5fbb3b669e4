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
    alone. `once`: those that are in the first block only."""

    combinations: tuple[Mapping[str, Level], ...]
    seed: int
    once: frozenset[int] = frozenset()

    def block(self, number: int) -> list[Planned]:
        """The block's runs in the order in which they are made."""
        order = sorted(
            range(len(self.combinations)), key=lambda combination: self._lot(number, combination)
        )
        return [
            Planned(number * len(self.combinations) + place, number, combination)
            for place, combination in enumerate(order)
            if number == 0 or combination not in self.once
        ]

    def _lot(self, block: int, combination: int) -> bytes:
        """A hash instead of a generator: the same order wherever and with whatever version a study
        is resumed."""
        return hashlib.sha256(f"tailrace order {self.seed} {block} {combination}".encode()).digest()


def combinations(study: StudyDefinition) -> tuple[Mapping[str, Level], ...]:
    """The combinations in the order of the file, the last factor varying fastest."""
    fractional = fraction(study)
    names = [name for name in study.factor if not fractional or name not in fractional[0]]
    count = max(len(fractional), 1)
    for name in names:
        count *= len(study.factor[name].levels)
    if count > COMBINATIONS_AT_MOST:
        raise TailraceError(
            f"{study.name} has {count:,} combinations, more than {COMBINATIONS_AT_MOST:,}",
            "[fraction] runs a part of them, chosen so that factors can be told apart; or use"
            " fewer levels or factors",
        )
    crossed = (
        dict(zip(names, levels, strict=True))
        for levels in itertools.product(*(study.factor[name].levels for name in names))
    )
    every = (
        {name: (some | part)[name] for name in study.factor}
        for some in crossed
        for part in fractional or [{}]
    )
    kept = tuple(combination for combination in every if not _left_out(study, combination))
    if not kept:
        raise TailraceError(
            f"{study.name}: [[leave_out]] excludes every combination",
            "docs/reference/studies.md explains leave_out",
        )
    return kept


def fraction(study: StudyDefinition) -> list[dict[str, Level]]:
    """The runs of a fractional or screening design over the factors of two levels; none where the
    study wants all combinations. Made by pyDOE: regular fractions with generators for the wanted
    resolution, or Plackett and Burman's designs."""
    wanted = study.fraction
    if wanted is None:
        return []
    from pydoe import fracfact_by_res, pbdesign

    names = wanted.factors or [n for n, factor in study.factor.items() if len(factor.levels) == 2]
    if wanted.screening:
        rows = pbdesign(len(names))
    else:
        try:
            rows = fracfact_by_res(len(names), min(wanted.resolution, len(names)))
        except ValueError as error:
            raise TailraceError(
                f"{study.name}: there is no fraction of resolution {wanted.resolution} of"
                f" {len(names)} factors: {error}",
                "choose a lower resolution",
            ) from None
    return [
        {
            name: study.factor[name].levels[int(sign > 0)]
            for name, sign in zip(names, row, strict=True)
        }
        for row in rows
    ]


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
