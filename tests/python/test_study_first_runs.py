"""What may be due to a run being the first of its block is not told of what it does; and so of two
blocks of few combinations."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tailrace.study.analysis.comparison import compare
from tailrace.study.analysis.contrasts import Family, ratio
from tailrace.study.analysis.crossover import overtaking
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.first_runs import UNKNOWN, FirstRuns
from tailrace.study.analysis.layout import Layout, curves
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.definition import design, loader
from tailrace.study.running.plan import drawn

from . import study_data
from .simulated_curves import found_in
from .simulated_first_runs import FASTER, cold, slow_first_runs
from .study_files import COMMAND, write

TOOL = {"tool": ["x", "y"]}


def in_this_order(blocks: str, y_over_x: float, warm_up: int = 0) -> Measured:
    """`blocks`: which of the two went first in each. One per cent of scatter."""
    random, rows = np.random.default_rng(1), []
    for block, first in enumerate(blocks):
        for tool in (first, "y" if first == "x" else "x"):
            elapsed = (10 * y_over_x if tool == "y" else 10) * np.exp(random.normal(0, 0.01))
            rows.append({"block": block, "tool": tool, "elapsed_s": elapsed})
    runs = pd.DataFrame(rows).assign(status="done", reason="")
    runs["run"] = runs["order"] = range(len(runs))
    plan = study_data.plan(TOOL, FASTER, "elapsed_s")
    plan["study"]["warm_up"] = warm_up
    return Measured(plan, runs)


def told(study: Measured) -> bool:
    return "takes" in Summary(study).headline


def caution(study: Measured) -> str:
    return {one.kind: one.text for one in Summary(study).cautions}.get("first runs of blocks", "")


@pytest.mark.parametrize(
    ("blocks", "y_over_x", "warm_up", "so_it_is"),
    [
        ("yyy", 1.5, 0, False),
        ("yyy", 1.5, 1, True),
        ("xyy", 1.5, 0, True),
        ("xxx", 1.5, 0, False),
        # more than a first run takes longer
        ("yyy", 20, 0, True),
        # the one time that x goes first says that this costs nothing
        ("yyyyyyyx", 1.5, 0, True),
    ],
)
def test_what_goes_first_in_every_block_is_not_told_to_be_slower(
    blocks: str, y_over_x: float, warm_up: int, so_it_is: bool
) -> None:
    study = in_this_order(blocks, y_over_x, warm_up)
    assert told(study) is so_it_is
    (answer,) = evaluate(study)
    assert answer.answer is (Judgement.HELD if so_it_is else Judgement.UNDECIDED)


def test_what_is_all_that_was_varied_is_not_averaged() -> None:
    (finding,) = Summary(in_this_order("xyx", 1.5)).found.findings
    assert finding.text.endswith(" the elapsed time of tool x")


def test_an_order_that_never_was_random_is_another_matter() -> None:
    """Each block lists its combinations in one order: `order not random` says what that means."""
    levels = {"tool": ["x", "y"], "ranks": [1, 2, 4, 8, 16, 32]}
    made = study_data.study(levels, lambda w: 12.0 if w["tool"] == "y" else 10.0)
    runs = made.runs.sort_values(["block", *levels]).reset_index(drop=True)
    runs["run"] = runs["order"] = range(len(runs))
    study = Measured(made.plan, runs)
    assert not study.first_runs and made.first_runs
    assert told(study)
    assert "order not random" in {one.kind for one in Summary(study).cautions}


def test_the_report_says_why() -> None:
    study = in_this_order("yyy", 1.5)
    why = "each of 3 blocks began with tool y, and a first run may differ from later ones"
    first_line = Summary(study).headline
    assert first_line.startswith(f"These runs cannot tell yet what matters to elapsed time: {why}.")
    (finding,) = Summary(study).found.findings
    unclear = "whether tool matters to elapsed time cannot be told from these runs"
    assert finding.text == f"{unclear}: {why}"
    assert caution(study) == f"{why}: the two cannot be told apart"
    effect = Summary(study).as_json()["responses"][0]["effects"][0]
    assert effect["may_be_first_runs"] and not effect["matters"]
    assert not caution(in_this_order("xyx", 1.5))


def test_what_first_runs_surely_take_longer_hides_nothing() -> None:
    """y takes 20 % longer, and the first run of each block half as long again."""
    runs = slow_first_runs(in_this_order("xyxyxyyx", 1.2), 1.5)
    assert told(runs)
    (effect,) = Summary(runs).analysis.effects
    assert effect.size.low < 1.2 < effect.size.high < 1.25
    assert "comparisons are without that" in caution(runs)


def test_first_runs_that_are_surely_slower_are_told() -> None:
    text = caution(cold("12 combinations", 5, seed=3))
    assert "has 1.48 times (1.42 to 1.54) the elapsed time of the same run later" in text


def test_first_runs_of_two_studies_make_no_change() -> None:
    first, second = in_this_order("yyy", 1.0), in_this_order("xxx", 1.0)
    found = compare(slow_first_runs(first, 1.5), slow_first_runs(second, 1.5))
    assert not any(changed.certain for changed in found.combinations)


def one_combination(values: list[float]) -> Measured:
    runs = pd.DataFrame({"tool": "x", "elapsed_s": values, "status": "done", "reason": ""})
    runs["run"] = runs["order"] = runs["block"] = range(len(runs))
    return Measured(study_data.plan({"tool": ["x"]}, [], "elapsed_s"), runs)


def test_two_blocks_of_one_combination_show_no_change() -> None:
    """Of four runs dealt out to two studies, a third of all ways lie as far apart."""
    found = compare(one_combination([10, 10.1]), one_combination([20, 20.1]))
    assert "whether elapsed time changes on the average cannot be told" in found.headline
    found = compare(one_combination([10, 10.1, 10.2]), one_combination([20, 20.1, 20.3]))
    assert "rises to 1.99" in found.headline


def test_runs_that_are_alike_are_compared_without_a_word() -> None:
    """SciPy's test says "Precision loss" where all runs of a study take the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(one_combination([10, 10, 10]), one_combination([20, 21, 22]))
    # by hand: a mean of ln 21 ± 0.047665 / √3, and Student's quantile over two degrees, 4.3027
    low, high = (2.0984 * np.exp(sign * 4.3027 * 0.047665 / np.sqrt(3)) for sign in (-1, 1))
    assert found.overall.low == pytest.approx(low, rel=1e-3)
    assert found.overall.high == pytest.approx(high, rel=1e-3)


def first_in_each_block(measured: Measured, where: Mapping[str, Any]) -> Measured:
    """That combination goes first, and takes twice as long for it."""
    named = (measured.runs[list(where)] == pd.Series(where)).all(axis=1)
    runs = measured.runs.assign(order=measured.runs["order"] - 0.5 * named)
    runs.loc[named, "order"] = runs.groupby("block")["order"].transform("min") - 0.5
    runs = runs.sort_values("order").reset_index(drop=True)
    runs["order"] = runs["run"] = range(len(runs))
    return slow_first_runs(Measured(measured.plan, runs), 2.0)


def test_a_ratio_without_first_runs_says_so_beside_values_that_have_them() -> None:
    """Where y goes first in all blocks but one, the ratio is less what that takes longer."""
    (answer,) = evaluate(slow_first_runs(in_this_order("yyyyyyx", 1.3), 1.5))
    assert answer.evidence.endswith("without what first runs take longer")
    (answer,) = evaluate(in_this_order("xyx", 1.5))
    assert "first runs" not in answer.evidence


def test_two_effects_are_compared_without_what_first_runs_may_take_longer() -> None:
    """y takes 20 % longer with both targets, and goes first with b."""
    more = {"factor": "tool", "with": {"target": "b"}, "than": {"target": "a"}}
    levels = {**TOOL, "target": ["a", "b"]}
    asked = {"blocks": 3, "scatter": 0.01, "expect": [{"claim": "?", "matters_more": more}]}
    plain = study_data.study(levels, lambda w: 12.0 if w["tool"] == "y" else 10.0, **asked)
    (answer,) = evaluate(first_in_each_block(plain, {"tool": "y", "target": "b"}))
    assert answer.answer is Judgement.UNDECIDED
    far = study_data.study(levels, lambda w: 300.0 if w == {"tool": "y", "target": "b"} else 10.0)
    asked["expect"][0]["matters_more"] |= {"level": "y", "to": "x"}
    measured = Measured(plain.plan, first_in_each_block(far, {"tool": "x", "target": "a"}).runs)
    assert [one.answer for one in evaluate(measured)] == [Judgement.HELD]


def first_on_targets(blocks: str, slower: float = 1.0, warm_up: int = 0) -> Measured:
    """`blocks`: which size goes first on each of two targets in each; it takes 1.5 times as long
    for that, and size l takes `slower` times as long as the others."""
    random, rows = np.random.default_rng(2), []
    for block, first in enumerate(blocks):
        others = [size for size in "sml" if size != first]
        for place, size in enumerate([first, *others[:: 1 if block % 2 else -1]]):
            for target in "ab" if block % 2 else "ba":
                elapsed = 10 * (slower if size == "l" else 1) * (1 if place else 1.5)
                elapsed *= np.exp(random.normal(0, 0.01))
                where = {"size": size, "target": target}
                rows.append({"block": block, **where, "elapsed_s": elapsed})
    runs = pd.DataFrame(rows).assign(status="done", reason="")
    runs["run"] = runs["order"] = range(len(runs))
    plan = study_data.plan({"size": [*"sml"], "target": ["a", "b"]}, [], "elapsed_s")
    plan["study"]["warm_up"] = warm_up
    return Measured(plan, runs)


@pytest.mark.parametrize(("blocks", "warm_up", "so_it_is"), [("ss", 0, False), ("ss", 1, True)])
def test_what_goes_first_on_each_target_is_not_told_to_be_slower(
    blocks: str, warm_up: int, so_it_is: bool
) -> None:
    study = first_on_targets(blocks, warm_up=warm_up)
    assert told(study) is so_it_is
    if not so_it_is:
        why = "size s was the first on its target 4 of 4 times"
        texts = [finding.text for finding in Summary(study).found.findings]
        assert any(why in text for text in texts) and why in caution(study)


def test_what_first_runs_on_each_target_surely_take_longer_is_taken_out() -> None:
    study = first_on_targets("smlsmlsm", slower=1.2)
    (effect,) = [one for one in Summary(study).analysis.effects if one.factors == ("size",)]
    assert effect.matters and effect.size.low < 1.2 < effect.size.high < 1.23
    assert "the first run of a block on its target has 1.5" in caution(study)


def test_what_was_taken_out_is_known_no_better_than_it_is() -> None:
    """Size s goes first twice as often: what is left of it has the error of what was taken out."""
    table = first_on_targets("smslms").compared("elapsed_s")
    assert table.known_first_runs is not None
    exact = replace(table, known_first_runs=(UNKNOWN, UNKNOWN))
    wide, narrow = (analyse(one).find("size") for one in (table, exact))
    assert wide is not None and narrow is not None
    assert wide.size.high / wide.size.low > narrow.size.high / narrow.size.low
    assert wide.f < narrow.f


def test_a_first_run_overtakes_nobody() -> None:
    """x and y are alike until 2 ranks, and x is quicker from 4 on; with one rank and target a it
    goes first in each block."""

    def time_s(where: Mapping[str, Any]) -> float:
        slow = where["tool"] == "y" and where["ranks"] >= 4
        return 10.0 * (1.5 if slow else 1.0) * (1.4 if slow and where["target"] == "b" else 1.0)

    levels = {"ranks": [1, 2, 4, 8], **TOOL, "target": ["a", "b"]}
    plain = study_data.study(levels, time_s, blocks=3, scatter=0.02)
    where = {"ranks": 1, "tool": "x", "target": "a"}
    found = found_in(first_in_each_block(plain, where))
    assert not found.crossovers
    assert [(ahead.lead.first, ahead.lead.since) for ahead in found.leads] == [("x", 4)] * 2


def test_two_blocks_that_happen_to_be_alike_are_not_certain() -> None:
    """Beside eight that scatter by 5 % about what is 5 % more: Welch's test alone has p = 0.035."""
    many = [10.5 * (1.05 if block % 2 else 1 / 1.05) for block in range(8)]
    for pair in ([10, 10.01], many), (many, [10, 10.01]):
        assert not compare(*map(one_combination, pair)).overall.decided


def test_two_blocks_of_two_combinations_tell_nothing() -> None:
    assert not told(in_this_order("xy", 1.5))
    assert told(in_this_order("xyx", 1.5))


def test_no_combination_goes_first_in_every_block(tmp_path: Path) -> None:
    text = COMMAND.replace("repetitions = 3", "repetitions = 2")
    loaded = loader.load(write(tmp_path, text))
    every = design.combinations(loaded.study)
    for _ in range(60):
        made = design.Design(every, drawn(loaded))
        assert made.block(0)[0].combination != made.block(1)[0].combination


def with_exact_first_runs(table: Layout) -> Layout:
    assert table.known_first_runs is not None and table.known_first_runs[0].is_removed
    return replace(table, known_first_runs=(FirstRuns(0.0, 1e-12, 20.0),))


def test_a_ratio_is_known_no_better_than_what_was_taken_out() -> None:
    """As the runs of a level say, and what first runs take longer: their errors add up."""
    measured = slow_first_runs(in_this_order("xyxyxyyxyy", 1.2), 1.5)
    table = measured.compared("elapsed_s")
    known, shares = table.known_first_runs, table.firsts[0].mean(axis=1)
    assert known is not None and known[0].is_removed
    wide, narrow = (
        Family(curves(one, "tool")).compare(curves(one, "tool")[0], ratio("y", "x"))
        for one in (table, with_exact_first_runs(table))
    )
    more = (shares[1] - shares[0]) * known[0].error
    errors = [
        np.log(one.high / one.low) / 2 / stats.t.ppf(0.975, one.freedom) for one in (wide, narrow)
    ]
    assert more > 0 and errors[0] == pytest.approx(np.hypot(errors[1], more))
    assert wide.value == pytest.approx(narrow.value)


def test_a_crossover_is_known_no_better_than_what_was_taken_out() -> None:
    """y goes first with 8 ranks in seven of eight blocks, which takes twice as long."""

    def time_s(where: Mapping[str, Any]) -> float:
        return 10.0 * (where["ranks"] / 7) ** (-0.4 if where["tool"] == "y" else 0.0)

    levels = {"ranks": [1, 2, 4, 8, 16, 32], **TOOL}
    plain = study_data.study(levels, time_s, blocks=8, scatter=0.05)
    often = plain.runs["block"] < 7
    named = often & (plain.runs["tool"] == "y") & (plain.runs["ranks"] == 8)
    runs = plain.runs.assign(order=plain.runs["order"] - 100.0 * named)
    runs["order"] = runs.sort_values(["block", "order"]).groupby("block").cumcount() + (
        100 * runs["block"]
    )
    runs = runs.sort_values("order").reset_index(drop=True)
    runs["order"] = runs["run"] = range(len(runs))
    table = slow_first_runs(Measured(plain.plan, runs), 2.0).compared("elapsed_s")
    found = []
    for one in (table, with_exact_first_runs(table)):
        x, y = curves(one, "ranks")
        (crossing,), _ = overtaking(x, y, ("x", "y"))
        found.append(crossing)
    wide, narrow = found
    assert wide.at == pytest.approx(narrow.at)
    assert np.log(wide.high / wide.low) > 1.1 * np.log(narrow.high / narrow.low)
