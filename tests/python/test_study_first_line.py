"""What the first line of a study's report says where little is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tailrace.study.analysis import words
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .study_data import study


def failed_but(kept: Callable[[pd.DataFrame], pd.Series]) -> Measured:
    measured = study({"ranks": [1, 2, 4, 8], "target": ["a", "b"]}, lambda where: 10.0)
    runs = measured.runs.copy()
    bad = ~kept(runs)
    runs.loc[bad, ["status", "reason", "elapsed_s"]] = ["failed", "exit status 1", np.nan]
    return Measured(measured.plan, runs)


def test_the_first_line_says_how_runs_ended_where_none_did_well():
    first = Summary(failed_but(lambda runs: runs["ranks"] > 8)).headline
    assert first == (
        "No run of synthetic has finished well: 24 runs of 24 failed (most often: exit status 1)."
    )
    plan = failed_but(lambda runs: runs["ranks"] > 8)
    empty = Summary(replace(plan, runs=plan.runs.head(0)))
    assert empty.headline.endswith("nothing to report yet.")


def test_what_alone_has_finished_is_told_in_the_first_line():
    one = failed_but(lambda runs: (runs["ranks"] == 4) & (runs["target"] == "b"))
    assert re.fullmatch(
        r"21 runs of 24 failed\. Elapsed time is 10\.\d s with 4 ranks when writing to b, and not"
        r" known elsewhere\.",
        Summary(one).headline,
    )
    level = failed_but(lambda runs: runs["ranks"] == 4)
    assert Summary(level).headline.endswith("cannot tell yet what matters to elapsed time.")


def test_two_blocks_of_few_combinations_say_what_they_can_and_what_would_do():
    slow = {"x": 10.0, "y": 13.0, "z": 12.0}
    for levels in ({"tool": ["x", "y"]}, {"tool": ["x", "y", "z"]}):
        measured = study(levels, lambda w: slow[w["tool"]], blocks=2, scatter=0.001)
        assert re.fullmatch(
            rf"Two blocks of {len(levels['tool'])} combinations cannot tell a difference from"
            r" chance: elapsed time was 10\.\d+ s with tool x and 13\.0 s with tool y; a study with"
            r" a third \(--set repetitions=3\) can\.",
            Summary(measured).headline,
        )
    enough = study({"tool": ["x", "y"]}, lambda w: slow[w["tool"]], blocks=3, scatter=0.001)
    assert Summary(enough).headline.startswith("Tool y takes 1.30 times")


def test_what_is_all_that_was_varied_matters_on_no_average():
    """Its single places are not within 5 % for sure, and there are none beside it."""
    measured = study({"tool": ["x", "y"]}, lambda where: 10.0, blocks=3, scatter=0.01)
    assert "average of everything else" not in Summary(measured).headline


@pytest.mark.parametrize(("levels", "said"), [(["1", "2"], "1 thread"), ([1, 2], "1 thread")])
def test_one_is_no_plural_be_it_a_text(levels, said):
    factor = StudyFactor("threads", "threads", tuple(levels))
    assert (words.named(factor, levels[0]), words.named(factor, levels[1])) == (said, "2 threads")


def test_what_certainly_matters_though_not_how_is_told_in_the_first_line():
    """By the test over all levels the time depends on the nodes; no two levels differ for
    certain."""
    levels, slower = {"nodes": [8, 16, 32, 64]}, 1.03
    at_64 = study(
        levels, lambda w: 36 * (slower if w["nodes"] == 64 else 1), scatter=0.02, seed=106
    )
    summary = Summary(at_64)
    assert [effect.matters for effect in summary.analysis.effects] == [True]
    assert summary.headline == (
        "Elapsed time depends on the number of nodes; these runs cannot tell yet how."
    )
