"""Plans and command lines that are wrong, and runs that are ended before their time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.kernels.conftest import LONGEST_RUN_S
from tests.kernels.programs import good_run, read_records, run_plan
from tests.processes import started, until

WRONG = [
    ("steps 0", "'steps' must be a number from 1 to 1000000000, not '0'"),
    ("steps", "'steps' must be a number"),
    ("colour red", "there is no key 'colour' here"),
    ("steps 3", "'steps' is given twice"),
    ("tiles 2", "'tiles' must be 2 numbers with an x between them"),
    ("output", "'output' needs a name"),
    ("output more", "the output needs the key 'path'"),
    (
        "output more\npath x\nevery 1\nvariable a shape=x",
        "must have y and x as its last two dimensions, or neither",
    ),
    ("output more\npath x\nevery 1\nvariable a shape=q", "has a dimension that is none of x, y, z"),
    (
        "output more\npath x\nevery 1\nvariable a type=real",
        "needs a type of float64, float32, int32 or character",
    ),
    (
        "output more\npath x\nevery 1\nvariable a source=tracer",
        "needs a number from 1 after the colon",
    ),
    ("output more\npath x\nevery 1\nvariable a source=magic:1", "has a source that there is not"),
    (
        "output more\npath x\nevery 1\nvariable a shape=z source=tracer:1",
        "has a source that only tiled variables",
    ),
    ("output more\npath x\nevery 1\nvariable a type=character", "is of characters, which only"),
    (
        "output more\npath x\nevery 1\nvariable a shape=y+1,x+1 source=tracer:1",
        "more than one direction",
    ),
    ("output more\npath x\nevery 1\nvariable a b", "has words that are not of the form key=value"),
    (
        "restart\npath x\nvariable a source=tracer:1",
        "needs every tracer once, as float64 with source=tracer:K",
    ),
    ("cache hot", "'cache' must be one of warm|cold, not 'hot'"),
]


@pytest.mark.parametrize(("lines", "sentence"), WRONG)
def test_a_plan_without_sense_is_refused_with_file_and_line(one_solver, tmp_path, lines, sentence):
    steps = "" if lines.startswith("steps 0") or lines == "steps" else "steps 2\n"
    run = run_plan(one_solver, "solver", 2, "grid 9x8x2\n" + steps + lines, tmp_path)
    assert run.status == 2
    assert sentence in run.stderr
    assert re.search(
        rf"^solver: {re.escape(str(tmp_path))}/solver\.plan:\d+: .*\n\nhint: ",
        run.stderr,
        re.MULTILINE,
    )
    assert run.stderr.count("solver: ") == 1
    assert run.records[-1] == {"kind": "end", "status": 2, "error": run.records[-1]["error"]}


def test_a_plan_that_cannot_be_read(one_solver, tmp_path):
    for name, reason in [
        ("absent.plan", "No such file or directory"),
        ("binary.plan", "it is not text"),
    ]:
        if name == "binary.plan":
            (tmp_path / name).write_bytes(b"grid\0 1")
        run = one_solver.run(2, "--plan", tmp_path / name)
        assert run.returncode == 2
        assert run.stderr.startswith(
            f"solver: {tmp_path}/{name}: cannot read the plan: {reason}\n\nhint: "
        )


ENDLESS = (
    "grid 64x64x16\nsteps 1000000000\noutput out\npath {directory}/out\nevery 1\nsync yes\n"
    "variable a source=tracer:1"
)


def test_a_run_beyond_its_time_limit_ends_with_a_sentence(one_solver, tmp_path):
    run = run_plan(one_solver, "solver", 3, "time_limit_s 1\n" + ENDLESS, tmp_path)
    assert run.status != 0
    assert "solver: the run was not over after its time limit of 1 s\n" in run.stderr
    assert run.records[-1]["error"] == "solver: the run was not over after its time limit of 1 s"
    assert not (tmp_path / "out").exists()


def test_a_killed_run_leaves_the_records_of_what_came_before(one_solver, tmp_path):
    plan, records = tmp_path / "plan", tmp_path / "records"
    plan.write_text(ENDLESS.replace("{directory}", str(tmp_path)))
    command = one_solver.mpi.launch(
        2, one_solver.build / "solver", "--plan", plan, "--records", records
    )
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until(
            lambda: records.exists() and records.read_text().count('"kind":"step"') >= 3,
            run,
        )
        os.kill(_a_rank(plan), signal.SIGKILL)
        assert run.wait(LONGEST_RUN_S) != 0
    kinds = [record["kind"] for record in read_records(records)]
    assert kinds[:2] == ["start", "stream"]
    assert kinds.count("step") >= 3
    assert "end" not in kinds


def _a_rank(plan: Path) -> int:
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"/solver") and os.fsencode(plan) in words:
            return int(directory.name)
    raise AssertionError("no rank of the solver is running")


@pytest.mark.skipif(
    not shutil.which("fincore"), reason="there is no fincore to ask what is in the page cache"
)
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_cold_means_that_the_page_cache_lets_go(one_solver, tmp_path, cache):
    plan = f"cache {cache}\ngrid 64x64x8\nsteps 1\n"
    plan += "output out\npath {directory}/out\nevery 1\nvariable a source=tracer:1"
    good_run(one_solver, "solver", 2, plan, tmp_path)
    answer = subprocess.run(
        ["fincore", "-nbo", "PAGES", tmp_path / "out"], capture_output=True, text=True, check=True
    )
    if cache == "warm":
        assert int(answer.stdout) > 10
    elif _is_on_a_disk(tmp_path):
        assert int(answer.stdout) == 0


def _is_on_a_disk(path: Path) -> bool:
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", path], capture_output=True, text=True
    ).stdout.strip()
    return kind not in ("tmpfs", "ramfs", "overlayfs")


@pytest.mark.parametrize("program", ["solver", "btio", "zones", "transfers", "clients"])
@pytest.mark.parametrize("words", [["--plan"], ["--plan", "a", "--colour", "b"]])
def test_a_wrong_command_line_shows_the_right_one(one_solver, program, words):
    run = one_solver.run(2, *words, program=program)
    assert run.returncode == 2
    assert run.stderr.startswith(f"usage: {program} --plan PLAN [--records FILE]\n\nhint: ")
    assert run.stderr.count("usage") == 1
