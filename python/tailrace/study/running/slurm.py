"""Slurm: one batch job per block, which makes the block's runs one after the other with `srun`.

When we are ended the jobs go on, and who starts the study again waits for them.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.running.jobs import Jobs
from tailrace.terminal import tell

JOBS = "slurm.json"
# What squeue calls a job that is not over.
WAITING = (
    "CONFIGURING",
    "PENDING",
    "REQUEUED",
    "RESIZING",
    "SUSPENDED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "STOPPED",
)
RUNNING = ("RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT")


@dataclass
class BatchJobs(Jobs):
    """Of a study with [slurm]. Their numbers are stored, so that a later start finds those that are
    under way."""

    _told: dict[int, str] = field(default_factory=dict)

    @property
    def poll_s(self) -> float:
        assert self.plan.study.slurm is not None
        return self.plan.study.slurm.poll_s

    def check(self) -> None:
        missing = [
            name for name in ("sbatch", "squeue", "scancel", "srun") if shutil.which(name) is None
        ]
        if missing:
            raise TailraceError(
                f"the study needs Slurm, but {missing[0]} was not found",
                "run it on a machine where jobs are submitted, or remove [slurm] from the study"
                " file",
            )

    def cancel(self) -> None:
        living = [job for job in self._recorded().values() if _state(job)]
        if living:
            subprocess.run(["scancel", *map(str, living)], check=False, capture_output=True)
        while any(_state(job) for job in living):
            time.sleep(self.poll_s)

    def _under_way(self, number: int) -> int | None:
        job = self._recorded().get(str(number))
        if job is None or not _state(job):
            return None
        tell(f"job {job} is already running block {number}")
        return job

    def _recorded(self) -> dict[str, int]:
        """The newest job of each block."""
        return self.store.read_json(JOBS) if self.store.has(JOBS) else {}

    def _start(self, number: int) -> int:
        script = self._file(number, "sh")
        script.write_text(f"#!/bin/sh\nexec {shlex.join(self._words(number))}\n")
        done = subprocess.run(
            ["sbatch", *self._options(number), str(script)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.match(r"(\d+)(;\S+)?$", done.stdout.strip())
        if done.returncode != 0 or found is None:
            raise TailraceError(
                "sbatch:"
                f" {printable(done.stderr.strip() or done.stdout.strip() or 'it said nothing')}",
                "slurm.options in the study file are passed to sbatch",
            )
        self.store.write(JOBS, json.dumps(self._recorded() | {str(number): int(found[1])}))
        return int(found[1])

    def _options(self, number: int) -> list[str]:
        assert self.plan.study.slurm is not None
        return [
            "--parsable",
            f"--job-name=tailrace-{self.plan.study.name}-{number}",
            f"--output={_pattern(self._file(number, 'out'))}",
            f"--chdir={self.plan.started_in}",
            *self.plan.study.slurm.options,
        ]

    def _lives(self, number: int, job: int) -> bool:
        state = _state(job)
        if state and self._told.get(job) != state:
            tell(f"job {job}: {state.lower()}")
            self._told[job] = state
        return bool(state)

    def _name(self, job: int) -> str:
        return f"job {job}"


def _pattern(path: Path) -> str:
    """sbatch reads % in names of files."""
    return str(path).replace("%", "%%")


def _state(job: int) -> str:
    """In squeue's words; empty where the job is over."""
    for attempt in range(3):
        done = subprocess.run(
            ["squeue", "--noheader", f"--jobs={job}", "--format=%T"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            state = done.stdout.strip().upper()
            return state if state in (*WAITING, *RUNNING) else ""
        if "Invalid job id" in done.stderr:
            return ""
        time.sleep(1 + attempt)
    raise TailraceError(
        f"squeue: {printable(done.stderr.strip())}",
        f"job {job} may still be running; restart the study when Slurm answers",
    )


def end_steps(environment: Mapping[str, str] = os.environ) -> None:
    """Ends what srun started in the job that we are in: on other nodes it has no other master."""
    job = environment.get("SLURM_JOB_ID")
    if job is None or shutil.which("squeue") is None:
        return
    listed = subprocess.run(
        ["squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i"],
        capture_output=True,
        text=True,
        check=False,
    )
    steps = [step for step in listed.stdout.split() if re.fullmatch(r"\d+\.\d+", step)]
    if steps:
        subprocess.run(["scancel", "--signal=KILL", *steps], capture_output=True, check=False)
