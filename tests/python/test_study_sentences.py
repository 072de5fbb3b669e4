"""Sentences of reports that read wrong once, or spoke of what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis import words
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.measured import Measured

from .simulated_curves import RANKS, found_in
from .study_data import study

TOOLS = {"tool": ["x", "y", "z"]}
# x alone was run with all numbers of ranks but two, y and z with fewer.
RUN = {"x": [1, 4, 8, 16, 32], "y": [1, 2, 4, 8, 16], "z": [1, 4, 16]}


def gappy(many: float) -> Measured:
    """With 32 ranks it takes so many times as long as with fewer."""

    def time_s(where: Mapping[str, Any]) -> float:
        slow = {"x": 1.0, "y": 2.0, "z": 0.5}[where["tool"]]
        return 10.0 * slow * (many if where["ranks"] == 32 else 1.0)

    made = study({"ranks": RANKS, **TOOLS}, time_s, blocks=5, scatter=0.01)
    kept = [run.ranks in RUN[run.tool] for run in made.runs.itertuples()]
    return Measured(made.plan, made.runs[kept].reset_index(drop=True))


def test_nothing_is_flat_up_to_a_level_that_was_not_looked_at() -> None:
    """An average over all tools is of 1, 4 and 16 ranks alone."""
    for many in (1.0, 2.0):
        found = found_in(gappy(many))
        assert all(np.isfinite(along.curve.means()).all() for along in found.trends)
        assert not any("from 1 to 32 ranks" in one.text for one in found.findings if many > 1)
    assert any(one.text.startswith("tool x: elapsed time") for one in found.findings)


def test_no_effect_is_more_than_all_of_the_variation() -> None:
    effects = analyse(gappy(1.5).compared("elapsed_s")).effects
    assert effects and max(effect.share for effect in effects) <= 1


def test_several_ranks_take_and_one_takes() -> None:
    levels = {"ranks": [1, 2, 4], "threads": [1, 2]}
    made = study(levels, lambda w: 20.0 if w["threads"] == 2 else 10.0, scatter=0.01)
    texts = [finding.text for finding in found_in(made).findings]
    assert any(text.startswith("2 threads take 2.00 times") for text in texts)
    made = study(levels, lambda w: 10.0 if w["threads"] == 2 else 20.0, scatter=0.01)
    texts = [finding.text for finding in found_in(made).findings]
    assert any(text.startswith("1 thread takes 2.00 times") for text in texts)


def test_only_what_may_be_longer_takes_at_least() -> None:
    """All runs with tool y were ended; z and x are compared by runs that were not."""
    took = {"x": 10.0, "y": 40.0, "z": 20.0}
    made = study({**TOOLS, "size": ["s", "l"]}, lambda w: took[w["tool"]], blocks=5)
    runs = made.runs.copy()
    runs.loc[runs["tool"] == "y", ["status", "elapsed_s"]] = ["timeout", np.nan]
    texts = {}
    for limit_s in (15.0, 30.0):
        given = {**made.plan["study"], "run": {"time_limit_s": limit_s}}
        found = found_in(Measured({**made.plan, "study": given}, runs))
        texts[limit_s] = " ".join(one.text for one in found.findings if one.kind == "effect")
    assert texts[30.0].startswith("tool y takes") and "(at least 2." in texts[30.0]
    assert texts[15.0].startswith("tool z takes") and "at least" not in texts[15.0]


def test_a_command_that_prints_no_number_has_not_written_wrong_data() -> None:
    """Nobody has looked at its data."""
    made = study(TOOLS, lambda w: 10.0)
    runs = made.runs.copy()
    runs.loc[:1, ["status", "elapsed_s"]] = ["wrong", np.nan]
    for run, said in (
        ({"command": ["model"]}, "did not write or print what they should"),
        ({"workload": "wrf"}, "wrote wrong data"),
    ):
        measured = Measured({**made.plan, "study": {**made.plan["study"], "run": run}}, runs)
        assert found_in(measured).findings[0].text.startswith(f"2 runs of 9 {said}")


def test_numbers_in_words() -> None:
    assert words.number(64.0, 0) == "64" and words.number(1024.0, 0) == "1,024"
    assert words.signed(0.9998) == "+0.0" and words.signed(0.9989) == "−0.1"


def test_a_place_where_it_rises_first_is_not_put_with_those_where_it_does_not() -> None:
    """On a it rises from 1 to 2 ranks, on b that cannot be told; both fall until 4."""
    took = {"a": [10, 12.5, 5, 5], "b": [10, 9.4, 5, 5]}
    made = study(
        {"ranks": [1, 2, 4, 8], "target": ["a", "b"]},
        lambda w: took[w["target"]][[1, 2, 4, 8].index(w["ranks"])],
        blocks=6,
        scatter=0.04,
    )
    texts = [one.text for one in found_in(made).findings if one.kind == "trend"]
    assert len(texts) == 2
    (rises,) = [text for text in texts if text.startswith("writing to a: ")]
    assert rises.endswith("but rises from 1 to 2 ranks")
