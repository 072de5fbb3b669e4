"""Levels that exist only with some levels of other factors: nothing is said of combinations that do
not exist, nor of levels that were nowhere run with everything else alike."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tailrace.study.analysis.summary import Summary

from .simulated_dependent import DEPENDENT, measured

RATIO = re.compile(r"stripe one takes ([\d.]+) times")


def said(name: str, seed: int = 1) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for finding in Summary(measured(DEPENDENT[name], seed)).found.findings:
        texts.setdefault(str(finding.kind), []).append(finding.text)
    return texts


def test_what_nowhere_meets_is_not_compared() -> None:
    found = said("each target has its own method")
    assert "effect" not in found
    untold = "cannot be told: no two of its levels were run with everything else alike"
    assert f"what where it writes does {untold}" in found["unknown"]
    assert f"what the method does {untold}" in found["unknown"]


def test_levels_are_compared_where_both_are() -> None:
    """x and z never meet; y takes 1.4 times as long as x where both are, and c 2.0 / (1.3 × 1.4)
    times as long as b."""
    effects = said("a chain of methods and targets")["effect"]
    assert any(text.startswith(("y takes 1.3", "y takes 1.4")) for text in effects)
    assert not any(text.startswith("z") or " of z" in text for text in effects)


def test_a_setting_of_one_target_is_compared_with_its_others() -> None:
    """Four stripes take 0.6 of the time of one. Of 12 studies the ratios differ by 0.031 from each
    other: their mean is known to 0.009, of which three."""
    texts = [said("settings of one target only", seed) for seed in range(1, 13)]
    ratios = [float(RATIO.match(text).group(1)) for found in texts for text in found["effect"]]
    assert len(ratios) == 12 and np.mean(ratios) == pytest.approx(1 / 0.6, abs=0.027)
    found = texts[0]
    assert "combination" not in found
    assert any(text.startswith("what where it writes does cannot") for text in found["unknown"])


def test_how_much_a_missing_interaction_matters_is_left_open() -> None:
    (method, _) = said("a slow method where all is quick")["effect"][::-1]
    assert method.startswith("z takes 1.1") and "depends" not in method


def test_a_crossing_is_told_as_far_as_both_go() -> None:
    (text,) = said("further levels of a tool that crosses")["crossover"]
    assert text.startswith("tool zstd beats gzip below ") and text.endswith("until level 9")
