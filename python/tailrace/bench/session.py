"""One `tailrace bench`: prepare what is read, run as often as asked, and the JSON object that says
all of it."""

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.bench import programs, surroundings
from tailrace.bench.one_run import Conditions, one_run
from tailrace.bench.places import Places
from tailrace.bench.plan import Choices
from tailrace.bench.workload import Workload
from tailrace.names import printable
from tailrace.output import SCHEMA


@dataclass(frozen=True)
class Session:
    """`size`: by its name. `capture`: whether traces are kept."""

    workload: Workload
    size: str
    choices: Choices
    conditions: Conditions
    places: Places
    repeat: int = 1
    capture: bool = False

    def answer(self) -> dict[str, Any]:
        """Runs all and gives the object of docs/schema/bench.json."""
        program = programs.of(self.workload)
        prepared = self._prepare() if program.prepares(self.workload) else None
        runs = [self._run(f"run-{number}") for number in range(1, self.repeat + 1)]
        verified = [run["verification"]["ok"] for run in [*runs, *filter(None, [prepared])]]
        choices, installed = self.choices, self.conditions.installed
        return {
            "schema": SCHEMA,
            "workload": self._workload_figures(),
            "ranks": 1 if program.threaded else choices.ranks,
            "threads": choices.ranks if program.threaded else 1,
            "method": choices.method,
            "format": "all" if choices.all_interfaces else choices.format,
            "hints_wanted": list(choices.hints),
            "settings": list(choices.settings),
            "cache": "cold" if choices.cold else "warm",
            "environment": surroundings.describe(
                installed.path,
                self.places.output.parent,
                self.places.input.parent.parent,
                installed.launcher,
                choices.ranks,
            ),
            "prepared": prepared,
            "runs": runs,
            "verified": all(verified),
        }

    def _workload_figures(self) -> dict[str, Any]:
        workload = self.workload
        return {
            "name": workload.name,
            "description": workload.description,
            "paper": workload.paper,
            "program": workload.program,
            "size": self.size,
            "parameters": workload.parameters.model_dump(),
        }

    def _prepare(self) -> dict[str, Any]:
        """Writes what the workload reads, and verifies it like any output."""
        self.places.input.mkdir()
        _, notes = self.places.for_run("prepare")
        outcome = one_run(self.workload, self.choices, self.conditions, notes, prepare=True)
        return {"elapsed_s": outcome.elapsed_s, "verification": outcome.verification}

    def _run(self, name: str) -> dict[str, Any]:
        files, notes = self.places.for_run(name)
        choices = dataclasses.replace(self.choices, directory=files)
        trace = f"tailrace-{self.workload.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        directory = Path(trace) if self.capture else None
        outcome = one_run(self.workload, choices, self.conditions, notes, directory)
        answer = {"elapsed_s": outcome.elapsed_s} | outcome.figures
        answer |= {"verification": outcome.verification, "capture": outcome.capture}
        if self.places.keep:
            answer["files"] = printable(str(files))
        self.places.close_run(name)
        return answer


@contextmanager
def removed_afterwards(places: Places) -> Iterator[Places]:
    try:
        yield places
    finally:
        places.remove()
