"""Fractions of designs, levels of several arguments, runs that are made again, warm-up runs, and
programs that change between runs."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tailrace
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.definition import loader
from tailrace.study.definition.design import combinations

from . import simulated_fractions
from .simulated_fractions import PLANTED
from .study_data import plan
from .study_files import lines, study, write

TWENTY = {f"f{number}": ["off", "on"] for number in range(20)}


def file_of(folder: Path, fraction: str, factors: dict[str, list[str]]) -> Path:
    tables = "\n".join(f"[factor.{name}]\nlevels = {levels}" for name, levels in factors.items())
    words = ", ".join(f'"{{{name}}}"' for name in factors)
    text = f"""schema = 1
name = "mine"
description = "Many factors."
[run]
command = ["true", {words}]
launcher = "none"
[fraction]
{fraction}
{tables}
"""
    return write(folder, text)


@pytest.mark.parametrize(
    ("fraction", "runs"), [("resolution = 4", 64), ("resolution = 3", 32), ("screening = true", 24)]
)
def test_twenty_factors_can_be_studied(tmp_path, fraction, runs):
    loaded = loader.load(file_of(tmp_path, fraction, TWENTY))
    found = combinations(loaded.study)
    assert len(found) == runs
    signs = np.array([[row[name] == "on" for name in TWENTY] for row in found]) * 2.0 - 1
    assert np.allclose(signs.T @ signs, runs * np.eye(20))  # factors can be told apart


def measured(tmp_path, fraction, effect, factors=TWENTY, seed=1) -> Measured:
    """Three blocks of the design, with what `effect` says of a combination."""
    loaded = loader.load(file_of(tmp_path, fraction, factors))
    places = combinations(loaded.study)
    random = np.random.default_rng(seed)
    rows = [
        {
            "run": number,
            "block": block,
            "order": number,
            **where,
            "elapsed_s": 10 * effect(where) * np.exp(random.normal(0, 0.03)),
        }
        for number, (block, where) in enumerate(itertools.product(range(3), places))
    ]
    runs = pd.DataFrame(rows).assign(status="done", reason="")
    asked = plan(factors, [], "elapsed_s")
    given = loaded.study.model_dump(mode="json", by_alias=True)["fraction"]
    return Measured(asked | {"study": {"expect": [], "fraction": given}}, runs)


@pytest.mark.parametrize("fraction", ["resolution = 4", "screening = true"])
def test_the_factors_that_matter_are_found_among_twenty(tmp_path, fraction):
    def effect(where):
        return 1.5 ** (where["f3"] == "on") * 1.3 ** (where["f17"] == "on")

    found = Summary(measured(tmp_path, fraction, effect)).found
    kinds = {kind: [f.text for f in found.findings if f.kind == kind] for kind in ("effect",)}
    assert [text.split()[0] for text in kinds["effect"]] == ["f3", "f17"]
    assert not [finding for finding in found.findings if finding.kind == "interaction"]


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("resolution 3, 6 factors", "F3, f0 × f1, f4 × f5 or an interaction of three matters: wit"),
        ("resolution 4, 6 factors", "F0 × f1, f2 × f4 or f3 × f5 matters: the ratio of f0 on to "),
        ("resolution 5, 6 factors", "What f0 does depends on f1: the ratio of on to off is 1.94"),
        ("screening, 11 factors", " or interactions of other factors matter: with f"),
    ],
)
def test_what_a_fraction_mixes_up_is_named_with_all_that_it_may_be(design, said):
    summary = Summary(simulated_fractions.measured(design, PLANTED["an interaction"], 1))
    assert said in summary.headline
    assert not any(
        finding.kind == "no effect" and finding.text.startswith(("f0 ", "f1 "))
        for finding in summary.found.findings
    )


@pytest.mark.parametrize(
    ("design", "hedged"), [("resolution 4, 6 factors", True), ("resolution 5, 6 factors", False)]
)
def test_a_factor_that_three_others_may_look_like_is_told_with_them(design, hedged):
    """In the one design f2 cannot be told from f0 × f1 × f3 …; in the other it can."""
    summary = Summary(simulated_fractions.measured(design, PLANTED["a factor"], 1))
    (told,) = [one.text for one in summary.found.findings if one.kind == "effect"]
    assert told.startswith("f2 on takes ")
    assert (" off, unless three others act together" in told) is hedged


def test_what_an_interaction_may_hide_is_not_said_not_to_matter():
    hidden = {("f3",): 0.26, ("f0", "f1"): -0.52}
    summary = Summary(simulated_fractions.measured("resolution 3, 6 factors", hidden, 1))
    (f3,) = [f.text for f in summary.found.findings if " f3 does not matter" in f.text]
    assert f3.startswith("unless an interaction hides it, ")


@pytest.mark.parametrize(
    ("design", "asked", "answer"),
    [
        ("resolution 3, 6 factors", {}, "undecided"),
        ("resolution 4, 6 factors", {}, "held"),
        ("resolution 4, 6 factors", {"where": {"f0": "on"}}, "undecided"),
        ("resolution 5, 6 factors", {"where": {"f0": "on"}}, "held"),
        ("resolution 5, 6 factors", {"everywhere": True}, "undecided"),
        ("screening, 11 factors", {}, "undecided"),
    ],
)
def test_a_fraction_decides_only_what_it_can_tell(design, asked, answer):
    faster = {"factor": "f2", "level": "off", "than": "on"}
    expect = [{"claim": "Off is faster.", "faster": faster, **asked}]
    study = simulated_fractions.measured(design, {("f2",): 0.5}, 1, expect=expect)
    (found,) = Summary(study).answers
    assert str(found.answer) == answer
    assert ("from interactions of other factors" in found.evidence) == (answer == "undecided")


@pytest.mark.parametrize(
    ("design", "asked", "hedged"),
    [
        ("resolution 4, 6 factors", {}, True),
        ("resolution 5, 6 factors", {}, False),
        ("resolution 5, 6 factors", {"where": {"f0": "on"}}, True),
    ],
)
def test_what_three_factors_together_would_look_like_is_held_unless_they_do(design, asked, hedged):
    """f0 × f1 × f2 looks like f4 in resolution 4, which does nothing itself."""
    faster = {"factor": "f4", "level": "off", "than": "on"}
    expect = [{"claim": "Off is faster.", "faster": faster, **asked}]
    planted = {("f0", "f1", "f2"): 0.67} if "4" in design else {("f4",): 0.3}
    (found,) = Summary(simulated_fractions.measured(design, planted, 1, expect=expect)).answers
    assert str(found.answer) == "held"
    assert found.evidence.endswith("; unless three others act together") == hedged


@pytest.mark.whole
def test_few_fractions_without_effect_are_said_to_have_one(tmp_path):
    summaries = [
        Summary(measured(tmp_path, "screening = true", lambda where: 1.0, seed=seed))
        for seed in range(40)
    ]
    bad = [s for s in summaries if any(e.matters for e in s.analysis.effects)]
    assert len(bad) <= 6


# --- what a study runs

ARGUMENTS = """\
schema = 1
name = "mine"
description = "Levels of several arguments."
repetitions = 2
warm_up = 1

[run]
command = ["./say", "EXECUTED", "{flags}", "{effort}"]
launcher = "none"
output_pattern = "words: (?P<words>[0-9]+)"

[factor.flags]
levels = ["none", "both"]
arguments = [[], ["-a", "-b c"]]

[factor.tool]
levels = ["gzip", "zstd"]

[factor.effort]
levels = ["little", "much"]
by = "tool"
arguments.gzip = ["-1", "-9"]
arguments.zstd = ["-3", ["--ultra", "-22"]]
"""
SAY = '#!/bin/sh\nfile=$1; shift\nprintf "%s|" "$@" >>"$file"; echo >>"$file"\necho words: $#\n'


@pytest.fixture
def started(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    say = tmp_path / "say"
    say.write_text(SAY)
    say.chmod(0o755)
    assert study("run", write(tmp_path, ARGUMENTS), "-o", "out", "--no-report").exit_code == 0
    return tmp_path


def test_levels_are_several_arguments_or_none_and_depend_on_others(started):
    runs = tailrace.open_study("out").runs
    number = runs.groupby(["flags", "tool", "effort"])["words"].first().to_dict()
    assert number["none", "gzip", "much"] == 1 and number["both", "zstd", "much"] == 4
    executed = (started / "executed").read_text().splitlines()
    assert "-a|-b c|--ultra|-22|" in executed and "-1|" in executed
    # a warm-up run before each of the two blocks
    assert len(executed) == 16 + 2 and len(runs) == 16


def test_a_run_is_made_again_and_its_first_result_is_kept_in_the_file(started):
    assert study("run", "out", "--redo", 3, "--no-report").exit_code == 0
    runs = tailrace.open_study("out").runs
    assert sorted(runs["run"]) == list(range(16)) and runs["run"].iloc[-1] == 3
    assert runs["order"].is_unique
    assert [line["run"] for line in lines(started / "out")].count(3) == 3
    failed = study("run", "out", "--redo", 99)
    assert failed.exit_code == 2 and "has no run 99" in failed.stderr


def test_a_program_that_was_built_again_is_noticed(started):
    (started / "say").write_text(SAY + "# built again\n")
    again = study("run", "out", "--redo", 3, "--no-report")
    assert "the program has changed: run 3 is of another one" in again.stderr
    found = {caution.kind: caution for caution in tailrace.open_study("out").report.cautions}
    assert found["program has changed"].runs == (3,)


def test_columns_are_plain_numbers(started):
    runs = tailrace.open_study("out").runs
    kinds = {str(kind) for kind in runs.dtypes}
    assert kinds <= {"int64", "float64", "object", "bool"}
    assert str(runs["run"].dtype) == "int64"
    again = pd.read_parquet(started / "out" / "runs.parquet")
    assert str(again["bytes_written"].dtype) == "float64"
