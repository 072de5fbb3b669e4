"""A study's directory: what is durable, what a later start finds, and who may write."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import tailrace
from tailrace.errors import TailraceError
from tailrace.study.running.store import Store

from ..conftest import ROOT
from .study_files import COMMAND, executed, lines, study, write
from .test_report import check_schema

sys.path.insert(0, str(ROOT / "tools"))
import study_schema


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """A finished study: 5 combinations, 3 times."""
    result = study("run", write(tmp_path), "-o", tmp_path / "out", "--seed", 5)
    assert result.exit_code == 0, result.output
    return tmp_path / "out"


def test_a_line_for_every_run_and_a_directory_with_what_it_said(done: Path) -> None:
    assert [line["run"] for line in lines(done)] == list(range(15)) == executed(done.parent)
    assert (done / "runs" / "000003" / "output").read_text().startswith("took 0.")
    assert not list(done.glob("tailrace-study-*"))  # nor anything of the runs' own directories


def test_the_plan_says_all_that_was_chosen(done: Path) -> None:
    plan = json.loads((done / "plan.json").read_text())
    assert (plan["name"], plan["size"], plan["seed"], plan["repetitions"]) == (
        "mine",
        "small",
        5,
        3,
    )
    assert plan["combinations"][4] == {"combination": 4, "levels": {"first": 5, "second": "a"}}
    assert plan["factors"][1] == {
        "name": "second",
        "kind": "placeholder",
        "unit": "",
        "levels": ["a", "b"],
        "labels": ["alpha", "beta"],
    }
    assert (done / "study.toml").read_text() == (done.parent / "mine.toml").read_text()


def test_tables_are_tidy_and_say_the_same_in_both_formats(done: Path) -> None:
    parquet, csv = pd.read_parquet(done / "runs.parquet"), pd.read_csv(done / "runs.csv")
    assert len(parquet) == len(csv) == 15
    assert list(parquet.columns) == list(csv.columns)
    assert list(parquet.columns)[:9] == [
        *(
            "run",
            "block",
            "order",
            "begun_unix_s",
            "first",
            "second",
            "status",
            "reason",
            "elapsed_s",
        )
    ]
    assert (parquet["took_s"] * 10 == parquet["first"]).all()
    assert parquet["block"].tolist() == [run // 5 for run in range(15)]
    assert (parquet["elapsed_s"] > 0).all()
    assert parquet["bytes_written"].isna().all()  # not measured without capture
    assert pd.read_parquet(done / "phases.parquet").empty


def test_a_study_as_an_object(done: Path) -> None:
    opened = tailrace.open_study(done)
    assert opened.name == "mine"
    assert opened.complete
    assert opened.factors["first"]["unit"] == "things"
    assert opened.runs.groupby(["first", "second"]).size().tolist() == [3] * 5
    assert opened.environment["cores"] >= 1
    assert repr(opened) == "<tailrace.Study mine: 15 runs of 5 combinations>"


def test_what_is_no_study_is_told(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match=rf"^{tmp_path}: there is no study here"):
        tailrace.open_study(tmp_path)
    for plan in ("[]", '{"name": "of another tool"}'):
        (tmp_path / "plan.json").write_text(plan)
        assert "plan.json is not the plan of a study" in study("report", tmp_path).stderr
    (tmp_path / "plan.json").write_text("{")
    assert "is not valid JSON" in study("report", tmp_path).stderr
    (tmp_path / "plan.json").write_text('{"schema": 99}')
    assert "has schema 99; this version of Tailrace reads 1" in study("report", tmp_path).stderr


def test_where_a_target_is_need_not_be_said_again(tmp_path: Path) -> None:
    path = write(tmp_path, COMMAND.replace("[size.small]", "[target.disk]\n[size.small]"))
    words = (
        "run",
        path,
        "-o",
        tmp_path / "out",
        "--target",
        f"disk={tmp_path}/first",
        "--set",
        "repetitions=1",
    )
    (tmp_path / "first").mkdir()
    assert study(*words).exit_code == 0
    assert study("run", tmp_path / "out").exit_code == 0
    opened = tailrace.open_study(tmp_path / "out")
    assert opened.plan["targets"] == {"disk": f"{tmp_path}/first"}
    assert opened.environment["targets"]["disk"]["path"] == f"{tmp_path}/first"


def test_a_second_runner_is_refused(done: Path) -> None:
    with Store(done).lock():
        result = study("run", done)
    assert result.exit_code == 2
    assert "this study is already running, in process" in result.stderr


def test_a_finished_study_runs_nothing_again(done: Path) -> None:
    assert study("run", done).exit_code == 0
    assert study("run", done.parent / "mine.toml", "-o", done).exit_code == 0
    assert executed(done.parent) == list(range(15))


def test_another_study_is_not_mixed_in(done: Path) -> None:
    for words in (("--size", "large"), ("--set", "repetitions=4"), ("--seed", "6")):
        result = study("run", done.parent / "mine.toml", "-o", done, *words)
        assert result.exit_code == 2
        assert "holds another study: its " in result.stderr
    assert executed(done.parent) == list(range(15))


@pytest.mark.parametrize("cut", [1, 40, 10**9])
def test_half_a_line_is_cut_off_and_only_that_run_made_again(done: Path, cut: int) -> None:
    """As a runner that is killed while it appends leaves it: `cut` bytes of the last line, at most
    all but its end."""
    path = done / "runs.jsonl"
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept[:-1]) + kept[-1][:-1][:cut])
    assert study("run", done).exit_code == 0
    assert [line["run"] for line in lines(done)] == list(range(15))
    assert executed(done.parent) == [*range(15), 14]


def test_any_missing_run_is_made_and_no_other(done: Path) -> None:
    path = done / "runs.jsonl"
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[:4] + kept[5:]))
    assert study("run", done).exit_code == 0
    assert executed(done.parent) == [*range(15), 4]
    assert sorted(line["run"] for line in lines(done)) == list(range(15))


def test_a_line_that_is_no_run_is_told_with_its_place(done: Path) -> None:
    with (done / "runs.jsonl").open("a") as file:
        file.write('{"no": "run"}\n')
    result = study("report", done)
    assert result.exit_code == 2
    assert "runs.jsonl, line 16 is not a finished run" in result.stderr


@pytest.mark.slow
def test_a_budget_ends_it_between_runs_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    slow = COMMAND.replace('echo "took', 'sleep 0.2; echo "took')
    path = write(tmp_path, slow)
    first = study("run", path, "-o", tmp_path / "out", "--budget", "1s")
    assert "budget exhausted" in first.stderr
    count = len(executed(tmp_path))
    assert 2 <= count <= 4
    assert study("run", tmp_path / "out").exit_code == 0
    assert executed(tmp_path) == list(range(15))


def test_what_lies_in_the_directory_keeps_its_contract(done: Path) -> None:
    check_schema(json.loads((done / "plan.json").read_text()), "study-plan.json")
    check_schema(json.loads((done / "environment.json").read_text()), "study-environment.json")
    for line in lines(done):
        check_schema(line, "study-run.json")


def test_the_list_and_the_schema_of_study_files() -> None:
    listed = json.loads(study("list", "--json").stdout)
    check_schema(listed, "study-list.json")
    named = {entry["name"]: entry for entry in listed}
    assert set(named) == {
        "btio",
        "calculix",
        "cgns-read",
        "cgns-write",
        "cmaq",
        "h5perf",
        "roms",
        "wrf",
    }
    assert named["cmaq"]["combinations"] == 48
    for entry in listed:
        assert {"small", "full"} <= set(entry["sizes"]) and entry["expectations"] and entry["paper"]
        check_schema(
            tomllib.loads((ROOT / "studies" / f"{entry['name']}.toml").read_text()), "study.json"
        )
    assert study_schema.schema() == json.loads(study_schema.TARGET.read_text()), (
        "run tools/study_schema.py"
    )
