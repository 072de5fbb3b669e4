"""Combinations that are simulated on a model of a file system, as `tailrace simulate` does, instead
of being run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.bench import loader, pairs
from tailrace.errors import TailraceError
from tailrace.predict.model import Model
from tailrace.simulate import description, network
from tailrace.simulate.prediction import Simulated, simulate
from tailrace.study.definition.columns import (
    RUN_TIME,
    SIMULATED_HIGH,
    SIMULATED_LOW,
    SIMULATED_TOGETHER,
    RunStatus,
)
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.definition.setups import Setup
from tailrace.study.running.results import Result
from tailrace.study.running.workloads import Workloads
from tailrace.usage import Cache

# As `tailrace simulate` has it.
RANKS_PER_NODE = 64
CACHES: Mapping[str, Cache] = {"cold": "cold", "warm": "warm"}


@dataclass
class SimulatedRuns:
    """Executes combinations on models, which are by target (None: the study's own directory)."""

    study: StudyDefinition
    models: Mapping[str | None, Model]
    word: str
    program: Path | None = None
    workloads: Workloads = field(init=False)

    def __post_init__(self) -> None:
        self.workloads = Workloads(self.word)

    def check(self, setups: Sequence[Setup]) -> None:
        """Raises TailraceError where one of these could not be run either, or none can be
        simulated."""
        for setup in setups:
            self.pair(setup)
        whys = [self.refusal(setup) for setup in setups]
        if whys and all(whys):
            raise TailraceError(
                f"none of the {len(whys)} combinations can be simulated: {whys[0]}"
                if len(whys) > 1
                else whys[0],
                "docs/reference/simulate.md has the methods, formats, settings and hints that are"
                " simulated",
            )

    def pair(self, setup: Setup) -> tuple[str, str]:
        """The method and format that a run would have. Raises TailraceError where there can be no
        run."""
        workload = self.workloads.of(setup)
        loader.check_ranks(workload, setup.ranks)
        return pairs.choose(workload, setup.method, setup.format)

    def refusal(self, setup: Setup) -> str:
        """Why it cannot be simulated; empty where it can."""
        try:
            self._described(setup)
        except TailraceError as error:
            return error.message
        return ""

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        try:
            found = self.predicted(setup)
        except TailraceError as error:
            return Result(RunStatus.UNAVAILABLE, error.message)
        low, high = found.interval_s
        numbers = {
            RUN_TIME: found.predicted_s,
            SIMULATED_LOW: low,
            SIMULATED_HIGH: high,
            SIMULATED_TOGETHER: found.together,
        }
        details = {"model": self._model(setup).name} | found._asdict()
        return Result(
            RunStatus.SIMULATED,
            numbers=numbers,
            details=details,
            simulated_on=self._model(setup).name,
        )

    def predicted(self, setup: Setup) -> Simulated:
        """Raises TailraceError where it cannot be simulated."""
        described = self._described(setup)
        model = self._model(setup)
        messages = network.chosen(model, setup.ranks, self._ranks_per_node(setup))
        return simulate(described, model, messages.network, CACHES.get(setup.cache))

    def _model(self, setup: Setup) -> Model:
        return self.models[setup.target]

    def _described(self, setup: Setup) -> dict[str, object]:
        """What the engine takes."""
        if setup.target not in self.models:
            raise TailraceError(
                f"{setup.read_target} is simulated, and what is written to"
                f" {setup.target or 'the study'} is run"
            )
        workload, pair = self.workloads.of(setup), self.pair(setup)
        if workload.input and setup.read_target != setup.target:
            raise TailraceError("reading from another target than is written to is not simulated")
        description.check(workload, *pair)
        settings = dict(text.split("=", 1) for text in setup.settings)
        hints = dict(text.split("=", 1) for text in setup.hints)
        return description.described(
            workload,
            setup.ranks,
            self._ranks_per_node(setup),
            pair,
            (self.study.run.step_seconds or 0.0) / setup.ranks,
            description.checked_settings(settings, pair[0]),
            description.checked_hints(hints),
        )

    def _ranks_per_node(self, setup: Setup) -> int:
        if setup.nodes is not None:
            return setup.ranks_per_node
        target = self.study.target.get(setup.target or "")
        return (target.ranks_per_node if target else None) or RANKS_PER_NODE
