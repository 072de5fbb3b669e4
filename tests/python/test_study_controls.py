"""A control target tells what is not the file system's doing; it competes with nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis import words
from tailrace.study.analysis.findings import FindingKind, StudyFinding
from tailrace.study.analysis.measured import Measured, factors_of
from tailrace.study.analysis.summary import Summary
from tailrace.study.report.facets import figures

from .study_cmaq import printed
from .study_data import study

LEVELS = {"nodes": [1, 2, 4, 8], "target": ["nfs", "striped", "disk"]}
# Seconds on one node; what ranks send each other is the same everywhere.
SECONDS = {"nfs": 4.0, "striped": 2.0, "disk": 0.1}
CONTROL = {"disk": {"control": True}, "nfs": {}, "striped": {}}


FROM = {"name": "source", "kind": "read_target", "levels": ["nfs", "disk"]}
TO = {"name": "target", "kind": "target", "levels": ["nfs", "disk"]}


def with_control(
    time_s: Callable[[Mapping[str, Any]], float] | None = None,
    targets: Mapping[str, Any] = CONTROL,
    **options: Any,
) -> Measured:
    measured = study(LEVELS, time_s or (lambda w: SECONDS[w["target"]]), **options)
    plan = {**measured.plan, "study": {**measured.plan["study"], "target": targets}}
    return Measured(plan, measured.runs)


def of_control(summary: Summary) -> list[StudyFinding]:
    return [one for one in summary.found.findings if one.kind is FindingKind.CONTROL]


def test_a_control_competes_with_nothing_and_its_share_is_told():
    summary = Summary(with_control(scatter=0.001))
    (found,) = of_control(summary)
    # 0.1 of 4.0 s on nfs is the least, 0.1 of 2.0 s on striped the most, to a scatter of 0.1 %
    assert found.text == (
        "writing to disk, the control, takes 2.5 % to 5.0 % of the elapsed time elsewhere, all else"
        " equal: so much at most is not the file system's doing"
    )
    assert re.search(r"writing to striped, [1248] nodes?; of typical times", found.evidence)
    assert summary.headline.startswith("Writing to nfs takes 2.00 times")
    assert "the control" in summary.headline
    others = [one for one in summary.found.findings if one is not found]
    assert not [one for one in others if "disk" in one.text]
    (target,) = [e for e in summary.analysis.effects if e.factors == ("target",)]
    assert 1.98 < target.size.value < 2.02


def test_where_the_control_takes_as_long_the_file_system_is_not_the_cause():
    slow = {"nfs": 4.0, "striped": 2.0, "disk": 3.0}
    summary = Summary(with_control(lambda w: slow[w["target"]], scatter=0.0001))
    (found,) = of_control(summary)
    assert "takes 75.0 % to 150 % of" in found.text
    assert found.text.endswith("where it takes as long, it is not the file system's doing")


def test_without_a_control_or_anything_else_all_is_compared():
    for targets in ({}, {name: {"control": True} for name in SECONDS}):
        summary = Summary(with_control(targets=targets, scatter=0.001))
        assert not of_control(summary)
        assert summary.rivals is summary.ran
        assert "disk" in summary.headline


RATE = {"rate": lambda where, elapsed: 100 / elapsed}


def test_a_share_is_of_time_alone():
    assert not of_control(Summary(with_control(response="rate", others=RATE)))


def test_only_combinations_that_both_have_are_set_against_each_other():
    measured = with_control(
        lambda w: SECONDS[w["target"]] * (9 if w["target"] == "disk" and w["nodes"] == 8 else 1),
        scatter=0.001,
    )
    lacking = (measured.runs["target"] != "disk") & (measured.runs["nodes"] == 8)
    runs = measured.runs[~lacking].reset_index(drop=True)
    (found,) = of_control(Summary(Measured(measured.plan, runs)))
    assert "takes 2.5 % to 5.0 % of" in found.text


def test_runs_of_a_control_that_end_badly_are_told():
    measured = with_control()
    runs = measured.runs.copy()
    bad = runs.index[runs["target"] == "disk"][:2]
    runs.loc[bad, ["status", "reason", "elapsed_s"]] = ["wrong", "differs", np.nan]
    summary = Summary(Measured(measured.plan, runs))
    first = summary.found.findings[0]
    assert first.kind is FindingKind.WRONG_DATA
    assert first.text.startswith("2 runs of 36 wrote wrong data, all of them when writing to disk")


def test_the_first_run_of_a_block_stays_so_where_it_was_the_controls():
    """Else the first of the others would count as slower for having been the first."""
    whole = with_control()
    assert Summary(whole).rivals.first_runs == whole.first_runs


def test_the_table_of_combinations_and_the_number_of_runs_have_the_control():
    summary = Summary(with_control())
    assert "36 runs of 12 combinations" in summary.facts
    text = printed(summary.study)
    assert "disk" in text.split("of each combination")[1]
    assert "Controls are not in it." in " ".join(text.split())


def test_a_statement_is_not_of_the_control_unless_it_names_it():
    """The servers take as long on any number of nodes. The disk takes an eighth on eight nodes, and
    must not make "the number of nodes does not matter" false."""
    flat = {"does_not_matter": {"factor": "nodes", "within": 0.1}}
    expect = [
        {"claim": "averaged"} | flat,
        {"claim": "everywhere", "everywhere": True} | flat,
        {"claim": "of a list", "where": {"target": ["nfs", "striped", "disk"]}} | flat,
        {"claim": "of the disk", "where": {"target": "disk"}} | flat,
        {"claim": "faster", "faster": {"factor": "target", "level": "disk", "than": "nfs"}},
    ]
    answers = Summary(
        with_control(
            lambda w: SECONDS[w["target"]] / (w["nodes"] if w["target"] == "disk" else 1),
            scatter=0.001,
            expect=expect,
        )
    ).answers
    assert {one.claim: str(one.answer) for one in answers} == {
        "averaged": "held",
        "everywhere": "held",
        "of a list": "not held",
        "of the disk": "not held",
        "faster": "held",
    }


def test_what_is_read_is_not_said_to_be_written():
    """Where the study is about input, unless it says by another factor where it reads."""
    read = {"input_s": lambda where, elapsed: elapsed}
    summary = Summary(with_control(response="input_s", others=read, scatter=0.001))
    assert summary.headline.startswith("Reading from nfs takes 2.00 times")
    (found,) = of_control(summary)
    assert found.text.startswith(
        "reading from disk, the control, takes 2.5 % to 5.0 % of the input"
    )
    told = " ".join(printed(summary.study).split())
    assert "writing to" not in told and "where it writes" not in told


def test_it_is_where_another_factor_says_where_it_reads():
    plan = {"response": "input_s", "factors": [FROM, TO]}
    assert [words.named(factor, "nfs") for factor in factors_of(plan)] == [
        "reading from nfs",
        "writing to nfs",
    ]


def test_ideal_scaling_is_that_of_the_best_target_that_competes():
    """The disk takes 0.1 s on one rank and is no rival; striped, with 2 s, is the best one."""
    measured = study(
        {"ranks": [1, 2, 4], "target": list(SECONDS)}, lambda w: SECONDS[w["target"]], scatter=0.001
    )
    plan = {**measured.plan, "study": {**measured.plan["study"], "target": CONTROL}}
    drawn = figures(Summary(Measured(plan, measured.runs)))[0]
    (facet,) = drawn.facets
    assert facet.ideal_name == "ideal scaling from the best line (writing to striped) at 1 rank"
    assert 1.98 < facet.ideal[0][1] < 2.02
    assert len(facet.lines) == 3
