"""A study of which some combinations are run and others are simulated."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.study.definition.setups import Setup
from tailrace.study.running.results import Result
from tailrace.study.running.runner import Executor


@dataclass
class MixedRuns:
    """`targets`: those that are simulated."""

    real: Executor
    simulation: Executor
    targets: Collection[str]

    @property
    def program(self) -> Path | None:
        return self.real.program

    def check(self, setups: list[Setup]) -> None:
        parts: Mapping[bool, list[Setup]] = {True: [], False: []}
        for setup in setups:
            parts[self._is_simulated(setup)].append(setup)
        self.simulation.check(parts[True])
        self.real.check(parts[False])

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        chosen = self.simulation if self._is_simulated(setup) else self.real
        return chosen.run(number, setup, directory)

    def _is_simulated(self, setup: Setup) -> bool:
        return setup.target in self.targets or setup.read_target in self.targets
