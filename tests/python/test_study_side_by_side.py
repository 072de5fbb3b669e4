"""Several blocks at one time: one run of each, nothing lost or repeated, and nothing left, however
it ends."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import tailrace
from tailrace.study.running import leftovers

from ..conftest import Mpi
from ..processes import LONGEST_WAIT_S, until
from .study_files import executed, lines, start, study, write

BLOCKS, LEVELS = 4, 3
# Each run says that it began and ended, so that what ran at one time can be seen.
STUDY = """\
schema = 1
name = "mine"
description = "Blocks side by side."
repetitions = 4
blocks_at_once = 4
[run]
command = '''echo {run} >> EXECUTED; TEXT'''
shell = true
launcher = "none"
time_limit_s = 200
[factor.level]
levels = [1, 2, 3]
"""


def begun(folder: Path, text: str) -> subprocess.Popen[bytes]:
    """A study of what a shell does, in a process of its own, once its first runs are under way."""
    path = write(folder, STUDY.replace("TEXT", text))
    process = start(path, folder / "out")
    until(lambda: len(executed(folder)) >= BLOCKS, process)
    return process


def test_blocks_are_side_by_side_and_the_runs_of_one_are_not(tmp_path: Path) -> None:
    """The first run of each waits until all have begun one."""
    wait = f"until [ $(wc -l < EXECUTED) -ge {BLOCKS} ]; do sleep 0.05; done; sleep 0.4"
    result = study("run", write(tmp_path, STUDY.replace("TEXT", wait)), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = tailrace.open_study(tmp_path / "out")
    assert Counter(executed(tmp_path)) == Counter(range(BLOCKS * LEVELS))
    runs = found.runs.sort_values("begun_unix_s")
    assert len(runs) == BLOCKS * LEVELS and (runs["status"] == "done").all()
    assert runs["block"].head(BLOCKS).nunique() == BLOCKS  # all had begun before any went on
    assert (runs.groupby("block")["begun_unix_s"].diff().dropna() >= 0.4).all()
    assert runs["order"].max() >= BLOCKS * (LEVELS - 1)
    assert any(caution.kind == "runs side by side" for caution in found.report.cautions)
    assert "12 of 12 runs" in result.stderr


def test_when_the_runner_is_killed_its_blocks_end_and_a_later_start_goes_on(tmp_path: Path) -> None:
    process = begun(tmp_path, "sleep 0.5")
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (
        [line["run"] for line in lines(tmp_path / "out")]
        if (tmp_path / "out" / "runs.jsonl").exists()
        else []
    )
    result = study("run", tmp_path / "out")
    assert result.exit_code == 0, result.output
    made = [line["run"] for line in lines(tmp_path / "out")]
    assert sorted(made) == list(range(BLOCKS * LEVELS)) and made[: len(before)] == before
    # the runs in flight are made again
    assert sum(Counter(executed(tmp_path)).values()) <= BLOCKS * LEVELS + BLOCKS
    assert leftovers.marked(tailrace.open_study(tmp_path / "out").plan["identity"]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end_all_blocks_end(tmp_path: Path, number: int) -> None:
    process = begun(tmp_path, "trap '' TERM INT; setsid sleep 985 & sleep 985")
    process.send_signal(number)
    assert process.wait(LONGEST_WAIT_S) == 130, (tmp_path / "said").read_text()
    assert "continue with" in (tmp_path / "said").read_text()
    assert not (tmp_path / "out" / "runs.jsonl").exists()
    assert leftovers.marked(tailrace.open_study(tmp_path / "out").plan["identity"]) == []


def test_a_block_that_makes_no_run_is_told_and_the_others_end(tmp_path: Path) -> None:
    """The runs of one block kill their runner."""
    text = "[ {run} -ge 3 ] && [ {run} -lt 6 ] && kill -9 $PPID; sleep 0.2"
    result = study("run", write(tmp_path, STUDY.replace("TEXT", text)), "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "the process (status -9) of block 1 made no run" in result.stderr
    assert leftovers.marked(tailrace.open_study(tmp_path / "out").plan["identity"]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "mpi", ["mpich", pytest.param("openmpi", marks=pytest.mark.whole)], indirect=True
)
def test_blocks_that_prepare_the_same_input(
    mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPICC", str(mpi.mpicc))
    text = (
        'schema = 1\nname = "mine"\ndescription = "Mine."\nrepetitions = 3\nblocks_at_once ='
        " 3\n[run]\n"
        'workload = "cmaq"\nsize = "tiny"\nmethod = "serial"\nformat = "posix"\ntime_limit_s = 60\n'
        "[factor.ranks]\nlevels = [1, 2]\n"
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    runs = tailrace.open_study(tmp_path / "out").runs
    assert runs["status"].tolist() == ["done"] * 6, runs["reason"].tolist()
    assert runs["verified"].all()
    assert not list((tmp_path / "out").glob("tailrace-study-*"))
