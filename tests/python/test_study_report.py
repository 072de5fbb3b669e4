"""What a study's report says: expectations, findings, warnings; in the terminal, as JSON, on a
page; two studies."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from tailrace.errors import TailraceError
from tailrace.study.analysis import comparison, words
from tailrace.study.analysis.expect import evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.report import comparison as comparison_report
from tailrace.study.report import page as report_page
from tailrace.study.report import text as report_text

from .chromium import open_page
from .study_cmaq import cmaq, printed, recording, typical
from .study_data import study

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"


# --- expectations

REMOTE = {"target": "remote", "size": "s"}
TURNS = {"factor": "ranks", "level": 2}
ANSWERS = [
    ({"rises_beyond": TURNS, "where": REMOTE}, "held"),
    ({"rises_beyond": TURNS, "where": {"target": "local"}}, "not held"),
    ({"falls_until": {"factor": "ranks", "level": 8}, "where": {"target": "local"}}, "held"),
    ({"falls_until": {"factor": "ranks", "level": 8}, "where": REMOTE}, "not held"),
    ({"does_not_matter": {"factor": "read_target"}}, "held"),
    ({"does_not_matter": {"factor": "target"}}, "not held"),
    ({"matters": {"factor": "target"}}, "held"),
    ({"matters": {"factor": "read_target"}}, "not held"),
    ({"faster": {"factor": "target", "level": "local", "than": "remote", "by": 1.5}}, "held"),
    ({"faster": {"factor": "target", "level": "local", "than": "remote", "by": 5}}, "not held"),
    ({"faster": {"factor": "target", "level": "remote", "than": "local"}}, "not held"),
    (
        {
            "faster": {"factor": "target", "level": "local", "than": "remote"},
            "response": "write_rate_mb_per_s",
        },
        "held",
    ),
    ({"flat_beyond": {"factor": "ranks", "level": 4}, "where": {"target": "local"}}, "not held"),
    (
        {
            "flat_beyond": {"factor": "ranks", "level": 4, "within": 9.0},
            "where": {"target": "local"},
        },
        "held",
    ),
    ({"share": {"of": "elapsed_s", "low": 0.15, "high": 0.25}, "response": "create_s"}, "held"),
    ({"share": {"of": "elapsed_s", "low": 0.25, "high": 0.35}, "response": "create_s"}, "not held"),
    ({"scales": {"factor": "ranks", "exponent_at_least": 0.3}, "where": REMOTE}, "not held"),
    (
        {"scales": {"factor": "ranks", "exponent_at_least": -1.0}, "where": {"target": "local"}},
        "held",
    ),
]


@pytest.mark.parametrize(("given", "answer"), ANSWERS)
def test_what_is_certain_is_held_or_not(given, answer):
    (found,) = evaluate(cmaq([{"claim": "as planted", **given}]))
    assert found.answer == answer, found.evidence
    assert re.search(r"\d", found.evidence) and found.runs > 0


UNCERTAIN = [
    {"rises_beyond": TURNS},
    {"falls_until": {"factor": "ranks", "level": 4}},
    {"does_not_matter": {"factor": "target"}},
    {"matters": {"factor": "target"}},
    {"faster": {"factor": "target", "level": "local", "than": "remote"}},
    {"flat_beyond": {"factor": "ranks", "level": 2, "within": 0.02}},
    {"scales": {"factor": "ranks", "exponent_at_least": 0.01}},
]


@pytest.mark.parametrize("given", UNCERTAIN)
def test_noise_decides_nothing(given):
    """Runs that scatter by 40 % around the same time."""
    levels = {"ranks": [1, 2, 4, 8], "target": ["local", "remote"]}
    (found,) = evaluate(
        study(levels, lambda where: 9.0, scatter=0.4, seed=3, expect=[{"claim": "?", **given}])
    )
    assert found.answer == "undecided", found.evidence


@pytest.mark.parametrize("given", [given for given, _ in ANSWERS])
def test_without_runs_everything_is_undecided(given):
    measured = cmaq([{"claim": "?", **given}])
    failed = Measured(
        measured.plan, measured.runs.assign(status="failed", reason="no space left on device")
    )
    assert [answer.answer for answer in evaluate(failed)] == ["undecided"]
    said = "96 runs of 96 failed (most often: no space left on device)"
    assert said in Summary(failed).headline


def test_an_expectation_is_hardly_ever_held_by_chance():
    """Nothing rises: of 100 studies about 2.5 are said to, one side of the 5 %."""
    given = {"claim": "it rises", "rises_beyond": {"factor": "ranks", "level": 1}}
    levels = {"ranks": [1, 2, 4], "target": ["a", "b"]}
    studies = (
        study(levels, lambda where: 5.0, scatter=0.05, seed=seed, expect=[given])
        for seed in range(100)
    )
    assert sum(evaluate(measured)[0].answer == "held" for measured in studies) <= 8


# --- words


def findings(measured: Measured) -> str:
    return said(Summary(measured))


def said(summary: Summary) -> str:
    return "\n".join(f"{finding.kind}: {finding.text}" for finding in summary.found.findings)


def test_findings_say_what_the_document_said():
    found = said(typical())
    assert (
        "trend: writing to remote, size s: elapsed time falls until 2 ranks and rises beyond"
        in found
    )
    assert (
        "trend: writing to remote, size l: elapsed time falls until 4 ranks and rises beyond"
        in found
    )
    assert (
        "trend: writing to local: elapsed time falls until 8 ranks, the most that was tried"
        in found
    )
    everywhere = "on the average of everything else, where it reads does not matter to elapsed"
    assert f"no effect: {everywhere} time" in found


def test_the_first_line_is_the_answer():
    text = printed(cmaq([{"claim": "it rises", "where": REMOTE, "rises_beyond": TURNS}]))
    first = text.splitlines()[0]
    assert first.startswith("Writing to local: elapsed time falls until 8 ranks, the most")
    assert first.endswith("The expectation held.")


def test_the_first_line_names_the_largest_effect():
    """size takes 5 times, the method 1.5 times, ranks 1.2 times."""
    measured = study(
        {"ranks": [1, 2, 4], "method": ["a", "b"], "size": ["s", "l"]},
        lambda w: (
            (5 if w["size"] == "l" else 1)
            * (1.5 if w["method"] == "b" else 1)
            * {1: 1.0, 2: 1.1, 4: 1.2}[w["ranks"]]
        ),
    )
    first = Summary(measured).headline
    assert re.match(
        r"Size l takes \d\.\d+ times \(.*\) the elapsed time of size s\. B takes", first
    )


def test_a_crossover_is_told():
    levels = {"ranks": [2, 4, 8, 16, 32], "method": ["serial", "collective"]}
    measured = study(
        levels,
        lambda w: 10.0 if w["method"] == "serial" else 10 * (12 / w["ranks"]) ** 0.6,
        blocks=5,
    )
    assert re.search(
        r"crossover: serial beats collective below 1[12]\.\d ranks \(95 % interval 1\d\.\d to",
        findings(measured),
    )


def test_bad_runs_are_told_with_what_they_have_in_common():
    measured = cmaq()
    runs = measured.runs.copy()
    bad = runs.index[(runs["target"] == "remote") & (runs["ranks"] == 8)][:3]
    runs.loc[bad, ["status", "reason"]] = [
        "wrong",
        "history.nc: TA, step 3: its fingerprint differs",
    ]
    changed = Measured(measured.plan, runs)
    assert (
        "wrong data: 3 runs of 96 wrote wrong data, all of them with 8 ranks when writing to remote"
        in findings(changed)
    )
    assert Summary(changed).headline.startswith("3 runs of 96 wrote wrong data")


def test_runs_that_have_no_ratio_are_told():
    """Ten of 96 are more than a tenth, and belong into the first line; two are told."""
    measured = cmaq()
    remote = measured.runs.index[measured.runs["target"] == "remote"]
    for number, first in ((10, True), (2, False)):
        runs = measured.runs.copy()
        runs.loc[remote[:number], "elapsed_s"] = [0.0] * (number - 1) + [-1.0]
        changed = Measured(measured.plan, runs)
        said = f"{number} runs of 96 gave 0 or less as elapsed time"
        assert f"{said}, all of them when writing to remote" in findings(changed)
        assert (said in Summary(changed).headline) is first
    assert "0 or less" not in findings(measured)


def test_the_terminal_report_is_whole():
    text = printed_of(typical())
    for heading in (
        "Findings",
        "What matters to elapsed time",
        "Speedup over 1 rank",
        "Elapsed time of each",
    ):
        assert heading in text
    assert re.search(r"ideal +2\.00 +4\.00 +8\.00", text)


@pytest.mark.parametrize("blocks", [1, 2])
def test_few_blocks_are_reported_without_intervals_that_are_not_there(blocks):
    text = printed(cmaq(blocks=blocks))
    assert "too few runs" in text
    if blocks == 1:
        assert "cannot be told" in text and "falls until" not in text


@pytest.mark.parametrize(
    "levels", [{"method": ["serial", "collective"]}, {"ranks": [4]}, {"ranks": [2, 4]}]
)
def test_small_studies_are_reported_too(levels):
    measured = study(levels, lambda where: 3.0, blocks=3)
    assert printed(measured) and "<svg" in report_page.render(Summary(measured))


# --- JSON


def valid(answer: dict, name: str) -> None:
    text = json.dumps(answer, allow_nan=False)
    jsonschema.validate(json.loads(text), json.loads((SCHEMAS / name).read_text("utf-8")))


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_json_is_as_its_schema_says(blocks):
    answer = Summary(
        cmaq([{"claim": "as planted", **given} for given, _ in ANSWERS], blocks=blocks)
    ).as_json()
    valid(answer, "study-report.json")
    assert [response["column"] for response in answer["responses"]][:2] == ["elapsed_s", "system_s"]
    assert len(answer["responses"][0]["combinations"]) == 32


# --- two studies


def test_a_change_between_two_studies_is_found():
    """The second is 1.3 times as slow when writing to remote, and otherwise the same."""
    first, second = cmaq(seed=1), slower(cmaq(seed=2))
    found = comparison.compare(first, second)
    by_level = {(name, level): estimate for name, level, estimate in found.by_level}
    assert by_level["target", "remote"].value == pytest.approx(1.3, rel=0.03)
    assert by_level["target", "local"].value == pytest.approx(1.0, rel=0.03)
    changed = [change for change in found.combinations if change.certain]
    assert changed and all(change.where["target"] == "remote" for change in changed)
    valid(comparison.as_json(found), "study-comparison.json")


def slower(measured: Measured) -> Measured:
    factor = np.where(measured.runs["target"] == "remote", 1.3, 1.0)
    return Measured(
        measured.plan, measured.runs.assign(elapsed_s=measured.runs["elapsed_s"] * factor)
    )


def test_the_same_twice_has_changed_nowhere():
    found = comparison.compare(cmaq(seed=1), cmaq(seed=2))
    assert not any(change.certain for change in found.combinations)
    assert "is the same in both within 5 %" in found.headline


def test_one_combination_that_changed_is_not_hidden_by_the_average():
    levels = {"ranks": [1, 2, 4, 8], "target": ["a", "b"], "method": ["x", "y", "z"]}
    odd = {"ranks": 4, "target": "b", "method": "y"}
    first = study(levels, lambda where: 10.0, blocks=5, scatter=0.01, seed=1)
    second = study(
        levels, lambda where: 18.0 if where == odd else 10.0, blocks=5, scatter=0.01, seed=2
    )
    headline = comparison.compare(first, second).headline
    assert headline.startswith("On the average, elapsed time is the same in both within 5 %")
    assert headline.endswith("1 of 24 combinations changed for certain.")


def test_two_studies_on_a_page_and_in_the_terminal(tmp_path):
    found = comparison.compare(cmaq(seed=1), slower(cmaq(seed=2)))
    out = recording()
    comparison_report.print_comparison(found, out)
    assert (
        out.export_text()
        .splitlines()[0]
        .startswith("From synthetic to synthetic, elapsed time changes by +14")
    )
    assert "most when writing to remote: 1.3" in found.headline
    page = tmp_path / "two.html"
    text = comparison_report.render(found)
    page.write_text(text, "utf-8")
    assert open_page(page).errors == []
    # 32 combinations, those that changed ringed; a chart for each of the four factors
    assert text.count('<circle class="dot') == 32 and 'hue-2 front"' in text
    assert text.count("<figcaption>") == 4


def test_studies_in_different_units_are_not_compared():
    def printed_in(unit: str) -> Measured:
        times = {"response": "t", "others": {"t": lambda where, elapsed_s: elapsed_s}}
        measured = study({"tool": ["x", "y"]}, lambda where: 10.0, **times)
        said = {"responses": {"t": {"words": "wait", "unit": unit, "better": "less"}}}
        return replace(measured, plan={**measured.plan, "study": said})

    comparison.compare(printed_in("s"), printed_in("s"))
    with pytest.raises(TailraceError, match="have t in different units: s and ms"):
        comparison.compare(printed_in("s"), printed_in("ms"))


def test_studies_of_different_factors_are_not_compared():
    other = study({"method": ["a", "b"], "ranks": [1, 2]}, lambda where: 1.0)
    with pytest.raises(TailraceError, match="only one of the two studies varies"):
        comparison.compare(cmaq(), other)
    with pytest.raises(TailraceError, match="no combination in common"):
        comparison.compare(
            study({"ranks": [1, 2]}, lambda where: 1.0), study({"ranks": [4, 8]}, lambda where: 1.0)
        )


@pytest.mark.parametrize(
    ("levels", "hint"),
    [
        (
            {"code": ["x", "y"], "n": [1, 2]},
            "tool and code have the same levels: if they are one factor, give it one name",
        ),
        (
            {"tool": ["x", "y"], "n": ["1", "2"]},
            "the levels of n are numbers in one study and texts in the other: write them alike",
        ),
        ({"code": ["z", "y"], "n": [1, 2]}, "compare studies of the same factors"),
    ],
)
def test_what_may_be_the_same_factor_is_said(levels, hint):
    first = study({"tool": ["x", "y"], "n": [1, 2]}, lambda where: 1.0)
    with pytest.raises(TailraceError) as refused:
        comparison.compare(first, study(levels, lambda where: 1.0))
    assert refused.value.hint == hint


# --- speed


COMMON_LEVELS = {
    "ranks": [1, 2, 4, 8, 16],
    "target": [*"abcde"],
    "size": [*"abcd"],
    "method": [*"abcde"],
}
MANY_LEVELS = {"ranks": [*range(1, 61)], "chunk": [*range(1, 56)]}


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.measured("the processor time of a report")
@pytest.mark.parametrize(
    ("levels", "blocks"), [(COMMON_LEVELS | {"read_target": [*"xy"]}, 10), (MANY_LEVELS, 3)]
)
def test_ten_thousand_runs_are_reported_in_ten_seconds(levels, blocks):
    """Many combinations of some levels, or of many; seven responses: text, JSON and page."""
    others = {
        name: lambda where, elapsed: elapsed
        for name in ("user_s", "system_s", "write_s", "read_s", "output_s")
    }
    rows = [{"claim": "?", "rises_beyond": TURNS}]
    measured = study(
        levels, lambda where: 9.0 / where["ranks"], blocks=blocks, others=others, expect=rows
    )
    assert len(measured.runs) >= 9_900
    begin = time.process_time()  # what else runs on this machine does not count
    summary = Summary(measured)
    assert (
        printed_of(summary)
        and len(report_page.render(summary)) < 5_000_000
        and json.dumps(summary.as_json())
    )
    assert time.process_time() - begin <= 10


def printed_of(summary: Summary) -> str:
    out = recording()
    report_text.print_study(summary, out)
    return out.export_text()


def test_levels_that_pandas_read_from_parquet_are_found(tmp_path):
    """Integers become numpy's, texts become pandas' strings; both are levels all the same."""
    measured = cmaq()
    measured.runs.to_parquet(tmp_path / "runs.parquet")
    again = Measured(measured.plan, pd.read_parquet(tmp_path / "runs.parquet"))
    assert again.table("elapsed_s").logs == pytest.approx(measured.table("elapsed_s").logs)


# --- whatever a study has come to so far


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_study_that_is_under_way_is_reported(seed):
    """The first runs of it, of which some failed, in their order."""
    random = np.random.default_rng(seed)
    measured = cmaq([{"claim": "?", **given} for given, _ in ANSWERS], seed=seed)
    runs = measured.runs.head(int(random.integers(0, 90))).copy()
    failed = random.random(len(runs)) < 0.2
    runs.loc[failed, "status"] = random.choice(["failed", "timeout", "wrong"], failed.sum())
    runs.loc[failed, ["elapsed_s", "system_s", "create_s"]] = np.nan
    summary = Summary(Measured(measured.plan, runs))
    assert printed_of(summary) and report_page.render(summary)
    valid(summary.as_json(), "study-report.json")


def test_two_by_two_by_three_can_matter():
    """Twelve runs have too few different exchanges of levels: F decides."""
    measured = study(
        {"method": ["a", "b"], "target": ["x", "y"]},
        lambda where: 2.0 if where["method"] == "a" else 3.0,
    )
    assert "effect: b takes 1.49 times" in findings(measured)


def test_the_machine_is_warned_of():
    measured = cmaq()
    there = {
        "cores": 2,
        "load_average": [3.5, 1.0, 0.5],
        "memory_bytes": 25 * 10**9,
        "written_unix_s": 0.0,
    }
    kinds = {
        caution.kind: caution.text
        for caution in Summary(Measured(measured.plan, measured.runs, there)).cautions
    }
    assert "with 4 and 8 ranks on 2 cores" in kinds["more ranks than cores"]
    assert "load average 3.5 on 2 cores" in kinds["busy machine"]
    text = report_page.render(Summary(Measured(measured.plan, measured.runs, there)))
    assert "<th>memory</th><td>25.0 GB</td>" in text and "1970-01-01 00:00 UTC" in text


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [{"elapsed_s": 0.0}, {"elapsed_s": np.nan}, {"elapsed_s": 4.0}])
def test_a_response_that_says_nothing_is_reported(numbers):
    """All zero, none at all, or all the same."""
    measured = cmaq([{"claim": "?", **given} for given, _ in ANSWERS])
    summary = Summary(Measured(measured.plan, measured.runs.assign(**numbers)))
    assert printed_of(summary) and report_page.render(summary)
    valid(summary.as_json(), "study-report.json")
    without = Summary(Measured(measured.plan, measured.runs.drop(columns="elapsed_s")))
    assert printed_of(without)


def test_nodes_are_counted_as_people_count_them():
    measured = study({"nodes": [1, 2, 4, 8], "ranks_per_node": [1, 2]}, lambda w: w["nodes"])
    text = Summary(measured).headline
    assert "elapsed time rises from 1 node on" in text[:1].lower() + text[1:]
    assert words.subject(measured.factor("ranks_per_node")) == "the number of ranks per node"
