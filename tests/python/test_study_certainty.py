"""What is not certain is not told as if it were: p values, intervals and verbs agree."""

from __future__ import annotations

from tailrace.study.analysis import words
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.intervals import Estimate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import response
from tailrace.study.analysis.summary import Summary
from tailrace.study.report import text as report_text

from .study_data import study

TIME = response("elapsed_s", {})


def test_what_differs_from_block_to_block_is_not_certain_by_its_interval_either() -> None:
    """y takes 4 % longer in two blocks and 8 % in the third; its runs say p < 0.05,
    and the blocks do not. It once said p = 0.001 and an interval above 1 beside "not certain"."""
    made = study({"tool": ["x", "y"], "size": ["s", "m", "l"]}, lambda where: 10.0, scatter=0.01)
    runs = made.runs.copy()
    for block, times in enumerate((1.04, 1.04, 1.08)):
        some = (runs["block"] == block) & (runs["tool"] == "y")
        runs.loc[some, "elapsed_s"] *= times
    summary = Summary(Measured(made.plan, runs))
    effect = summary.analysis.find("tool")
    assert effect is not None and effect.p_holm <= 0.05 < effect.p
    assert effect.size.decided and not effect.size_said.decided
    row = report_text.effect_row(summary.rivals, effect)
    assert row[-1] == "not certain" and float(row[-2]) > 0.05
    assert words.short(effect.size_said) in row and words.short(effect.size) not in row


def test_a_change_that_is_not_certain_falls_to_nothing() -> None:
    for value, low, high, p, said in (
        (0.95, 0.57, 1.58, 0.7, "goes to 0.95× (0.57–1.58)"),
        (0.50, 0.40, 0.60, 0.01, "falls to 0.50× (0.40–0.60)"),
    ):
        assert words.becomes(Estimate(value, low, high, p, 3, 2), TIME) == said


def test_a_factor_that_matters_though_no_two_levels_surely_differ_is_told_so() -> None:
    """The table said "yes" beside "whether cells matters cannot be told"."""
    levels = {"cells": [*"abcdefgh"], "tool": ["x", "y"]}
    for seed in range(400):
        made = study(levels, lambda w: 10 * 1.012 ** "abcdefgh".index(w["cells"]), seed=seed)
        effect = analyse(made.compared(made.response)).find("cells")
        if effect is not None and effect.matters and not effect.size.decided:
            break
    else:
        raise AssertionError("no such study among the first 400")
    summary = Summary(made)
    texts = [finding.text for finding in summary.found.findings]
    assert "cells matter to elapsed time, but which of its levels differ cannot be told" in texts
    assert report_text.effect_row(summary.rivals, effect)[-1] == "yes"
