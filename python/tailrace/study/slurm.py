"""Slurm: one batch job per block, which makes the block's runs one after the other with `srun`.

We submit the job, wait for it, and submit the next. The job is a runner like any other (`tailrace study block`), and
stores its runs itself: when we are ended the job goes on, and who starts the study again waits for it. A job that Slurm
ended before its block was done is submitted again, as long as each brings at least one run.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.run import tell
from tailrace.study.design import Planned
from tailrace.study.plan import Plan
from tailrace.study.store import Store

JOB, FOLDER, JOB_LOCK = "slurm.json", "slurm", "job.lock"
# A job that has left the queue may write its last words a moment later.
LAST_WORDS = 600
# What squeue calls a job that is not over.
WAITING = ("CONFIGURING", "PENDING", "REQUEUED", "RESIZING", "SUSPENDED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED")
RUNNING = ("RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT")


@dataclass(frozen=True)
class Jobs:
    """The jobs of one study. `more`: options of `tailrace study block`."""

    store: Store
    plan: Plan
    more: tuple[str, ...] = ()

    def check(self) -> None:
        missing = [name for name in ("sbatch", "squeue", "scancel", "srun") if shutil.which(name) is None]
        if missing:
            raise TailraceError(
                f"the study wants Slurm, and there is no {missing[0]}",
                "run it where jobs are submitted, or leave out [slurm]",
            )

    def block(self, number: int, missing: Callable[[], int]) -> None:
        """Has the block's missing runs made. `missing`: counts them anew, from what is stored."""
        job = self._running(number)
        before = missing()
        while before:
            if job is None:
                job = self._submit(number)
            self._wait(job)
            left = missing()
            if left == before:
                raise TailraceError(
                    f"job {job} of block {number} made no run: {self._said(number)}",
                    f"{printable(str(self._file(number, 'out')))} has all that it said",
                )
            before, job = left, None

    def cancel(self) -> None:
        """Ends the job that is under way."""
        job = self._recorded().get("job")
        if job is not None and _state(job):
            subprocess.run(["scancel", str(job)], check=False, capture_output=True)
            self._wait(job)

    def _running(self, number: int) -> int | None:
        """The job of an earlier start that is still in the queue."""
        recorded = self._recorded()
        job = recorded.get("job")
        if job is None or recorded.get("block") != number or not _state(job):
            return None
        tell(f"job {job} of block {number} is under way already")
        return job

    def _recorded(self) -> dict[str, Any]:
        return self.store.read_json(JOB) if self.store.has(JOB) else {}

    def _file(self, number: int, ending: str) -> Path:
        return self.store.directory / FOLDER / f"block-{number:04}.{ending}"

    def _submit(self, number: int) -> int:
        assert self.plan.study.slurm is not None
        (self.store.directory / FOLDER).mkdir(exist_ok=True)
        script = self._file(number, "sh")
        words = [sys.executable, "-m", "tailrace", "study", "block", str(self.store.directory), str(number), *self.more]
        script.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        options = [
            "--parsable",
            f"--job-name=tailrace-{self.plan.study.name}-{number}",
            f"--output={_pattern(self._file(number, 'out'))}",
            f"--chdir={self.plan.started_in}",
            *self.plan.study.slurm.options,
        ]
        done = subprocess.run(["sbatch", *options, str(script)], capture_output=True, text=True, check=False)
        found = re.match(r"(\d+)(;\S+)?$", done.stdout.strip())
        if done.returncode != 0 or found is None:
            raise TailraceError(
                f"sbatch: {printable(done.stderr.strip() or done.stdout.strip() or 'it said nothing')}",
                "slurm.options in the study file are sbatch's",
            )
        self.store.write(JOB, json.dumps({"block": number, "job": int(found[1])}))
        return int(found[1])

    def _wait(self, job: int) -> None:
        assert self.plan.study.slurm is not None
        told = ""
        while state := _state(job):
            if state != told:
                tell(f"job {job}: {state.lower()}")
                told = state
            time.sleep(self.plan.study.slurm.poll_s)

    def _said(self, number: int) -> str:
        try:
            text = self._file(number, "out").read_text("utf-8", "replace").strip()
        except OSError:
            text = ""
        return printable(" ".join(text.split()))[-LAST_WORDS:] or "it said nothing"


def _pattern(path: Path) -> str:
    """sbatch reads % in names of files."""
    return str(path).replace("%", "%%")


def _state(job: int) -> str:
    """In squeue's words; empty where the job is over."""
    for attempt in range(3):
        done = subprocess.run(
            ["squeue", "--noheader", f"--jobs={job}", "--format=%T"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            state = done.stdout.strip().upper()
            return state if state in (*WAITING, *RUNNING) else ""
        if "Invalid job id" in done.stderr:
            return ""
        time.sleep(1 + attempt)
    raise TailraceError(
        f"squeue: {printable(done.stderr.strip())}", f"job {job} may go on; start the study again when Slurm answers"
    )


def end_steps(environment: Mapping[str, str] = os.environ) -> None:
    """Ends what srun started in the job that we are in: on other nodes it has no other master."""
    job = environment.get("SLURM_JOB_ID")
    if job is None or shutil.which("squeue") is None:
        return
    listed = subprocess.run(
        ["squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i"], capture_output=True, text=True, check=False
    )
    steps = [step for step in listed.stdout.split() if re.fullmatch(r"\d+\.\d+", step)]
    if steps:
        subprocess.run(["scancel", "--signal=KILL", *steps], capture_output=True, check=False)


def missing_of(block: list[Planned], store: Store) -> int:
    """How many runs of the block are not stored."""
    made = {line["run"] for line in store.runs()}
    return sum(planned.run not in made for planned in block)
