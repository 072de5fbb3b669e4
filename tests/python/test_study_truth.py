"""That the judge of simulated studies finds what is false, of each kind of sentence: reports are
held against times that are not those of the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from .simulated_curves import Where
from .simulated_truth import Claims
from .study_data import study

TOOL = {"tool": ["x", "y"], "size": ["s", "l"]}
RANKS = {"ranks": [1, 2, 4, 8, 16, 32], "tool": ["x", "y"]}
CUBE = {**TOOL, "chunk": ["a", "b"]}


def slower(by: float) -> Callable[[Where], float]:
    return lambda w: 10.0 * (by if w["tool"] == "y" else 1.0)


def together(by: float) -> Callable[[Where], float]:
    return lambda w: 10.0 * (by if (w["tool"], w["size"]) == ("y", "l") else 1.0)


def crossing(by: float) -> Callable[[Where], float]:
    return lambda w: 10.0 * (w["ranks"] / 6) ** (by if w["tool"] == "y" else 0.0)


def three(by: float) -> Callable[[Where], float]:
    return lambda w: 10.0 * (by if (w["tool"], w["size"], w["chunk"]) == ("y", "l", "b") else 1.0)


KINDS: dict[str, tuple[Mapping[str, Any], Callable[[float], Callable[[Where], float]], float]] = {
    "tool y takes": (TOOL, slower, 1.3),
    "does depends on": (TOOL, together, 1.5),
    "crossover": (RANKS, crossing, -0.4),
    "act together": (CUBE, three, 1.6),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_the_reverse_of_what_is_so_is_false(kind: str) -> None:
    levels, of, by = KINDS[kind]
    measured = study(levels, of(by), blocks=5, scatter=0.01)
    assert not Claims(measured, of(by)).false
    other = -by if kind == "crossover" else 1 / by
    assert any(kind in claim for claim in Claims(measured, of(other)).false)


def test_what_matters_is_not_said_not_to() -> None:
    measured = study(TOOL, slower(1.0), blocks=5, scatter=0.005)
    assert not Claims(measured, slower(1.0)).false
    assert any("does not matter" in claim for claim in Claims(measured, slower(1.2)).false)


def test_a_trend_that_goes_the_other_way_is_false() -> None:
    measured = study({"ranks": [1, 2, 4, 8]}, lambda w: 10 / w["ranks"], scatter=0.01)
    assert not Claims(measured, lambda w: 10 / w["ranks"]).false
    false = Claims(measured, lambda w: 10.0 * w["ranks"]).false
    assert any("improves" in claim for claim in false)
    assert any("speedup" in claim for claim in false)
