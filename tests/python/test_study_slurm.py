"""Studies under a real Slurm: the test bed's controller and two nodes on this machine."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailrace

from ..conftest import ROOT
from ..processes import LONGEST_WAIT_S, until
from .study_files import executed, lines, start, study, write

TESTBED = ROOT / "testbed" / "testbed"
pytestmark = pytest.mark.slow

# Each rank says which job, step and rank it is.
SAYS = "echo job $SLURM_JOB_ID step $SLURM_STEP_ID of $SLURM_NTASKS"
STUDY = """\
schema = 1
name = "mine"
description = "Under Slurm."
repetitions = 2
[run]
command = ["/bin/sh", "-c", "COMMAND", "sh", "{run}", "EXECUTED"]
launcher = "srun"
time_limit_s = 200
output_pattern = 'job (?P<job>\\d+) step (?P<step>\\d+) of (?P<tasks>\\d+)'
[slurm]
options = ["--ntasks=4", "--overcommit"]
poll_s = 0.2
[factor.ranks]
levels = [1, 2, 4]
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[None]:
    """Its configuration in the environment; a socket's path must be short, hence no directory of
    pytest's."""
    if not TESTBED.is_file():
        pytest.skip("there is no test bed in this checkout")
    directory = Path(tempfile.mkdtemp(prefix="ts-"))
    words = [sys.executable, str(TESTBED)]
    place = ["slurm", "--directory", str(directory), "--json"]
    up = subprocess.run([*words, "up", *place], capture_output=True, text=True)
    try:
        if up.returncode:
            pytest.skip(f"no Slurm here: {up.stderr.strip()}")
        bed = next(bed for bed in json.loads(up.stdout)["beds"] if bed["name"] == "slurm")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in bed["environment"].items():
                patch.setenv(name, value)
            yield
    finally:
        subprocess.run([*words, "down", "--force", *place], capture_output=True)
        shutil.rmtree(directory, ignore_errors=True)


def text_of(command: str = SAYS) -> str:
    return STUDY.replace("COMMAND", f"[ $SLURM_PROCID = 0 ] && echo $1 >> $2; {command}")


def test_every_block_is_one_job_and_every_run_a_step(slurm: None, tmp_path: Path) -> None:
    result = study("run", write(tmp_path, text_of()), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    runs = tailrace.open_study(tmp_path / "out").runs.sort_values("order")
    assert runs["status"].tolist() == ["done"] * 6
    assert (runs["tasks"] == runs["ranks"]).all()
    assert runs.groupby("block")["job"].nunique().tolist() == [1, 1]
    assert runs["job"].nunique() == 2
    assert runs["step"].tolist() == [0, 1, 2, 0, 1, 2]  # one after the other
    assert executed(tmp_path) == runs["run"].tolist()
    ranks_said = (
        tmp_path / "out" / "runs" / f"{runs.query('ranks == 4')['run'].iloc[0]:06}" / "output"
    ).read_text()
    assert ranks_said.count("job ") == 4
    assert (
        "SLURM_JOB_ID"
        in json.loads((tmp_path / "out" / "environment.json").read_text())["variables"]
    )
    assert queue() == []


def test_several_blocks_are_several_jobs_at_one_time(slurm: None, tmp_path: Path) -> None:
    """The first run of each waits until both have begun one."""
    wait = "until [ $(wc -l < $2) -ge 2 ]; do sleep 0.1; done"
    path = write(tmp_path, text_of(f"{wait}; {SAYS}"))
    result = study("run", path, "-o", tmp_path / "out", "--set", "blocks_at_once=2")
    assert result.exit_code == 0, result.output
    runs = tailrace.open_study(tmp_path / "out").runs.sort_values("begun_unix_s")
    assert runs["status"].tolist() == ["done"] * 6 and Counter(executed(tmp_path)) == Counter(
        range(6)
    )
    assert runs.groupby("block")["job"].nunique().tolist() == [1, 1] and runs["job"].nunique() == 2
    first, last = (
        runs.groupby("block")["begun_unix_s"].min(),
        runs.groupby("block")["begun_unix_s"].max(),
    )
    assert first.max() < last.min()
    assert "6 of 6 runs" in result.stderr


def test_a_workload_runs_by_srun(
    slurm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's Open MPI, which speaks PMIx, as `srun --mpi=list` must have it."""
    if "pmix" not in subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True).stdout:
        pytest.skip("this Slurm has no PMIx")
    if shutil.which("mpicc.openmpi") is None:
        pytest.skip("there is no mpicc.openmpi")
    monkeypatch.setenv("TAILRACE_CACHE", str(ROOT / "build" / "bench-cache"))
    monkeypatch.setenv("MPICC", "mpicc.openmpi")
    text = (
        'schema = 1\nname = "mine"\ndescription = "Mine."\nrepetitions = 1\n[run]\nworkload ='
        ' "roms"\nsize = "tiny"\n'
        'method = "serial"\nformat = "posix"\nlauncher = "srun --mpi=pmix"\ntime_limit_s = 200\n'
        '[slurm]\noptions = ["--ntasks=4", "--overcommit"]\npoll_s = 0.2\n[factor.ranks]\nlevels'
        " = [1, 2]\n"
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    runs = tailrace.open_study(tmp_path / "out").runs
    assert runs["status"].tolist() == ["done"] * 2, runs["reason"].tolist()
    assert runs["verified"].all()


def test_killed_while_its_job_runs_the_next_start_waits_for_that_job(
    slurm: None, tmp_path: Path
) -> None:
    path = write(tmp_path, text_of(f"{SAYS}; sleep 1"))
    process = start(path, tmp_path / "out")
    until(lambda: executed(tmp_path), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(queue()) == 1
    result = study("run", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "is already running block" in result.stderr
    assert Counter(executed(tmp_path)) == Counter(range(6))
    assert sorted(line["run"] for line in lines(tmp_path / "out")) == list(range(6))


def test_a_job_that_ends_early_is_followed_by_another(slurm: None, tmp_path: Path) -> None:
    """The third run of the first block cancels its own job; that run is then made again, and cannot
    do it twice."""
    text = text_of(
        f"[ $1 = 2 ] && mkdir {tmp_path}/once && scancel $SLURM_JOB_ID && sleep 20; {SAYS}"
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert Counter(executed(tmp_path))[2] == 2
    assert sorted(line["run"] for line in lines(tmp_path / "out")) == list(range(6))
    assert tailrace.open_study(tmp_path / "out").runs["job"].nunique() == 3


def test_a_step_that_hangs_is_ended(slurm: None, tmp_path: Path) -> None:
    text = text_of(f"{SAYS}; [ $SLURM_NTASKS = 2 ] && trap '' TERM && sleep 986; true")
    result = study(
        "run",
        write(tmp_path, text),
        "-o",
        tmp_path / "out",
        "--set",
        "run.time_limit_s=5",
        "--set",
        "repetitions=1",
    )
    assert result.exit_code == 1
    by_ranks = {line["levels"]["ranks"]: line["status"] for line in lines(tmp_path / "out")}
    assert by_ranks == {1: "done", 2: "timeout", 4: "done"}
    processes = [
        entry.read_bytes() for entry in Path("/proc").glob("[0-9]*/cmdline") if entry.exists()
    ]
    assert b"sleep\x00986\x00" not in processes


def test_what_slurm_refuses_is_told(slurm: None, tmp_path: Path) -> None:
    refused = text_of().replace('"--ntasks=4"', '"--partition=nowhere"')
    result = study("run", write(tmp_path, refused), "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "sbatch: " in result.stderr and "invalid partition" in result.stderr
    assert "slurm.options in the study file are passed to sbatch" in result.stderr


def test_ended_by_the_user_it_cancels_its_job(slurm: None, tmp_path: Path) -> None:
    path = write(tmp_path, text_of(f"{SAYS}; sleep 60"))
    process = start(path, tmp_path / "out")
    until(lambda: executed(tmp_path), process)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONGEST_WAIT_S) == 130, (tmp_path / "said").read_text()
    assert queue() == []
    assert not (tmp_path / "out" / "runs.jsonl").exists()


def queue() -> list[str]:
    done = subprocess.run(
        ["squeue", "--noheader", "--format=%i %T"], capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if not line.endswith("COMPLETING")]
