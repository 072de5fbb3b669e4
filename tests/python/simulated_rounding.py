"""Simulated studies of programs that print their times in whole seconds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tailrace.study.analysis.comparison import compare
from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.measured import Measured

from .simulated_curves import found_in
from .study_data import study

LEVELS = {"tool": ["x", "y"], "size": ["s", "l"]}
RANKS = [1, 2, 4, 8]
# x and y lie on either side of where a number is rounded up.
EVEN = 3.55 / 3.45
SCATTERS = (0.003, 0.02, 0.1)


def rounded(measured: Measured, step: float = 1.0) -> Measured:
    runs = measured.runs.assign(elapsed_s=np.round(measured.runs["elapsed_s"] / step) * step)
    return Measured(measured.plan, runs)


def of_tools(y_over_x: float, scatter: float, blocks: int, seed: int, by: float = 1.0) -> Measured:
    faster = {"factor": "tool", "level": "x", "than": "y", "by": by}
    return rounded(
        study(
            LEVELS,
            lambda where: 3.45 * (y_over_x if where["tool"] == "y" else 1.0),
            blocks=blocks,
            scatter=scatter,
            seed=seed,
            expect=[{"claim": "?", "faster": faster}],
        )
    )


def size_missed(scatter: float, blocks: int) -> Callable[[int], bool]:
    """It is said by how much y takes longer, and the interval lacks what is so; or that the size
    matters."""

    def false(seed: int) -> bool:
        findings = found_in(of_tools(EVEN, scatter, blocks, seed)).findings
        told = [finding for finding in findings if finding.kind in ("effect", "interaction")]
        return any(
            not finding.text.startswith("tool y takes")
            or finding.estimate is None
            or not finding.estimate.low <= EVEN <= finding.estimate.high
            for finding in told
        )

    return false


def held(scatter: float, blocks: int) -> Callable[[int], bool]:
    """That x is faster by a tenth."""

    def false(seed: int) -> bool:
        (answer,) = evaluate(of_tools(EVEN, scatter, blocks, seed, by=1.1))
        return answer.answer is Judgement.HELD

    return false


def trend_told(scatter: float, blocks: int) -> Callable[[int], bool]:
    """Of times that rise by 3 % it is said that they fall, or which is the best."""
    times = dict(zip(RANKS, (3.45, 3.45, 3.55, 3.55), strict=True))

    def false(seed: int) -> bool:
        measured = study(
            {"ranks": RANKS, "tool": ["x", "y"]},
            lambda where: times[where["ranks"]],
            blocks=blocks,
            scatter=scatter,
            seed=seed,
        )
        found = found_in(rounded(measured))
        return bool(found.crossovers or found.leads) or any(
            str(along.shape) not in ("flat", "unclear") for along in found.trends
        )

    return false


def changed(scatter: float, blocks: int) -> Callable[[int], bool]:
    """Of two studies, the second of which takes 3 % longer: the interval of the average, or of a
    combination that has changed for certain, lacks that."""

    def false(seed: int) -> bool:
        first, second = (
            rounded(
                study(
                    LEVELS,
                    lambda where, time_s=time_s: time_s,
                    blocks=blocks,
                    scatter=scatter,
                    seed=2 * seed + at,
                )
            )
            for at, time_s in enumerate((3.45, 3.55))
        )
        found = compare(first, second)
        told = [one.ratio for one in found.combinations if one.certain]
        told += [found.overall] if found.overall.decided else []
        return any(not ratio.low <= EVEN <= ratio.high for ratio in told)

    return false


ROUNDED = {
    f"{name}, scatter {scatter:.1%}, {blocks} blocks": of(scatter, blocks)
    for name, of in (
        ("a size", size_missed),
        ("faster by a tenth: held", held),
        ("a trend or a lead", trend_told),
        ("two studies", changed),
    )
    for scatter in SCATTERS
    for blocks in (3, 5)
}


def finds_twice(seed: int) -> bool:
    """y takes twice as long: 3 or 4 s, and 7."""
    findings = found_in(of_tools(2.0, 0.02, 3, seed)).findings
    return any(
        finding.text.startswith("tool y takes")
        and finding.estimate is not None
        and abs(math.log(finding.estimate.value / 2)) < 0.3
        for finding in findings
    )
