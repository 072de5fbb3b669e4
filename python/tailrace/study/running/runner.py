"""The runner: one run after the other, each stored before the next begins.

A study goes on where it was left: what runs.jsonl has is not run again, whatever ended the runner
that wrote it. The run that was under way then is made again, after what it left behind (processes,
files) was ended and removed.
"""

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tailrace.output import json_text
from tailrace.study.definition import design
from tailrace.study.definition.columns import RunStatus
from tailrace.study.definition.design import Design, Planned
from tailrace.study.definition.setups import Setup, setup
from tailrace.study.running import environment, leftovers, repetitions, slurm
from tailrace.study.running.jobs import Jobs
from tailrace.study.running.plan import Plan
from tailrace.study.running.progress import Display, Remaining
from tailrace.study.running.results import Number, Result
from tailrace.study.running.store import ENVIRONMENT, Line, Store
from tailrace.study.running.targets import Targets
from tailrace.terminal import tell

DETAILS, SIMULATED_DETAILS = "bench.json", "simulated.json"


class Executor(Protocol):
    """What makes a run of a combination. `program`: of a workload, once it was checked."""

    @property
    def program(self) -> Path | None: ...

    def check(self, setups: list[Setup]) -> None:
        """Raises TailraceError for what would fail in every run."""

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        """Raises StoppedError where we were asked to end meanwhile."""


@dataclass
class State:
    """What is known of the finished runs."""

    numbers: set[int] = field(default_factory=set)
    responses: dict[int, list[float]] = field(default_factory=dict)
    spent_s: float = 0.0
    made: int = 0
    programs: dict[int, dict[str, int]] = field(default_factory=dict)
    remaining: Remaining = field(default_factory=Remaining)

    def add(self, line: dict[str, Any], response: str) -> None:
        self.numbers.add(line["run"])
        # of runs side by side several have one place in time; of those made again, one is gone
        self.made = max(self.made, line["order"]) + 1
        if line.get("program"):
            own = self.programs.setdefault(line["combination"], {})
            own.setdefault(line["program"], line["run"])
        self.spent_s += line["spent_s"]
        self.remaining.add(line["combination"], line["spent_s"])
        value = line["numbers"].get(response)
        if line["status"] == RunStatus.DONE and value is not None:
            self.responses.setdefault(line["combination"], []).append(value)


@dataclass
class Runner:
    """Makes the runs of a plan. Holds the store's lock. `budget_s`: no run begins that would exceed
    it."""

    store: Store
    plan: Plan
    executor: Executor
    targets: Targets
    budget_s: float | None = None

    def __post_init__(self) -> None:
        self.design: Design = self.plan.design()
        self._orders: dict[int, list[Planned]] = {}
        self._looked_at = -1
        self._read()

    def _read(self) -> None:
        self.state = State()
        for line in self.store.runs():
            self.state.add(line, self.plan.study.response)

    def clean(self, block: int | None = None) -> None:
        """Ends and removes what a killed runner left: processes, files of the run under way. All,
        or of one block."""
        if self.plan.study.slurm is not None:
            slurm.end_steps()
        leftovers.end(self.targets.processes_mark)
        self.targets.clear_runs(
            None if block is None else [planned.run for planned in self._block(block)]
        )

    def describe_environment(self) -> None:
        """Once, where the runs are made."""
        if not self.store.has(ENVIRONMENT):
            program = self.executor.program
            described = environment.describe(
                self.plan.study, self.targets, self.plan.started_in, program, self.plan.models
            )
            self.store.write(ENVIRONMENT, json_text(described))

    def run(self) -> bool:
        """Makes what is missing; whether all is done, or the budget ended it before. Raises
        StoppedError."""
        with Display(self.plan.study.name) as display:
            block = -1
            for planned in self._missing():
                if self._exceeds(planned):
                    return False
                if planned.block != block and planned.combination not in self.design.once:
                    block = planned.block
                    self._warm_up(planned)
                self._one(planned, display)
        return True

    def run_in_jobs(self, jobs: Jobs) -> bool:
        """The same by processes that make a block each, as many at one time as the study says."""
        with Display(self.plan.study.name) as display:
            for wave in self._waves():
                if self.budget_s is not None and self.state.spent_s >= self.budget_s:
                    return False
                missing = {number: partial(self._lacking_now, number, display) for number in wave}
                jobs.blocks(missing, partial(self._look, display))
                self._look(display)
        return True

    def _waves(self) -> Iterator[list[int]]:
        """Blocks that are wanted and not whole. Whether more are needed shows only when these are
        done."""
        at_once, number = self.plan.study.blocks_at_once, 0
        while True:
            wave: list[int] = []
            while len(wave) < at_once and self._wanted(number):
                wave += [number] if self._lacking(number) else []
                number += 1
            if not wave:
                return
            yield wave

    def _lacking(self, block: int) -> int:
        """How many of its runs are not known to be stored."""
        return sum(planned.run not in self.state.numbers for planned in self._block(block))

    def _lacking_now(self, block: int, display: Display) -> int:
        self._look(display)
        return self._lacking(block)

    def _look(self, display: Display) -> None:
        """Takes in what others have stored since, and shows it. Nothing is read where nothing was
        added."""
        if self._looked_at == self.store.bytes_stored():
            return
        self._looked_at = self.store.bytes_stored()
        for line in self.store.runs():
            if line["run"] not in self.state.numbers:
                self.state.add(line, self.plan.study.response)
                result = Result(line["status"], line["reason"], line["numbers"])
                display.ended(
                    len(self.state.numbers), self._total(), line["levels"], result, self._left_s()
                )
        display.begins(len(self.state.numbers), self._total(), {}, self._left_s())

    def run_block(self, number: int) -> None:
        """Of such a job: what is missing of one block."""
        with Display(self.plan.study.name) as display:
            warm = False
            for planned in self._block(number):
                if self.plan.study.blocks_at_once > 1:
                    self._read()  # what others have made meanwhile
                if planned.run not in self.state.numbers:
                    if not warm and planned.combination not in self.design.once:
                        self._warm_up(planned)
                        warm = True
                    self._one(planned, display)

    def _missing(self) -> Iterator[Planned]:
        """Block by block; whether another is needed shows only when one is done."""
        for number, block in enumerate(design.blocks(self.design)):
            if not self._wanted(number):
                return
            yield from (planned for planned in block if planned.run not in self.state.numbers)

    def _wanted(self, block: int) -> bool:
        """A block that was begun is finished."""
        combinations = len(self.design.combinations)
        begun = any(
            block * combinations <= run < (block + 1) * combinations for run in self.state.numbers
        )
        by_combination = [
            self.state.responses.get(combination, []) for combination in range(combinations)
        ]
        return begun or repetitions.another_block(self.plan.study, block, by_combination)

    def _exceeds(self, planned: Planned) -> bool:
        if self.budget_s is None:
            return False
        return (
            self.state.spent_s + (self.state.remaining.of([planned.combination]) or 0.0)
            > self.budget_s
        )

    def _one(self, planned: Planned, display: Display) -> None:
        """Makes a run and stores it."""
        levels = self.design.combinations[planned.combination]
        display.begins(len(self.state.numbers), self._total(), levels, self._left_s())
        begun = {"begun_unix_s": time.time(), "load_average": os.getloadavg()[0]}
        clock = time.monotonic()
        directory = self.store.run_directory(planned.run)
        directory.mkdir(exist_ok=True)
        result = self.executor.run(planned.run, setup(self.plan.study, levels), directory)
        if result.status == RunStatus.TIMEOUT and self.plan.study.slurm is not None:
            slurm.end_steps()
        if result.details is not None:
            (directory / (SIMULATED_DETAILS if result.simulated_on else DETAILS)).write_text(
                json.dumps(result.details, ensure_ascii=False, default=str)
            )
        self._notice(planned, result)
        line = self._line(planned, result) | begun | {"spent_s": time.monotonic() - clock}
        self.store.append(line)
        self.state.add(line, self.plan.study.response)
        display.ended(len(self.state.numbers), self._total(), levels, result, self._left_s())

    def _notice(self, planned: Planned, result: Result) -> None:
        """That the program is another one than before, where it was the same combination's: a
        level may name a program."""
        own = self.state.programs.get(planned.combination)
        known = {mark for marks in self.state.programs.values() for mark in marks}
        if own and result.program and result.program not in known:
            first = next(iter(own.values()))
            tell(
                f"the program has changed: run {planned.run} is of another one than run {first};"
                " the report says which runs are of which"
            )

    def _warm_up(self, planned: Planned) -> None:
        """Runs that nobody looks at, before the first of a block."""
        levels = self.design.combinations[planned.combination]
        for _ in range(self.plan.study.warm_up):
            directory = self.store.run_directory(planned.run)
            directory.mkdir(exist_ok=True)
            self.executor.run(planned.run, setup(self.plan.study, levels), directory)

    def _line(self, planned: Planned, result: Result) -> Line:
        """As docs/schema/study-run.json has it."""
        return {
            "run": planned.run,
            "block": planned.block,
            "order": self.state.made,
            "combination": planned.combination,
            "levels": self.design.combinations[planned.combination],
            "status": result.status,
            "reason": result.reason,
            "numbers": _finite(result.numbers),
            "verified": result.verified,
            "cache": result.cache,
            "program": result.program,
            "placement": result.placement,
            "simulated_on": result.simulated_on,
            "phases": result.phases,
        }

    def _total(self) -> int:
        """The runs that are certain: of the least number of blocks, and of those that were
        begun."""
        return sum(len(self._block(number)) for number in range(self._blocks()))

    def _blocks(self) -> int:
        begun = max(self.state.numbers, default=-1) // len(self.design.combinations) + 1
        return max(self.plan.study.repetitions, begun)

    def _left_s(self) -> float | None:
        """An expectation for all that is certain to come."""
        missing = [
            planned.combination
            for block in range(self._blocks())
            for planned in self._block(block)
            if planned.run not in self.state.numbers
        ]
        return self.state.remaining.of(missing)

    def _block(self, number: int) -> list[Planned]:
        """Kept: an order costs a hash for every combination."""
        if number not in self._orders:
            self._orders[number] = self.design.block(number)
        return self._orders[number]


def _finite(numbers: Mapping[str, Number]) -> dict[str, Number]:
    """JSON has no others."""
    return {
        name: value for name, value in numbers.items() if value is not None and math.isfinite(value)
    }
