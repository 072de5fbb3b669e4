"""A kernel of kernels/: started by mpiexec with a plan, and writing records of all that it did."""

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.bench import figures, kernels, launcher, plan, verify
from tailrace.bench.execute import Ending
from tailrace.bench.failures import check_kernel
from tailrace.bench.plan import Choices
from tailrace.bench.programs.program import Command, Installed, Pair, Program
from tailrace.bench.workload import Workload
from tailrace.terminal import tell


class Kernel(Program):
    knows_time_limit = True

    @abstractmethod
    def lines(self, workload: Workload, choices: Choices, prepare: bool) -> Iterator[str]:
        """The plan's own part."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find(self, mpiexec: str | None, pair: Pair) -> Installed:
        found = launcher.find(mpiexec)
        return Installed(kernels.prepare(found.mpi, pair, tell).program(self.name), found)

    def plan(
        self, workload: Workload, choices: Choices, notes: Path, prepare: bool = False
    ) -> None:
        lines = [*plan.head(workload, choices), *self.lines(workload, choices, prepare)]
        (notes / "plan").write_text("".join(f"{line}\n" for line in lines))

    def command(self, installed: Installed, choices: Choices, notes: Path) -> Command:
        assert installed.launcher is not None
        program = [str(installed.path), "--plan", str(notes / "plan")]
        words = installed.launcher.command(
            choices.ranks, [*program, "--records", str(notes / "records")]
        )
        environment = installed.launcher.environment(choices.ranks)
        return Command(words, environment, notes, [installed.launcher.mpi])

    def check(self, _workload: Workload, _choices: Choices, ending: Ending) -> None:
        check_kernel(ending, self.name)

    def figures(
        self, _choices: Choices, ending: Ending, _capture: dict[str, Any] | None
    ) -> dict[str, Any]:
        return figures.of_run(ending.records)

    def written(self, _choices: Choices, ending: Ending) -> list[Path]:
        return verify.all_files(ending.records)

    def bytes_to_verify(self, _choices: Choices, ending: Ending) -> int:
        return verify.bytes_expected(ending.records)

    def verify(
        self, _workload: Workload, _choices: Choices, ending: Ending, on_read: verify.OnRead
    ) -> verify.Verification:
        return verify.verify(ending.records, on_read)
