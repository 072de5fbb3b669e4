"""Studies that simulate: what is simulated is what arithmetic says, is marked wherever it is shown,
and is never taken for a run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result

import tailrace

from ..predict.test_model import toml
from ..predict.test_simulate import WORKLOAD
from .bench_runs import Bench
from .study_files import lines, study, write
from .test_report import check_schema

# By `serial` one rank opens one file, by `file-per-rank` each its own. Only opening takes time, on
# `slow` ten times as long as on `fast`, and by a fifth more or less.
STUDY = """\
schema = 1
name = "mine"
description = "Two methods on two file systems."
repetitions = 3
[run]
workload = "small.toml"
format = "posix"
ranks = 4
step_seconds = 0
[factor.method]
levels = ["serial", "file-per-rank"]
[factor.target]
levels = ["fast", "slow"]
[target.fast]
simulate = "fast.toml"
[target.slow]
simulate = "slow.toml"
[[expect]]
claim = "Fast is faster."
faster = { factor = "target", level = "fast", than = "slow" }
[[expect]]
claim = "Slow is faster."
faster = { factor = "target", level = "slow", than = "fast" }
[[expect]]
claim = "One file is no slower than four."
faster = { factor = "method", level = "serial", than = "file-per-rank" }
"""


def model(name: str, open_s: float, spread: float = 0.2) -> str:
    low, high = open_s * (1 - spread), open_s * (1 + spread)
    return toml(name=name, open=f"{{ value = {open_s}, low = {low}, high = {high} }}")


def placed(folder: Path, text: str = STUDY, spread: float = 0.2) -> Path:
    (folder / "small.toml").write_text(WORKLOAD)
    (folder / "fast.toml").write_text(model("quick", 0.1, spread))
    (folder / "slow.toml").write_text(model("tardy", 1.0, spread))
    return write(folder, text)


def made(folder: Path, text: str = STUDY, *more: object, spread: float = 0.2) -> tailrace.Study:
    result = study("run", placed(folder, text, spread), "-o", folder / "out", *more)
    assert result.exit_code == 0, result.output
    return tailrace.open_study(folder / "out")


def sentence(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert "hint:" in result.output and "Traceback" not in result.output
    return " ".join(result.output.split())


def test_each_combination_is_simulated_once(tmp_path: Path) -> None:
    runs = made(tmp_path).runs
    assert len(runs) == 4 and set(runs["status"]) == {"simulated"}
    times = runs.set_index(["method", "target"])
    # messages take microseconds beside an open
    found = times.loc[("serial", "slow")]
    assert found["elapsed_s"] == pytest.approx(1.0, rel=1e-3)
    assert found["simulated_low_s"] == pytest.approx(0.8, rel=1e-3)
    assert found["simulated_high_s"] == pytest.approx(1.2, rel=1e-3)
    assert found["simulated_on"] == "tardy" and found["simulated_together"] == 1
    told = json.loads((tmp_path / "out" / "runs" / "000000" / "simulated.json").read_text())
    assert told["model"] in ("quick", "tardy") and len(told["interval_s"]) == 2
    assert times.loc[("serial", "fast"), "elapsed_s"] == pytest.approx(0.1, rel=1e-2)
    assert runs["user_s"].isna().all() and runs["bytes_written"].isna().all()
    for line in lines(tmp_path / "out"):
        check_schema(line, "study-run.json")


def test_the_tables_say_that_nothing_was_run(tmp_path: Path) -> None:
    made(tmp_path)
    table = pd.read_csv(tmp_path / "out" / "runs.csv")
    assert set(table["status"]) == {"simulated"}
    assert set(table["simulated_on"]) == {"quick", "tardy"}


def test_claims_and_numbers_are_said_to_be_simulated(tmp_path: Path) -> None:
    opened = made(tmp_path)
    answers = opened.report.answers
    assert [str(answer.answer) for answer in answers] == ["held", "not held", "undecided"]
    assert {str(answer.simulated) for answer in answers} == {"all"}
    # 1 s over 0.1 s, each a fifth more or less, each in its own way
    gain = answers[0].estimate
    assert gain is not None and gain.value == pytest.approx(10, rel=1e-2)
    assert (gain.low, gain.high) == (
        pytest.approx(10 * 0.8 / 1.2, rel=1e-2),
        pytest.approx(10 * 1.2 / 0.8, rel=1e-2),
    )
    assert math.isnan(gain.p)
    shown = study("report", tmp_path / "out").output
    assert shown.count("(simulated)") >= 3
    assert "simulated, on quick and tardy" in " ".join(shown.split())
    first, facts = shown.splitlines()[:2]
    assert "simulated on quick and tardy" in first, first
    assert "all of them rest on simulated times" in first
    assert "0 runs of 4 combinations" in facts and "not run" in facts
    assert not re.search(r"\b95 % interval\b", shown)


def test_the_page_and_the_json_say_so(tmp_path: Path) -> None:
    made(tmp_path)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Hollow points were simulated on" in page
    assert page.count('class="marker hue-0 simulated"') == 2
    assert "(simulated)" in page and "simulated, not measured" in page
    answer = json.loads(study("report", tmp_path / "out", "--json").stdout)
    check_schema(answer, "study-report.json")
    assert answer["runs"]["simulated"] == 4 and answer["runs"]["done"] == 0
    (main,) = answer["responses"]
    assert {(one["simulated"], one["runs"]) for one in main["combinations"]} == {(True, 0)}
    assert {one["simulated"] for one in answer["expect"]} == {"all"}
    assert [one["kind"] for one in answer["warnings"]] == ["simulated"]
    check_schema(answer["environment"], "study-environment.json")
    assert answer["environment"]["simulated"]["slow"]["model"] == "tardy"


def test_wide_models_decide_nothing(tmp_path: Path) -> None:
    """Ten times as long, but each may be off by eleven."""
    opened = made(tmp_path, spread=0.9)
    assert {str(answer.answer) for answer in opened.report.answers} == {"undecided"}


def test_the_choice_that_would_take_the_least_time(tmp_path: Path) -> None:
    """Four ranks that each open a file on one server one after the other: four times as long."""
    text = STUDY.split("[[expect]]")[0]
    servers = "\n[metadata]\nper_second = 10\n"
    path = placed(tmp_path, text)
    for name in ("fast", "slow"):
        file = tmp_path / f"{name}.toml"
        file.write_text(toml(name=name) + servers)
    assert study("run", path, "-o", tmp_path / "out").exit_code == 0
    found = tailrace.open_study(tmp_path / "out").report.found.findings
    assert [str(finding.kind) for finding in found] == ["simulated"]
    assert found[0].text == "serial would take the least time (simulated on fast and slow)"


def test_ranks_are_not_bound_by_this_machine(tmp_path: Path) -> None:
    text = STUDY.replace("ranks = 4\n", "set = { grid = [800, 600, 2] }\n")
    text = text.replace("[run]", "[factor.ranks]\nlevels = [20_000]\n[run]")
    runs = made(tmp_path, text).runs
    assert set(runs["status"]) == {"simulated"} and set(runs["ranks"]) == {20_000}


def test_where_nothing_can_be_laid_out_there_is_no_result(tmp_path: Path) -> None:
    path = placed(tmp_path, STUDY.replace("ranks = 4", "ranks = 1000"))
    result = study("run", path, "-o", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert "1000 ranks cannot be laid out" in result.output
    assert "there is nothing to report yet" in result.output


def test_what_cannot_be_simulated_is_left_out_with_its_reason(tmp_path: Path) -> None:
    factor = '[factor.format]\nlevels = ["posix", "netcdf3"]\n[run]'
    text = STUDY.replace('format = "posix"\n', "").replace("[run]", factor)
    text = text.split("[[expect]]")[0]
    text = text.replace('levels = ["serial", "file-per-rank"]', 'levels = ["serial"]')
    result = study("run", placed(tmp_path, text), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "2 combinations cannot be simulated: the format netcdf3 is not" in result.output
    opened = tailrace.open_study(tmp_path / "out")
    assert opened.runs["status"].value_counts().to_dict() == {"simulated": 2, "unavailable": 2}
    cautions = {caution.kind: caution.text for caution in opened.report.cautions}
    assert "the format netcdf3 is not simulated" in cautions["not simulated"]
    assert opened.complete


def test_a_model_is_kept_with_the_study(tmp_path: Path) -> None:
    made(tmp_path)
    assert (tmp_path / "out" / "model-slow.toml").read_text() == model("tardy", 1.0)
    for name in ("fast", "slow", "small"):
        (tmp_path / f"{name}.toml").unlink()
    again = study("run", tmp_path / "out")
    assert again.exit_code == 0, again.output
    assert len(lines(tmp_path / "out")) == 4


def test_a_shipped_model_by_its_name(tmp_path: Path) -> None:
    opened = made(tmp_path, STUDY.replace('"slow.toml"', '"nfs"'))
    assert set(opened.runs["simulated_on"]) == {"quick", "nfs"}


@pytest.mark.slow
def test_some_targets_run_and_others_are_simulated(bench: Bench) -> None:
    folder = bench.directory.parent
    (folder / "here").mkdir(exist_ok=True)
    text = STUDY.replace('simulate = "fast.toml"', f'directory = "{folder / "here"}"')
    text = text.replace("ranks = 4", f'ranks = 2\nlauncher = "{bench.mpiexec}"')
    runs = made(folder, text).runs
    by_target = runs.groupby("target")["status"].value_counts().to_dict()
    assert by_target == {("fast", "done"): 6, ("slow", "simulated"): 2}
    assert (runs.loc[runs["status"] == "simulated", "block"] == 0).all()
    report = tailrace.open_study(folder / "out").report
    assert [str(answer.simulated) for answer in report.answers] == ["part", "part", "part"]
    # a second to open, against a few files of some hundred bytes
    assert str(report.answers[0].answer) == "held"
    # of what was run, and of nothing else
    assert report.analysis.combinations == 2 and report.analysis.blocks == 3
    assert "6 runs of 4 combinations" in report.facts


def test_what_computes_is_not_compared_with_what_does_not(bench: Bench) -> None:
    """Without run.step_seconds: a measured time has computing in it, a simulated one has not."""
    folder = bench.directory.parent
    (folder / "here").mkdir(exist_ok=True)
    text = STUDY.replace('simulate = "fast.toml"', f'directory = "{folder / "here"}"')
    text = text.replace("ranks = 4\nstep_seconds = 0", f'ranks = 2\nlauncher = "{bench.mpiexec}"')
    answers = made(folder, text.replace("repetitions = 3", "repetitions = 2")).report.answers
    assert {str(answer.answer) for answer in answers} == {"undecided"}
    assert "run.step_seconds says what it takes" in answers[0].evidence


def test_computing_is_shared_by_ranks(tmp_path: Path) -> None:
    text = STUDY.replace("step_seconds = 0", "step_seconds = 8").split("[[expect]]")[0]
    times = made(tmp_path, text).runs.set_index(["method", "target"])["elapsed_s"]
    # four steps of 8 s on four ranks, and a second to open
    assert times["serial", "slow"] == pytest.approx(4 * 8 / 4 + 1, rel=1e-3)


def test_a_directory_makes_a_simulated_target_a_real_one(bench: Bench) -> None:
    folder = bench.directory.parent
    (folder / "there").mkdir(exist_ok=True)
    text = STUDY.replace("ranks = 4", f'ranks = 2\nlauncher = "{bench.mpiexec}"')
    text = text.replace("repetitions = 3", "repetitions = 1")
    opened = made(folder, text, "--target", f"slow={folder / 'there'}")
    by_target = opened.runs.groupby("target")["status"].value_counts().to_dict()
    assert by_target == {("fast", "simulated"): 2, ("slow", "done"): 2}
    # that of the first start stays
    told = sentence(study("run", folder / "out", "--target", f"fast={folder / 'there'}"))
    assert "this study simulates fast" in told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"slow.toml"', '"lustrous"', "there is no model lustrous; there are beegfs"),
        ('"slow.toml"', '"other.toml"', "target slow:"),
        ('"slow.toml"', '"wrong.toml"', "wrong.toml, line 8: calls.open"),
        ('"posix"', '"netcdf3"', "the format netcdf3 is not simulated yet"),
        ('simulate = "slow.toml"', 'simulate = "slow.toml"\ndirectory = "/tmp"', "target.slow"),
        ("[run]", 'response = "user_s"\n[run]', "target.fast.simulate: gives no 'user_s'"),
        ('simulate = "slow.toml"', "ranks_per_node = 4", "is only valid with simulate"),
    ],
)
def test_wrong_uses(tmp_path: Path, before: str, after: str, told: str) -> None:
    path = placed(tmp_path, STUDY.replace(before, after, 1))
    (tmp_path / "wrong.toml").write_text(toml(open="-1"))
    assert told in sentence(study("run", path, "-o", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_command_cannot_be_simulated(tmp_path: Path) -> None:
    text = STUDY.replace('workload = "small.toml"\nformat = "posix"', 'command = ["true"]')
    text = text.split("[[expect]]")[0].replace("step_seconds = 0\n", "")
    assert "a command cannot be simulated" in sentence(study("run", placed(tmp_path, text)))
